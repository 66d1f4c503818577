"""Splits graphs that contain ops that Tilewright does not compile into compiled segments and eager segments between
them."""

from __future__ import annotations

import operator

import sympy
import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.fx.passes.split_module import split_module

from .devices import device_of_node
from .outputs import view_chain
from .pairs import shown_as_pairs
from .strided import begin_of, offset_of, with_offset
from .written_arguments import keep_views_with_writes


def is_free(node: fx.Node) -> bool:
    """Returns whether the node is a size or another symbolic number. Unless it is refused, such a node is in the same
    segment as the nodes before it."""
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool, torch.SymFloat))


def sink_waits(gm: fx.GraphModule) -> None:
    """Moves each wait for a collective directly before the first op that reads its result. The ops between the
    collective and the wait then run during the collective."""
    position: dict[fx.Node, float] = {node: number for number, node in enumerate(gm.graph.nodes)}
    for node in reversed(gm.graph.nodes):
        if str(node.target) == "_c10d_functional.wait_tensor.default" and node.users:
            first = min(node.users, key=position.__getitem__)
            first.prepend(node)
            position[node] = position[first] - 0.5  # a wait may read the result of another wait


def expose_symbols(gm: fx.GraphModule) -> None:
    """Makes split_module() pass to each segment the symbols that occur in its inputs.

    split_module() reads the symbols from the metadata entry in which Dynamo stores fake values, and this function sets
    this entry. Values with symbols that are not arguments of the graph are skipped, because split_module() would search
    for the node that defines these symbols.
    """
    values = {node: node.meta["val"] for node in gm.graph.nodes if node.meta.get("val") is not None}
    arguments = {value.node.expr for node, value in values.items() if node.op == "placeholder" and isinstance(value, torch.SymInt)}
    known = {expr for expr in arguments if isinstance(expr, sympy.Symbol)}
    for node, value in values.items():
        if known and isinstance(value, (torch.Tensor, torch.SymInt, tuple, list)) and free_symbols(value) <= known:
            node.meta["example_value"] = value


def with_views_of_results(gm: fx.GraphModule, refused: set[str]) -> set[str]:
    """Returns `refused` with all views of each result of which one view is refused.

    Otherwise the segment before the refused view would compute only the part of the tensor that this view reads. The
    result would then begin at another element of its memory than in eager.
    """
    (end,) = gm.graph.find_nodes(op="output")
    chains = [view_chain(node)[1:] for node in end.all_input_nodes]
    return refused.union(*({step.name for step in chain} for chain in chains if any(step.name in refused for step in chain)))


def split(gm: fx.GraphModule, refused: set[str]) -> tuple[fx.GraphModule, dict[str, bool]]:
    """Splits `gm` into consecutive segments: compiled segments, each for one device, and eager segments. Returns the
    split module and, for each submodule, whether it is compiled."""
    sink_waits(gm)
    expose_symbols(gm)
    refused = with_views_of_results(gm, refused)
    segment, compiled = 0, []
    number: dict[fx.Node, int] = {}
    eager_now, device_now = None, None
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        eager = node.name in refused or (node.target is operator.getitem and node.args[0].name in refused)
        if is_free(node) and node.name not in refused and eager_now is not None:
            eager = eager_now
        device = device_now if eager or is_free(node) else device_of_node(node) or device_now
        other = eager != eager_now or (not eager and device_now not in (None, device))
        if eager_now is not None and other:
            segment += 1
        if other:
            compiled.append(not eager)
            device_now = None if eager else device
        eager_now, device_now = eager, device_now or (None if eager else device)
        number[node] = segment
    keep_views_with_writes(gm, number)
    for node in gm.graph.nodes:
        if isinstance(node.meta.get("val"), torch.Tensor):
            node.meta["begin"] = begin_of(node)
    parts = split_module(gm, None, lambda node: number[node], keep_original_order=True)
    kinds = {f"submod_{i}": kind for i, kind in enumerate(compiled)}
    return parts, kinds


# Ops whose arguments contain an offset from the beginning of the storage.
STRIDED = {torch.ops.aten.as_strided.default, torch.ops.aten.as_strided_copy.default, torch.ops.aten.as_strided_scatter.default}


def _moved_offset(base: torch.Tensor, offset: int, traced: int) -> int:
    """Returns the offset in the storage of `base` of an element that was at `offset` when `base` began at `traced`."""
    return base.storage_offset() + offset - traced


def make_offsets_relative(eager: fx.GraphModule) -> None:
    """Makes offsets in storages independent of where a base begins in its storage.

    `as_strided`, and the views that `auto_functionalized_v2` creates of its bases, have offsets from the beginning of
    the storage. The result of a compiled segment begins at offset 0, but in eager the same tensor may begin at another
    offset, which split() has stored (strided.begin_of).
    """

    def relative(node: fx.Node, base, offset):
        traced = base.meta.get("begin") if isinstance(base, fx.Node) else None
        if not isinstance(traced, int):
            return offset
        with eager.graph.inserting_before(node):
            return eager.graph.call_function(_moved_offset, (base, offset, traced))

    for node in list(eager.graph.nodes):
        if node.target in STRIDED and (offset := offset_of(node)) is not None:
            node.args, node.kwargs = with_offset(node, relative(node, node.args[0], offset))
        elif node.target is torch.ops.higher_order.auto_functionalized_v2:
            suffix = "_storage_offset"
            for key in [key for key in node.kwargs if key.endswith(suffix)]:
                base = node.kwargs["_all_bases"][node.kwargs[f"{key.removesuffix(suffix)}_base_index"]]
                node.update_kwarg(key, relative(node, base, node.kwargs[key]))
    eager.recompile()


def copy_where_no_view_is(eager: fx.GraphModule) -> None:
    """Replaces views in an eager segment by reshapes.

    Results of other segments, and of some kernels of eager, have other strides than their fake tensors, so that a view
    with this shape may be impossible. These results may also have a lazy conjugate that their fake tensors do not have.
    """
    for node in eager.graph.find_nodes(op="call_function", target=torch.ops.aten.view.default):
        node.target = torch.ops.aten.reshape.default
    for node in eager.graph.find_nodes(op="call_function", target=torch.ops.aten.view_as_real.default):
        node.target = shown_as_pairs
    eager.recompile()
