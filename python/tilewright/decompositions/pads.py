"""The gradient of replication padding: the gradients of the padding are added to the gradient of the edge element."""

from __future__ import annotations

import torch

from .constants import constant
from .halves import widened
from .sizes import none

aten = torch.ops.aten


def _along(grad, dim: int, low: int, high: int, size: int):
    """Returns the gradient for one dimension of size `size`, to which `low` copies were prepended and `high` copies appended. Negative
    numbers are the numbers of cropped elements."""
    length = grad.shape[dim]
    front, back = max(low, 0), max(high, 0)
    kept = length - front - back
    if not isinstance(kept, int):  # at least 1, as eager requires of an edge; a comparison with 1 would add a guard
        made = grad.narrow(dim, front, kept)
        for begin, copies, before in ((0, front, 0), (length - back, back, kept - 1)):
            if copies:
                edge = grad.narrow(dim, begin, copies).sum(dim, keepdim=True)
                made = made + aten.constant_pad_nd(edge, [0, 0] * (grad.dim() - 1 - dim) + [before, kept - 1 - before])
        return made
    if kept < 1:  # more was cropped at one end than the dimension had
        indices = [min(max(at - low, 0), size - 1) for at in range(length)]
        return grad.new_zeros([size if d == dim else s for d, s in enumerate(grad.shape)]).index_add(dim, constant(indices), grad)
    if kept == 1 and front + back > 0:
        made = grad.sum(dim, keepdim=True)
    else:
        pieces, first, last = [], front, front + kept
        if front:
            pieces.append(grad.narrow(dim, 0, front + 1).sum(dim, keepdim=True))
            first += 1
        if back:
            last -= 1
        pieces.append(grad.narrow(dim, first, last - first))
        if back:
            pieces.append(grad.narrow(dim, last, back + 1).sum(dim, keepdim=True))
        made = torch.cat(pieces, dim) if len(pieces) > 1 else pieces[0]
    if min(low, high) < 0:
        made = aten.constant_pad_nd(made, [0, 0] * (grad.dim() - 1 - dim) + [max(-low, 0), max(-high, 0)])
    return made


def _of_repeated_edges(spatial: int):
    def gradient(grad, x, padding):
        from torch._prims_common import suggest_memory_format

        known = all(isinstance(size, int) for size in (*grad.shape[-spatial:], *x.shape[-spatial:]))
        if not x.is_floating_point() or not all(isinstance(p, int) and (known or p >= 0) for p in padding):
            return NotImplemented
        if none(*grad.shape, *x.shape):
            return x.new_zeros(x.shape)
        part = widened(grad)
        for i in range(spatial):
            dim = grad.dim() - 1 - i
            part = _along(part, dim, padding[2 * i], padding[2 * i + 1], x.shape[dim])
        part = part.to(grad.dtype)
        return part.contiguous(memory_format=suggest_memory_format(x)) if spatial == 2 and x.dim() == 4 else part.contiguous()

    return gradient


TABLE = {
    aten.replication_pad1d_backward.default: _of_repeated_edges(1), aten.replication_pad2d_backward.default: _of_repeated_edges(2),
    aten.replication_pad3d_backward.default: _of_repeated_edges(3),
}  # fmt: skip
