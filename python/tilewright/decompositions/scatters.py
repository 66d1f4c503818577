"""Scatters that the importer does not support: writes at boolean masks, reductions of slices."""

from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .demands import demand
from .sizes import none, some

aten = torch.ops.aten


def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    if x.dim() == 0:
        return index_reduce(x.unsqueeze(0), 0, index, source.reshape(-1), reduce, include_self=include_self).squeeze(0)
    dim %= x.dim()
    indices = index.reshape([-1 if d == dim else 1 for d in range(x.dim())]).expand(source.shape)
    return torch.scatter_reduce(x, dim, indices, source, reduce, include_self=include_self)


def _at_true(x, begin: int, mask, values, accumulate: bool):
    """Returns a copy of `x` in which `values` replace, in order, the elements for which `mask` is true. The mask's first
    dimension is dimension `begin` of x.

    A call checks that the number of values equals the number of true elements.
    """
    front, rest = list(x.shape[:begin]), list(x.shape[begin + mask.dim() :])
    values = values.reshape([1] * (len(front) + 1 + len(rest) - values.dim()) + list(values.shape))
    flat, count = mask.reshape(-1), values.shape[begin]
    if not statically_known_true(count == 1):
        said = f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to the elements that the mask of shape {list(mask.shape)} chooses"
        if not all(isinstance(s, int) for s in (*values.shape, *mask.shape)):
            said = "shape mismatch: value tensor cannot be broadcast to the elements that the mask chooses"
        fits = flat.sum() == count
        if not isinstance(count, int):  # a single value may be written to all elements
            fits = fits | (torch.full((), count, dtype=torch.int64, device=x.device) == 1)
        demand(fits, said, on_gpus=True)
        if none(count):
            return x.clone(memory_format=torch.contiguous_format)
        if not some(count):  # add an element, because the read below needs one
            values = torch.cat([values, values.new_zeros([*values.shape[:begin], 1, *values.shape[begin + 1 :]])], begin)
        values = values.index_select(begin, (flat.cumsum(0) - 1).clamp_max(count - 1).clamp_min(0))
    old = x.reshape([*front, flat.shape[0], *rest])
    new = values if not accumulate else old | values if x.dtype is torch.bool else old + values
    return torch.where(flat.reshape([-1] + [1] * len(rest)), new, old).reshape(x.shape)


def index_put(x, indices, values, accumulate=False):
    """Handles an index that is a boolean mask, also after dimensions that are selected as a whole. If the mask covers leading dimensions
    and each true element gets the same values, the result is computed with `where`."""
    masks = [i for i in indices if i is not None and i.dtype in (torch.bool, torch.uint8)]
    if not masks:
        return NotImplemented
    positions = [position for position, index in enumerate(indices) if index is not None]
    if len(positions) != 1:
        return NotImplemented
    mask = masks[0].to(torch.bool)
    if positions != [0] or accumulate or values.dim() > x.dim() - mask.dim():
        return _at_true(x, positions[0], mask, values, accumulate)
    return torch.where(mask.reshape(list(mask.shape) + [1] * (x.dim() - mask.dim())), values, x)


def masked_scatter(x, mask, source):
    """Writes the k-th element of the source to the k-th true element of the mask. A call checks that the source has enough elements."""
    mask, x = torch.broadcast_tensors(mask, x)
    flat, given = mask.reshape(-1), source.numel()
    demand(flat.sum() <= given, "Number of elements of source < number of ones in mask", on_gpus=True)
    if none(given):
        return x.clone(memory_format=torch.contiguous_format)
    positions = torch.clamp_min(flat.to(torch.int64).cumsum(0) - 1, 0).clamp_max(given - 1)
    return torch.where(flat, source.reshape(-1)[positions], x.reshape(-1)).reshape(x.shape)


def embedding_renorm(weight, indices, max_norm, norm_type):
    """Scales the rows that `indices` selects so that their norms are at most `max_norm`."""
    norms = torch.linalg.vector_norm(weight, ord=norm_type, dim=1)
    read = torch.zeros_like(norms, dtype=torch.bool).index_put([indices.reshape(-1)], torch.ones((), dtype=torch.bool))
    scale = torch.where(read & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
    return torch.where((scale == 1.0).unsqueeze(1), weight, weight * scale.unsqueeze(1).to(weight.dtype))


def masked_scatter_backward(grad, mask, sizes):
    """Returns the gradient of the source. The gradient of its element k is that of the k-th true element of the mask, or 0 if element k was
    not used."""
    count = 1
    for size in sizes:
        count = count * size
    mask = mask.expand(grad.shape).reshape(-1)
    positions = mask.to(torch.int64).cumsum(0) - 1
    positions = torch.where(mask & (positions < count), positions, count)  # the other elements are written to an additional element
    found = grad.new_zeros(count + 1).scatter(0, positions, grad.reshape(-1))
    return found[:count].reshape(sizes)


TABLE = {
    aten.masked_scatter_backward.default: masked_scatter_backward,
    aten.index_reduce.default: index_reduce, aten.index_put.default: index_put,
    aten.masked_scatter.default: masked_scatter, aten.embedding_renorm.default: embedding_renorm,
}  # fmt: skip
