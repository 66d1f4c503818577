"""Tests torch's quantized_decomposed ops and products of dequantized values: integers equal eager's, floats satisfy the numbers rule."""

import pytest
import torch
import torch.nn.functional as F
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers the ops)

from numbers_rule import assert_numbers, compiled_strictly, leaves, with_threads

q = torch.ops.quantized_decomposed
RANGES = {torch.uint8: (0, 255), torch.int8: (-128, 127), torch.int16: (-32768, 32767), torch.int32: (-(2**31), 2**31 - 1)}


def same(fn, *inputs):
    """Checks that all results are bitwise equal to eager's."""
    torch._dynamo.reset()
    with torch.no_grad():
        for got, want in zip(leaves(compiled_strictly(fn)(*inputs)), leaves(fn(*inputs)), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
            assert torch.equal(got, want), f"{(got != want).sum()} of {got.numel()} differ from eager"


def close(fn, exact, *inputs):
    """Checks the numbers rule. `exact` computes the same in float64."""
    torch._dynamo.reset()
    with torch.no_grad():
        eager = [with_threads(n, lambda: leaves(fn(*inputs))) for n in (1, 2)]
        assert_numbers(leaves(compiled_strictly(fn)(*inputs)), eager, leaves(exact(*inputs)))


def values(*shape):
    """Returns random numbers with ties, infinities, the ends of the range and values outside of it."""
    x = torch.randn(*shape) * 40
    flat = x.view(-1)
    ties = torch.arange(-300, 300) / 2
    flat[: min(600, flat.numel())] = ties[: flat.numel()]
    flat[-4:] = torch.tensor([float("inf"), float("-inf"), 1e30, -1e30])[: flat[-4:].numel()]
    return x


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("scale,zero", [(1.0, 0), (0.5, 3), (0.0371, 117), (3.7, -100)])
def test_per_tensor_quantize_and_dequantize_equal_eager(dtype, scale, zero):
    low, high = RANGES[dtype]
    x = values(33, 67)
    same(lambda x: q.quantize_per_tensor(x, scale, zero, low, high, dtype), x)
    same(lambda x, s, z: q.quantize_per_tensor(x, s, z, low, high, dtype), x, torch.tensor([scale]), torch.tensor([zero]))
    same(lambda x, s, z: q.quantize_per_tensor(x, s, z, low, high, dtype), x, torch.tensor(scale).double(), torch.tensor(zero))
    same(lambda x: q.quantize_per_tensor(x, scale, zero, low, high, dtype), x.bfloat16())
    same(lambda x: q.quantize_per_tensor(x, scale, zero, max(low, -7), 9, dtype), x.t())
    y = torch.randint(max(low, -1000), min(high, 1000), (33, 67), dtype=dtype)
    same(lambda y: q.dequantize_per_tensor(y, scale, zero, low, high, dtype), y)
    same(lambda y, s, z: q.dequantize_per_tensor(y, s, z, low, high, dtype), y, torch.tensor([scale]), torch.tensor([zero]))
    for result in (torch.bfloat16, torch.float64):
        close(lambda y: q.dequantize_per_tensor(y, scale, zero, low, high, dtype, out_dtype=result),
              lambda y: (y.double() - zero) * scale, y)  # fmt: skip


def test_quantize_of_nan_and_infinity_equals_eager():
    x = torch.tensor([float("nan"), 1.0, float("inf"), -2.0]).repeat(9)
    for dtype in (torch.uint8, torch.int8):
        same(lambda x: q.quantize_per_tensor(x, 0.5, 7, 5, 100, dtype), x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_per_channel_quantize_and_dequantize_equal_eager(dtype, axis):
    low, high = RANGES[dtype]
    x = values(5, 9, 17)
    channels = x.shape[axis]
    scales, zeros = torch.rand(channels) + 0.1, torch.randint(-20, 90, (channels,))
    same(lambda x, s, z: q.quantize_per_channel(x, s, z, axis, low, high, dtype), x, scales, zeros)
    y = torch.randint(max(low, -1000), min(high, 1000), x.shape, dtype=dtype)
    same(lambda y, s, z: q.dequantize_per_channel(y, s, z, axis, low, high, dtype), y, scales, zeros)
    same(lambda y, s, z: q.dequantize_per_channel(y, s, z, axis, low, high, dtype), y, scales, zeros.int())
    same(lambda y, s: q.dequantize_per_channel(y, s, None, axis, low, high, dtype), y, scales)
    wide = lambda t: t.double().view([-1 if i == axis else 1 for i in range(3)])  # noqa: E731
    close(lambda y, s, z: q.dequantize_per_channel(y, s, z, axis, low, high, dtype, out_dtype=torch.float64),
          lambda y, s, z: (y.double() - wide(z)) * wide(s), y, scales, zeros)  # fmt: skip


@pytest.mark.parametrize("parameters", [torch.float32, torch.float64])
def test_per_token_quantize_and_dequantize_match_eager(parameters):
    x = values(4, 11, 65)
    scales, zeros = (torch.rand(4, 11, 1) + 0.1).to(parameters), torch.randint(-20, 20, (4, 11, 1))
    same(lambda x, s, z: q.quantize_per_token(x, s, z, -128, 127, torch.int8), x, scales, zeros.to(parameters))
    same(lambda x, s, z: q.quantize_per_token(x, s, z, -128, 127, torch.int8), x, scales, zeros)
    y = torch.randint(-128, 127, x.shape, dtype=torch.int8)
    for z in (zeros, zeros.to(parameters)):
        close(lambda y, s, z: q.dequantize_per_token(y, s, z, -128, 127, torch.int8, torch.float32),
              lambda y, s, z: (y.double() - z) * s, y, scales, z)  # fmt: skip


def test_float64_scales_are_refused():
    y = torch.randint(-128, 127, (4, 8), dtype=torch.int8)
    with pytest.raises(Exception, match="scales of float64; expected float32"):
        same(lambda y, s, z: q.dequantize_per_channel(y, s, z, 0, -128, 127, torch.int8), y, torch.rand(4).double(), torch.zeros(4).long())


# -- products ----------------------------------------------------------------------------


class QuantizedLayer(torch.nn.Module):
    """A product `fn(x, weight, bias)` with an int8 weight, quantized per channel, and a quantized input."""

    def __init__(self, fn, weight_shape, activation=torch.uint8, asymmetric=False, zero=None):
        super().__init__()
        channels = weight_shape[0]
        self.fn, self.activation = fn, activation
        self.range, self.zero = RANGES[activation], (117 if activation == torch.uint8 else -11) if zero is None else zero
        self.register_buffer("weight", torch.randint(-128, 128, weight_shape, dtype=torch.int8))
        self.register_buffer("scales", torch.rand(channels) * 0.01 + 0.001)
        self.register_buffer("zeros", torch.randint(-9, 9, (channels,)) if asymmetric else torch.zeros(channels, dtype=torch.int64))
        self.register_buffer("bias", torch.randn(channels))

    def quantize(self, x):
        x = q.quantize_per_tensor(x, 0.031, self.zero, *self.range, self.activation)
        return q.dequantize_per_tensor(x, 0.031, self.zero, *self.range, self.activation)

    def forward(self, x):
        return self.fn(self.quantize(x), q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -128, 127, torch.int8), self.bias)

    def exact(self, x):
        shape = (-1,) + (1,) * (self.weight.dim() - 1)
        weight = (self.weight.double() - self.zeros.view(shape)) * self.scales.double().view(shape)
        x = q.quantize_per_tensor(x, 0.031, self.zero, *self.range, self.activation)
        return self.fn((x.double() - self.zero) * 0.031, weight, self.bias.double())


@pytest.mark.parametrize("activation", [torch.uint8, torch.int8])
@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("m,n,k", [(1, 1, 1), (1, 100, 70), (17, 33, 15), (64, 64, 64), (130, 257, 67), (40, 96, 600)])
def test_int8_linear_matches_eager(m, n, k, asymmetric, activation):
    layer = QuantizedLayer(F.linear, (n, k), activation, asymmetric)
    close(layer, layer.exact, torch.randn(m, k))


@pytest.mark.parametrize("asymmetric", [False, True])
def test_int8_linear_of_3d_input_matches_eager(asymmetric):
    layer = QuantizedLayer(lambda x, w, b: F.gelu(F.linear(x, w, b)), (48, 40), asymmetric=asymmetric)
    close(layer, layer.exact, torch.randn(2, 7, 40))


def test_int8_linear_without_zero_points_matches_eager():
    layer = QuantizedLayer(F.linear, (48, 40), torch.int8, zero=0)
    close(layer, layer.exact, torch.randn(9, 40))


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("options", [dict(k=1), dict(k=3, padding=1), dict(k=3, padding=1, stride=2), dict(k=7, padding=3, stride=2),
                                     dict(k=3, dilation=2, padding=2), dict(k=3, groups=2)], ids=str)  # fmt: skip
def test_int8_conv2d_matches_eager(options, asymmetric):
    options = dict(options)
    k = options.pop("k")
    layer = QuantizedLayer(lambda x, w, b: F.relu(F.conv2d(x, w, b, **options)), (8, 4 // options.get("groups", 1), k, k), asymmetric=asymmetric)
    x = torch.randn(2, 4, 17, 19)
    close(layer, layer.exact, x)
    close(layer, layer.exact, x.contiguous(memory_format=torch.channels_last))


@pytest.mark.parametrize("fn,weight,x", [(F.linear, (48, 40), (9, 40)), (F.conv2d, (8, 4, 3, 3), (2, 4, 9, 9))], ids=["linear", "convolution"])
def test_quantized_product_is_computed_in_int8(fn, weight, x, tmp_path):
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(QuantizedLayer(fn, weight), backend="tilewright", options={"strict": True, "dump": str(tmp_path)})(torch.randn(x))
    graph = next(tmp_path.rglob("1-graph.mlir")).read_text()
    products = [line for line in graph.splitlines() if ("tw.matmul" in line or "tw.convolution" in line) and "xi8>" in line]
    assert len(products) == 1 and products[0].endswith("xi32>"), graph


def test_int8_conv1d_matches_eager():
    layer = QuantizedLayer(lambda x, w, b: F.conv1d(x, w, b, padding=2), (8, 6, 5))
    close(layer, layer.exact, torch.randn(2, 6, 33))


def test_per_token_quantized_linear_matches_eager():
    """Each row has a scale and a zero point that are computed at the call."""
    w, s = torch.randint(-128, 128, (48, 40), dtype=torch.int8), torch.rand(48) * 0.01

    def layer(x, scales, zeros, w, s):
        x = q.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
        x = q.dequantize_per_token(x, scales, zeros, -128, 127, torch.int8, torch.float32)
        return F.linear(x, q.dequantize_per_channel(w, s, None, 0, -128, 127, torch.int8))

    def exact(x, scales, zeros, w, s):
        x = q.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
        return F.linear((x.double() - zeros) * scales.double(), w.double() * s.double().unsqueeze(1))

    close(layer, exact, torch.randn(2, 7, 40), torch.rand(2, 7, 1) * 0.05 + 0.01, torch.randint(-20, 20, (2, 7, 1)), w, s)


def test_int8_batched_matmul_matches_eager():
    def product(a, b):
        a, b = (q.dequantize_per_tensor(t, 0.02, 5, -128, 127, torch.int8) for t in (a, b))
        return torch.matmul(a, b.transpose(-1, -2))

    def exact(a, b):
        return torch.matmul((a.double() - 5) * 0.02, ((b.double() - 5) * 0.02).transpose(-1, -2))

    a, b = (torch.randint(-128, 128, (2, 3, rows, 40), dtype=torch.int8) for rows in (33, 17))
    close(product, exact, a, b)


def test_linear_with_weight_quantized_in_the_graph_matches_eager():
    """A step that runs once quantizes a float weight."""
    weight, scales = torch.nn.Parameter(torch.randn(48, 40)), torch.full((48,), 0.02)
    zeros = torch.zeros(48, dtype=torch.int64)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = weight
            self.register_buffer("scales", scales)
            self.register_buffer("zeros", zeros)

        def forward(self, x):
            x = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.03, 4, -128, 127, torch.int8), 0.03, 4, -128, 127, torch.int8)
            w = q.quantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
            return F.linear(x, q.dequantize_per_channel(w, self.scales, self.zeros, 0, -127, 127, torch.int8))

    def exact(x):
        x = (q.quantize_per_tensor(x, 0.03, 4, -128, 127, torch.int8).double() - 4) * 0.03
        return F.linear(x, q.quantize_per_channel(weight, scales, zeros, 0, -127, 127, torch.int8).double() * scales.double().unsqueeze(1))

    close(Layer(), exact, torch.randn(9, 40))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shift", [0.0, 3.0, -3.0])
def test_choose_qparams_equals_eager(dtype, shift):
    """Scales, zero points and quantized values are bitwise equal to eager's: per tensor, symmetric, and per row."""
    for shape in [(7, 33), (64, 768), (1, 1), (5,), (2, 3, 40)]:
        x = (torch.randn(shape) + shift).to(dtype)
        eps = torch.finfo(torch.float32).eps
        for low, high, kind in [(0, 255, torch.uint8), (-128, 127, torch.int8), (0, 127, torch.uint8)]:
            same(lambda x: q.choose_qparams(x, low, high, eps, kind), x)
        same(lambda x: q.choose_qparams_symmetric(x, -127, 127, eps, torch.int8), x)
        same(lambda x: q.choose_qparams_symmetric(x, 0, 255, eps, torch.uint8), x)
        same(lambda x: q.choose_qparams_per_token_asymmetric(x, torch.int8), x)
    for zeros in (torch.zeros(4, 9), torch.full((4, 9), 1e-30), torch.full((4, 9), 2.5)):
        same(lambda x: q.choose_qparams(x, 0, 255, 1e-5, torch.uint8), zeros.to(dtype))
        same(lambda x: q.choose_qparams_per_token_asymmetric(x, torch.int8), zeros.to(dtype))


def test_choose_qparams_per_token_is_refused_with_reason():
    with pytest.raises(Exception, match="float64 and int64"):
        compiled_strictly(lambda x: q.choose_qparams_per_token(x, torch.int8))(torch.randn(3, 4))


class Dynamic(torch.nn.Module):
    """A linear layer as convert_pt2e writes it for activations that are quantized at run time, per tensor or per row."""

    def __init__(self, rows: bool):
        super().__init__()
        weight = torch.randn(96, 64)
        self.rows, self.bias = rows, torch.nn.Parameter(torch.randn(96))
        self.register_buffer("scales", weight.abs().amax(1) / 127)
        self.register_buffer("zeros", torch.zeros(96, dtype=torch.int64))
        self.register_buffer("weight", q.quantize_per_channel(weight, self.scales, self.zeros, 0, -128, 127, torch.int8))

    def dequantized(self, x):
        if self.rows:
            scale, zero = q.choose_qparams_per_token_asymmetric(x, torch.int8)
            bytes = q.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
            return q.dequantize_per_token(bytes, scale, zero, -128, 127, torch.int8, torch.float32)
        scale, zero = q.choose_qparams(x, 0, 255, torch.finfo(torch.float32).eps, torch.uint8)
        bytes = q.quantize_per_tensor(x, scale, zero, 0, 255, torch.uint8)
        return q.dequantize_per_tensor(bytes, scale, zero, 0, 255, torch.uint8)

    def forward(self, x):
        weight = q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -128, 127, torch.int8)
        return F.linear(self.dequantized(x), weight, self.bias)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("m", [1, 5, 48])
def test_dynamically_quantized_linear_is_computed_in_int8(rows, m, tmp_path):
    """The product is computed in int8 and satisfies the numbers rule."""
    torch.manual_seed(1)
    model, x = Dynamic(rows), torch.randn(m, 64) * 3 + 1

    def exact(x):
        weight = model.weight.double() * model.scales.double()[:, None]
        return F.linear(model.dequantized(x).double(), weight, model.bias.double())

    close(model, exact, x)
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend="tilewright", fullgraph=True, options={"strict": True, "dump": str(tmp_path)})(x)
    graph = next(tmp_path.rglob("1-graph.mlir")).read_text().splitlines()
    assert any("tw.matmul" in line and "xi8>" in line and line.endswith("xi32>") for line in graph)
