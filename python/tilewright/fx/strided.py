"""Imports as_strided, which reads memory, into graphs of values: finds the value that is stored in that memory, and
its strides."""

from __future__ import annotations

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
    given["storage_offset"] = (held.storage_offset() if offset is None else offset) - whole.storage_offset()
    more = {"memory": list(whole.stride())}
    if node.target is aten.as_strided_scatter.default:
        more |= {"self_size": list(held.shape), "self_stride": list(held.stride()),
                 "self_offset": held.storage_offset() - whole.storage_offset()}  # fmt: skip
    return [given[name] for name in names], more
