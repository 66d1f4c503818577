"""Tests sums of many equal numbers. Rounding errors of a sequential sum have one sign and accumulate; those of partial sums do not."""

import pytest
import torch

from numbers_rule import check, check_gradient

INF, NAN = float("inf"), float("nan")


# name -> (sizes, reduction dimensions): the size of the innermost reduction dimension determines the loops.
SHAPES = {
    "one row": ((8192,), (0,)), "rows": ((64, 8192), (1,)), "columns": ((8192, 64), (0,)), "short rows": ((128, 8, 8), (0, 1, 2)),
    "short rows between": ((4096, 8, 33), (0, 2)), "rows and rows": ((128, 7, 65), (0, 2)), "all of images": ((4, 16, 7, 7), (0, 2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_sums_of_equal_numbers_match_eager(name):
    sizes, dims = SHAPES[name]
    for value in (0.1, 0.44):
        check(lambda x: x.sum(dims), torch.full(sizes, value))
        check(lambda x: (x * x).mean(dims), torch.full(sizes, value))


@pytest.mark.parametrize("dynamic", [False, True])
def test_long_sums_have_at_most_twice_the_error_of_eager(dynamic):
    """For symbolic sizes, blocks of 2048 elements were added to one total, with three times eager's error."""
    compiled = torch.compile(lambda x: x.sum(), backend="tilewright", dynamic=dynamic)
    ours = eager = 0.0
    for seed in range(20):
        x = torch.randn(1 << 20, generator=torch.Generator().manual_seed(seed))
        exact = x.double().sum()
        ours += (compiled(x).double() - exact).square().item()
        eager += (x.sum().double() - exact).square().item()
    assert ours <= 4 * eager


def test_gradient_of_broadcast_scalar_matches_eager():
    check_gradient(lambda x, number: x + number, torch.rand(128, 8, 8), torch.tensor(0.25))


def test_reductions_of_broadcast_tensor_match_eager():
    # The views around the reductions collapse, but the reduction dimension must keep its size.
    x = torch.randn(16, 1, 7, 16)
    check(lambda x: x.expand(16, 7, 7, 16).sum(1).reshape(16, 112) + 0.5, x)
    check(lambda x: torch.softmax(x.expand(16, 7, 7, 16), 1).reshape(16, 7, 112) * 2, x)
    w = torch.randn(16, 1, 16, 7)
    check(lambda x, w: torch.softmax(torch.full_like(x, 2.0), -2) @ w, torch.randn(16, 7, 7, 16), w)


def test_hypot_of_infinity_and_nan_matches_eager():
    a, b = torch.tensor([INF, -INF, NAN, NAN, 3.0, 0.0, 1e30]), torch.tensor([NAN, 1.0, INF, 2.0, 4.0, 0.0, 1e30])
    check(torch.hypot, a, b)


@pytest.mark.parametrize("shape", [(1, 23, 23), (8, 100, 33)])
def test_var_mean_near_zero_has_bounded_error(shape):
    """Found by fuzz (graph 8667): with float32 partial sums, a mean near 0 had an error relative to the elements; eager sums in float64."""
    compiled = torch.compile(lambda x: torch.var_mean(x), backend="tilewright")
    ours = eager = 0.0
    for seed in range(20):
        x = torch.randint(-8, 9, shape, generator=torch.Generator().manual_seed(seed)) / 4
        exact = torch.var_mean(x.double())[1]
        ours += (compiled(x)[1].double() - exact).square().item()
        eager += (torch.var_mean(x)[1].double() - exact).square().item()
    assert ours <= 9 * eager
