"""Operators that the user defines in MLIR."""

from __future__ import annotations

import torch
from torch import fx

from .. import _tilewright
from .table import register

registered: dict = {}  # the user's functions, by the name of the overload


class LoweringError(ValueError):
    """Raised if the text of a registered lowering does not match the operator's call."""


def register_lowering(op, lowering=None):
    """Defines an operator, usually one of torch.library's, in MLIR: its calls become the ops of a function of the
    dialect `tw` (dialects/Graph/GraphOps.td).

    `op` is an overload or an operator with one overload. `lowering` takes the call's arguments, with each tensor
    replaced by its type as text ("tensor<4x7xf32>"), and as the keyword `results` the list of the results' types. It
    returns the text of the function, whose arguments are the call's tensors in their order. Without `lowering`, this
    function is a decorator::

        @tilewright.register_lowering(torch.ops.mylib.scale)
        def scale(x, factor, *, results):
            return f'''
                func.func @scale(%x: {x}) -> {results[0]} {{
                  %factor = tw.constant dense<{factor:e}> : tensor<f32>
                  %y = tw.mul %x, %factor : ({x}, tensor<f32>) -> {results[0]}
                  return %y : {results[0]}
                }}'''

    Results are rounded as the descriptions of the ops state. Symbolic sizes are part of the types. For gradients, use
    torch.library.register_autograd; the operators of the gradient may also be registered with this function. Raises
    TypeError if `op` is not a torch operator, and ValueError if it has several overloads. The compilation raises
    LoweringError if the text does not match the call.
    """
    return register(op, lowering, "lowering", registered)


def import_lowering(walker, node: fx.Node, metas: list, where: list) -> int:
    """Imports `node`, whose operator is registered. Returns the id of its results in the walker's graph."""
    tensors = []

    def described(value):
        if isinstance(value, fx.Node) and isinstance(value.meta.get("val"), torch.Tensor):
            tensors.append(walker.argument(value))
            return walker.graph.type_of(tensors[-1])
        if isinstance(value, fx.Node):
            return value.meta.get("val")
        return type(value)(described(v) for v in value) if isinstance(value, (list, tuple)) else value

    args = [described(a) for a in node.args]
    kwargs = {name: described(value) for name, value in node.kwargs.items()}
    location = f"{where[-1][0]}:{where[-1][1]}: " if where else ""
    results = [walker.graph.type_for(*meta) for meta in metas if meta is not None]
    try:
        text = registered[str(node.target)](*args, **kwargs, results=results)
        if not isinstance(text, str):
            raise TypeError(f"it returned {type(text).__name__}, not the text of a function")
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise LoweringError(f"tilewright: {location}the registered lowering of {node.target} raised {raised}") from error
    try:
        return walker.graph.node("tilewright.lowering", [text, tensors], {}, metas, where)
    except _tilewright.Refused as error:
        raise LoweringError(f"tilewright: the registered lowering of {node.target}: {error}") from error
