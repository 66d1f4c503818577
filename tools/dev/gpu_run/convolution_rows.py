"""Rows of convolutions in bf16 and channels-last layout against cuDNN: the layers of ResNet-50 and ConvNeXt."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from .kernel_rows import Kernels, Row

# A layer is (input channels, output channels, window size, stride, height and width of the image, groups).
LAYERS = (
    (3, 64, 7, 2, 224, 1), (64, 64, 1, 1, 56, 1), (64, 64, 3, 1, 56, 1), (64, 256, 1, 1, 56, 1), (128, 128, 3, 2, 56, 1),
    (128, 128, 3, 1, 28, 1), (256, 512, 1, 2, 56, 1), (256, 256, 3, 1, 14, 1), (512, 512, 3, 1, 7, 1), (512, 2048, 1, 1, 7, 1),  # ResNet-50
    (3, 96, 4, 4, 224, 1), (96, 96, 7, 1, 56, 96), (96, 192, 2, 2, 56, 1), (384, 384, 7, 1, 14, 384), (768, 768, 7, 1, 7, 768),  # ConvNeXt
)  # fmt: skip
GRADIENTS = (1, 2, 4, 11)  # indices of the layers whose gradients are measured, too


def rows(k: Kernels) -> Iterator[Row]:
    batch = k.size(32, 1)
    for number, (channels, results, window, stride, side, groups) in enumerate(LAYERS):
        side = k.size(side, min(side, 14))
        padding = 0 if window == stride else window // 2

        def convolution(x, w, stride=stride, padding=padding, groups=groups):
            return F.conv2d(x, w, stride=stride, padding=padding, groups=groups)

        def gradients(x, w, dy, convolution=convolution):
            return torch.autograd.grad(convolution(x, w), [x, w], dy)

        def operands(channels=channels, results=results, window=window, side=side, groups=groups, grad=False):
            last = torch.channels_last
            x = k.random(batch, channels, side, side).to(memory_format=last)
            w = (k.random(results, channels // groups, window, window) / window).to(memory_format=last)
            return [x.requires_grad_(grad), w.requires_grad_(grad)]

        kind = "depthwise, " if groups > 1 else ""
        name = f"{kind}{channels} to {results}, {window}x{window}, stride {stride}, {side}x{side}"
        yield Row("convolutions", name, "0.95", "eager", lambda f=convolution, o=operands: (f, o()))
        if number not in GRADIENTS:
            continue

        def with_gradient(f=gradients, forward=convolution, o=operands):
            x, w = o(grad=True)
            with torch.no_grad():
                dy = torch.randn_like(forward(x, w))
            return f, (x, w, dy)

        yield Row("convolutions", f"{name}, forward and gradients", "0.95", "eager", with_gradient, training=True)
