"""Recipes for results of a graph that are not tensors of the program. A recipe computes such a result from arguments,
sizes and tensors of the program.

A recipe is called as recipe(arguments, values of the symbols, tensors of the program). It can be pickled, because
torch stores compiled functions for other processes (python/tilewright/runtime/compiled.py).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field

import sympy
import torch
from torch.utils._sympy.printers import PythonPrinter

from .. import _tilewright

# Functions that may occur in the Python source that torch's printer generates for size expressions.
HELPERS = {"math": math, "torch": torch, "max": max, "min": min, "abs": abs, "round": round,
           "CeilDiv": lambda a, b: -(-a // b)}  # fmt: skip


@dataclass(slots=True)
class Expression:
    """A size as a function of the symbols' values."""

    text: str
    symbols: list[str]
    function: object = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        names = ", ".join(self.symbols) or "*_"
        self.function = eval(f"lambda {names}: {self.text}", {"__builtins__": {}, **HELPERS})  # noqa: S307 -- torch's own text

    def __call__(self, *values):
        return self.function(*values)

    def __reduce__(self):
        return Expression, (self.text, self.symbols)


def expression_of(expr: sympy.Expr, symbols: list[str]) -> Expression:
    """Returns `expr` as a function of `symbols`. Raises Refused if it contains other symbols or unknown functions."""
    functions = {type(part).__name__ for part in sympy.preorder_traversal(expr) if part.args} - {"Add", "Mul", "Pow"}
    unknown = sorted(f for f in functions if f not in HELPERS and not hasattr(PythonPrinter, "_print_" + f))
    unknown += sorted({str(s) for s in expr.free_symbols} - set(symbols))
    if unknown:
        raise _tilewright.Refused(f"size expression '{expr}': {unknown[0]} is not known at a call")
    return Expression(PythonPrinter().doprint(expr), symbols)


@dataclass(slots=True)
class Number:
    """A number that is constant or depends on symbols."""

    value: object

    def __call__(self, _arguments, values, _tensors):
        return self.value(*values) if isinstance(self.value, Expression) else self.value


def _settle(value, values):
    """Returns `value` with its expressions evaluated."""
    if isinstance(value, Expression):
        return value(*values)
    if isinstance(value, list):
        return [_settle(v, values) for v in value]
    return value


def operator_named(name: str):
    """Returns the overload that prints as `name` ("aten.view.default"), or a function of Python's module operator."""
    if name.startswith("operator."):
        return getattr(operator, name.removeprefix("operator."))
    found = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def name_of(target) -> str:
    """Returns the name for which operator_named() returns `target`."""
    return str(target) if isinstance(target, torch._ops.OpOverload) else f"operator.{target.__name__}"


@dataclass(slots=True)
class Replay:
    """Applies torch's views to an argument or to a tensor of the program, so that the result shares its memory, as in
    eager."""

    steps: list[tuple]  # (op, positional arguments after the tensor, keyword arguments)
    index: int
    of_results: bool

    def __call__(self, arguments, values, tensors):
        tensor = (tensors if self.of_results else arguments)[self.index]
        if tensor.requires_grad:
            tensor = tensor.detach()  # otherwise a view's _base would not be the tensor itself, as it is in eager
        for target, args, kwargs in self.steps:
            tensor = target(tensor, *_settle(args, values), **{k: _settle(v, values) for k, v in kwargs.items()})
        return tensor

    @staticmethod
    def named(steps: list[tuple], index: int, of_results: bool) -> Replay:
        return Replay([(operator_named(name), args, kwargs) for name, args, kwargs in steps], index, of_results)

    def __reduce__(self):
        return Replay.named, ([(name_of(t), args, kwargs) for t, args, kwargs in self.steps], self.index, self.of_results)


@dataclass(slots=True)
class StridedCopy:
    """A copy of a tensor of the program with strides that are not dense. Elements along an expanded dimension are
    shared."""

    position: int
    sizes: list
    strides: list

    def __call__(self, _arguments, values, tensors):
        sizes, strides = _settle(self.sizes, values), _settle(self.strides, values)
        base = tensors[self.position]
        for dim, stride in enumerate(strides):
            if stride == 0 and sizes[dim] > 1:
                base = base.narrow(dim, 0, 1)
        result = torch.empty_strided(base.shape, strides, dtype=base.dtype, device=base.device)
        result.copy_(base)
        return result.as_strided(sizes, strides)
