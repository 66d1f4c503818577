"""Elementwise functions that decompose into hundreds of ops (erfinv, digamma, Bessel functions).

AOTAutograd does not decompose them. The walker imports their decomposition, which is traced once per dtype. If
AOTAutograd decomposed them, it would trace each of these ops like the user's ops. This takes milliseconds per op
if sizes are symbols: seconds for one erfinv.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import fx
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from .. import _tilewright
from ..decompositions import special

TABLE = special.TABLE
_SIZE = 7919  # a size in the traced decomposition that is replaced by the sizes of the result


@dataclass(frozen=True)
class _Operand:
    """The properties of a tensor argument on which the decomposition depends."""

    dtype: torch.dtype
    scalar: bool


@functools.cache
def _parts(op, arguments: tuple) -> fx.Graph | None:
    """Returns the decomposition of `op` on one-dimensional tensors, or None if it is not decomposed."""
    from ..decompositions.table import decompositions

    with FakeTensorMode():
        tensors = [torch.empty(() if a.scalar else (_SIZE,), dtype=a.dtype) for a in arguments if isinstance(a, _Operand)]

        def function(*given):
            rest = iter(given)
            result = TABLE[op](*(next(rest) if isinstance(a, _Operand) else a for a in arguments))
            return None if result is NotImplemented else result

        graph = make_fx(function, decomposition_table=decompositions())(*tensors).graph
    graph.eliminate_dead_code()
    return graph if isinstance(graph.output_node().args[0], fx.Node) else None


def add(walker, node: fx.Node, where: list):
    """Imports `node`, whose target is in TABLE, as its decomposition. Returns the reference of its result."""
    from .walker import dtype_name, meta_of

    held = [a.meta.get("val") if isinstance(a, fx.Node) else a for a in node.args]
    if any(isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool)) for v in held):
        raise _tilewright.Refused(f"{node.target} is decomposed only for constant arguments, and one of its arguments is a symbol; "
                                  "mark the size from which it is computed as static")  # fmt: skip
    arguments = tuple(_Operand(v.dtype, v.dim() == 0) if isinstance(v, torch.Tensor) else v for v in held)
    result = node.meta["val"]
    _, sizes = meta_of(result)
    parts = _parts(node.target, arguments)
    if parts is None or node.kwargs:
        raise _tilewright.Refused(f"{node.target} of {held} has no decomposition")

    shape = [walker.argument(s) for s in result.shape]

    def expanded(value, tensor):
        """Expands argument `value` to the sizes of the result."""
        ref = walker.argument(value)
        dtype, own = meta_of(tensor)
        if tensor.dim() == 0 or own == sizes:
            return ref
        return _tilewright.Ref(walker.graph.node("aten.expand.default", [ref, shape], {}, [(dtype, sizes)], where))

    inputs = iter([expanded(a, v) for a, v in zip(node.args, held) if isinstance(v, torch.Tensor)])
    known: dict[fx.Node, object] = {}

    def given(value):
        if isinstance(value, fx.Node):
            return known[value]
        if isinstance(value, (list, tuple)):
            return shape if list(value) == [_SIZE] else [given(v) for v in value]
        return walker.argument(value)

    for part in parts.nodes:
        if part.op == "placeholder":
            known[part] = next(inputs)
        elif part.op == "call_function":
            value = part.meta["val"]
            meta = dtype_name(value.dtype), sizes if value.dim() else []
            kwargs = {name: given(v) for name, v in part.kwargs.items()}
            known[part] = _tilewright.Ref(walker.graph.node(str(part.target), [given(a) for a in part.args], kwargs, [meta], where))
        elif part.op == "output":
            return given(part.args[0])
        else:
            raise _tilewright.Refused(f"{node.target} has a part {part.op}")
    raise AssertionError("a graph without an output")
