"""The strides that eager gives to a graph's results.

Ops are taken apart on the way here, and torch's decompositions do not always give the strides of the op itself
(log_sigmoid of a transposed tensor, 2 ** x with dimensions of size 1, adaptive pooling in channels-last). Dynamo has
traced the ops whole: its fake results have eager's strides.
"""

from __future__ import annotations

import torch
from torch import fx

from .outputs import expressions_of, named, shared_memory, view_chain


def _is_imprecise(node: fx.Node) -> bool:
    """torch's fake unpooling gives dense strides whatever its argument has; the kernel keeps channels-last."""
    return "max_unpool" in getattr(node.target, "__name__", "")


def results_of(gm: fx.GraphModule) -> list:
    """The fake results of Dynamo's graph, None for what is no tensor."""
    output = gm.graph.output_node()
    values = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    fakes = [v.meta.get("example_value") if isinstance(v, fx.Node) and not _is_imprecise(v) else None for v in values]
    return [f if isinstance(f, torch.Tensor) and f.layout == torch.strided else None for f in fakes]


def told(gm: fx.GraphModule, fakes: list, first: int, first_saved: int) -> dict[fx.Node, tuple]:
    """Strides for results of an AOTAutograd graph, of which the user's begin at number `first`, that are no views of
    arguments or of each other. Other names of one that are saved for the backward graph, from number `first_saved` on,
    are as it is (outputs.laid_out)."""
    output = gm.graph.output_node()
    values, found = output.args[0], {}
    shared = shared_memory(values)
    for node, fake in zip(values[first:], fakes):
        held = node.meta.get("val") if isinstance(node, fx.Node) else None
        if fake is None or not isinstance(held, torch.Tensor) or expressions_of(held.shape) != expressions_of(fake.shape):
            continue
        if (root := view_chain(node)[0]).op == "placeholder":
            continue  # torch makes these views itself
        if root in shared and any(v is not node and (i < first_saved or named(v) is not node)
                                  for i, v in enumerate(values) if isinstance(v, fx.Node) and view_chain(v)[0] is root):  # fmt: skip
            continue
        found[node] = tuple(fake.stride())
    return found


def differing(strides: dict[fx.Node, tuple]) -> dict[fx.Node, tuple]:
    """Those that are not what AOTAutograd's graph says."""

    def differs(held, theirs) -> bool:
        ours, theirs, sizes = (expressions_of(of) for of in (held.stride(), theirs, held.shape))
        return any(a != b for a, b, size in zip(ours, theirs, sizes) if size != 1)

    return {node: theirs for node, theirs in strides.items() if differs(node.meta["val"], theirs)}


def _hints(sizes) -> list:
    return [s.node.hint if isinstance(s, torch.SymInt) else s for s in sizes]


def dense(strides: dict[fx.Node, tuple]) -> dict[fx.Node, tuple]:
    """Those of tensors without gaps and without elements that share memory: what Parts can make of another order."""
    found = {}
    for node, wanted in strides.items():
        sizes, steps = _hints(node.meta["val"].shape), _hints(wanted)
        step = 1
        for d in sorted(range(len(sizes)), key=lambda d, steps=steps: steps[d] or 0):
            step = step * sizes[d] if sizes[d] and (sizes[d] == 1 or steps[d] == step) else None
            if step is None:
                break
        else:
            found[node] = wanted
    return found


def in_order(tensor: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Dense, with its dimensions in memory in this order, the fastest last."""
    if tensor.permute(order).is_contiguous():
        return tensor
    return torch.empty_permuted(tensor.shape, order, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def orders_of(gm: fx.GraphModule, strides: dict[fx.Node, tuple]) -> dict[int, tuple[int, ...]]:
    """By number of the result: the order of its dimensions in memory, where `strides`, all dense, has it."""
    output = gm.graph.output_node()
    steps = {number: _hints(strides[value]) for number, value in enumerate(output.args[0]) if value in strides}
    return {number: tuple(sorted(range(len(of)), key=lambda d, of=of: -of[d])) for number, of in steps.items()}
