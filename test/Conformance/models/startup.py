"""Preparations of a process, and of a fresh model, before models are compared."""

from __future__ import annotations

import os
import warnings

import torch
from torch import nn


def prepare_process() -> None:
    """Sets up a process of a harness before it imports a library of models."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # prevents downloads
    os.environ.setdefault("TILEWRIGHT_CACHE", "0")  # each case is compiled
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    # Without this setting, Dynamo would silently call eager after it has reached the limit of recompilations.
    torch._dynamo.config.fail_on_recompile_limit_hit = True


@torch.no_grad()
def spread_constants(model: nn.Module) -> None:
    """Adds noise to parameters and statistics whose elements are all equal in a fresh model. For example, if all biases
    were 0, the test could not detect that a bias is not added."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._NormBase) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    for p in model.parameters():
        if p.is_floating_point() and p.numel() > 1 and (p == p.flatten()[0]).all():
            p.add_(0.1 * torch.randn_like(p))


def without_randomness(model: nn.Module) -> None:
    """Disables dropout, because random results cannot be compared."""
    for module in model.modules():
        if isinstance(module, (nn.MultiheadAttention, nn.RNNBase)):
            module.dropout = 0.0
        elif isinstance(module, nn.modules.dropout._DropoutNd) or type(module).__name__ == "StochasticDepth":
            module.p = 0.0
        elif type(module).__name__ in ("DropPath", "DropPath2d", "DropBlock2d"):
            module.drop_prob = 0.0
