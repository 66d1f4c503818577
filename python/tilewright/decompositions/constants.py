"""Tensors whose values are known when a graph is made."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes


def constant(values, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Returns torch.tensor(values) as a constant. If torch.tensor() itself were traced, it would write into the
    tensor that it makes."""
    with _disable_current_modes():
        made = torch.tensor(values, dtype=dtype)
    return torch.ops.aten.lift_fresh_copy.default(made)
