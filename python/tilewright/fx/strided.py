"""Imports ops whose results depend on the strides of their first argument.

as_strided reads memory, but the importer's graphs consist of values. Therefore this file determines which value is stored in that memory,
and the strides of the value. The determinants return LU factors of their argument, or of its transpose if the argument is row-major.
"""

from __future__ import annotations

import operator

import torch
from torch import fx

from .outputs import view_of
from .pairs import TO_COMPLEX, TO_REAL

aten = torch.ops.aten

DETERMINANTS = {aten._linalg_det.default, aten._linalg_slogdet.default}
TARGETS = {aten.as_strided.default, aten.as_strided_scatter.default} | DETERMINANTS


def memory_of(node: fx.Node) -> fx.Node:
    """Returns the value of which `node` is a view, or `node` itself if it is not a view. Views with another dtype are not followed."""
    while node.target not in (TO_COMPLEX, TO_REAL) and (source := view_of(node)) is not None:
        node = source
    return node


# Scatters for which eager clones the whole storage of `self`, so that the result begins at the same offset in its storage as `self`. The
# fake tensor of the result begins at offset 0.
SCATTERS = {aten.slice_scatter.default, aten.select_scatter.default, aten.diagonal_scatter.default, aten.as_strided_scatter.default}


def begin_of(node: fx.Node):
    """Returns the offset in its storage at which the tensor `node` begins in eager.

    Offsets of `as_strided`, and of the views that `auto_functionalized_v2` makes of its bases, are relative to this
    storage. split() stores the offset of each node as meta["begin"], also for the placeholders of segments.
    """
    moved = 0  # elements between the start of the current node's tensor and that of the first node's
    while "begin" not in node.meta:
        held = node.meta["val"]
        if node.target in SCATTERS:
            node = node.args[0]
        elif (base := _base_of(node)) is not None:
            node = base
        elif node.target is aten.as_strided.default and offset_of(node) is not None:  # from the beginning of the storage
            return moved + held.storage_offset()
        elif (source := view_of(node)) is not None:
            if not isinstance(source.meta.get("val"), torch.Tensor):  # a list of views
                source = view_of(source)
            moved += held.storage_offset() - source.meta["val"].storage_offset()
            node = source
        else:
            return moved + held.storage_offset()
    return moved + node.meta["begin"]


def _base_of(node: fx.Node) -> fx.Node | None:
    """Returns the base of `auto_functionalized_v2` whose new value the node is, or None."""
    if node.target is not operator.getitem or node.args[0].target is not torch.ops.higher_order.auto_functionalized_v2:
        return None
    call, index = node.args
    first = max(1, len(call.args[0]._schema.returns))  # before the bases: the results of the op, or one None
    return call.kwargs["_all_bases"][index - first] if index >= first else None


def _index_of_offset(node: fx.Node) -> int:
    return [a.name for a in node.target._schema.arguments].index("storage_offset")


def offset_of(node: fx.Node):
    """Returns the argument `storage_offset` of an as_strided op, or None."""
    index = _index_of_offset(node)
    return node.args[index] if len(node.args) > index else node.kwargs.get("storage_offset")


def with_offset(node: fx.Node, offset) -> tuple[tuple, dict]:
    """Returns the arguments of an as_strided op with another `storage_offset`."""
    index = _index_of_offset(node)
    if len(node.args) > index:
        return (*node.args[:index], offset, *node.args[index + 1 :]), node.kwargs
    return node.args, {**node.kwargs, "storage_offset": offset}


def on_result(node: fx.Node, root: fx.Node) -> tuple[tuple, dict]:
    """Returns the arguments of the view `node` of `root` for the case that `root` begins at offset 0 of its storage, as results of a program
    do."""
    if node.target is not aten.as_strided.default or (offset := offset_of(node)) is None:
        return node.args, node.kwargs
    return with_offset(node, (offset.meta["val"] if isinstance(offset, fx.Node) else offset) - begin_of(root))


def arguments(node: fx.Node) -> tuple[list, dict]:
    """Returns the node's arguments, in which the view that the node reads is replaced by the value in memory. Offsets
    are relative to the first element of this value. The keyword `memory` contains the strides of the value. For a
    scatter, further keywords describe the window of the value that corresponds to the view. A determinant only gets the keyword `memory`,
    with the strides of its argument.
    """
    if node.target in DETERMINANTS:
        (matrices,) = node.all_input_nodes
        return list(node.args), {**node.kwargs, "memory": list(matrices.meta["val"].stride())}
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
