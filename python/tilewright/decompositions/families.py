"""The decompositions that Tilewright defines, into ops that the importer supports. Each family has one file with a TABLE.

A function in a TABLE takes the arguments of the overload. If it returns NotImplemented, the op is not decomposed. An
overload that the importer supports may also have a decomposition, for arguments that the importer does not support.
"""

from __future__ import annotations

import functools

import torch

from . import attention, copies, norms, pooling, scatters


def _fresh(decomposition):
    """Wraps a decomposition so that it never returns an argument, and creates tensors on the device of its first tensor
    argument.

    If the decomposition returns an argument, such as a scan of one element, the wrapper copies it, because no overload
    in a TABLE returns its argument.
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
    families = (attention, copies, norms, pooling, scatters)
    return {op: _fresh(fn) for family in families for op, fn in family.TABLE.items()}
