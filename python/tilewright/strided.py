"""as_strided reads memory, of which a graph of values has none: which value it is that lies there, and how."""

from __future__ import annotations

import operator

import torch
from torch import fx

aten = torch.ops.aten

TARGETS = {aten.as_strided.default, aten.as_strided_scatter.default}


def _source(node: fx.Node) -> fx.Node | None:
    """What `node` is a view of, of the same dtype."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
        return None
    if node.target is operator.getitem:  # one of the parts that a split makes
        return _source(node.args[0])
    if not isinstance(node.target, torch._ops.OpOverload):
        return None
    returned = node.target._schema.returns[0].alias_info
    if returned is None or returned.is_write or node.target is aten.view.dtype:
        return None
    return node.args[0]


def memory_of(node: fx.Node) -> fx.Node:
    """The value whose memory `node` is, or is a view of."""
    while (source := _source(node)) is not None:
        node = source
    return node


def arguments(node: fx.Node) -> tuple[list, dict]:
    """The node's arguments with the value in memory for its view, offsets counted from that value's first element, and
    as `memory` its strides; for the scatter also which window of it the view was."""
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
