"""Tilewright's own decompositions into ops that the importer supports: one file per family, each with a TABLE.

A function of a TABLE takes the arguments of the overload. It may return NotImplemented, and then the op is not
decomposed. A decomposition may also exist for an overload that the importer supports, for the cases that the
importer refuses.
"""

from __future__ import annotations

import functools

import torch

from . import attention, bags, copies, demands, encoder, grids, groups, losses, matrices, norms, numbers, order, pads, pooling, random
from . import scatters, searches, special, windows


def _fresh(decomposition):
    """Wraps a decomposition so that its result is never an argument itself, and is on the right device.

    If the result is an argument (a scan of one element), it is copied, because no overload of a TABLE returns its
    argument. Tensors that the decomposition creates are on the device of its first tensor.
    """

    @functools.wraps(decomposition)
    def run(*args, **kwargs):
        first = next((a for a in args if isinstance(a, torch.Tensor)), None)
        if first is None or first.device.type == "cpu":
            result = decomposition(*args, **kwargs)
        else:
            with first.device:
                result = decomposition(*args, **kwargs)
        return result.clone() if isinstance(result, torch.Tensor) and any(result is a for a in args) else result

    return run


def own() -> dict:
    families = (attention, bags, copies, demands, encoder, grids, groups, losses, matrices, norms, numbers, order, pads, pooling, random,
                scatters, searches, special, windows)  # fmt: skip
    return {op: _fresh(fn) for family in families for op, fn in family.TABLE.items()}


def of_libraries() -> dict:
    """Returns decompositions of the custom operators of the libraries that are imported so far."""
    found = {}
    for name, fn in groups.OF_LIBRARIES.items():
        space, _, op = name.partition("::")
        if hasattr(getattr(torch.ops, space), op):
            found[getattr(getattr(torch.ops, space), op).default] = fn
    return found
