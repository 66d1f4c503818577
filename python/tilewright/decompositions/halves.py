"""Conversion of 16-bit floats to the dtype of their accumulators."""

from __future__ import annotations

import torch


def widened(x: torch.Tensor) -> torch.Tensor:
    """Returns x, converted to f32 if it is bf16 or f16."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
