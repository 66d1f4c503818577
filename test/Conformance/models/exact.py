"""Runs a model in float64, even if its code requests a float dtype with fewer bits."""

from __future__ import annotations

import contextlib
import copy

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

NARROW = (torch.float32, torch.float16, torch.bfloat16)
CASTS = {getattr(torch.Tensor, name) for name in ("float", "half", "bfloat16")}


class Widened(TorchFunctionMode):
    """Replaces every float dtype that a function is called with by float64: `x.float()`, `softmax(x,
    dtype=torch.float32)`."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function in CASTS:
            return torch.Tensor.double(arguments[0])

        def one(value):
            return torch.float64 if isinstance(value, torch.dtype) and value in NARROW else value

        return function(*tree_map(one, arguments), **tree_map(one, keywords or {}))


def widen(value):
    return tree_map(lambda v: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v, value)


@contextlib.contextmanager
def in_float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Widened():
            yield
    finally:
        torch.set_default_dtype(before)


def widened_copy(model):
    made = copy.deepcopy(model).double()
    if hasattr(made, "set_experts_implementation"):
        made.set_experts_implementation("eager")  # a loop over experts: eager's grouped product takes no float64
    return made
