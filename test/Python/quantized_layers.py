"""Manual quantization in the form of PT2E's convert: uint8 activations per tensor, int8 weights per channel."""

import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers the ops)

q = torch.ops.quantized_decomposed


class Quantized(nn.Module):
    """A linear layer or convolution. The range of its input was measured in one run."""

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
        if x.dtype == torch.float64:  # the ops accept only float32
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
    """Replaces the linear layers and convolutions of `model` by Quantized ones. The ranges are those of a run on `x`."""
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
