"""The gradients of an image that is read between its pixels at places of a grid."""

from __future__ import annotations

import torch

aten = torch.ops.aten

BILINEAR, ZEROS, BORDER = 0, 0, 1


def _place(coordinate, size, padding: int, align: bool):
    """Where -1 ... 1 lies among `size` pixels, and the derivative of that."""
    scale = (size - 1) / 2 if align else size / 2
    at = (coordinate + 1) * scale if align else ((coordinate + 1) * size - 1) / 2
    if padding == ZEROS:
        return at, scale
    inside = (at > 0) & (at < size - 1)
    return at.clamp(0, size - 1), torch.where(inside, scale, 0.0)


def grid_sampler_2d_backward(grad, image, grid, mode, padding, align, output_mask):
    n, c, height, width = image.shape
    known = all(isinstance(s, int) and s > 0 for s in (c, height, width, *grid.shape[1:3]))
    if mode != BILINEAR or padding not in (ZEROS, BORDER) or not known or image.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    x, by_x = _place(grid[..., 0], width, padding, align)
    y, by_y = _place(grid[..., 1], height, padding, align)
    left, upper = x.floor(), y.floor()
    right_part, lower_part = x - left, y - upper
    pixels, flat = image.reshape(n, c, height * width), grad.reshape(n, c, -1)
    of_image, values = torch.zeros_like(pixels, memory_format=torch.contiguous_format), {}
    for down in (0, 1):
        for aside in (0, 1):
            column, row = (left + aside), (upper + down)
            inside = ((column >= 0) & (column < width) & (row >= 0) & (row < height)).reshape(n, 1, -1)
            place = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).to(torch.int64).reshape(n, 1, -1)
            place = place.expand(flat.shape)
            weight = (right_part if aside else 1 - right_part) * (lower_part if down else 1 - lower_part)
            part = torch.where(inside, flat * weight.reshape(n, 1, -1), 0.0)
            if output_mask[0]:
                of_image = of_image.scatter_add(2, place, part)
            values[down, aside] = torch.where(inside, pixels.gather(2, place), 0.0)
    right, low = right_part.reshape(n, 1, -1), lower_part.reshape(n, 1, -1)
    along_x = (values[0, 1] - values[0, 0]) * (1 - low) + (values[1, 1] - values[1, 0]) * low
    along_y = (values[1, 0] - values[0, 0]) * (1 - right) + (values[1, 1] - values[0, 1]) * right
    of_x = (flat * along_x).sum(1).reshape(x.shape) * by_x
    of_y = (flat * along_y).sum(1).reshape(x.shape) * by_y
    return (of_image.reshape(image.shape) if output_mask[0] else None), torch.stack([of_x, of_y], -1)


TABLE = {aten.grid_sampler_2d_backward.default: grid_sampler_2d_backward}
