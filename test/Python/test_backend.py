"""The backend: options, strict mode, fallback, report, mutation, aliasing, dynamic sizes, random numbers."""

import warnings

import pytest
import torch
from torch import nn

import tilewright
from tilewright.dynamo.backend import UnsupportedError, tilewright as backend


def compiled(fn, **arguments):
    return torch.compile(fn, backend=backend, **arguments)


def double(x):
    return x * 2 + 1


# -- options and modes ---------------------------------------------------------


def test_unknown_option_error_suggests_and_lists_options():
    with pytest.raises(Exception, match="unknown option 'strickt'.*did you mean 'strict'.*rounding"):
        compiled(double, options={"strickt": True})(torch.ones(3))


def test_option_of_the_wrong_type_is_refused():
    with pytest.raises(Exception, match=r"options\['strict'\] must be bool, not 3"):
        compiled(double, options={"strict": 3})(torch.ones(3))


def test_unknown_rounding_value_is_refused():
    with pytest.raises(Exception, match="'fused' or 'eager'"):
        compiled(double, options={"rounding": "nearest"})(torch.ones(3))


def test_unknown_mode_is_refused_and_reduce_overhead_warns():
    with pytest.raises(Exception, match="unknown mode 'fast'; the modes are"):
        compiled(double, mode="fast")(torch.ones(3))
    with pytest.warns(UserWarning, match="CUDA graphs .* require a GPU"):
        assert torch.equal(compiled(double, mode="reduce-overhead")(torch.ones(3)), double(torch.ones(3)))
    assert torch.equal(compiled(double, mode="default")(torch.ones(3)), double(torch.ones(3)))


def test_environment_variable_of_the_wrong_type_is_refused(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STRICT", "perhaps")
    with pytest.raises(Exception, match="TILEWRIGHT_STRICT must be bool"):
        compiled(double)(torch.ones(3))


# -- fallback --------------------------------------------------------------------


def with_unknown_op(x):
    y = torch.linalg.qr(x * 2)[1]
    return y + 1


def test_strict_mode_error_names_op_and_location():
    with pytest.raises(Exception, match=r"(?s)strict mode.*linalg_qr.*test_backend\.py"):
        compiled(with_unknown_op, options={"strict": True})(torch.randn(4, 4))
    assert issubclass(UnsupportedError, RuntimeError)


def test_fallback_compiles_other_segments_and_warns_with_reason():
    tilewright.report(clear=True)
    x = torch.randn(4, 4)
    with pytest.warns(UserWarning, match="linalg_qr"), torch.no_grad():
        got = compiled(with_unknown_op)(x)
    torch.testing.assert_close(got, with_unknown_op(x))
    graph = tilewright.report()[-1]
    assert graph.segments == 2 and graph.eager_segments == 1
    assert any("linalg_qr" in r.reason for r in graph.refusals)
    assert "linalg_qr" in str(tilewright.report())


def test_data_dependent_size_falls_back():
    def fn(x):
        return (x * 2)[x > 0] + 1

    x = torch.randn(33)
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.testing.assert_close(compiled(fn)(x), fn(x))
    finally:
        torch._dynamo.config.capture_dynamic_output_shape_ops = False


# -- report ------------------------------------------------------------------------


def test_report_counts_calls_and_kernels():
    tilewright.report(clear=True)
    with torch.no_grad():
        fn = compiled(double)
        fn(torch.ones(3))
        fn(torch.ones(3))
    (graph,) = tilewright.report()
    assert graph.kind == "inference" and graph.calls[0].calls == 2 and graph.kernels() >= 1


def test_copied_inputs_are_reported():
    tilewright.report(clear=True)
    with torch.no_grad():
        compiled(double)(torch.ones(8, 8)[:, 1:])
    assert tilewright.report()[-1].copied_inputs
    assert tilewright.report()[-1].calls[0].copies == 1


# -- results -------------------------------------------------------------------------


def test_batch_norm_updates_running_statistics_as_eager():
    torch.manual_seed(0)
    ours, theirs = nn.BatchNorm2d(3), nn.BatchNorm2d(3)
    x = torch.randn(2, 3, 5, 5)
    fn = compiled(ours)
    for _ in range(3):
        torch.testing.assert_close(fn(x), theirs(x))
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    assert ours.num_batches_tracked == theirs.num_batches_tracked == 3


def test_in_place_write_to_argument_equals_eager():
    def fn(x, y):
        x.add_(y)
        return x * 2

    a, b, y = torch.ones(5), torch.ones(5), torch.arange(5.0)
    with torch.no_grad():
        torch.testing.assert_close(compiled(fn)(a, y), fn(b, y))
    assert torch.equal(a, b)


def test_results_that_are_inputs_views_or_none_alias_as_in_eager():
    def fn(x, y):
        z = x + y
        return x, None, z, z, x.t(), y[1:], 3

    x, y = torch.randn(4, 4), torch.randn(4, 4)
    with torch.no_grad():
        a, none, z, again, t, part, three = compiled(fn)(x, y)
    assert a is x and none is None and three == 3
    assert torch.equal(z, x + y) and torch.equal(z, again)
    assert t.data_ptr() == x.data_ptr() and t.stride() == x.t().stride()
    assert part.data_ptr() == y[1:].data_ptr()


def test_kernel_with_more_than_64_operands_matches_eager():
    """The kernel has more operands than a 64-bit word has bits."""
    from numbers_rule import check

    check(lambda *xs: (torch.cat(xs, 1), torch.stack(xs), sum(xs)), *[torch.randn(3, 5) for _ in range(100)])


def test_packed_parameters_that_are_results_match_eager():
    """Values computed only from parameters are returned in every call, but computed again only if a parameter changes."""
    model = torch.nn.Linear(17, 33)

    def forward(x):
        return model(x), model.weight.t().contiguous(), (model.weight * 2).sum(0)

    compiled = torch.compile(forward, backend=backend, options={"strict": True}, fullgraph=True)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(4, 17)
            for got, want in zip(compiled(x), forward(x)):
                torch.testing.assert_close(got, want)
            model.weight.mul_(1.5)


def test_constant_results_equal_eager():
    with torch.no_grad():
        got = compiled(lambda x: (torch.arange(5), torch.tensor([1.0, 2.0]), x * 2))(torch.ones(2))
    assert torch.equal(got[0], torch.arange(5)) and torch.equal(got[1], torch.tensor([1.0, 2.0]))


def test_channels_last_result_has_strides_of_eager():
    x = torch.randn(2, 3, 5, 7).contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        got = compiled(double)(x)
    assert got.stride() == double(x).stride() and torch.equal(got, double(x))


def test_results_are_not_overwritten_by_later_calls():
    with torch.no_grad():
        fn = compiled(double)
        results = [fn(torch.full((100_000,), float(n))) for n in range(4)]
    assert [r[0].item() for r in results] == [1.0, 3.0, 5.0, 7.0]


def test_dynamic_sizes_compile_once():
    tilewright.report(clear=True)
    fn = compiled(lambda x, w: torch.relu(x @ w), dynamic=True)
    w = torch.randn(16, 8)
    with torch.no_grad():
        for rows in (2, 3, 17, 64, 129):
            x = torch.randn(rows, 16)
            torch.testing.assert_close(fn(x, w), torch.relu(x @ w))
    assert len(tilewright.report()) == 1


def test_gradient_with_dynamic_sizes_matches_eager():
    w = torch.randn(16, 8, requires_grad=True)
    fn = compiled(lambda x, w: torch.tanh(x @ w).sum(), dynamic=True)
    for rows in (2, 5, 17):
        x = torch.randn(rows, 16)
        (got,) = torch.autograd.grad(fn(x, w), w)
        (want,) = torch.autograd.grad(torch.tanh(x @ w).sum(), w)
        torch.testing.assert_close(got, want)


def test_dropout_repeats_by_seed_and_shares_its_mask_with_backward():
    x = torch.ones(64, 64, requires_grad=True)
    fn = compiled(lambda x: nn.functional.dropout(x, 0.25))

    def run(seed):
        torch.manual_seed(seed)
        y = fn(x)
        (g,) = torch.autograd.grad(y.sum(), x)
        return y, g

    (y, g), (again, _), (other, _) = run(1), run(1), run(2)
    assert torch.equal(y, again) and not torch.equal(y, other)
    assert torch.equal(y.detach(), g) and 0.2 < (y == 0).float().mean() < 0.3
    assert torch.allclose(y[y > 0], torch.tensor(1 / 0.75))


def test_next_call_uses_changed_parameters():
    layer = nn.Linear(16, 8)
    x = torch.randn(4, 16)
    fn = compiled(layer)
    with torch.no_grad():
        torch.testing.assert_close(fn(x), layer(x))
        layer.weight.mul_(2)
        torch.testing.assert_close(fn(x), layer(x))
        layer.weight.data = torch.randn(8, 16)
        torch.testing.assert_close(fn(x), layer(x))
        layer.weight.data[0, 0] = 100.0
        tilewright.repack(layer)
        torch.testing.assert_close(fn(x), layer(x))


def test_wrong_arguments_are_refused_by_the_call():
    seen = []

    def capture(gm, inputs, **arguments):
        seen.append((gm, inputs))
        return gm.forward

    from torch._dynamo.backends.common import aot_autograd

    with torch.no_grad():
        torch.compile(double, backend=aot_autograd(fw_compiler=capture, inference_compiler=capture))(torch.ones(3))
    from tilewright.fx.walker import walk
    from tilewright.options import CompileOptions
    from tilewright.runtime.compiled import build

    call = build(walk(seen[0][0]), CompileOptions())
    assert torch.equal(call([torch.ones(3)])[0], torch.full((3,), 3.0))
    with pytest.raises(TypeError, match="is float64; the graph was compiled for float32"):
        call([torch.ones(3, dtype=torch.float64)])
    with pytest.raises(ValueError, match=r"has the sizes \[4\]; the graph was compiled for \[3\]"):
        call([torch.ones(4)])
    with pytest.raises(TypeError, match="takes 1 arguments, 2 were given"):
        call([torch.ones(3), torch.ones(3)])
    with pytest.raises((TypeError, ValueError), match="no memory"):
        call([torch.ones(3, device="meta")])


def test_backend_is_registered_as_tilewright():
    assert "tilewright" in torch._dynamo.list_backends(exclude_tags=())
