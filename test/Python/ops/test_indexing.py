"""Tests reads and writes at computed indices."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient

i = torch.randint


def test_indexed_reads_match_eager():
    x = torch.randn(7, 9, 5)
    check(lambda x, a: x[a], x, i(-7, 7, (4,)))
    check(lambda x, a: x[:, a], x, i(0, 9, (4, 3)))
    check(lambda x, a, b: x[a, b], x, i(0, 7, (4, 1)), i(0, 9, (3,)))
    check(lambda x, a, b: x[a, :, b], x, i(0, 7, (4,)), i(0, 5, (4,)))
    check(lambda x, a: x.index_select(1, a), x, i(0, 9, (6,)))
    check(lambda x, a: x.gather(1, a), x, i(0, 9, (7, 4, 5)))
    check(F.embedding, i(0, 50, (3, 17)), torch.randn(50, 33))
    check_gradient(lambda w, a: F.embedding(a, w, padding_idx=3), torch.randn(50, 33), i(0, 50, (3, 17)))
    check_gradient(lambda x, a: x.gather(1, a), x, i(0, 9, (7, 4, 5)))


@pytest.mark.parametrize("write", [
    lambda x, a, s: x.scatter_add(0, a, s), lambda x, a, s: x.scatter_reduce(0, a, s, "sum"), lambda x, a, s: x.scatter_reduce(0, a, s, "prod"),
    lambda x, a, s: x.index_add(0, a, s), lambda x, a, s: x.index_put((a,), s, accumulate=True),
], ids=["scatter_add", "scatter_reduce sum", "scatter_reduce prod", "index_add", "index_put"])  # fmt: skip
@pytest.mark.parametrize("count", [1, 256, 512])
def test_logical_sum_of_256_booleans_does_not_wrap_around(write, count):
    """Booleans are stored as bytes, and 256 wraps around to 0 in a byte."""
    x, a, s = torch.tensor([False, True, False]), torch.zeros(count, dtype=torch.int64), torch.ones(count, dtype=torch.bool)
    assert run(write, x, a, s).equal(write(x, a, s))


def run(fn, *arguments, **options):
    from tilewright.dynamo.backend import tilewright

    with torch.no_grad():
        return torch.compile(fn, backend=tilewright, fullgraph=True, **options)(*arguments)


long = torch.tensor
READS_AND_WRITES = [
    (lambda x, a: x[a] * 2, torch.randn(9), [-9, 8], [9, -10]),
    (lambda x, a: torch.relu(x)[:, a] + 1, torch.randn(3, 9), [-9, 8], [9, -10]),
    (lambda x, a: x[:, a, 0], torch.randn(2, 9, 3), [-9, 8], [9, -10]),
    (lambda x, a: F.layer_norm(F.embedding(a, x), (33,)), torch.randn(9, 33), [0, 8], [9, -1]),
    (lambda x, a: x.index_select(1, a), torch.randn(3, 9), [0, 8], [9, -1]),
    (lambda x, a: x.gather(1, a[None, :].expand(3, -1)), torch.randn(3, 9), [0, 8], [9, -1]),
    (lambda x, a: x.take(a), torch.randn(3, 3), [0, 8], [9, -10]),
    (lambda x, a: x.scatter(0, a, 0.5), torch.randn(9), [0, 8], [9, -1]),
    (lambda x, a: x.scatter_add(0, a, torch.ones(a.shape)), torch.randn(9), [0, 8], [9, -1]),
    (lambda x, a: x.index_put((a,), torch.ones(1)), torch.randn(9), [-9, 8], [9, -10]),
    (lambda x, a: x.index_add(0, a, torch.ones(a.shape)), torch.randn(9), [0, 8], [9]),
]
NAMES = "index index_relu index_2d embedding index_select gather take scatter scatter_add index_put index_add".split()


@pytest.mark.parametrize("fn, x, good, bad", READS_AND_WRITES, ids=NAMES)
def test_out_of_range_index_raises_index_error_with_location(fn, x, good, bad):
    torch.testing.assert_close(run(fn, x, long(good)), fn(x, long(good)))
    for index in bad:
        # The bad index is the only index, or it is in the last lane of a remainder, or in the first lane of a vector.
        for indices in ([index], good[:1] * 36 + [index], [index] + good[:1] * 70):
            with pytest.raises(IndexError, match=rf"tilewright: index {index} is out of range for a dimension of size 9, in .*"
                                                 r"\(.*test_indexing\.py:\d+\)$"):  # fmt: skip
                run(fn, x, long(indices))
    with pytest.raises((IndexError, RuntimeError)):
        fn(x, long(bad[:1]))


def test_out_of_range_error_names_line_and_next_call_succeeds():
    def fn(table, tokens, labels):
        hidden = F.embedding(tokens, table)
        logits = hidden @ table.t()
        return logits.gather(1, labels[:, None]).sum()  # the line of the error message

    table, tokens = torch.randn(16, 8), long([1, 2, 3])
    line = fn.__code__.co_firstlineno + 3
    for dynamic in (False, True):
        torch._dynamo.reset()
        with pytest.raises(IndexError, match=rf"index 16 is out of range .*gather.*test_indexing\.py:{line}\)$"):
            run(fn, table, tokens, long([0, 16, 1]), dynamic=dynamic)
        with pytest.raises(IndexError, match=rf"index -100 is out of range .*test_indexing\.py:{line}\)$"):
            run(fn, table, tokens, long([0, -100, 1]), dynamic=dynamic)
        with pytest.raises(IndexError, match=rf"index 99 is out of range .*test_indexing\.py:{line - 2}\)$"):
            run(fn, table, long([0, 99, 1]), long([0, 0, 1]), dynamic=dynamic)
        labels = long([0, 15, 1])
        torch.testing.assert_close(run(fn, table, tokens, labels, dynamic=dynamic), fn(table, tokens, labels))


def test_indices_computed_in_the_graph_match_eager():
    x = torch.randn(7, 37)
    check(lambda x: x[:, torch.arange(37).flip(0)], x)
    check(lambda x: x.gather(1, x.argsort(1)), x)
    check(lambda x: F.cross_entropy(x, torch.tensor([1, 36, -100, 0, -100, 3, 4])), x)
    check_gradient(lambda x: F.cross_entropy(x, torch.tensor([1, 36, -100, 0, -100, 3, 4])), x)
    check(lambda x: F.pad(x[None], (3, 5), mode="reflect"), x)
    check(lambda x: F.interpolate(x[None, None], scale_factor=2.3, mode="nearest"), x)


def test_an_empty_index_reads_nothing():
    assert run(lambda x, a: x[a] + 1, torch.randn(0, 5), torch.zeros(0, dtype=torch.int64)).shape == (0, 5)
    x = torch.randn(4, 3)
    assert torch.equal(run(lambda x, a, s: x.index_add(0, a, s), x, torch.zeros(0, dtype=torch.int64), torch.zeros(0, 3)), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_indexing_an_empty_tensor_raises_index_error(dtype):
    x = torch.zeros(0, 50, dtype=dtype)
    for fn in (lambda x, a: x[a], lambda x, a: x.gather(0, a[:, None]), lambda x, a: x.index_select(0, a)):
        with pytest.raises(IndexError, match="index 0 is out of range for a dimension of size 0"):
            run(fn, x, long([0, 0]))
    with pytest.raises(IndexError, match="index 3 is out of range for a dimension of size 0"):
        run(lambda x, a: x.index_put((a,), torch.zeros(50, dtype=x.dtype)), x, long([3]))


def test_indexed_writes_match_eager():
    x, source, index = torch.randn(7, 9), torch.randn(7, 4), torch.stack([torch.randperm(9)[:4] for _ in range(7)])
    check(lambda x, a, s: x.scatter(1, a, s), x, index, source)
    check(lambda x, a: x.scatter(1, a, 0.5), x, index)
    check(lambda x, a, s: x.scatter_add(1, a, s), x, i(0, 9, (7, 4)), source)
    check(lambda x, a, s: x.scatter_reduce(1, a, s, "amax"), x, i(0, 9, (7, 4)), source)
    check(lambda x, a, s: x.index_put((a,), s), x, torch.randperm(7)[:3], torch.randn(3, 9))
    check(lambda x, a, s: x.index_put((a,), s, accumulate=True), x, i(0, 7, (5,)), torch.randn(5, 9))
    check(lambda x, a, s: x.index_add(0, a, s, alpha=2), x, i(0, 7, (5,)), torch.randn(5, 9))
    check(lambda x: torch.where(x > 0, x, 0.0), x)
