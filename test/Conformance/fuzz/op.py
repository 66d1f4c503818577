"""Declarations of ops: a call as text, and for each name in it a function that draws it. The file of a family lists its
ops.

    Op("add", "torch.add({x}, {y}, alpha={a})", x=number(), y=partner("x"), a=scalar(), exact=True)

A draw is a function of the builder and of the earlier draws, and returns a value or text. `exact`: exact operands
give exact results (exact: every order of evaluation gives the same numbers). `weight`: the relative frequency of the
op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

F32, F64, BF16, F16 = torch.float32, torch.float64, torch.bfloat16, torch.float16
I8, U8, I16, I32, I64, BOOL = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool
FLOAT = (F32, F64, BF16, F16)
INT = (I8, U8, I16, I32, I64)
NUMBER = FLOAT + INT
ANY = NUMBER + (BOOL,)


@dataclass(frozen=True)
class Op:
    name: str
    call: str
    draws: dict
    exact: bool = False
    weight: float = 1.0
    writes: str = ""  # the operand that is written in place
    modes: tuple = ("inference", "gradient", "dynamic")


def op(name: str, call: str, exact: bool = False, weight: float = 1.0, writes: str = "", modes=Op.modes, **draws) -> Op:
    return Op(name, call, draws, exact, weight, writes, modes)


class Unsuitable(Exception):
    """Raised if this op cannot be drawn here. Another op is drawn."""


def need(condition) -> None:
    if not condition:
        raise Unsuitable


# Values.


def value(dtypes=NUMBER, ranks=(0, 5), exact=False, where=None, guard: str = "") -> Callable:
    """Draws an existing value or a new input. `guard`: text that maps any number {x} into the op's domain."""

    def draw(b, drawn):
        found = b.pick(dtypes, ranks, exact, where)
        return b.emit_text("guard", guard.format(x=found.name)) if guard else found

    return draw


def number(**keywords) -> Callable:
    return value(NUMBER, **keywords)


def floating(**keywords) -> Callable:
    return value(FLOAT, **keywords)


def exact(dtypes=NUMBER, **keywords) -> Callable:
    return value(dtypes, exact=True, **keywords)


def integer(**keywords) -> Callable:
    return value(INT, **keywords)


def boolean(**keywords) -> Callable:
    return value((BOOL,), **keywords)


def partner(of: str, dtypes=None, exact=False, guard: str = "") -> Callable:
    """Draws a value that broadcasts with operand `of`. `dtypes` None: any dtype of its kind."""

    def draw(b, drawn):
        found = b.partner(drawn[of], dtypes, exact)
        return b.emit_text("guard", guard.format(x=found.name)) if guard else found

    return draw


def new(shape: Callable, dtype=None, numbers: str = "", parameter: float = 0.0) -> Callable:
    """Draws a value whose shape and dtype are functions of the earlier draws."""

    def draw(b, drawn):
        kind = dtype(drawn) if callable(dtype) and not isinstance(dtype, torch.dtype) else dtype or drawn["x"].dtype
        return b.of_shape(list(shape(b, drawn)), kind, numbers, parameter)

    return draw


# Text.


def choice(*texts) -> Callable:
    return lambda b, drawn: b.rng.choice(texts)


def scalar(*values) -> Callable:
    return lambda b, drawn: repr(b.rng.choice(values or (0.5, -0.25, 1.5, 2, -1, 0.75, 3)))


def dim(of: str = "x", last: float = 0.3) -> Callable:
    """Draws a dimension of operand `of`, counted from either end."""

    def draw(b, drawn):
        rank = drawn[of].dim()
        need(rank)
        return -1 if b.rng.random() < last else b.rng.randrange(-rank, rank)

    return draw


def dims(of: str = "x") -> Callable:
    """Draws some dimensions."""

    def draw(b, drawn):
        rank = drawn[of].dim()
        need(rank)
        return sorted(b.rng.sample(range(rank), b.rng.randint(1, rank)))

    return draw


def index(of: str = "x", along: str = "d") -> Callable:
    """Draws an index along a dimension."""

    def draw(b, drawn):
        size = drawn[of].shape[drawn[along]]
        need(size)
        return b.rng.randrange(-size, size)

    return draw


def flag(p: float = 0.5) -> Callable:
    return lambda b, drawn: b.rng.random() < p


def same(name: str, then: Callable) -> Callable:
    """Applies `then` to operand `name`."""
    return lambda b, drawn: then(b, drawn[name])
