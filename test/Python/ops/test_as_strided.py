"""Tests as_strided and the ops of its gradients: windows of memory, as views and as gathers."""

import pytest
import torch

from numbers_rule import check, check_gradient, compiled_strictly

WINDOWS = {
    "all of it": ((2, 8, 6, 6), (288, 36, 6, 1), 0),
    "another order": ((6, 6, 8, 2), (6, 1, 36, 288), 0),
    "other sizes": ((24, 24), (24, 1), 0),
    "a part": ((2, 3, 4, 4), (288, 36, 6, 1), 7),
    "every second": ((2, 8, 3), (288, 36, 2), 1),
    "rows that end early": ((7, 50), (80, 1), 3),
    "expanded": ((4, 3, 5), (0, 1, 0), 5),
    "overlapping": ((4, 3), (2, 1), 5),
    "overlapping in both": ((5, 4, 3), (1, 1, 7), 11),
    "a diagonal": ((6,), (7,), 36),
    "one element": ((), (), 100),
    "the last": ((1, 1), (5, 7), 575),
    "nothing": ((0, 3), (3, 1), 2),
}


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
@pytest.mark.parametrize("layout", [torch.Tensor.contiguous, channels_last, lambda x: x.permute(3, 0, 2, 1)], ids=["nchw", "nhwc", "permuted"])
def test_as_strided_and_gradient_match_eager(window, layout):
    x = layout(torch.randn(2, 8, 6, 6))
    check(lambda x: torch.as_strided(x, *window) + 1, x)
    check(lambda x: torch.as_strided(x * 2, *window), x)
    if window[0] != (0, 3):
        check_gradient(lambda x: torch.as_strided(torch.relu(x), *window).exp(), x)


@pytest.mark.parametrize("name", ["a part", "another order", "overlapping", "a diagonal", "every second"])
def test_as_strided_scatter_and_in_place_write_match_eager(name):
    size, stride, offset = WINDOWS[name]
    x, part = torch.randn(2, 8, 6, 6), torch.randn(size)
    if name != "overlapping":  # which of the overlapping elements is kept is unspecified
        check(lambda x, p: torch.as_strided_scatter(x * 2, p, size, stride, offset), x, part)
        check(lambda x, p: torch.as_strided_scatter(channels_last(x) * 2, p, size, stride, offset), x, part)
        check_gradient(lambda x, p: torch.as_strided_scatter(x * 2, p, size, stride, offset).square(), x, part)

    def in_place(x):
        y = x * 2
        y.as_strided(size, stride, offset).add_(1)
        return y

    if name != "overlapping":
        check(in_place, x)


def test_as_strided_offset_is_relative_to_storage():
    """Offsets are relative to the beginning of the storage, not of the view."""
    x = torch.randn(4, 8, 6)
    check(lambda x: torch.as_strided((x * 2)[1:, 2:], (4, 3), (2, 1), 5), x)
    check(lambda x: torch.as_strided((x * 2)[1:, 2:], (4, 3), (2, 1)), x)
    check(lambda x: torch.as_strided((x * 2).split(2)[1].transpose(1, 2), (2, 6), (48, 1)), x)
    check(lambda x, y: torch.as_strided_scatter((x * 2)[1:, 2:], y, (4, 3), (6, 2), 60), x, torch.randn(4, 3))
    check(lambda x: torch.as_strided(x, (4, 3), (2, 1), 50) * 2, torch.randn(5, 8, 6)[1:])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_as_strided_in_each_dtype_matches_eager(dtype):
    x = (torch.randn(9, 11) * 3).to(dtype)
    check(lambda x: torch.as_strided(x.t(), (3, 4), (2, 3), 1), x)
    check(lambda x: torch.as_strided(torch.logical_not(x), (3, 5), (22, 2), 1), x)


def test_as_strided_with_symbolic_sizes_matches_eager():
    torch._dynamo.reset()

    def fn(x):
        n = x.shape[0]
        y = x * 2
        return y.as_strided((n, 4), (24, 1), 0) + y.as_strided((n, 4), (24, 5), 3)

    compiled = compiled_strictly(fn, dynamic=True)
    for n in (5, 9, 2):
        x = torch.randn(n, 4, 6)
        torch.testing.assert_close(compiled(x), fn(x))


@pytest.mark.parametrize("x, offset, reason", [(torch.randn(8, 9)[:, ::2], 0, "has gaps or elements in several places"),
                                               (torch.randn(9, 9)[2:], 0, "reaches outside of the 63 elements"),
                                               (torch.randn(9, 9)[:2], 5, "reaches outside of the 18 elements")])  # fmt: skip
def test_as_strided_outside_of_argument_elements_is_refused(x, offset, reason):
    """A program has no access to elements of an argument's storage that are not elements of the argument."""
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=reason):
        compiled_strictly(lambda x: torch.as_strided(x, (3, 3), (7, 1), offset) * 2)(x)


def test_decomposed_op_results_have_strides_of_eager():
    """The decomposition of adaptive pooling would return a contiguous result, but the op preserves channels-last."""
    x = torch.randn(3, 5, 7, 7).contiguous(memory_format=torch.channels_last)
    check(lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 3), x)
    check(torch.diagonal_scatter, torch.randn(3, 4).t()[:3], torch.randn(3))  # memory with gaps


def test_results_between_eager_segments_have_strides_of_eager():
    """Results of an op next to attention with heads of symbolic size have eager's strides."""
    from tilewright.dynamo.backend import tilewright

    torch._dynamo.reset()
    q, x = torch.randn(1, 1, 3, 2), torch.randn(1, 1, 2).transpose(1, 2)
    fn = lambda q, x: (torch.nn.functional.scaled_dot_product_attention(q, q, q), torch.nn.functional.adaptive_avg_pool1d(x, 2))
    strides = [r.stride() for r in torch.compile(fn, backend=tilewright, dynamic=True)(q, x)]
    assert strides == [r.stride() for r in fn(q, x)]


@pytest.mark.parametrize("part", [slice(-512, None), slice(-512, -3), slice(-512, 2), slice(-512, None, 2), slice(-3, None), slice(-3, -1)])
def test_slice_start_before_first_element_is_clamped(part):
    """Found by lengths.py (xlnet): x[-512:] of fewer elements read memory before x."""

    def written(x):
        return torch.zeros_like(x).index_add(0, torch.arange(x.shape[0]), x).slice_scatter(x[part] * 2, 0, part.start, part.stop, part.step or 1)

    for fn in (lambda x: x[part] * 2, lambda x: (x * 2)[part].detach(), written):
        torch._dynamo.reset()
        compiled = torch.compile(fn, backend="tilewright", dynamic=True)
        for size in (9, 33, 700):
            x = torch.randn(size, 5)
            torch.testing.assert_close(compiled(x), fn(x), rtol=0, atol=0)


def test_size_that_a_guard_requires_to_be_one_is_broadcast():
    """Found by fuzz (graph 402882): the last chunk has s - 2 * ((s + 2) // 3) rows and is broadcast because torch guards that this
    number is 1. Elements after the end of this chunk were read."""
    x, y = torch.randn(5, 5, 3), torch.randn(11, 3)
    check(lambda x, y: torch.nn.functional.cosine_similarity(y, torch.chunk(x, 3, -2)[2], dim=-1), x, y, dynamic=True)
    check(lambda x, y: torch.chunk(x, 3, -2)[2] + y, x, y, dynamic=True)


@pytest.mark.parametrize("wide, narrow", [(torch.int32, torch.int8), (torch.int16, torch.int8), (torch.int64, torch.int16), (torch.float32, torch.bfloat16)])
def test_truncating_cast_with_one_element_tail_equals_eager(wide, narrow):
    """Found by fuzz (graph 418917): LLVM 22.1 stores the only active lane of a masked store without truncation (LLVM issue
    179489), which overwrote the first elements of the next row."""
    for rows in (17, 33, 65):
        x = torch.randint(-100, 100, (rows, 9)).to(wide)
        check(lambda x: x.t().contiguous().to(narrow), x)


def test_view_of_saved_logcumsumexp_has_strides_of_eager():
    """Found by fuzz (graph 406478): a view of logcumsumexp of a transposed tensor had the strides of the
    decomposition if the result was also saved for the gradient."""
    from tilewright.dynamo.backend import tilewright

    torch._dynamo.reset()
    fn = lambda x: torch.logcumsumexp(x, -1)[3:-8, :-32]  # noqa: E731
    x = torch.randn(33, 13).t().requires_grad_()
    assert torch.compile(fn, backend=tilewright, fullgraph=True)(x).stride() == fn(x).stride() == (33, 1)


@pytest.mark.parametrize("start, step", [(0, 2), (1, 2), (1, 3), (4, 5)])
@pytest.mark.parametrize("size", [7, 17, 33])
def test_slice_scatter_with_step_matches_eager(start, step, size):
    """Replaces every `step`-th element. The last group of `step` elements may be incomplete."""
    x, row = torch.randn(3, size), torch.randn(size, 3, 2)
    parts = torch.randn(3, len(range(start, size, step))), torch.randn(len(range(start, size, step)), 3, 2)
    check(lambda x, part: x.slice_scatter(part, 1, start, None, step), x, parts[0])
    check(lambda x, part: x.slice_scatter(part * 2, 0, start, None, step) + 1, row, parts[1])
    check_gradient(lambda x: (x[:, start::step] * 2).exp(), x)


def test_slice_scatter_of_one_element_with_step_matches_eager():
    x = torch.randn(4, 9)
    check(lambda x: x.slice_scatter(x[:, :1] * 2, 1, 8, None, 3), x)
    check(lambda x: x.slice_scatter(x[:, :1] * 2, 1, 2, 4, 3), x)


@pytest.mark.parametrize("size", [9, 17, 33])
def test_slice_scatter_with_step_and_symbolic_size_matches_eager(size):
    x = torch.randn(size, 3, 2)
    check(lambda x: x.slice_scatter(x[1::3] * 2, 0, 1, None, 3) + 1, x, dynamic=True)


def test_as_strided_of_the_pairs_of_a_complex_argument_matches_eager():
    numbers = torch.randn(8, 4, dtype=torch.complex64)
    for z in (numbers, numbers[2:6], numbers.t()):
        offset = 2 * z.storage_offset() + 3
        got = compiled_strictly(lambda z, offset=offset: torch.view_as_real(z).as_strided((2, 3), (2, 1), offset) + 1)(z)
        assert torch.equal(got, torch.view_as_real(z).as_strided((2, 3), (2, 1), offset) + 1)
