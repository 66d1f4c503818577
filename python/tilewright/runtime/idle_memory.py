"""When an optimizer's step begins, returns unused memory to the system, as much as the optimizer will allocate.

The pool of blocks keeps the memory of activations and the scratch memory of backward graphs for later calls
(lib/Runtime/Host/BlockPool.h). An optimizer that runs in eager allocates its temporaries separately, at the moment when
all gradients exist. Without this file, the peak memory of a training step would be the sum of the pool and of these
temporaries. It would be above eager's peak memory, because in eager the temporaries reuse the memory of activations.
For the same reason, free pages of the heap are returned if they exceed the optimizer's temporaries.
"""

from __future__ import annotations

import functools

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from .. import _tilewright

# The number of temporary tensors of a parameter's size that torch's AdamW allocates at once. AdamW updates one parameter after the other
# (_single_tensor_adam in torch/optim/adam.py).
_TEMPORARIES = 3
_leanest = 0  # bytes that the process occupied after the heap was trimmed, at a recent step


def _give_back(optimizer, args, kwargs) -> None:
    if torch.compiler.is_compiling() or not _tilewright.free_idle_memory(0):
        return
    global _leanest
    sizes = (p.nbytes for group in optimizer.param_groups for p in group["params"] if p.device.type == "cpu")
    temporaries = _TEMPORARIES * max(sizes, default=0)
    _tilewright.free_idle_memory(temporaries)
    enough = int(_leanest * 1.02) + temporaries  # the heap contains the temporaries of the last step, which this step reuses
    held = _tilewright.trim_heap(enough)
    if held > enough or held < _leanest:
        _leanest = held


@functools.cache
def give_back_at_steps() -> None:
    """Registers the hook, once per process."""
    register_optimizer_step_pre_hook(torch._dynamo.disable(_give_back))
