"""What a fresh model gets before it is compared."""

from __future__ import annotations

import torch
from torch import nn


@torch.no_grad()
def spread_constants(model: nn.Module) -> None:
    """Parameters and statistics that a fresh model has all equal get some noise: biases of 0 would hide that they are not
    added."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._NormBase) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    for p in model.parameters():
        if p.is_floating_point() and p.numel() > 1 and (p == p.flatten()[0]).all():
            p.add_(0.1 * torch.randn_like(p))


def without_randomness(model: nn.Module) -> None:
    """What is dropped at random cannot be compared."""
    for module in model.modules():
        if isinstance(module, (nn.MultiheadAttention, nn.RNNBase)):
            module.dropout = 0.0
        elif isinstance(module, nn.modules.dropout._DropoutNd) or type(module).__name__ in ("StochasticDepth", "Dropout", "DropoutNd"):
            module.p = 0.0
        elif type(module).__name__ in ("DropPath", "DropPath2d", "DropBlock2d"):
            module.drop_prob = 0.0
