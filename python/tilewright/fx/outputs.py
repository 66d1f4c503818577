"""Classifies each result of a graph. A result is a tensor of the program, an argument, a view of a tensor or argument,
a number or None."""

from __future__ import annotations

import math
import operator
from collections import Counter

import torch
from torch import fx
from torch._prims_common import is_non_overlapping_and_dense_or_false

from .. import operators
from .pairs import TO_COMPLEX, TO_REAL, strides_of_pairs
from .recipes import Number, Replay, StridedCopy, expression_of
from .sizes import stride_expression

aten = torch.ops.aten

# Ops whose result is an alias of the operand, with the same elements.
ALIASES = operators.with_aliasing("alias")
# Ops whose result is a view of the operand. If a result of the graph is a view of an argument, AOTAutograd creates the view from the
# argument, without a copy and with eager's aliasing. The only imported ops whose view has another dtype convert between complex numbers and
# pairs of real numbers.
VIEWS = ALIASES | operators.with_aliasing("view") | {TO_COMPLEX, TO_REAL}
# Ops that return a list of views, from which operator.getitem selects an element.
VIEW_LISTS = operators.with_aliasing("views")


def view_of(node: fx.Node) -> fx.Node | None:
    """Returns the node of which `node` is a view, or None."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
        return None
    source = node.args[0]
    if node.target in VIEWS or node.target in VIEW_LISTS:
        return source
    return source if node.target is operator.getitem and source.target in VIEW_LISTS else None


def view_chain(node: fx.Node) -> list[fx.Node]:
    """Returns the views from the node that is not a view (first) to `node` (last)."""
    chain = [node]
    while (source := view_of(chain[-1])) is not None:
        chain.append(source)
    return chain[::-1]


def first_equal_view(node: fx.Node) -> fx.Node:
    """Returns the first node that creates the same view of the same tensor as `node`. AOTAutograd repeats the views of
    a tensor that the program has written."""
    if (source := view_of(node)) is None:
        return node
    equal = (user for user in first_equal_view(source).users if user.target is node.target and user.args[1:] == node.args[1:] and user.kwargs == node.kwargs)
    return next(equal, node)


def result_chain(node: fx.Node) -> list[fx.Node]:
    """Returns the part of view_chain() that begins at the last tensor that eager does not consider a view.

    The result of _unsafe_view() is the base of its own views, as its schema states, unless it is a view of an argument.
    """
    chain = view_chain(node)
    if chain[0].op == "placeholder":
        return chain
    bases = [index for index, step in enumerate(chain) if step.target is aten._unsafe_view.default]
    return [first_equal_view(chain[bases[-1]]), *chain[bases[-1] + 1 :]] if bases else chain


def shared_memory(values) -> set[fx.Node]:
    """Returns the dense results of ops that occur several times in `values`, as the result itself or as its views. In
    eager, such values share memory."""
    roots = Counter(result_chain(v)[0] for v in values if isinstance(v, fx.Node))
    return {root for root, count in roots.items() if count > 1 and root.op == "call_function"
            and isinstance(held := root.meta.get("val"), torch.Tensor) and is_non_overlapping_and_dense_or_false(held)}  # fmt: skip


def named(node: fx.Node) -> fx.Node:
    """Returns the node of which `node` is an alias."""
    while node.op == "call_function" and node.target in ALIASES:
        node = node.args[0]
    return node


def replay(chain: list[fx.Node], index: int, symbols: list[str], of_results: bool = False) -> Replay:
    """Returns the recipe that applies the views of `chain` to the argument `index`, or, if `of_results` is set, to the
    result `index` of the program."""

    def resolve(value):
        if isinstance(value, fx.Node):
            value = value.meta["val"]
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            return expression_of(value.node.expr, symbols)
        if isinstance(value, (list, tuple)):
            return [resolve(v) for v in value]
        return value

    from .strided import on_result

    steps = []
    for step in chain[1:]:
        args, kwargs = on_result(step, chain[0]) if of_results else (step.args, step.kwargs)
        steps.append((step.target, [resolve(a) for a in args[1:]], {k: resolve(v) for k, v in kwargs.items()}))
    if any(n.target is TO_COMPLEX for n in chain[1:]):
        steps.append((aten.detach.default, [], {}))  # otherwise AOTAutograd would find a base whose dtype differs from that of the argument
    return Replay(steps, index, of_results)


def laid_out(values, strides: dict[fx.Node, tuple], first_saved: int):
    """Yields each result with its strides (None if the result is not a tensor). `strides` contains the strides that
    differ from those of the fake tensors. Results from index `first_saved` on are replaced by the nodes of which they
    are aliases.
    """
    for number, value in enumerate(values):
        if number >= first_saved and isinstance(value, fx.Node):
            value = named(value)
        held = value.meta.get("val") if isinstance(value, fx.Node) else value
        yield value, tuple(strides.get(value, held.stride())) if isinstance(held, torch.Tensor) else None


def expressions_of(sizes) -> list:
    """Returns sizes or strides as expressions that can be compared without a guard. Sizes that depend on data cannot
    have guards."""
    return [s.node.expr if isinstance(s, torch.SymInt) else s for s in sizes]


def _count(tensor: torch.Tensor) -> int:
    """Returns the number of elements in the traced call."""
    return math.prod(s.node.hint or 1 if isinstance(s, torch.SymInt) else s for s in tensor.shape)


def shows_most(root: fx.Node, view: torch.Tensor, layout) -> bool:
    """Returns whether `view`, a view of an op's result, has gaps or overlapping elements, and covers at least half of
    that result. If this function returns True, the program computes the whole result, as in eager, and copies nothing.
    Otherwise the program computes only the elements of the view.
    """
    whole = root.meta.get("val")
    return (root.op == "call_function" and isinstance(whole, torch.Tensor) and expressions_of(layout) == expressions_of(view.stride())
            and is_non_overlapping_and_dense_or_false(whole) and not is_non_overlapping_and_dense_or_false(view)
            and 2 * _count(view) >= _count(whole))  # fmt: skip


def recipes_for(walker, values) -> None:
    """Sets the program's outputs and walker.result.recipes."""
    result, symbols = walker.result, walker.result.symbols
    wanted: list = []  # (ref, dtype, strides, -1) for each output of the program
    position: dict = {}  # (id, result, strides) -> index of the program's output
    pending: list[tuple] = []
    shared = shared_memory(values[: walker.first_saved])

    def output(value: fx.Node, held: torch.Tensor, layout) -> int:
        from .walker import dtype_name

        ref = walker.refs[value]
        strides = [stride_expression(s) for s in layout]
        key = (ref.id, ref.result, tuple(strides))
        if key not in position:
            position[key] = len(wanted)
            wanted.append((ref, dtype_name(held.dtype), strides, -1))
        return position[key]

    for number, (value, layout) in enumerate(laid_out(values, walker.strides, walker.first_saved)):
        held = value.meta.get("val") if isinstance(value, fx.Node) else value
        if isinstance(value, fx.Node) and value in walker.arguments:
            argument = walker.arguments[value]
            result.returned.add(argument)
            whole = Replay([(TO_COMPLEX, [], {}), (aten.detach.default, [], {})], argument, False) if argument in result.viewed else None
            pending.append(("argument" if whole is None else "compute", argument, whole))
        elif held is None:
            pending.append(("none", 0, None))
        elif isinstance(held, (torch.SymInt, torch.SymFloat)):
            text = str(held.node.expr)
            if text in symbols:
                pending.append(("symbol", symbols.index(text), None))
            else:
                pending.append(("compute", 0, Number(expression_of(held.node.expr, symbols))))
        elif isinstance(held, (int, float, bool)):
            pending.append(("compute", 0, Number(held)))
        elif len(chain := result_chain(value)) > 1 and chain[0] in walker.arguments:
            argument = walker.arguments[chain[0]]
            result.returned.add(argument)
            if argument in result.viewed:
                del chain[1]  # the argument is already viewed as real
            pending.append(("compute", 0, replay(chain, argument, symbols)))
        elif value.target is TO_COMPLEX:
            root = chain[0]
            pending.append(("compute", 0, replay(chain, output(root, root.meta["val"], strides_of_pairs(root, value, layout)), symbols, of_results=True)))
        elif number < walker.first_saved and len(chain) > 1 and (chain[0] in shared or shows_most(chain[0], held, layout)):
            root = chain[0].meta["val"]
            pending.append(("compute", 0, replay(chain, output(chain[0], root, root.stride()), symbols, of_results=True)))
        else:
            whole = chain[0] if len(chain) == 1 else value  # use an equal view that precedes it
            pending.append(("tensor", output(whole, held, layout), (held.shape, layout)))
    for value in walker.conditions:
        held = value.meta["val"]
        pending.append(("tensor", output(value, held, held.stride()), (held.shape, held.stride())))
    dense = walker.graph.outputs(wanted + walker.writes)

    def function(size):
        return expression_of(size.node.expr, symbols) if isinstance(size, torch.SymInt) else size

    for kind, index, extra in pending:
        if kind == "tensor" and not dense[index]:
            sizes, strides = ([function(s) for s in of] for of in extra)
            result.recipes.append(("compute", 0, StridedCopy(index, sizes, strides)))
        else:
            result.recipes.append((kind, index, extra if kind == "compute" else None))
