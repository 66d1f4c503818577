"""Elementwise ops for which torch's decomposition is imprecise, or for which torch has none."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def ndtr(x):
    """Computes the normal distribution function with erfc. For negative x, 1 + erf(x) rounds to 0 where the result is positive."""
    wide = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    return 0.5 * torch.erfc(wide * -0.7071067811865476)


def round_decimals(x, *, decimals):
    if decimals == 0 or not x.is_floating_point():
        return torch.round(x)
    ten = 10.0 ** abs(decimals)
    return torch.round(x * ten) / ten if decimals > 0 else torch.round(x / ten) * ten


def ldexp(x, other):
    return x * torch.pow(2.0, other)


def angle(x):
    """Returns the angle of real numbers, which is pi for negative numbers and 0 for others."""
    if x.is_complex():
        return NotImplemented
    wide = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    side = (wide < 0).to(wide.dtype) * torch.pi
    return torch.where(torch.isnan(wide), wide, side)


TABLE = {
    aten.special_ndtr.default: ndtr, aten.round.decimals: round_decimals, aten.ldexp.Tensor: ldexp, aten.angle.default: angle,
}  # fmt: skip
