"""Reads and writes at computed places."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient

i = torch.randint


def test_take():
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


@pytest.mark.parametrize("index", [[9], [-10]])
def test_out_of_range(index):
    from tilewright.backend import tilewright

    fn = torch.compile(lambda x, a: x[a] * 2, backend=tilewright)
    with pytest.raises(Exception, match="(?i)index|range"):
        fn(torch.randn(9), torch.tensor(index))


def test_scatter():
    x, source, index = torch.randn(7, 9), torch.randn(7, 4), torch.stack([torch.randperm(9)[:4] for _ in range(7)])
    check(lambda x, a, s: x.scatter(1, a, s), x, index, source)
    check(lambda x, a: x.scatter(1, a, 0.5), x, index)
    check(lambda x, a, s: x.scatter_add(1, a, s), x, i(0, 9, (7, 4)), source)
    check(lambda x, a, s: x.scatter_reduce(1, a, s, "amax"), x, i(0, 9, (7, 4)), source)
    check(lambda x, a, s: x.index_put((a,), s), x, torch.randperm(7)[:3], torch.randn(3, 9))
    check(lambda x, a, s: x.index_put((a,), s, accumulate=True), x, i(0, 7, (5,)), torch.randn(5, 9))
    check(lambda x, a, s: x.index_add(0, a, s, alpha=2), x, i(0, 7, (5,)), torch.randn(5, 9))
    check(lambda x: torch.where(x > 0, x, 0.0), x)
