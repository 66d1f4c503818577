"""The table of decompositions: those of torch (without the overloads that the importer supports), those of Tilewright, and those that the
user registers."""

from __future__ import annotations

import functools

from .. import operators
from .families import own


def native_group_norm_backward(grad_output, input, mean, rstd, gamma, N, C, HxW, group, output_mask):
    """Handles empty inputs, for which torch's decomposition divides by 0, the number of elements of a group."""
    import torch
    from torch._decomp import get_decompositions

    if input.numel() != 0:
        op = torch.ops.aten.native_group_norm_backward.default
        return get_decompositions([op])[op](grad_output, input, mean, rstd, gamma, N, C, HxW, group, output_mask)
    # The gradient of the weight is a sum over no elements, but it is NaN if a mean or rstd is NaN, because they are factors of the sum.
    of_groups = (0 * mean * rstd).view(N, group).sum(0)
    weight = of_groups.unsqueeze(1).expand(group, C // group).reshape(C).contiguous()
    gradients = (input.new_zeros(input.shape), weight, input.new_zeros(C))
    return tuple(gradient if wanted else None for gradient, wanted in zip(gradients, output_mask))


def batch_norm_backward(grad, x, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask, reserve):
    """Calls native_batch_norm_backward. Its argument `save_invstd`, the reciprocal standard deviation, is called `save_var` here. `reserve`
    is empty on the CPU."""
    import torch

    backward = torch.ops.aten.native_batch_norm_backward.default
    return backward(grad, x, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask)


registered: dict = {}  # the user's functions, by the name of the overload


def register(op, function, what: str, table: dict):
    """Stores `function`, a decomposition or a lowering (`what`) of operator `op`, in `table`. If `function` is None, returns
    a decorator that stores its argument.

    The key is the name of the overload, not the object. If a user redefines an operator, for example by running a
    notebook cell twice, torch creates new objects and may delete the old ones.
    """
    import torch

    op = getattr(op, "_opoverload", op)  # objects of torch.library.custom_op have this attribute
    if isinstance(op, torch._ops.OpOverloadPacket):
        overloads = op.overloads()
        if len(overloads) != 1:
            raise ValueError(f"tilewright: {op} has the overloads {', '.join(overloads)}; give one of them, like {op}.{overloads[0]}")
        op = getattr(op, overloads[0])
    if not isinstance(op, torch._ops.OpOverload):
        raise TypeError(f"tilewright: a {what} is registered for an operator such as torch.ops.mylib.scale, not for {op!r}")
    if function is None:
        return functools.partial(register, op, what=what, table=table)
    if not callable(function):
        raise TypeError(f"tilewright: the {what} of {op} is a function of its arguments, not {function!r}")
    table[str(op)] = function
    return function


def register_decomposition(op, decomposition=None):
    """Registers a decomposition of an operator, usually one of torch.library's, into other operators.

    Graphs that are compiled later contain these operators instead of a call into torch. `op` is an overload
    (torch.ops.mylib.scale.default) or an operator with one overload. `decomposition` takes the operator's arguments and returns its results. Without
    `decomposition`, this function is a decorator::

        @tilewright.register_decomposition(torch.ops.mylib.scale)
        def scale(x, factor):
            return x * factor

    For gradients, use torch.library.register_autograd; the operators of the gradient may also be registered with this
    function. Raises TypeError if `op` is not a torch operator, and ValueError if it has several overloads.
    """
    return register(op, decomposition, "decomposition", registered)


def decompositions() -> dict:
    """Returns all decompositions for AOTAutograd: those of torch, Tilewright and the user."""
    return of_torch() | added()


def added() -> dict:
    """Returns the decompositions that the user has registered, which may change while the process runs."""
    named = {_overload(name): function for name, function in registered.items()}
    return {op: function for op, function in named.items() if op is not None}


def _overload(name: str):
    """Returns the overload that currently has this name, or None if the operator was deleted."""
    import torch

    try:
        return functools.reduce(getattr, name.split("."), torch.ops)
    except AttributeError:
        return None


@functools.cache
def of_torch() -> dict:
    """Returns the decompositions of torch's operators by torch and by Tilewright. Callers must not modify the dictionary."""
    from torch._decomp import core_aten_decompositions, get_decompositions
    import torch

    aten = torch.ops.aten
    table = dict(core_aten_decompositions())
    extra = [
        aten.linalg_vector_norm, aten.cudnn_batch_norm, aten.native_batch_norm,
        aten._native_batch_norm_legit, aten.reflection_pad1d, aten.reflection_pad2d, aten.upsample_nearest2d,
        aten.upsample_bilinear2d, aten.nll_loss_forward, aten.addr, aten._fused_rms_norm_backward,
        aten._batch_norm_with_update_functional,
    ]  # fmt: skip
    for op in extra:
        try:
            table.update(get_decompositions([op]))
        except RuntimeError:
            pass  # this version of torch has no decomposition of the op
    table[aten.native_group_norm_backward.default] = native_group_norm_backward
    table[aten.batch_norm_backward.default] = batch_norm_backward
    known = operators.of_kind("import")
    return {op: fn for op, fn in table.items() if str(op) not in known} | own()
