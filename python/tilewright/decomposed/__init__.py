"""Tilewright's own decompositions into ops that the importer has: one file per family, each with a TABLE.

A function of a TABLE takes what the overload takes, and may return NotImplemented: then the op stays as it is. So may
decompositions of overloads that the importer takes whole, of the cases that it refuses.
"""

from __future__ import annotations

import functools

import torch

from . import attention, bags, copies, demands, encoder, grids, groups, losses, matrices, norms, numbers, order, pads, pooling, products, random
from . import scatters, searches, special, windows


def _fresh(decomposition):
    """No overload of a TABLE gives an argument itself: what ends as its argument (a scan of one element) is a copy. What a
    decomposition makes lies where its first tensor does."""

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
    families = (attention, bags, copies, demands, encoder, grids, groups, losses, matrices, norms, numbers, order, pads, pooling, products, random,
                scatters, searches, special, windows)  # fmt: skip
    return {op: _fresh(fn) for family in families for op, fn in family.TABLE.items()}


def of_libraries() -> dict:
    """Of the custom operators that the libraries imported so far have."""
    found = {}
    for name, fn in groups.OF_LIBRARIES.items():
        space, _, op = name.partition("::")
        if hasattr(getattr(torch.ops, space), op):
            found[getattr(getattr(torch.ops, space), op).default] = fn
    return found
