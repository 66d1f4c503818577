"""The strides that eager gives to a graph's results.

Ops are taken apart on the way here, and torch's decompositions do not always give the strides of the op itself
(log_sigmoid of a transposed tensor, 2 ** x with dimensions of size 1, adaptive pooling in channels-last). Dynamo has
traced the ops whole: its fake results have eager's strides.
"""

from __future__ import annotations

import torch
from torch import fx

from .outputs import shared_memory, view_chain


def results_of(gm: fx.GraphModule) -> list:
    """The fake results of Dynamo's graph, None for what is no tensor."""
    output = next(n for n in reversed(gm.graph.nodes) if n.op == "output")
    values = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    fakes = [v.meta.get("example_value") if isinstance(v, fx.Node) else None for v in values]
    return [f if isinstance(f, torch.Tensor) and f.layout == torch.strided else None for f in fakes]


def plain(sizes) -> list:
    """Sizes or strides to be compared as they are written: comparing symbols would make guards."""
    return [s.node.expr if isinstance(s, torch.SymInt) else s for s in sizes]


def differing(gm: fx.GraphModule, fakes: list, first: int) -> dict[fx.Node, tuple]:
    """Strides for results of an AOTAutograd graph, of which the user's begin at number `first`, where they are others."""
    output = next(n for n in reversed(gm.graph.nodes) if n.op == "output")
    values, found = output.args[0], {}
    shared = shared_memory(values)
    for node, fake in zip(values[first:], fakes):
        held = node.meta.get("val") if isinstance(node, fx.Node) else None
        if fake is None or not isinstance(held, torch.Tensor) or plain(held.shape) != plain(fake.shape):
            continue
        if (root := view_chain(node)[0]).op == "placeholder" or root in shared:
            continue  # torch makes these views itself
        if any(a != b for a, b, size in zip(plain(held.stride()), plain(fake.stride()), plain(held.shape)) if size != 1):
            found[node] = tuple(fake.stride())
    return found


def in_order(tensor: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Dense, with its dimensions in memory in this order, the fastest last. (Memory with gaps is not made again.)"""
    if tensor.permute(order).is_contiguous():
        return tensor
    return torch.empty_permuted(tensor.shape, order, dtype=tensor.dtype).copy_(tensor)


def orders_of(gm: fx.GraphModule, strides: dict[fx.Node, tuple]) -> dict[int, tuple[int, ...]]:
    """By number of the result: the order of its dimensions in memory, where `strides` has it."""
    output = next(n for n in reversed(gm.graph.nodes) if n.op == "output")
    orders = {}
    for number, value in enumerate(output.args[0]):
        hints = [s.node.hint if isinstance(s, torch.SymInt) else s for s in strides.get(value, ())]
        if value in strides and 0 not in hints and None not in hints:
            orders[number] = tuple(sorted(range(len(hints)), key=lambda d, hints=hints: -hints[d]))
    return orders
