"""Tests the ops of table.py at sizes with tails, empty, scalar and non-contiguous, in several dtypes."""

import pytest
import torch

from numbers_rule import check, check_drawn, check_gradient
from ops.table import ACTIVATIONS, BINARY, REDUCTIONS, SCALARS, UNARY, VIEWS

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64, "i32": torch.int32,
          "i64": torch.int64, "u8": torch.uint8, "bool": torch.bool}  # fmt: skip
SHAPES = [(), (0,), (1,), (17,), (15, 16), (3, 0), (33, 67)]
MATRICES = [(1, 1), (7, 13), (16, 17), (33, 64), (128, 1031)]


def make(shape, dtype, kind="x"):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        low, high = (1, 8) if kind in "np" else (0, 8) if dtype == torch.uint8 or kind == "i" else (-8, 8)
        return torch.randint(low, high, shape, dtype=dtype)
    x = torch.randn(shape, dtype=torch.float64)
    x = {"p": x.abs() + 0.1, "u": torch.tanh(x) * 0.9, "g": x.abs() + 1.1, "n": x.abs() + 0.5, "i": x.mul(2).round(),
         "h": torch.sigmoid(x)}.get(kind, x)  # fmt: skip
    return x.to(dtype)


@pytest.mark.parametrize("name,dtype", [(n, d) for n, (_, ds) in UNARY.items() for d in ds])
def test_unary_op_matches_eager(name, dtype):
    kind = UNARY[name][0]
    for shape in SHAPES:
        check(getattr(torch, name), make(shape, DTYPES[dtype], kind))


@pytest.mark.parametrize("name,dtype", [(n, d) for n, (_, ds) in BINARY.items() for d in ds])
def test_binary_op_matches_eager(name, dtype):
    kind = BINARY[name][0]
    for a, b in [((33, 67), (33, 67)), ((33, 67), (67,)), ((5, 1, 17), (3, 1)), ((), (17,)), ((0, 3), (3,))]:
        check(getattr(torch, name), make(a, DTYPES[dtype], kind), make(b, DTYPES[dtype], kind))


@pytest.mark.parametrize("first", ["f32", "bf16", "i64", "bool"])
@pytest.mark.parametrize("second", ["f64", "f16", "i32", "u8"])
def test_promotion_of_two_dtypes_matches_eager(first, second):
    for fn in (torch.add, torch.mul, torch.lt, torch.eq):
        check(fn, make((17,), DTYPES[first], "i"), make((17,), DTYPES[second], "i"))
        check(fn, make((17,), DTYPES[first], "i"), make((), DTYPES[second], "i"))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_matches_eager(name, dtype):
    for shape in [(17,), (33, 67)]:
        check(ACTIVATIONS[name], make(shape, DTYPES[dtype]))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_gradient_matches_eager(name):
    check_gradient(ACTIVATIONS[name], make((33, 67), torch.float32))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("name", SCALARS)
def test_op_with_scalar_matches_eager(name, dtype):
    for shape in [(), (17,), (33, 67)]:
        check(SCALARS[name], make(shape, DTYPES[dtype]))


# Eager orders equal elements arbitrarily. Therefore the elements that the indices of sort and topk select are compared.
UNORDERED = dict.fromkeys(("sort", "topk"), lambda x, indices: x.gather(-1, indices))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_matches_eager(name, dtype):
    for shape in MATRICES:
        if name in ("var", "std") and shape[-1] == 1:
            continue
        check_drawn(REDUCTIONS[name], lambda shape=shape: make(shape, DTYPES[dtype]), selected=UNORDERED.get(name))


@pytest.mark.parametrize("name", ["sum_last", "mean_last", "amax", "softmax", "log_softmax", "layer_norm", "var", "cumsum", "logsumexp"])
def test_reduction_gradient_matches_eager(name):
    check_gradient(REDUCTIONS[name], make((33, 67), torch.float32))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64"])
@pytest.mark.parametrize("name", VIEWS)
def test_view_op_matches_eager(name, dtype):
    if dtype == "i64" and name in ("linspace", "pad", "full"):
        pytest.xfail("promotes by the default dtype: covered by the floats")
    for shape in [(7, 13), (16, 16), (33, 67)]:
        check(VIEWS[name], make(shape, DTYPES[dtype]))


LAYOUTS = {"transposed": lambda x: x.t(), "sliced": lambda x: x[:, 1:], "strided": lambda x: x[::2], "offset": lambda x: x[3:],
           "expanded": lambda x: x[:1].expand(5, x.shape[1])}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_non_contiguous_input_matches_eager(layout):
    x = LAYOUTS[layout](make((33, 67), torch.float32))
    check(lambda a: a * 2 + 1, x)
    check(lambda a: a.sum(-1), x)
    check(lambda a: a.softmax(-1), x)


def test_zeros_infinities_nan_and_denormals_match_eager():
    x = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 3e38, -1.5])
    for name in ("abs", "neg", "exp", "tanh", "sigmoid", "relu", "floor", "round", "sqrt", "isnan", "isinf", "sign", "erf", "log1p"):
        check(getattr(torch, name), x)
    check(torch.maximum, x, x.flip(0))
    check(torch.minimum, x, x.flip(0))
    check(lambda a: a * float("inf"), x)
    check(lambda a: a + float("nan"), x)


def test_sums_over_outer_dimensions_match_eager():
    """Batch statistics reduce 2 x 112 x 112 elements, of which no two are adjacent. The mean is near zero."""
    x = torch.randn(2, 24, 112, 112).to(memory_format=torch.channels_last)
    check(lambda v: (v.mean((0, 2, 3)), v.sum((0, 2, 3)), v.var((0, 2, 3))), x)
    check(lambda v: v.sum(0), torch.randn(25088, 33))
