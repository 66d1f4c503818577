"""Replaces nodes of a graph of fake tensors by other nodes."""

from __future__ import annotations

import contextlib

from torch import fx
from torch._guards import detect_fake_mode

KEPT = ("stack_trace", "nn_module_stack", "seq_nr", "partitioner_tag")


def values_of(argument):
    """Returns `argument` with each node replaced by its fake tensor."""
    return fx.map_arg(argument, lambda node: node.meta["val"])


class Rewriter:
    """Emits nodes, with fake tensors and the user's stack trace, before the node `of` that is rewritten."""

    def __init__(self, gm: fx.GraphModule):
        self.gm, self.graph = gm, gm.graph
        self.mode = detect_fake_mode([node.meta.get("val") for node in gm.graph.nodes]) or contextlib.nullcontext()
        self.of: fx.Node | None = None
        self.emitted: list[fx.Node] = []

    def emit(self, op, *args, **kwargs) -> fx.Node:
        assert self.of is not None  # it is set before a node is rewritten
        with self.graph.inserting_before(self.of):
            node = self.graph.call_function(op, args, kwargs)
        self.emitted.append(node)
        node.meta = {key: value for key, value in self.of.meta.items() if key in KEPT}
        with self.mode:
            node.meta["val"] = self.result(op, *values_of(args), **values_of(kwargs))
        return node

    def take_back(self, count: int) -> set[fx.Node]:
        """Erases the nodes that were emitted after the first `count` nodes."""
        gone = self.emitted[count:]
        del self.emitted[count:]
        for node in reversed(gone):
            self.graph.erase_node(node)
        return set(gone)

    def result(self, op, *args, **kwargs):
        """Returns the result of `op` for fake tensors."""
        return op(*args, **kwargs)
