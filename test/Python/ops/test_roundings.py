"""Tests that fusion keeps roundings before discontinuous ops: integer casts, comparisons, step functions."""

import pytest
import torch

from numbers_rule import compiled_strictly

# Products by 3 are inexact in bf16 and f16, and rounding moves many of them to or past an integer.
DECISIONS = {
    "int": lambda x: (x * 3).int(), "long": lambda x: (x * 3 + 0.1).long(), "chain": lambda x: ((x * 3 + x) * 5 - x).int(), "uint8": lambda x: (x.abs() * 0.3).to(torch.uint8),
    "bool": lambda x: (x * 3 - x * 3).bool(), "ge": lambda x: x * 3 >= (x.float() * 3).to(x.dtype), "eq": lambda x: x * 3 == (x.float() * 3).to(x.dtype),
    "floor": lambda x: (x * 3).floor(), "ceil": lambda x: (x * 3).ceil(), "round": lambda x: (x * 0.3).round(),
    "trunc": lambda x: (x * 3).trunc(), "sign": lambda x: (x * 1e-42).sign(), "floor_divide": lambda x: torch.floor_divide(x * 3, 7.0),
    "remainder": lambda x: torch.remainder(x * 3, 1.0), "fmod": lambda x: torch.fmod(x * 3, 1.0), "argmax": lambda x: (x * 3).view(16, -1).argmax(-1),
    "logical_not": lambda x: torch.logical_not(x * 3 - x * 3), "isinf": lambda x: (x * 1e38 * 10).isinf(),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", DECISIONS)
def test_discontinuous_op_on_rounded_values_equals_eager(name, dtype):
    x = (torch.randn(4096) * 50).to(dtype)
    assert torch.equal(compiled_strictly(DECISIONS[name])(x), DECISIONS[name](x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_cast_from_f64_rounds_as_eager(dtype):
    """Casts round twice, through f32. Tests all numbers of the dtype, midpoints, and numbers that f32 rounds to a midpoint."""
    grid = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(dtype).double()
    finite = grid[grid.isfinite()].sort().values
    halfway = (finite[1:] + finite[:-1]) / 2
    x = torch.cat([grid, halfway, *(halfway * (1 + sign * 2.0**-k) for k in (20, 23, 24, 25, 26, 40, 52) for sign in (1, -1)),
                   finite * 1.7e-9, torch.tensor([3.4e38, 3.39e38, 1e39, -1e300, 65519.99, 65520.0, 5e-324, 1e-45, 7e-46])])  # fmt: skip
    ours, eager = compiled_strictly(lambda x: x.to(dtype))(x), x.to(dtype)
    assert torch.equal(ours.isnan(), eager.isnan())
    ours, eager = (each.nan_to_num(0.0, torch.inf, -torch.inf).view(torch.int16) for each in (ours, eager))
    assert torch.equal(ours, eager), x[ours != eager][:10]


@pytest.mark.parametrize("rows", [1, 5, 33])
def test_difference_of_a_product_and_its_mean_over_one_element_is_zero(rows):
    """The gradient of a layer norm multiplies this difference by up to 1 / sqrt(eps)."""
    x, w = torch.randn(rows, 1), torch.randn(1)
    ours = compiled_strictly(lambda x, w: x * w - (x * w).mean(-1, keepdim=True))(x, w)
    assert torch.equal(ours, torch.zeros(rows, 1))
