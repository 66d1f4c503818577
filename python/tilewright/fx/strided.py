"""Imports as_strided, which reads memory, into graphs of values: finds the value that is stored in that memory, and
its strides."""

from __future__ import annotations

import operator

import torch
from torch import fx

from .outputs import view_of
from .pairs import TO_COMPLEX, TO_REAL

aten = torch.ops.aten

TARGETS = {aten.as_strided.default, aten.as_strided_scatter.default}


def memory_of(node: fx.Node) -> fx.Node:
    """Returns the value of the same dtype whose memory `node` is, or is a view of."""
    while node.target not in (TO_COMPLEX, TO_REAL) and (source := view_of(node)) is not None:
        node = source
    return node


# Eager clones the whole storage of `self` here, so the result begins at the same offset in its storage. The fake tensor of
# the result begins at 0.
SCATTERS = {aten.slice_scatter.default, aten.select_scatter.default, aten.diagonal_scatter.default, aten.as_strided_scatter.default}


def begin_of(node: fx.Node):
    """Returns the offset in its storage at which the tensor `node` begins in eager.

    Offsets of `as_strided`, and of the views that `auto_functionalized_v2` makes of its bases, are relative to this
    storage.
    """
    held = node.meta["val"]
    if node.op == "placeholder":  # of a segment: split() has stored where the value begins
        return node.meta.get("begin", held.storage_offset())
    if node.target in SCATTERS:
        return begin_of(node.args[0])
    if (source := view_of(node)) is not None and node.target is not operator.getitem and isinstance(whole := source.meta.get("val"), torch.Tensor):
        return begin_of(source) + held.storage_offset() - whole.storage_offset()
    if node.target is operator.getitem and node.args[0].target is torch.ops.higher_order.auto_functionalized_v2:
        call, index = node.args  # the results of the op, or one None, and then its bases
        first = max(1, len(call.args[0]._schema.returns))
        if index >= first:
            return begin_of(call.kwargs["_all_bases"][index - first])
    return held.storage_offset()


def arguments(node: fx.Node) -> tuple[list, dict]:
    """Returns the node's arguments with its view replaced by the value in memory.

    Offsets are relative to that value's first element. The keyword `memory` has its strides. For the scatter,
    other keywords have the window of the value that the view was.
    """
    names = [a.name for a in node.target._schema.arguments]
    given = dict(zip(names, node.args)) | node.kwargs
    view = given["self"]
    memory = memory_of(view)
    held, whole = view.meta["val"], memory.meta["val"]
    given = dict(fx.map_arg(given, lambda n: n if isinstance(n.meta["val"], torch.Tensor) else n.meta["val"]))
    offset = given.get("storage_offset")
    given["self"] = memory
    given["storage_offset"] = (begin_of(view) if offset is None else offset) - begin_of(memory)
    more = {"memory": list(whole.stride())}
    if node.target is aten.as_strided_scatter.default:
        more |= {"self_size": list(held.shape), "self_stride": list(held.stride()),
                 "self_offset": begin_of(view) - begin_of(memory)}  # fmt: skip
    return [given[name] for name in names], more
