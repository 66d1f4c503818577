"""The gradients of an image or a volume that is read between its elements at places of a grid."""

from __future__ import annotations

import itertools

import torch

aten = torch.ops.aten

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
A = -0.75  # of torch's cubic convolution
ZEROS, BORDER, REFLECTION = 0, 1, 2


def _reflected(at, size, align: bool):
    """`at` thrown back at the edges as often as need be, and the sign of the derivative of that."""
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    span = high - low
    if span == 0:
        return torch.zeros_like(at), torch.zeros_like(at)
    away = (at - low).abs()
    times, rest = (away / span).floor(), torch.fmod(away, span)
    even = times % 2 == 0
    sign = torch.where(at < low, -1.0, 1.0) * torch.where(even, 1.0, -1.0)
    return torch.where(even, rest + low, span - rest + low), sign


def _place(coordinate, size, padding: int, align: bool):
    """Where -1 ... 1 lies among `size` elements, and the derivative of that."""
    scale = (size - 1) / 2 if align else size / 2
    at = (coordinate + 1) * scale if align else ((coordinate + 1) * size - 1) / 2
    if padding == ZEROS:
        return at, scale
    if padding == REFLECTION:
        at, sign = _reflected(at, size, align)
        scale = scale * sign
    inside = (at > 0) & (at < size - 1)
    return at.clamp(0, size - 1), torch.where(inside, scale, 0.0)


def _cubic(part):
    """The weights of the four neighbours of a place `part` behind the second, and their derivatives (Keys, 1981)."""
    near = lambda x: ((A + 2) * x - (A + 3)) * x * x + 1
    far = lambda x: ((A * x - 5 * A) * x + 8 * A) * x - 4 * A
    of_near = lambda x: (3 * (A + 2) * x - 2 * (A + 3)) * x
    of_far = lambda x: (3 * A * x - 10 * A) * x + 8 * A
    weights = [far(part + 1), near(part), near(1 - part), far(2 - part)]
    return weights, [of_far(part + 1), of_near(part), -of_near(1 - part), -of_far(2 - part)]


def _bicubic(grad, image, grid, padding, align, output_mask):
    """Each of the sixteen neighbours is brought into the image by itself, as torch does."""
    n, c, *sizes = image.shape
    pixels, flat = image.reshape(n, c, -1), grad.reshape(n, c, -1)
    weights, derivatives, places, scales = [], [], [], []
    for dim, size in enumerate(sizes):
        at, scale = _place(grid[..., 1 - dim], size, ZEROS, align)
        first = at.floor()
        for values, held in zip(_cubic(at - first), (weights, derivatives)):
            held.append(values)
        taps = [first + step for step in (-1, 0, 1, 2)]
        if padding == REFLECTION:
            taps = [_reflected(tap, size, align)[0] for tap in taps]
        places.append(taps if padding == ZEROS else [tap.clamp(0, size - 1) for tap in taps])
        scales.append(scale)
    of_image, along = torch.zeros_like(pixels, memory_format=torch.contiguous_format), [0, 0]
    for i, j in itertools.product(range(4), repeat=2):
        row, column = places[0][i], places[1][j]
        inside = ((row >= 0) & (row < sizes[0]) & (column >= 0) & (column < sizes[1])).reshape(n, 1, -1)
        index = row.clamp(0, sizes[0] - 1).to(torch.int64) * sizes[1] + column.clamp(0, sizes[1] - 1).to(torch.int64)
        index = index.reshape(n, 1, -1).expand(flat.shape)
        value = torch.where(inside, pixels.gather(2, index), 0.0)
        along[0] = along[0] + value * (derivatives[0][i] * weights[1][j]).reshape(n, 1, -1)
        along[1] = along[1] + value * (weights[0][i] * derivatives[1][j]).reshape(n, 1, -1)
        if output_mask[0]:
            part = torch.where(inside, flat * (weights[0][i] * weights[1][j]).reshape(n, 1, -1), 0.0)
            of_image = of_image.scatter_add(2, index, part)
    of_grid = [(flat * along[dim]).sum(1).reshape(grid.shape[:-1]) * scales[dim] for dim in (1, 0)]
    return (of_image.reshape(image.shape) if output_mask[0] else None), torch.stack(of_grid, -1)


def _product(factors):
    result = None
    for factor in factors:
        result = factor if result is None else result * factor
    return result


def _gradients(spatial: int):
    def gradients(grad, image, grid, mode, padding, align, output_mask):
        n, c, *sizes = image.shape
        known = all(isinstance(s, int) and s > 0 for s in (c, *sizes, *grid.shape[1:-1]))
        if not known or image.dtype not in (torch.float32, torch.float64):
            return NotImplemented
        if mode == BICUBIC:
            return _bicubic(grad, image, grid, padding, align, output_mask)
        # The grid's last coordinate is the image's first dimension.
        placed = [_place(grid[..., spatial - 1 - dim], size, padding, align) for dim, size in enumerate(sizes)]
        pixels, flat = image.reshape(n, c, -1), grad.reshape(n, c, -1)
        of_image, values = torch.zeros_like(pixels, memory_format=torch.contiguous_format), {}
        if mode == NEAREST:
            firsts, corners = [at.round() for at, _ in placed], [(0,) * spatial]
        else:
            firsts, corners = [at.floor() for at, _ in placed], list(itertools.product((0, 1), repeat=spatial))
        parts = [at - first for (at, _), first in zip(placed, firsts)]
        weights = [(1 - part, part) for part in parts]
        for corner in corners:
            places, insides, index = [first + step for first, step in zip(firsts, corner)], None, 0
            for place, size in zip(places, sizes):
                inside = (place >= 0) & (place < size)
                insides = inside if insides is None else insides & inside
                index = index * size + place.clamp(0, size - 1).to(torch.int64)
            insides, index = insides.reshape(n, 1, -1), index.reshape(n, 1, -1).expand(flat.shape)
            part = flat
            if mode == BILINEAR:
                part = flat * _product(weights[dim][step] for dim, step in enumerate(corner)).reshape(n, 1, -1)
                values[corner] = torch.where(insides, pixels.gather(2, index), 0.0)
            if output_mask[0]:
                of_image = of_image.scatter_add(2, index, torch.where(insides, part, 0.0))
        made = of_image.reshape(image.shape) if output_mask[0] else None
        if mode == NEAREST:
            return made, torch.zeros_like(grid, memory_format=torch.contiguous_format)
        of_grid = []
        for dim in reversed(range(spatial)):
            along = 0
            for others in itertools.product((0, 1), repeat=spatial - 1):
                near, far = (values[(*others[:dim], step, *others[dim:])] for step in (0, 1))
                weight = _product(weights[d][step] for d, step in zip((d for d in range(spatial) if d != dim), others))
                along = along + (far - near) * weight.reshape(n, 1, -1)
            at, scale = placed[dim]
            of_grid.append((flat * along).sum(1).reshape(at.shape) * scale)
        return made, torch.stack(of_grid, -1)

    return gradients


TABLE = {aten.grid_sampler_2d_backward.default: _gradients(2), aten.grid_sampler_3d_backward.default: _gradients(3)}
