"""Nodes that stand for others in a graph of fake tensors."""

from __future__ import annotations

import contextlib

from torch import fx
from torch._guards import detect_fake_mode

KEPT = ("stack_trace", "nn_module_stack", "seq_nr", "partitioner_tag")


def values_of(argument):
    """What torch's fake tensors take for an argument of a node."""
    return fx.map_arg(argument, lambda node: node.meta["val"])


class Rewriter:
    """Makes nodes, with fake tensors and the user's lines, before the node `of` that is rewritten."""

    def __init__(self, gm: fx.GraphModule):
        self.gm, self.graph = gm, gm.graph
        self.mode = detect_fake_mode([node.meta.get("val") for node in gm.graph.nodes]) or contextlib.nullcontext()
        self.of: fx.Node | None = None
        self.emitted: list[fx.Node] = []

    def emit(self, op, *args, **kwargs) -> fx.Node:
        with self.graph.inserting_before(self.of):
            node = self.graph.call_function(op, args, kwargs)
        self.emitted.append(node)
        node.meta = {key: value for key, value in self.of.meta.items() if key in KEPT}
        with self.mode:
            node.meta["val"] = self.result(op, *values_of(args), **values_of(kwargs))
        return node

    def take_back(self, count: int) -> set[fx.Node]:
        """Erases what was emitted after the first `count` nodes."""
        gone = self.emitted[count:]
        del self.emitted[count:]
        for node in reversed(gone):
            self.graph.erase_node(node)
        return set(gone)

    def result(self, op, *args, **kwargs):
        """What `op` makes of fake tensors."""
        return op(*args, **kwargs)
