"""Tensors whose values are known when a graph is traced."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes


def constant(values, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Returns torch.tensor(values) as a constant of the traced graph. torch.tensor() itself is not traced, because its trace contains a
    write into the new tensor."""
    with _disable_current_modes():
        made = torch.tensor(values, dtype=dtype)
    return torch.ops.aten.lift_fresh_copy.default(made)
