"""Tests the largest and smallest elements of rows: a few of many elements, and few long rows."""

import pytest
import torch

from numbers_rule import check, compiled_strictly


def special(shape, dtype):
    """Returns a tensor with many equal elements; in float dtypes, also NaN, infinities and a row of -inf only."""
    x = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 3).to(dtype)
    if dtype.is_floating_point and x.numel():
        rows = x.view(-1, shape[-1])
        rows[0, ::7], rows[-1, 3::5], rows[len(rows) // 2] = float("nan"), float("inf"), -float("inf")
    return x


def same(a, b):
    return torch.equal(torch.nan_to_num(a.double(), 7e77), torch.nan_to_num(b.double(), 7e77))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("count", [1, 3, 64, 65, 75, 300])
def test_topk_values_equal_eager_with_distinct_indices(count, largest, dtype):
    """Up to 64 elements, if a row has at least four times as many, are inserted one by one; otherwise the row is sorted."""
    x = special((5, 300), dtype)
    for dim, of in ((1, x), (0, x.t().contiguous())):
        values, places = compiled_strictly(lambda v, dim=dim: v.topk(count, dim, largest))(of)
        assert same(values, of.topk(count, dim, largest).values) and same(of.gather(dim, places), values)
        assert all(len(set(row.tolist())) == count for row in places.movedim(dim, -1))


def test_topk_of_symbolic_size_equals_eager():
    compiled = compiled_strictly(lambda v: v.topk(4), dynamic=True)
    for size in (5, 16, 200):
        x = torch.randn(3, size)
        assert all(torch.equal(a, b) for a, b in zip(compiled(x), x.topk(4)))


@pytest.mark.parametrize("shape", [(8192,), (1, 65536), (3, 8192), (2, 4112), (4099,), (64, 128)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int32, torch.uint8, torch.bool])
def test_argmax_and_max_take_nan_first_and_the_first_of_ties(shape, dtype):
    """The result is the first of equal elements, and NaN before all numbers, at any index of a row."""
    x = special(shape, dtype) if dtype != torch.bool else torch.zeros(shape, dtype=torch.bool)
    x.view(-1)[shape[-1] - 2] = 1
    for name in ("argmax", "argmin") if dtype != torch.bool else ():
        for dim in (None, -1):
            assert torch.equal(compiled_strictly(lambda v, name=name, dim=dim: getattr(v, name)(dim))(x), getattr(x, name)(dim))
    for name in ("max", "min"):
        ours, eager = compiled_strictly(lambda v, name=name: getattr(v, name)(-1))(x), getattr(x, name)(-1)
        assert same(ours[0], eager[0]) and same(x.gather(-1, ours[1].unsqueeze(-1)).squeeze(-1), eager[0])


@pytest.mark.parametrize("shape", [(33,), (5, 16), (3, 4, 47), (40, 70), (2, 33, 17), (0, 20), (20, 0), (64, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.int8])
def test_cummax_cummin_cumsum_and_cumprod_match_eager(shape, dtype):
    """Vectors hold columns or elements of a row; a scalar loop computes the tail."""
    x = special(shape, dtype)
    tame = torch.randint(-3, 4, shape).to(dtype) if not dtype.is_floating_point else (torch.rand(shape) + 0.5).to(dtype)
    for dim in range(len(shape)):
        for name in ("cummax", "cummin"):
            for ours, eager in zip(compiled_strictly(lambda v, n=name, d=dim: getattr(v, n)(d))(x), getattr(x, name)(dim)):
                assert same(ours, eager)
        check(lambda v, d=dim: (v.cumsum(d), v.cumprod(d)), tame)


def test_cummax_and_cumsum_of_symbolic_sizes_match_eager():
    compiled = compiled_strictly(lambda v: (v.cummax(0).values, v.cummax(1).values, v.cumsum(0)), dynamic=True)
    for rows, columns in ((3, 5), (20, 16), (17, 50)):
        x = torch.randn(rows, columns)
        ours = compiled(x)
        assert torch.equal(ours[0], x.cummax(0).values) and torch.equal(ours[1], x.cummax(1).values)
        torch.testing.assert_close(ours[2], x.cumsum(0))
