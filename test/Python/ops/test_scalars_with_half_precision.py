"""Tests ops of a bf16 or f16 tensor and a Python number or 0-d tensor, which is rounded to the dtype first only if eager does so.

With rounding="eager", results are bitwise equal to eager's for numbers that these dtypes cannot represent.
"""

import pytest
import torch
from torch.nn import functional as F

from tilewright.dynamo.backend import tilewright

NUMBER = 0.1
BINARY = {
    "eq": lambda x, s: x == s, "ne": lambda x, s: x != s, "lt": lambda x, s: x < s, "le": lambda x, s: x <= s, "gt": lambda x, s: x > s,
    "ge": lambda x, s: x >= s, "add": lambda x, s: x + s, "radd": lambda x, s: s + x, "sub": lambda x, s: x - s, "rsub": lambda x, s: s - x,
    "mul": lambda x, s: x * s, "rmul": lambda x, s: s * x, "div": lambda x, s: x / s, "rdiv": lambda x, s: s / x, "floor": lambda x, s: x // s,
    "rfloor": lambda x, s: s // x, "trunc": lambda x, s: torch.div(x, s, rounding_mode="trunc"), "remainder": lambda x, s: x % s,
    "rremainder": lambda x, s: s % x, "fmod": lambda x, s: torch.fmod(x, s), "pow": lambda x, s: x.abs() ** s, "rpow": lambda x, s: s**x,
    "where": lambda x, s: torch.where(x > 0, x, s), "clamp": lambda x, s: x.clamp(min=s),
}  # fmt: skip
OTHERS = {
    "hardshrink": lambda x, y, s: F.hardshrink(x, s),
    "threshold": lambda x, y, s: F.threshold(x, s, 0.7), "hardtanh": lambda x, y, s: F.hardtanh(x, -s, s),
    "leaky_relu": lambda x, y, s: F.leaky_relu(x, s), "elu": lambda x, y, s: F.elu(x, s), "celu": lambda x, y, s: F.celu(x, s),
    "addcmul": lambda x, y, s: torch.addcmul(x, y, x, value=s), "lerp": lambda x, y, s: torch.lerp(x, y, s),
    "masked_fill": lambda x, y, s: x.masked_fill(y > 0, s), "isclose": lambda x, y, s: torch.isclose(x, y, atol=s),
    "margin_ranking": lambda x, y, s: F.margin_ranking_loss(x, y, x.sign(), margin=s, reduction="none"),
    "hinge_embedding": lambda x, y, s: F.hinge_embedding_loss(x, y.sign(), margin=s, reduction="none"),
}  # fmt: skip


def operands(dtype):
    """Returns two tensors. Some elements of the first are the rounded number, and some pairs differ by it."""
    torch.manual_seed(0)
    near = torch.tensor([NUMBER, -NUMBER] * 16, dtype=dtype)
    x = torch.cat([torch.randn(500).to(dtype), near])
    y = torch.cat([torch.randn(500).to(dtype), near + NUMBER])
    return x, y


def compare(function, *arguments):
    compiled = torch.compile(function, backend=tilewright, options={"rounding": "eager", "strict": True})
    torch.testing.assert_close(compiled(*arguments), function(*arguments), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("kind", ["number", "tensor"])
def test_binary_op_with_scalar_equals_eager(dtype, kind):
    x, _ = operands(dtype)
    number = torch.tensor(NUMBER) if kind == "tensor" else NUMBER
    names = [n for n in BINARY if kind == "number" or n != "fmod"]
    exact = [n for n in names if dtype == torch.bfloat16 or n not in ("pow", "rpow")]  # in f16, pow may differ in the last bit

    def function(x, *s):
        return [BINARY[n](x, s[0] if s else NUMBER) for n in exact]

    compare(function, x, *([number] if kind == "tensor" else []))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_op_with_scalar_parameter_equals_eager(dtype):
    compare(lambda x, y: [f(x, y, NUMBER) for f in OTHERS.values()], *operands(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("function", [torch.add, torch.sub, torch.rsub], ids=lambda f: f.__name__)
def test_add_and_sub_with_alpha_almost_always_equal_eager(dtype, function):
    """Eager rounds the factor and the sum, and uses one or two instructions for the sum. A few last bits may differ."""
    x, y = operands(dtype)
    compiled = torch.compile(lambda x, y: function(x, y, alpha=NUMBER), backend=tilewright, options={"rounding": "eager", "strict": True})
    assert (compiled(x, y) != function(x, y, alpha=NUMBER)).double().mean() < 0.01


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["addmm", "baddbmm", "addbmm", "addmv", "addr"])
@pytest.mark.parametrize("beta,alpha", [(0.3, 1), (1, 0.7), (0.3, 0.7), (-1.7, 2.3), (0, 0.7)])
def test_beta_and_alpha_of_products_are_not_rounded(dtype, name, beta, alpha):
    """Only the result is rounded, so the error against float64 is not much larger than eager's."""
    torch.manual_seed(0)
    shapes = {"addmm": [(64, 48), (64, 32), (32, 48)], "baddbmm": [(3, 64, 48), (3, 64, 32), (3, 32, 48)],
              "addbmm": [(64, 48), (3, 64, 32), (3, 32, 48)], "addmv": [(64,), (64, 32), (32,)], "addr": [(64, 48), (64,), (48,)]}  # fmt: skip
    tensors = [torch.randn(s, dtype=dtype) for s in shapes[name]]

    def function(*t):
        return getattr(torch, name)(*t, beta=beta, alpha=alpha)

    exact = function(*(t.double() for t in tensors))

    def error(result):
        return (result.double() - exact).pow(2).mean().sqrt()

    compiled = torch.compile(function, backend=tilewright, options={"strict": True})
    best = error(exact.to(dtype))
    assert error(compiled(*tensors)) <= 1.2 * max(error(function(*tensors)), best)


def test_comparison_rounds_scalar_to_bf16_in_fused_rounding():
    x = torch.full((3,), 0.1, dtype=torch.bfloat16)
    assert torch.compile(lambda x: x == 0.1, backend=tilewright)(x).all()
