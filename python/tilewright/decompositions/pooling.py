"""Max unpooling of channels-last images, whose result is channels-last in eager. The importer takes the layout of results
from torch's fake kernel, whose result is row-major."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def max_unpool2d(x, indices, output_size):
    if x.dim() != 4 or x.is_contiguous() or not x.is_contiguous(memory_format=torch.channels_last):
        return NotImplemented
    result = aten.max_unpool2d.default(x.contiguous(), indices.contiguous(), output_size)
    return result.contiguous(memory_format=torch.channels_last)


TABLE = {aten.max_unpool2d.default: max_unpool2d}
