"""The copy of a window of memory. The importer cannot import it, because fx/strided.py determines the memory only for as_strided itself."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def as_strided_copy(x, size, stride, storage_offset=None):
    return aten.as_strided.default(x, size, stride, storage_offset).clone(memory_format=torch.contiguous_format)


TABLE = {aten.as_strided_copy.default: as_strided_copy}
