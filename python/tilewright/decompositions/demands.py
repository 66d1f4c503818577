"""Checks of data for which eager raises errors: asserted in the graph, and inspected after the call (fx/asserts.py).

On a GPU, an additional check would split the graph, and eager's kernels report no error or only a device-side assert.
Therefore, on a GPU, only data that would cause writes to wrong addresses is checked.
"""

from __future__ import annotations

import torch
from torch._decomp import get_decompositions

aten = torch.ops.aten


def demand(holds: torch.Tensor, said: str, on_gpus: bool = False) -> None:
    """Adds a check to the graph: a call raises a RuntimeError with the text `said` if `holds` has a false element."""
    if holds.device.type == "cpu" or on_gpus:
        aten._assert_async.msg(holds.all() if holds.dim() else holds, said)


def bernoulli(x, *rest, generator=None):
    demand((x >= 0) & (x <= 1), "Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return NotImplemented


def binary_cross_entropy(x, target, *rest, **keywords):
    demand((x >= 0) & (x <= 1), "all elements of input should be between 0 and 1")
    op = aten.binary_cross_entropy.default
    return get_decompositions([op])[op](x, target, *rest, **keywords)


TABLE = {
    aten.bernoulli.default: bernoulli, aten.binary_cross_entropy.default: binary_cross_entropy,
}  # fmt: skip
