"""Products with one column, as a sum over each row: it reads the matrix once, while a product would compute a panel
of columns."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def _by_rows(a) -> bool:
    """Returns whether `a` has more than one row and its rows are contiguous. For 16-bit floats, instructions on pairs
    are faster."""
    return a.device.type == "cpu" and a.dtype in (torch.float32, torch.float64) and a.stride(-1) == 1 and a.shape[-2] != 1


def mv(a, x):
    return (a * x).sum(-1) if _by_rows(a) else NotImplemented


def mm(a, b):
    if not isinstance(b.shape[1], int) or b.shape[1] != 1 or not _by_rows(a):
        return NotImplemented
    return (a * b.squeeze(1)).sum(-1, keepdim=True)


def addmm(bias, a, b, *, beta=1, alpha=1):
    product = mm(a, b) if beta == 1 and alpha == 1 else NotImplemented
    return product if product is NotImplemented else bias + product


def bmm(a, b):
    if not isinstance(b.shape[2], int) or b.shape[2] != 1 or not _by_rows(a):
        return NotImplemented
    return (a * b.transpose(1, 2)).sum(-1, keepdim=True)


TABLE = {aten.mv.default: mv, aten.mm.default: mm, aten.addmm.default: addmm, aten.bmm.default: bmm}
