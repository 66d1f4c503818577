"""Memory that no call holds goes back to the system when an optimizer begins, as much as that will take for itself.

Activations, and scratch of the backward graphs, are kept for the next call that needs them (lib/Runtime/Host/BlockPool.h). An
optimizer that runs in eager takes its temporaries elsewhere, at the moment when all gradients are there: with both, the peak of
a training step would be above eager's, whose temporaries lie where activations have been.
"""

from __future__ import annotations

import functools

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from . import _tilewright

# AdamW of torch goes from parameter to parameter and has two or three tensors of its size at once
# (torch/optim/adam.py, _single_tensor_adam).
_TEMPORARIES = 3


def _give_back(optimizer, args, kwargs) -> None:
    if torch.compiler.is_compiling() or not _tilewright.free_idle_memory(0):
        return
    sizes = (p.nbytes for group in optimizer.param_groups for p in group["params"] if p.device.type == "cpu")
    _tilewright.free_idle_memory(_TEMPORARIES * max(sizes, default=0))


@functools.cache
def give_back_at_steps() -> None:
    """From now on, once in the process."""
    register_optimizer_step_pre_hook(_give_back)
