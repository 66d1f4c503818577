"""Imports floats that are computed from sizes, `x / (x.shape[1] / 3)`, as numbers of the graph.

A node of Python's arithmetic on such floats becomes an ATen op on 0-d float64 tensors if an ATen op reads it. Sizes
that are computed from floats (`int(n * 0.5)`) need no op, because the symbolic expression of their value is known.
Before: `%d = truediv(%n, 3)`, `div.Tensor(%x, %d)`; after: `%a = full([], n)`, `%b = full([], 3)`,
`%d = div.Tensor(%a, %b)`, `div.Tensor(%x, %d)`. Test: test/Python/ops/test_tile_boundary_sizes.py
"""

from __future__ import annotations

import operator

import torch
from torch import fx

from .. import _tilewright

_NUMBER: tuple[str, list] = ("float64", [])

# The ATen op that computes each of Python's operators, and each of torch's functions of symbolic numbers, on scalar tensors.
_OPS = {
    operator.add: "aten.add.Tensor", operator.sub: "aten.sub.Tensor", operator.mul: "aten.mul.Tensor",
    operator.truediv: "aten.div.Tensor", operator.pow: "aten.pow.Tensor_Tensor", operator.neg: "aten.neg.default",
    operator.abs: "aten.abs.default", torch.sym_max: "aten.maximum.default", torch.sym_min: "aten.minimum.default",
}  # fmt: skip
_OPS |= {
    function: f"aten.{name}.default"
    for name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2", "exp", "log")
    if (function := getattr(torch, f"_sym_{name}", None)) is not None
}


def number_of(walker, value) -> _tilewright.Ref:
    """Returns `value` (a node, an int or a float) as a number of the graph that `walker` imports. Raises Refused if
    it depends on more than sizes."""
    if not isinstance(value, fx.Node):
        return _full(walker, float(value))
    if value in walker.refs:
        return walker.refs[value]
    held = value.meta.get("val")
    if isinstance(held, torch.SymInt):
        walker.refs[value] = _full(walker, walker.argument(value))
    elif value.target is torch.sym_float and isinstance(value.args[0], fx.Node):
        walker.refs[value] = number_of(walker, value.args[0])
    elif value.target in _OPS:
        operands = [number_of(walker, argument) for argument in value.args]
        walker.refs[value] = _tilewright.Ref(walker.graph.node(_OPS[value.target], operands, {}, [_NUMBER], walker.frames_of(value)))
    else:
        raise _tilewright.Refused(f"its argument {value.name} is a symbolic float that does not depend on sizes only")
    return walker.refs[value]


def _full(walker, number) -> _tilewright.Ref:
    return _tilewright.Ref(walker.graph.node("aten.full.default", [[], number], {"dtype": _tilewright.Dtype("float64")}, [_NUMBER], []))
