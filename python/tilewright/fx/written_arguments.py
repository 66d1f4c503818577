"""Handles split graphs that write their arguments. For each segment, it must be known which of its arguments share
memory with an argument that the segment writes.

A compiled segment stores the new value of an argument in that argument's memory, and assumes that no other argument
shares this memory. This assumption does not hold if one segment creates a view of an argument, and the view is an
argument of the segment that writes the argument. Before:

    segment 0: %t = permute(%x)      eager: %z = fft(%t)      segment 1(%x, %t, %z): copy_(%x, add(%z, %t))

After: segment 1 makes `%t` itself from `%x`. Aliases that only operators create (an operator in eager returns its
argument) are detected at the call and replaced by copies. Test: test/Python/test_written_arguments.py
"""

from __future__ import annotations

import torch
from torch import fx

from .outputs import view_chain
from .walker import writes_argument


def keep_views_with_writes(gm: fx.GraphModule, number: dict[fx.Node, int]) -> None:
    """Copies nodes that are views of written arguments into each segment that reads them from another segment. `number`
    contains the segment of each node; this function adds the segments of the copies.
    """
    written = {node.args[0] for node in gm.graph.nodes if node.op == "call_function" and writes_argument(node)}
    if not written:
        return
    position = {node: index for index, node in enumerate(gm.graph.nodes)}
    views = [chain for node in gm.graph.nodes if node in number and len(chain := view_chain(node)) > 1 and chain[0] in written]
    for chain in reversed(views):
        view = chain[-1]
        readers: dict[int, list[fx.Node]] = {}
        for user in view.users:
            if user.op == "call_function" and number[user] != number[view]:
                readers.setdefault(number[user], []).append(user)
        for segment, users in readers.items():
            made = {chain[0]: chain[0]}
            with gm.graph.inserting_before(min(users, key=position.__getitem__)):
                for step in chain[1:]:
                    made[step] = gm.graph.node_copy(step, lambda n, made=made: made.get(n, n))
                    number[made[step]] = segment
            for user in users:
                user.replace_input_with(view, made[view])


def _storage(value) -> int:
    """Returns the address of a tensor's storage, or 0 if it has none (sparse tensors, subclasses)."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.numel():
        try:
            return value.untyped_storage().data_ptr()
        except (RuntimeError, NotImplementedError):
            return 0
    return 0


def unwritten_of(written: list[int], arguments: list) -> list:
    """Returns the arguments of a segment that writes the arguments at the indices `written`. Other arguments that share
    memory with a written argument are replaced by copies."""
    storages = {_storage(arguments[index]) for index in written} - {0}
    return [a.clone() if index not in written and _storage(a) in storages else a for index, a in enumerate(arguments)]


def write(into: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Executes `copy_` of a segment in eager. AOTAutograd counts the new version of each argument that its graph
    writes."""
    if _storage(value) == _storage(into):
        value = value.clone()
    with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(into):
        return into.copy_(value)


def write_unseen(eager: fx.GraphModule) -> None:
    """Replaces `copy_` into arguments of the split graph by write(), in a segment that runs in eager."""
    for node in eager.graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default):
        node.target = write
    eager.recompile()
