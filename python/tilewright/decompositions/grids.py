"""Gradients of grid_sample, which interpolates an image or a volume at the positions of a grid."""

from __future__ import annotations

import functools
import itertools
import operator

import torch

aten = torch.ops.aten

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
A = -0.75  # the parameter of torch's cubic convolution
ZEROS, BORDER, REFLECTION = 0, 1, 2


def _reflected(at, size, align: bool):
    """Returns the position `at`, reflected at the edges until it is inside, and the sign of the derivative."""
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    span = high - low
    if span == 0:
        return torch.zeros_like(at), torch.zeros_like(at)
    away = (at - low).abs()
    times, rest = (away / span).floor(), torch.fmod(away, span)
    even = times % 2 == 0
    sign = torch.where(at < low, -1.0, 1.0) * torch.where(even, 1.0, -1.0)
    return torch.where(even, rest + low, span - rest + low), sign


def _position(coordinate, size, padding: int, align: bool):
    """Maps a coordinate in -1 ... 1 to a position among `size` elements. Returns the position and its derivative."""
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
    """Returns the weights of the four adjacent elements in cubic interpolation, and the derivatives of the weights (Keys, 1981). The
    position is `part` after the second element."""
    near = lambda x: ((A + 2) * x - (A + 3)) * x * x + 1
    far = lambda x: ((A * x - 5 * A) * x + 8 * A) * x - 4 * A
    of_near = lambda x: (3 * (A + 2) * x - 2 * (A + 3)) * x
    of_far = lambda x: (3 * A * x - 10 * A) * x + 8 * A
    weights = [far(part + 1), near(part), near(1 - part), far(2 - part)]
    return weights, [of_far(part + 1), of_near(part), -of_near(1 - part), -of_far(2 - part)]


def _product(factors):
    return functools.reduce(operator.mul, factors)


def _adjacent(coordinate, size, mode: int, padding: int, align: bool):
    """Returns the elements of one dimension from which a position is interpolated, and the derivative of the position
    with respect to the coordinate.

    Each element is (index, weight, derivative of the weight with respect to the position, or None if it is 0).
    """
    if mode == BICUBIC:  # padding applies to each of these elements separately
        at, scale = _position(coordinate, size, ZEROS, align)
        first = at.floor()
        taps = [first + step for step in (-1, 0, 1, 2)]
        if padding == REFLECTION:
            taps = [_reflected(tap, size, align)[0] for tap in taps]
        if padding != ZEROS:
            taps = [tap.clamp(0, size - 1) for tap in taps]
        return list(zip(taps, *_cubic(at - first))), scale
    at, scale = _position(coordinate, size, padding, align)
    if mode == NEAREST:
        return [(at.round(), torch.ones_like(at), None)], scale
    first = at.floor()
    part = at - first
    return [(first, 1 - part, -torch.ones_like(part)), (first + 1, part, torch.ones_like(part))], scale


def _gradients(spatial: int):
    def gradients(grad, image, grid, mode, padding, align, output_mask):
        n, c, *sizes = image.shape
        known = all(isinstance(s, int) and s > 0 for s in (c, *sizes, *grid.shape[1:-1]))
        if not known or image.dtype not in (torch.float32, torch.float64):
            return NotImplemented
        # The coordinates of the grid are in reverse order of the image's spatial dimensions.
        along = [_adjacent(grid[..., spatial - 1 - dim], size, mode, padding, align) for dim, size in enumerate(sizes)]
        pixels, flat = image.reshape(n, c, -1), grad.reshape(n, c, -1)
        of_image, of_positions = torch.zeros_like(pixels, memory_format=torch.contiguous_format), [0] * spatial
        for corner in itertools.product(*(adjacent for adjacent, _ in along)):
            positions, weights, changes = zip(*corner)
            insides, index = None, 0
            for position, size in zip(positions, sizes):
                inside = (position >= 0) & (position < size)
                insides = inside if insides is None else insides & inside
                index = index * size + position.clamp(0, size - 1).to(torch.int64)
            insides, index = insides.reshape(n, 1, -1), index.reshape(n, 1, -1).expand(flat.shape)
            if output_mask[0]:
                part = torch.where(insides, flat * _product(weights).reshape(n, 1, -1), 0.0)
                of_image = of_image.scatter_add(2, index, part)
            if mode == NEAREST:
                continue
            value = torch.where(insides, pixels.gather(2, index), 0.0)
            for dim in range(spatial):
                moved = _product((*weights[:dim], changes[dim], *weights[dim + 1 :]))
                of_positions[dim] = of_positions[dim] + value * moved.reshape(n, 1, -1)
        made = of_image.reshape(image.shape) if output_mask[0] else None
        if mode == NEAREST:
            return made, torch.zeros_like(grid, memory_format=torch.contiguous_format)
        grid_gradients = [(flat * of_positions[dim]).sum(1).reshape(grid.shape[:-1]) * along[dim][1] for dim in reversed(range(spatial))]
        return made, torch.stack(grid_gradients, -1)

    return gradients


TABLE = {aten.grid_sampler_2d_backward.default: _gradients(2), aten.grid_sampler_3d_backward.default: _gradients(3)}
