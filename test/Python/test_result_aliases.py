"""Results that share memory with arguments or with each other in eager also share memory when they are compiled. The
tests include symbolic sizes and results that are numbers."""

import warnings

import pytest
import torch

from tilewright.dynamo.backend import tilewright as backend


def compiled(fn, dynamic=None):
    torch._dynamo.reset()
    return torch.compile(fn, backend=backend, fullgraph=True, dynamic=dynamic)


def places(results, inputs):
    """Returns for each result the index of the first input or earlier result with which it shares memory, or -1."""
    known = [t.untyped_storage()._cdata for t in inputs]
    found = []
    for r in results:
        held = r.untyped_storage()._cdata
        found.append(known.index(held) if held in known else -1)
        known.append(held)
    return found


OF_AN_ARGUMENT = {
    "split": lambda x: torch.split(x, 2), "split_with_sizes": lambda x: torch.split(x, [1, 5]), "chunk": lambda x: torch.chunk(x, 3),
    "unbind": lambda x: torch.unbind(x), "unsafe_split": lambda x: torch.unsafe_split(x, 2), "unsafe_chunk": lambda x: torch.unsafe_chunk(x, 3),
    "unfold": lambda x: [x.unfold(0, 3, 2)], "diagonal": lambda x: [x.diagonal(1)], "as_strided": lambda x: [x.as_strided((2, 2), (1, 3), 1)],
}  # fmt: skip
OF_EACH_OTHER = {
    "unbind": lambda x: torch.unbind(x + 1, -1), "both": lambda x: (lambda y: (y, y.t()))(x * 2), "parts": lambda x: torch.split((x * 2).t(), 2),
    "apart": lambda x: ((x + 1)[0], (x + 2)[0]), "flat, a name first": lambda x: (lambda y: (y.detach().zero_(), y))(x[1:, 1:].reshape(-1)), "detached": lambda x: (lambda y: (y, y.detach()))(x.exp()),
    "written, of a product": lambda x: (lambda y: (y, y.clamp_(-1, 1).permute(1, 0, 2)))(x[:, None] @ x.t()),
}  # fmt: skip


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("fn", [*OF_AN_ARGUMENT.values(), *OF_EACH_OTHER.values()], ids=[*OF_AN_ARGUMENT, *(n + " new" for n in OF_EACH_OTHER)])
def test_results_alias_arguments_and_each_other_as_in_eager(fn, requires_grad):
    x = torch.randn(6, 4, requires_grad=requires_grad)
    got, want = compiled(fn)(x), fn(x)
    assert places(got, [x]) == places(want, [x])
    for a, b in zip(got, want, strict=True):
        assert torch.allclose(a, b) and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()


@pytest.mark.parametrize("name", OF_AN_ARGUMENT)
def test_views_of_an_argument_with_symbolic_sizes_equal_eager(name):
    """AOTAutograd reads sizes, strides and offset of such a result from the tensor that the graph returns."""
    fn, base = OF_AN_ARGUMENT[name], torch.randn(8, 4)
    with torch.no_grad():
        for x in (base[:6], base[2:]):
            for a, b in zip(compiled(fn, dynamic=True)(x), fn(x), strict=True):
                assert torch.equal(a, b) and a.storage_offset() == b.storage_offset()


def test_write_to_one_result_is_visible_in_its_alias():
    first, second = compiled(lambda x: torch.unbind(x + 1, -1))(torch.zeros(3, 2))
    whole = first.as_strided((3, 2), (2, 1), 0)
    second.fill_(7)
    assert whole[:, 1].eq(7).all() and first.eq(1).all()


@pytest.mark.parametrize("index", [2, -1, -2])
def test_integer_argument_that_may_be_negative_matches_eager(index):
    x = torch.randn(5, 6)
    fns = (lambda x, i: x.select(0, i) * 2, lambda x, i: x[:, i:] + 1, lambda x, i: x + i, lambda x, i: x.sum(i if i < 0 else 0),
           lambda x, i: x.select_scatter(x[0] * 2, 0, i), lambda x, i: torch.cumsum(x, -1) * i)  # fmt: skip
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fn in fns:
            assert torch.allclose(compiled(fn, dynamic=True)(x, index), fn(x, index), rtol=1e-5)


def test_strides_of_tensors_that_may_be_empty_equal_eager():
    """torch uses max(1, size) in strides of symbolic sizes."""
    with torch.no_grad():
        for fn, arguments in ((lambda n, m: torch.zeros(n, m), (4, 5)), (lambda n, m: torch.ones(2, n).repeat(m, n), (3, 2))):
            got, want = compiled(fn, dynamic=True)(*arguments), fn(*arguments)
            assert torch.equal(got, want) and got.stride() == want.stride()


def test_split_at_indices_from_data_equals_eager():
    def fn(x, at):
        return [p * 2 for p in torch.tensor_split(x, at)]

    x, at = torch.randn(7, 3), torch.tensor([2, 5])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = compiled(fn)(x, at)
    for a, b in zip(got, fn(x, at), strict=True):
        assert torch.equal(a, b)


def test_effect_tokens_do_not_shift_saved_strides():
    """An op that checks for errors, between ops that save for backward, gives the graph an additional leading result."""

    def fn(x):
        return torch.linalg.lu_factor(x * 2)[0] + 1

    ours, theirs = (torch.eye(4).mul(3).add(0.1).requires_grad_() for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(fn)(ours).sum().backward()
    fn(theirs).sum().backward()
    assert torch.allclose(ours.grad, theirs.grad, rtol=1e-4)


@pytest.mark.parametrize("pool", [torch.nn.functional.avg_pool2d, torch.nn.functional.max_pool2d])
def test_alias_of_a_pool_result_with_one_line_equals_eager(pool):
    """torch's guard fixes the number of lines, 5 // 3, to 1. This number is a size of the result and a factor of its
    strides. The result must be a view, without a copy."""
    fn = lambda x: (lambda y: (y, y[:, 4:5]))(pool(x, 3))  # noqa: E731
    for dynamic in (False, True):
        call = compiled(fn, dynamic)
        for x in (torch.randn(1, 16, 5, 9), torch.randn(2, 7, 4, 12)):
            ours, eagers = call(x), fn(x)
            assert places(ours, [x]) == places(eagers, [x]) == [-1, 1]
            for mine, theirs in zip(ours, eagers):
                assert mine.stride() == theirs.stride()
                torch.testing.assert_close(mine, theirs)
