"""Products with one column: a sum over each row reads the matrix once, a product would compute a panel of columns."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def _by_rows(a) -> bool:
    """Whether the rows of `a`, more than one, lie side by side in memory. In 16 bits instructions on pairs are quicker."""
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
