"""Pooling with windows of unequal size, and the gradients of pooling. The elements of a window are read with computed indices. All windows
have the size of the largest window, and the elements after the end of a window are masked."""

from __future__ import annotations

import functools
import math

import torch

from .constants import constant
from .demands import demand
from .halves import widened
from .sizes import some

aten = torch.ops.aten


def _known(*sizes) -> bool:
    return all(isinstance(size, int) for size in sizes)


def _counted(sizes, output) -> bool:
    """Returns whether the number of windows is known and no size is 0."""
    return all(isinstance(out, int) and out > 0 for out in output) and some(*sizes)


def _windows(x: torch.Tensor, output, filler):
    """Returns the windows of x as a tensor [..., out..., k...], and the indices of their elements in the plane as [out..., k...]. Elements
    after the end of a window are `filler`."""
    spatial = len(output)
    sizes = x.shape[-spatial:]
    indices: torch.Tensor | int = 0
    insides: torch.Tensor | None = None
    index: list = []
    for dim, (size, out) in enumerate(zip(sizes, output)):
        at = torch.arange(out, dtype=torch.int64)
        start = at * size // out
        length = (at * size + size + out - 1) // out - start
        # The length of the longest window. For a symbolic size, it is an upper bound of this length.
        longest = max(-((-(o + 1) * size) // out) - o * size // out for o in range(out)) if isinstance(size, int) else size // out + 2
        step = torch.arange(longest, dtype=torch.int64)
        shape = [1] * (2 * spatial)
        shape[dim], shape[spatial + dim] = out, longest
        positions = torch.minimum(start[:, None] + step, torch.full((), size - 1, dtype=torch.int64)).reshape(shape)
        inside = (step < length[:, None]).reshape(shape)
        insides = inside if insides is None else insides & inside
        indices = indices * size + positions
        index.append(positions)
    values = aten.index.Tensor(x, [None] * (x.dim() - spatial) + index)
    assert insides is not None  # a window has at least one dimension
    return torch.where(insides, values, filler), indices


def _largest(spatial: int):
    def pool(x, output_size):
        if not _counted(x.shape[-spatial:], output_size) or not x.is_floating_point():
            return NotImplemented
        values, indices = _windows(x, output_size, -float("inf"))
        values = values.flatten(-spatial)
        best = values.argmax(-1)
        flat = indices.broadcast_to([*output_size, *values.shape[-1:]] if spatial == 1 else indices.shape).flatten(-spatial)
        found = flat.expand(values.shape).gather(-1, best.unsqueeze(-1)).squeeze(-1)
        return _laid_out_as(x, values.amax(-1)), _laid_out_as(x, found)

    return pool


def _fractional(spatial: int):
    """Returns a decomposition of fractional max pooling. All windows have the same size, and their positions depend on random samples, of
    which there is one per image, channel and dimension."""

    def pool(x, kernel_size, output_size, random_samples):
        sizes = x.shape[-spatial:]
        if not _known(*x.shape):
            return NotImplemented
        image = x if x.dim() == spatial + 2 else x.unsqueeze(0)
        n, c = image.shape[:2]
        rank = 2 + 2 * spatial
        index = [torch.arange(e, dtype=torch.int64).reshape([-1 if d == i else 1 for d in range(rank)]) for i, e in enumerate((n, c))]
        flat = 0
        for dim, (size, out, k) in enumerate(zip(sizes, output_size, kernel_size)):
            # The random samples of 2-d pooling are in the order (width, height), and those of 3-d pooling in the order of the dimensions.
            # The batch size of the samples may be larger than that of the images.
            sample = random_samples[:n, :, 1 - dim if spatial == 2 else dim].unsqueeze(-1)
            alpha = float(size - k) / (out - 1) if out > 1 else 0.0
            at = torch.arange(out, dtype=torch.int64)
            start = ((at + sample) * alpha).to(torch.int64) - (sample * alpha).to(torch.int64)
            start = torch.where(at == out - 1, size - k, start)
            shape = [n, c] + [1] * (2 * spatial)
            shape[2 + dim] = out
            step = torch.arange(k, dtype=torch.int64).reshape([-1 if d == 2 + spatial + dim else 1 for d in range(rank)])
            positions = start.reshape(shape) + step
            flat = flat * size + positions
            index.append(positions)
        values = aten.index.Tensor(image, index).flatten(-spatial)
        found = flat.expand([n, c, *output_size, *kernel_size]).flatten(-spatial)
        found = found.gather(-1, values.argmax(-1).unsqueeze(-1)).squeeze(-1)
        largest = values.amax(-1)
        return (largest, found) if x.dim() == spatial + 2 else (largest.squeeze(0), found.squeeze(0))

    return pool


def _unpool(spatial: int):
    """Returns a decomposition of max unpooling that differs from torch's: the result has the memory format of the input."""
    from torch._decomp.decompositions import max_unpool2d, max_unpool3d

    whole = max_unpool2d if spatial == 2 else max_unpool3d

    def unpool(x, indices, output_size, *rest):
        from torch._prims_common import suggest_memory_format

        size = math.prod(output_size)
        demand((indices >= 0) & (indices < size), f"Found an invalid max index (output volumes are of size {'x'.join(map(str, output_size))})")
        result = whole(x, indices, output_size, *rest)
        return result.contiguous(memory_format=suggest_memory_format(x)) if x.dim() == spatial + 2 else result

    return unpool


FEW = 64  # maximum number of additions for overlapping windows


def _spread(x, dim: int, kernel: int, stride: int, padding: int, size: int):
    """Adds each element of x to all elements of its window along dimension `dim`."""
    out = x.shape[dim]
    spread = x.unsqueeze(dim + 1)
    if kernel <= stride:
        spread = spread.expand([*x.shape[: dim + 1], kernel, *x.shape[dim + 1 :]])
    trailing = [0] * (2 * (x.dim() - 1 - dim))
    spread = aten.constant_pad_nd(spread, [*trailing, 0, stride - spread.shape[dim + 1]]).flatten(dim, dim + 1)
    if kernel > stride:  # index p of the padded line is in the windows that begin at p, p - 1, ..., p - kernel + 1
        length = (out - 1) * stride + kernel
        line = aten.constant_pad_nd(spread, [*trailing, kernel - 1, kernel - stride])
        spread = line.narrow(dim, 0, length)
        for step in range(1, kernel):
            spread = spread + line.narrow(dim, step, length)
    reach = max(padding + size - spread.shape[dim], 0) if _known(size, out) else max(kernel, stride)  # at least the missing elements
    return aten.constant_pad_nd(spread, [*trailing, 0, reach]).narrow(dim, padding, size)


def _lengths(size, out, kernel: int, stride: int, padding: int, with_padding: bool, dtype):
    """Returns the divisor of each window's average: the number of its elements."""
    if not _known(size, out):
        return _symbolic_lengths(size, out, kernel, stride, padding, with_padding, dtype)
    begins = [o * stride - padding for o in range(out)]
    ends = [min(b + kernel, size + padding) for b in begins]
    return constant([e - b if with_padding else min(e, size) - max(b, 0) for b, e in zip(begins, ends)], dtype)


def _symbolic_lengths(size, out, kernel: int, stride: int, padding: int, with_padding: bool, dtype):
    begins = torch.arange(out, dtype=torch.int64) * stride - padding
    ends = torch.minimum(begins + kernel, torch.full((), size + padding, dtype=torch.int64))
    if not with_padding:
        begins, ends = begins.clamp(min=0), torch.minimum(ends, torch.full((), size, dtype=torch.int64))
    return (ends - begins).to(dtype)


def _of_averages(spatial: int):
    """Returns a decomposition of the gradient of average pooling."""

    def gradient(grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        kernel, stride, padding = ([*v] if len(v) == spatial else [*v] * spatial for v in (kernel, stride or kernel, padding))
        sizes, outs = x.shape[-spatial:], grad.shape[-spatial:]
        if _known(*sizes, *outs) and grad.numel() == 0:
            return x.new_zeros(x.shape)
        if any(k > s and k > FEW for k, s in zip(kernel, stride)):
            return NotImplemented
        part = widened(grad)
        if divisor_override is not None:
            part = part / divisor_override
        elif not ceil_mode and (count_include_pad or not any(padding)):
            part = part / math.prod(kernel)
        else:
            lengths = [_lengths(*window, count_include_pad, part.dtype) for window in zip(sizes, outs, kernel, stride, padding)]
            part = part / functools.reduce(lambda others, along: others.unsqueeze(-1) * along, lengths)
        for dim, k, s, pad, size in zip(range(x.dim() - spatial, x.dim()), kernel, stride, padding, sizes):
            part = _spread(part, dim, k, s, pad, size)
        return _laid_out_as(x, part.to(grad.dtype))

    return gradient


def _of_adaptive_averages(spatial: int):
    """Returns a decomposition of the gradient of adaptive average pooling into matrix products with the weights of the windows'
    elements."""

    def gradient(grad, x):
        sizes, outs = x.shape[-spatial:], grad.shape[-spatial:]
        known = _known(*sizes, *outs)
        if not known and not _counted(sizes, outs):
            return NotImplemented
        if known and grad.numel() == 0:
            return x.new_zeros(x.shape)
        part = widened(grad)
        for dim, size, out in zip(range(-spatial, 0), sizes, outs):
            if isinstance(size, int):
                windows = [(o * size // out, -(-(o + 1) * size // out)) for o in range(out)]
                weights = constant([[(b <= i < e) / (e - b) for i in range(size)] for b, e in windows], part.dtype)
            else:
                window, at = torch.arange(out, dtype=torch.int64)[:, None], torch.arange(size, dtype=torch.int64)
                begin, end = window * size // out, (window * size + size + out - 1) // out
                weights = torch.where((begin <= at) & (at < end), 1 / (end - begin).to(part.dtype), 0.0)
            if dim == -1:
                part = torch.matmul(part, weights)
                continue
            shape = part.shape
            spread = torch.matmul(weights.mT, part.flatten(dim + 1))
            part = spread.reshape([*shape[:dim], size, *shape[dim + 1 :]])
        return _laid_out_as(x, part.to(grad.dtype))

    return gradient


def _of_largest(spatial: int):
    """Returns a decomposition of the gradient of max pooling, which adds the gradient at the indices of the maxima."""

    def gradient(grad, x, *rest):
        indices = rest[-1]
        if not x.is_floating_point():
            return NotImplemented
        base = torch.zeros_like(x, memory_format=torch.contiguous_format, dtype=grad.dtype).flatten(-spatial)
        made = base.scatter_add(-1, indices.flatten(-spatial), grad.flatten(-spatial)).reshape(x.shape)
        return _laid_out_as(x, made)

    return gradient


def _laid_out_as(x, made):
    """Returns `made` in the memory format that eager uses for results of adaptive pooling of x, and for gradients of x."""
    from torch._prims_common import suggest_memory_format

    return made.contiguous(memory_format=suggest_memory_format(x)) if x.dim() == 4 else made.contiguous()


TABLE = {
    aten.avg_pool2d_backward.default: _of_averages(2), aten.avg_pool3d_backward.default: _of_averages(3),
    aten._adaptive_avg_pool2d_backward.default: _of_adaptive_averages(2), aten._adaptive_avg_pool3d_backward.default: _of_adaptive_averages(3),
    aten.adaptive_max_pool2d_backward.default: _of_largest(2), aten.adaptive_max_pool3d_backward.default: _of_largest(3),
    aten.fractional_max_pool2d_backward.default: _of_largest(2), aten.fractional_max_pool3d_backward.default: _of_largest(3),
    aten.adaptive_max_pool2d.default: _largest(2), aten.adaptive_max_pool3d.default: _largest(3), aten.max_unpool2d.default: _unpool(2),
    aten.fractional_max_pool2d.default: _fractional(2), aten.fractional_max_pool3d.default: _fractional(3),
}  # fmt: skip
