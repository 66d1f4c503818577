"""Memory that no call holds goes back to the system when an optimizer begins, as much as that will take for itself.

Activations, and scratch of the backward graphs, are kept for the next call that needs them (lib/Runtime/Host/BlockPool.h). An
optimizer that runs in eager takes its temporaries elsewhere, at the moment when all gradients are there: with both, the peak of
a training step would be above eager's, whose temporaries lie where activations have been. For the same reason the heap's free
pages go back where they have become more than the optimizer's temporaries need: eager's activations would lie there.
"""

from __future__ import annotations

import functools

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from . import _tilewright

# AdamW of torch goes from parameter to parameter and has two or three tensors of its size at once
# (torch/optim/adam.py, _single_tensor_adam).
_TEMPORARIES = 3
_leanest = 0  # bytes that the process held at a step behind which its heap was trimmed


def _give_back(optimizer, args, kwargs) -> None:
    if torch.compiler.is_compiling() or not _tilewright.free_idle_memory(0):
        return
    global _leanest
    sizes = (p.nbytes for group in optimizer.param_groups for p in group["params"] if p.device.type == "cpu")
    temporaries = _TEMPORARIES * max(sizes, default=0)
    _tilewright.free_idle_memory(temporaries)
    enough = int(_leanest * 1.02) + temporaries  # the last step's, which the heap has kept for this one
    held = _tilewright.trim_heap(enough)
    if held > enough or held < _leanest:
        _leanest = held


@functools.cache
def give_back_at_steps() -> None:
    """From now on, once in the process."""
    register_optimizer_step_pre_hook(torch._dynamo.disable(_give_back))
