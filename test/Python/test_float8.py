"""Tests of 8-bit floats on the CPU: conversions that are bit-identical to eager's, ops that move data, and products
with scales. test_cuda_float8.py tests GPUs."""

import math

import pytest
import torch

from numbers_rule import assert_numbers, compiled_strictly, leaves
from tilewright import _tilewright
from tilewright.dynamo.backend import tilewright
from tilewright.runtime import compiled as compiled_module

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
KINDS = {"e4m3": E4M3, "e5m2": E5M2}
WIDER = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
both_kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def all_bytes(kind):
    return torch.arange(256, dtype=torch.int32).to(torch.uint8).view(kind)


def all_floats():
    """Returns every bf16 number as an f32, with adjacent f32 numbers. These include the midpoints between two results."""
    upper = torch.arange(1 << 16, dtype=torch.int32) << 16
    return torch.cat([upper, upper + 1, upper - 1, upper + 0x8000, upper + 0x7FFF]).view(torch.float32)


def same_bits(got, want):
    """Compares all bits except the signs of NaN, which torch's own conversions do not treat consistently."""
    assert got.dtype == want.dtype and got.shape == want.shape
    nan = got.double().isnan()
    assert torch.equal(nan, want.double().isnan())
    got, want = (x.masked_fill(nan, 0) if x.itemsize > 1 else x.contiguous().view(torch.uint8).masked_fill(nan, 0) for x in (got, want))
    got, want = got.contiguous().view(torch.uint8), want.contiguous().view(torch.uint8)
    assert torch.equal(got, want), f"{(got != want).sum()} of {got.numel()} bytes differ"


def check_bits(fn, *inputs):
    """Checks that each strictly compiled result has eager's bits."""
    torch._dynamo.reset()
    for got, want in zip(leaves(compiled_strictly(fn)(*inputs)), leaves(fn(*inputs)), strict=True):
        same_bits(got, want)


@both_kinds
def test_cast_of_every_float8_byte_to_wider_floats_equals_eager(kind):
    def widened(x):
        return [x.to(dtype) for dtype in WIDER]

    check_bits(widened, all_bytes(kind))


@both_kinds
def test_cast_to_float8_rounds_as_eager(kind):
    """Values are rounded to nearest even. Values beyond the largest number are converted as in torch."""
    check_bits(lambda x: x.to(kind), all_floats())
    check_bits(lambda x: (x.to(torch.bfloat16).to(kind), x.to(torch.float16).to(kind), x.double().to(kind)), all_floats()[: 1 << 16])
    check_bits(lambda x: x.to(kind), torch.arange(-70000, 70000, 37))
    check_bits(lambda x: (x > 0).to(kind), torch.randn(99))


def test_cast_between_float8_dtypes_equals_eager():
    check_bits(lambda x: x.to(E5M2), all_bytes(E4M3))
    check_bits(lambda x: x.to(E4M3), all_bytes(E5M2))


@both_kinds
def test_fusion_keeps_float8_roundings(kind):
    check_bits(lambda x: (x * 3).to(kind).float() + 1, torch.randn(1000))
    check_bits(lambda x: x.to(kind).to(torch.bfloat16).to(torch.int32), torch.randn(1000) * 50)


@both_kinds
def test_float8_copies_views_and_comparisons_equal_eager(kind):
    x, y = torch.randn(6, 20).to(kind), torch.randn(6, 20).to(kind)
    check_bits(lambda x, y: (x.t().contiguous(), torch.cat([x, y], 1), torch.where(y.float() > 0, x, y), x[1:4, ::3].clone(), x.reshape(3, 40).clone()), x, y)
    check_bits(lambda x, i: (x[i], torch.index_select(x, 0, i)), x, torch.tensor([5, 0, 3]))
    check_bits(lambda x, y: (x == y, x != y), x, torch.where(torch.randn(6, 20) > 0, x.float(), y.float()).to(kind))
    check_bits(lambda x: torch.zeros(3, 5, dtype=kind) if x.shape[0] else x, x)


def scaled(a, b, scale_a, scale_b, bias=None, out=torch.bfloat16, then=None):
    result = torch._scaled_mm(a, b, scale_a=scale_a, scale_b=scale_b, bias=bias, out_dtype=out)
    return then(result) if then else result


def exact(a, b, scale_a, scale_b, bias=None, out=None, then=None):
    result = (a.double() @ b.double()) * scale_a.double() * scale_b.double()
    result = result if bias is None else result + bias.double()
    return then(result) if then else result


def operands(m, n, k, kinds=(E4M3, E4M3)):
    """Returns operands in the form that _scaled_mm requires on a GPU: the second one is stored along k."""
    return torch.randn(m, k).to(kinds[0]), torch.randn(n, k).to(kinds[1]).t()


ONE_SCALE = torch.tensor(0.5), torch.tensor(1.25)


def check_scaled(a, b, scale_a, scale_b, bias=None, **how):
    """Checks by the numbers rule against float64."""
    torch._dynamo.reset()
    arguments = [a, b, scale_a, scale_b, bias]
    got = compiled_strictly(lambda *x: scaled(*x, **how))(*arguments)
    assert_numbers(leaves(got), [leaves(scaled(*arguments, **how))], leaves(exact(*arguments, **how)))


@pytest.mark.parametrize("kinds", [(E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3), (E5M2, E5M2)])
def test_scaled_product_of_each_dtype_pair_matches_eager(kinds):
    for out in (torch.bfloat16, torch.float16, torch.float32):
        check_scaled(*operands(33, 48, 64, kinds), *ONE_SCALE, out=out)


def test_scaled_product_with_row_and_column_scales_matches_eager():
    a, b = operands(100, 130, 70)
    check_scaled(a, b, torch.rand(100, 1) + 0.5, torch.rand(1, 130) + 0.5)
    check_scaled(a, b, torch.rand(1, 1) + 0.5, torch.rand(1) + 0.5)
    check_scaled(a, b, torch.rand(100, 1) + 0.5, torch.rand(1, 130) + 0.5, torch.randn(130).bfloat16())
    check_scaled(a, b.contiguous(), *ONE_SCALE, torch.randn(130))
    check_scaled(*operands(1, 16, 32), torch.rand(1, 1), torch.rand(1, 16))


def test_scaled_product_with_float8_result_has_the_error_of_eager():
    """The error of the sum may decide between two adjacent results. Therefore the error against float64 is compared,
    not the bits."""
    a, b = operands(64, 48, 96)
    for kind in (E4M3, None):
        got, want = compiled_strictly(lambda *x: scaled(*x, out=kind))(a, b, *ONE_SCALE), scaled(a, b, *ONE_SCALE, out=kind)
        assert got.dtype == want.dtype == E4M3
        wide = exact(a, b, *ONE_SCALE)
        assert (got.double() - wide).abs().mean() <= 1.01 * (want.double() - wide).abs().mean()
        torch._dynamo.reset()


@both_kinds
def test_scaled_product_of_symbolic_rows_matches_eager(kind):
    compiled = compiled_strictly(scaled, dynamic=True)
    for rows in (5, 40, 17):
        arguments = [*operands(rows, 48, 64, (kind, E4M3)), *ONE_SCALE]
        assert_numbers([compiled(*arguments)], [[scaled(*arguments)]], [exact(*arguments)])


def test_float8_linear_with_dynamic_scales_has_the_error_of_eager():
    """The largest element of each row determines the scale of the row, as in libraries for 8-bit training."""
    weight = torch.randn(48, 64)
    scale_w = weight.abs().amax(1, keepdim=True) / 448
    quantized = (weight / scale_w).to(E4M3)

    def layer(x, w, scale_w):
        scale = x.abs().amax(1, keepdim=True).clamp(min=1e-12) / 448
        return torch._scaled_mm((x / scale).to(E4M3), w.t(), scale_a=scale, scale_b=scale_w.t(), out_dtype=torch.bfloat16)

    x = torch.randn(20, 64)
    got, want = compiled_strictly(layer)(x, quantized, scale_w), layer(x, quantized, scale_w)
    error = (got.double() - x.double() @ weight.double().t()).square().mean().sqrt()
    assert error <= 1.05 * (want.double() - x.double() @ weight.double().t()).square().mean().sqrt()


def graph_of(*tensors):
    """Returns a graph with these inputs, each a dtype and its sizes."""
    graph = _tilewright.Graph()
    strides = [[math.prod(sizes[i + 1 :]) for i in range(len(sizes))] for _, sizes in tensors]
    return graph, [graph.input(f"t{i}", dtype, sizes, strides[i], False)[0] for i, (dtype, sizes) in enumerate(tensors)]


A, B, ONE = ("float8_e4m3fn", [8, 16]), ("float8_e5m2", [16, 24]), ("float32", [])


@pytest.mark.parametrize("tensors, result, reason", [
    ((("float16", [8, 16]), B, ONE, ONE), "bfloat16", "operands of float16 and float8_e5m2; both must be"),
    ((A, ("float8_e4m3fn", [2, 16, 24]), ONE, ONE), "bfloat16", "operands of rank 2 and 3; give two matrices"),
    ((A, B, ("bfloat16", []), ONE), "bfloat16", "scales of bfloat16 and float32; both must be float32"),
    ((A, B, ("float32", [3, 1]), ("float32", [1, 24])), "bfloat16",
     r"scales float32\[3, 1\] and float32\[1, 24\] for float8_e4m3fn\[8, 16\] x float8_e5m2\[16, 24\]; give one number"),
    ((A, B, ("float32", [8, 1]), ONE), "bfloat16", r"scales float32\[8, 1\] and float32\[\] for"),
    ((A, B, ONE, ONE), "float64", "a result of float64; give out_dtype bfloat16, float16 or float32"),
], ids=["mixed", "batch", "scale's dtype", "scale's shape", "one scale of rows", "result"])  # fmt: skip
def test_invalid_scaled_mm_node_of_a_file_is_refused(tensors, result, reason):
    """A file may contain calls that torch's own tracing refuses."""
    graph, values = graph_of(*tensors)
    with pytest.raises(_tilewright.Refused, match=reason):
        graph.node("aten._scaled_mm.default", values, {}, [(result, [8, 24])], [])


@pytest.mark.parametrize("fn", [
    lambda a, b: torch._scaled_mm(a.half(), b, *ONE_SCALE, out_dtype=torch.bfloat16),
    lambda a, b: torch._scaled_mm(a, b, torch.ones(3, 1), torch.ones(1, 24), out_dtype=torch.bfloat16),
], ids=["mixed", "scale's shape"])  # fmt: skip
def test_invalid_scaled_mm_call_raises_error_while_traced(fn):
    torch._dynamo.reset()
    with pytest.raises(Exception, match="(?i)scal|float8"):
        torch.compile(fn, backend=tilewright)(*operands(8, 24, 16))


@pytest.mark.parametrize("fn, reason", [
    (lambda a, b: a @ b, "matmul has no implementation in float8_e4m3fn, as in eager; torch._scaled_mm has one"),
    (lambda a, b: torch.relu(a), "relu has no implementation in float8_e4m3fn; cast to a wider float first"),
    (lambda a, b: torch._scaled_mm(a, b, *ONE_SCALE, scale_result=ONE_SCALE[0]), "scale_result, by which eager divides on a CPU"),
], ids=["matmul", "relu", "scale of the result"])  # fmt: skip
def test_unsupported_float8_op_raises_the_error_of_eager_with_a_reason(fn, reason):
    """In strict mode, the error has the reason. Otherwise, a warning has the reason, and eager returns its result or raises its error."""
    a, b = operands(8, 24, 16)
    torch._dynamo.reset()
    with pytest.raises(Exception, match=reason):
        compiled_strictly(fn)(a, b)
    torch._dynamo.reset()
    try:
        want, said = fn(a, b), None
    except Exception as error:
        want, said = None, error
    compiled_module._warned.clear()
    with pytest.warns(UserWarning, match=reason):
        if said:
            with pytest.raises(type(said)):
                torch.compile(fn, backend=tilewright)(a, b)
        else:
            same_bits(torch.compile(fn, backend=tilewright)(a, b), want)
