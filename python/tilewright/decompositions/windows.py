"""Interpolation of images and volumes at the positions of a grid (grid_sample)."""

from __future__ import annotations

import functools

import torch

aten = torch.ops.aten


def _unnormalized(grid, size: int, align: bool):
    return (grid + 1) * ((size - 1) / 2) if align else ((grid + 1) * size - 1) / 2


def _reflected(at, size: int, align: bool):
    """Returns the position `at`, reflected at the borders until it is inside."""
    low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
    if span <= 0:
        return torch.zeros_like(at)
    away = (at - low).abs()
    extra = torch.fmod(away, span)
    turns = torch.floor(away / span)
    return torch.where(torch.fmod(turns, 2) == 0, extra + low, span - extra + low)


def _position(grid, size: int, padding: int, align: bool):
    at = _unnormalized(grid, size, align)
    if padding == 1:
        at = at.clamp(0, size - 1)
    elif padding == 2:
        at = _reflected(at, size, align).clamp(0, size - 1)
    return at


def grid_sampler_3d(x, grid, interpolation_mode, padding_mode, align_corners):
    """Interpolates a volume in mode nearest or bilinear (trilinear). Elements outside are 0 unless the padding mode maps them inside."""
    n, channels, *sizes = x.shape
    if interpolation_mode > 1 or not all(isinstance(s, int) for s in sizes) or 0 in sizes:
        return NotImplemented
    positions = [_position(grid[..., 2 - d], sizes[d], padding_mode, align_corners) for d in range(3)]  # depth, height, width
    image = torch.arange(n, dtype=torch.int64).reshape(n, 1, 1, 1)

    def read(at):
        inside = True
        index = []
        for where, size in zip(at, sizes):
            inside = (where >= 0) & (where <= size - 1) & inside
            index.append(where.clamp(0, size - 1).to(torch.int64))
        values = aten.index.Tensor(x.permute(0, 2, 3, 4, 1), [image, *index])
        return torch.where(inside.unsqueeze(-1), values, 0.0)

    if interpolation_mode == 1:
        result = read([torch.round(p) for p in positions])
    else:
        low = [torch.floor(p) for p in positions]
        result = None
        for corner in range(8):
            bits = [(corner >> d) & 1 for d in range(3)]
            weight = 1.0
            for p, base, bit in zip(positions, low, bits):
                weight = weight * ((p - base) if bit else (base + 1 - p))
            part = read([base + bit for base, bit in zip(low, bits)]) * weight.unsqueeze(-1)
            result = part if result is None else result + part
    return result.permute(0, 4, 1, 2, 3).contiguous()


@functools.cache
def _of_torch():
    from torch._decomp import get_decompositions

    return get_decompositions([aten.grid_sampler_2d])[aten.grid_sampler_2d.default]


def grid_sampler_2d(x, grid, interpolation_mode, padding_mode, align_corners):
    """Interpolates an image in mode nearest or bilinear. For bicubic, torch's decomposition is used.

    torch's decomposition is not used for the other modes, because for a position outside it multiplies the first pixel
    by 0, and the product is NaN if this pixel is NaN.
    """
    n, channels, height, width = x.shape
    if interpolation_mode > 1 or not all(isinstance(s, int) and s > 0 for s in (height, width)) or height * width >= 2**31:
        return _of_torch()(x, grid, interpolation_mode, padding_mode, align_corners)
    if x.dtype in (torch.bfloat16, torch.float16):
        return grid_sampler_2d(x.float(), grid.float(), interpolation_mode, padding_mode, align_corners).to(x.dtype)
    across = _position(grid[..., 0], width, padding_mode, align_corners)
    down = _position(grid[..., 1], height, padding_mode, align_corners)
    pixels = x.reshape(n, channels, height * width)

    def read(column, row):
        inside = (column >= 0) & (column <= width - 1) & (row >= 0) & (row <= height - 1)
        row, column = (torch.where(inside, at, 0.0).to(torch.int32) for at in (row, column))  # also for NaN positions
        index = (row * width + column).to(torch.int64).reshape(n, 1, -1)
        values = pixels.gather(2, index.expand(n, channels, index.shape[2]))
        return torch.where(inside.reshape(n, 1, -1), values, 0.0)

    if interpolation_mode == 1:
        result = read(torch.round(across), torch.round(down))
    else:
        left, upper = torch.floor(across), torch.floor(down)
        right, low = (across - left).reshape(n, 1, -1), (down - upper).reshape(n, 1, -1)
        result = (read(left, upper) * ((1 - right) * (1 - low)) + read(left + 1, upper) * (right * (1 - low))
                  + read(left, upper + 1) * ((1 - right) * low) + read(left + 1, upper + 1) * (right * low))  # fmt: skip
    return result.reshape(n, channels, *grid.shape[1:3])


TABLE = {aten.grid_sampler_2d.default: grid_sampler_2d, aten.grid_sampler_3d.default: grid_sampler_3d}
