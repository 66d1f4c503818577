"""What sums of 16-bit floats are kept in."""

from __future__ import annotations

import torch


def widened(x: torch.Tensor) -> torch.Tensor:
    """x, in f32 where it is bf16 or f16."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
