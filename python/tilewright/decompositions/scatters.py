"""Scatters that the importer does not support: index_put at boolean masks, and reductions of segments."""

from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .demands import demand
from .sizes import none, some

aten = torch.ops.aten


def _identity(dtype: torch.dtype, reduce: str):
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype is torch.bool:
        return reduce == "amin"
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    if dtype.is_floating_point:
        return float("-inf") if reduce == "amax" else float("inf")
    return limits.min if reduce == "amax" else limits.max


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


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Reduces each segment to one element. The segment of each element is found by a search in the ends of the segments. The result of an
    empty segment is the identity of the reduction."""
    if indices is not None or axis != (lengths if lengths is not None else offsets).dim() - 1:
        return NotImplemented
    if lengths is not None and not unsafe:
        said = "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        demand((lengths.sum(-1) == data.shape[axis]) & (lengths >= 0).all(-1), said)
    ends = lengths.cumsum(-1) if lengths is not None else offsets.narrow(-1, 1, offsets.shape[-1] - 1)
    at = torch.arange(data.shape[axis], dtype=torch.int64).expand([*data.shape[:axis], data.shape[axis]])
    segment = torch.searchsorted(ends.to(torch.int64).contiguous(), at.contiguous(), right=True).clamp_max(max(ends.shape[-1] - 1, 0))
    index = segment.reshape(list(segment.shape) + [1] * (data.dim() - segment.dim())).expand(data.shape)
    sizes = [ends.shape[-1] if d == axis else s for d, s in enumerate(data.shape)]
    kind = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    first = data.new_full(sizes, _identity(data.dtype, kind) if initial is None else initial)
    # Elements after the end of the last segment are in no segment.
    inside = (at < ends.narrow(-1, ends.shape[-1] - 1, 1)).reshape(segment.shape + (1,) * (data.dim() - segment.dim()))
    data = torch.where(inside, data, _identity(data.dtype, kind))
    if kind != "mean":
        return torch.scatter_reduce(first, axis, index, data, kind)
    counts = data.new_zeros(sizes).scatter_add(axis, index, inside.to(data.dtype).expand(data.shape))
    means = first.scatter_add(axis, index, data) / counts
    return means if initial is None else torch.where(counts == 0, first, means)


TABLE = {aten.segment_reduce.default: segment_reduce, aten.index_put.default: index_put}
