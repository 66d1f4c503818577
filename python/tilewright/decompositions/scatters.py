"""Writes at boolean masks (index_put)."""

from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten


def _at_true(x, begin: int, mask, values, accumulate: bool):
    """Returns a copy of `x` in which `values`, in order, replace the elements for which `mask` is true, or are added to
    these elements if `accumulate` is true. The mask's first dimension is dimension `begin` of x.

    A call checks that the number of values is 1 or equals the number of true elements.
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
        aten._assert_async.msg(fits, said)  # inspected after the call (fx/asserts.py)
        if statically_known_true(count == 0):
            return x.clone(memory_format=torch.contiguous_format)
        if not statically_known_true(count > 0):  # add an element, because the read below needs one
            values = torch.cat([values, values.new_zeros([*values.shape[:begin], 1, *values.shape[begin + 1 :]])], begin)
        values = values.index_select(begin, (flat.cumsum(0) - 1).clamp_max(count - 1).clamp_min(0))
    old = x.reshape([*front, flat.shape[0], *rest])
    new = values if not accumulate else old | values if x.dtype is torch.bool else old + values
    return torch.where(flat.reshape([-1] + [1] * len(rest)), new, old).reshape(x.shape)


def index_put(x, indices, values, accumulate=False):
    """Handles an index that is a boolean mask, also after dimensions that are selected as a whole. If the mask covers leading
    dimensions, each true element gets the same values, and `accumulate` is false, the result is computed with `where`."""
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


TABLE = {aten.index_put.default: index_put}
