"""A BERT and a ResNet whose linear layers and convolutions are quantized by hand, as PT2E's convert writes them: uint8
activations per tensor, int8 weights per channel. Compared by the numbers rule with the same graph in float64."""

import copy

import pytest
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers the ops)

from models import MODELS, first_tensor
from numbers_rule import assert_numbers, compiled_strictly, with_threads

q = torch.ops.quantized_decomposed


class Quantized(nn.Module):
    """A linear layer or convolution; the range of its input is that of one run."""

    def __init__(self, layer: nn.Module, low: float, high: float):
        super().__init__()
        self.scale = max(high, 0.0) - min(low, 0.0)
        self.scale = self.scale / 255 or 1.0
        self.zero = round(-min(low, 0.0) / self.scale)
        weight = layer.weight.detach()
        scales = weight.flatten(1).abs().amax(1) / 127 + 1e-9
        zeros = torch.zeros(len(scales), dtype=torch.int64)
        self.register_buffer("weight", q.quantize_per_channel(weight, scales, zeros, 0, -128, 127, torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", zeros)
        self.bias = layer.bias
        self.convolution = dict(stride=layer.stride, padding=layer.padding) if isinstance(layer, nn.Conv2d) else None

    def operands(self, x):
        if x.dtype == torch.float64:  # the ops accept float32 alone
            x = (torch.clamp(torch.round(x / self.scale) + self.zero, 0, 255) - self.zero) * self.scale
            return x, self.weight.double() * self.scales.view(-1, *[1] * (self.weight.dim() - 1))
        x = q.quantize_per_tensor(x, self.scale, self.zero, 0, 255, torch.uint8)
        return (q.dequantize_per_tensor(x, self.scale, self.zero, 0, 255, torch.uint8),
                q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -128, 127, torch.int8))  # fmt: skip

    def forward(self, x):
        x, weight = self.operands(x)
        if self.convolution:
            return nn.functional.conv2d(x, weight, self.bias, **self.convolution)
        return nn.functional.linear(x, weight, self.bias)


def quantize(model, x):
    """`model`, its linear layers and convolutions replaced by Quantized ones; the ranges are those of `x`."""
    ranges = {}
    for path, layer in model.named_modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            layer.register_forward_hook(lambda _, inputs, __, path=path: ranges.update({path: torch.aminmax(inputs[0])}))
    with torch.no_grad():
        model(x)
    for path, (low, high) in ranges.items():
        parent, _, attribute = path.rpartition(".")
        setattr(model.get_submodule(parent), attribute, Quantized(model.get_submodule(path), low.item(), high.item()))
    return model


def quantized(name):
    """The model with Quantized layers, and its input."""
    torch.manual_seed(0)
    model, (x,) = MODELS[name]()
    return quantize(model.eval(), x), x


@pytest.mark.parametrize("name", ["bert", "resnet50"])
def test_static_int8(name, tmp_path):
    model, x = quantized(name)
    layers = sum(isinstance(m, Quantized) for m in model.modules())
    torch._dynamo.reset()
    with torch.no_grad():
        eager = [[with_threads(n, lambda: first_tensor(model(x)))] for n in (1, 2)]
        exact = first_tensor(copy.deepcopy(model).double()(x.double() if x.is_floating_point() else x))
        compiled = torch.compile(model, backend="tilewright", fullgraph=True, options={"strict": True, "dump": str(tmp_path)})
        assert_numbers([first_tensor(compiled(x))], eager, [exact])
    graph = next(tmp_path.rglob("1-graph.mlir")).read_text().splitlines()
    products = [line for line in graph if ("tw.matmul" in line or "tw.convolution" in line) and "xi8>" in line]
    assert len(products) >= layers > 10 and all(line.endswith("xi32>") for line in products)


def test_what_stays_in_floats_is_told():
    """A convolution in groups stays in floats, and the report says why."""
    import tilewright

    layer = Quantized(nn.Conv2d(8, 8, 3, padding=1), -1.0, 1.0)
    layer.weight, layer.convolution = layer.weight[:, :4].contiguous(), dict(padding=1, groups=2)
    torch._dynamo.reset()
    with torch.no_grad():
        compiled_strictly(layer)(torch.randn(1, 8, 9, 9))
    assert "2 groups" in str(tilewright.report())
