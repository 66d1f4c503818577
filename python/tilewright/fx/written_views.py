"""Handles results that are views of arguments that the graph writes.

AOTAutograd returns such a result as a view of the new value. If sizes are symbols, AOTAutograd creates the user's
result from the argument, with the strides and the offset of the tensor that the graph returned. But a result of a
program has separate memory, and its offset is 0. Therefore the graph is changed to return a view of the argument.
Before: `%v = slice(%new, 1, %n // 2)`, `copy_(%x, %new)`, `return (%v,)`; after: `return (slice(%x, 1, %n // 2),)`.
Test: test/Python/test_in_place.py
"""

from __future__ import annotations

from torch import fx
from torch._functorch._aot_autograd.schemas import OutputType

from .outputs import view_chain
from .sizes import stride_expression
from .walker import writes_argument


def strides_of(node: fx.Node) -> list[int | str]:
    return [stride_expression(s) for s in node.meta["val"].stride()]


def view_what_is_written(gm: fx.GraphModule, metadata, first: int) -> None:
    """Replaces results that are views of the new values of written arguments by the same views of the arguments.
    `metadata` is the ViewAndMutationMeta of the AOTAutograd graph, and `first` is the index of the user's first result.
    """
    written = {node.args[1]: node.args[0] for node in gm.graph.nodes if node.op == "call_function" and writes_argument(node)}
    if not written:
        return
    output = gm.graph.output_node()
    values, replaced = list(output.args[0]), []
    for number, info in enumerate(metadata.output_info, first):
        if info.output_type is not OutputType.alias_of_input or not isinstance(values[number], fx.Node):
            continue
        chain = view_chain(values[number])
        argument = written.get(chain[0])
        if argument is None or strides_of(argument) != strides_of(chain[0]):
            continue
        made = {chain[0]: argument}
        with gm.graph.inserting_before(output):
            for view in chain[1:]:
                made[view] = gm.graph.node_copy(view, lambda n, made=made: made.get(n, n))
        values[number] = made[chain[-1]]
        replaced.append(chain)
    if replaced:
        output.args = (type(output.args[0])(values),)
        for node in reversed(dict.fromkeys(n for chain in replaced for n in chain[1:])):
            if not node.users:
                gm.graph.erase_node(node)
        gm.recompile()
