"""Max unpooling, with a check of the indices."""

from __future__ import annotations

import math

import torch

from .demands import demand

aten = torch.ops.aten


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


TABLE = {aten.max_unpool2d.default: _unpool(2)}
