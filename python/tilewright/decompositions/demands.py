"""Checks of data for which eager raises errors: asserted in the graph, and inspected after the call (fx/asserts.py).

On a GPU, an additional check would split the graph, and eager's kernels report no error or only a device-side assert.
Therefore, on a GPU, only data that would cause writes to wrong addresses is checked.
"""

from __future__ import annotations

import torch

aten = torch.ops.aten


def demand(holds: torch.Tensor, said: str, on_gpus: bool = False) -> None:
    """Adds a check to the graph: a call raises a RuntimeError with the text `said` if `holds` has a false element."""
    if holds.device.type == "cpu" or on_gpus:
        aten._assert_async.msg(holds.all() if holds.dim() else holds, said)
