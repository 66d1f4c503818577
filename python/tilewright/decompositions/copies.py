"""The decomposition of as_strided_copy, which copies a window of memory. The importer does not import this op, because fx/strided.py determines
the tensor in memory only for as_strided and as_strided_scatter."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def as_strided_copy(x, size, stride, storage_offset=None):
    return aten.as_strided.default(x, size, stride, storage_offset).clone(memory_format=torch.contiguous_format)


TABLE = {aten.as_strided_copy.default: as_strided_copy}
