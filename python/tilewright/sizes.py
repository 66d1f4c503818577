"""Sizes and strides of symbols as the importer reads them: sympy's text, after what torch's guards say of them.

    guards of the graph                           size                  read as
    Eq((s0 + 1)//2, 4)                            (s0 + 1)//2           4
    Eq(2*(s0//4), s0//2), Eq(4*(s0//4), s0)       s0, s0//2             4*(s0//4), 2*(s0//4)

A guard holds before the graph runs; torch itself rewrites only lone symbols by one. Without that the importer would see two
operands whose sizes are not known to be the same (rotary positions of a symbolic head, the joins of a U-net). The guards are
solved as linear equations of symbols and of functions of them, without fractions, so that products of equal sizes are equal, too.
"""

from __future__ import annotations

import weakref

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true


def _is_one(size: torch.SymInt) -> bool:
    """Whether torch has made a guard of this composed size being 1, to broadcast it."""
    expr = size.node.expr
    return not expr.is_number and not expr.is_Symbol and size.node.hint in (None, 1) and statically_known_true(size == 1)


def _is_factor(one: sympy.Expr, term: sympy.Expr) -> bool:
    """Whether the term is a multiple of `one`, which may be in functions of it, too."""
    return any(factor.as_base_exp()[0] == one for factor in sympy.Mul.make_args(term))


class _Equalities:
    """What the guards of a ShapeEnv say to be equal, solved: what stands for symbols, and for functions such as s0//4."""

    def __init__(self, guards: list, replace=lambda expr: expr):
        """`replace` does what torch knows of lone symbols: those that it has replaced are no symbols of graphs."""
        self.count = len(guards)
        self.solved: dict[sympy.Expr, sympy.Expr] = {}
        self.outside: set[sympy.Expr] = set()  # of them, what is left as it is within functions
        self.known: dict[sympy.Expr, sympy.Expr] = {}  # what was asked for before
        for guard in guards:
            if isinstance(guard.expr, sympy.Eq) and guard.expr.lhs.is_integer and guard.expr.rhs.is_integer:
                self.solve(self.read(replace(guard.expr.lhs - guard.expr.rhs)))

    def solve(self, zero: sympy.Expr) -> None:
        """Solves `zero` = 0 for the most composed of what has the least factor and stands in no other term, or but within functions
        there. By no other symbols than it has itself: a graph may have none of these."""
        terms = [term.as_coeff_Mul() for term in sympy.Add.make_args(zero)]
        least = sympy.gcd([factor for factor, _ in terms])
        lone = [(one, factor) for factor, one in terms if abs(factor) == least and (one.is_Symbol or one.is_Function)
                and zero.free_symbols <= one.free_symbols and not any(_is_factor(one, other) for _, other in terms if other != one)]  # fmt: skip
        if lone:
            apart = {one: one.is_Symbol or not any(other.has(one) for _, other in terms if other != one) for one, _ in lone}
            one, factor = max(lone, key=lambda pair: (apart[pair[0]], pair[0].count_ops(), str(pair[0])))
            self.learn(one, sympy.expand(one - zero / factor))
        elif len(terms) == 2 and (number := zero.as_coeff_Add()[0]) != 0:
            factor, power = (zero - number).as_coeff_Mul()
            base, exponent = power.as_base_exp()
            root = sympy.root(-number / factor, exponent)
            if base.is_Function and base.is_nonnegative and root.is_Integer:
                self.learn(base, root)

    def learn(self, one: sympy.Expr, value: sympy.Expr) -> None:
        self.solved[one] = value
        for _ in range(2):  # what has been read anew may have come into its own value
            self.outside = {key for key, value in self.solved.items() if key.is_Symbol or value.has(key)}
            self.solved = {key: self.read(value) for key, value in self.solved.items()}

    def read(self, expr: sympy.Expr) -> sympy.Expr:
        return sympy.expand(self.replace(expr, outside=True))

    def replace(self, expr: sympy.Expr, outside: bool) -> sympy.Expr:
        """Within functions not what is in its own value: s0 is 4*(s0//4), and s0//4 may be 8*((s0//4 + 7)//8)."""
        found = self.solved.get(expr)
        if found is not None and (outside or expr not in self.outside):
            return found
        if expr.is_Add or expr.is_Mul or expr.is_Pow:
            return expr.func(*(self.replace(argument, outside) for argument in expr.args))
        if expr.is_Function:
            changed = expr.func(*(self.replace(argument, outside=False) for argument in expr.args))
            return changed if changed == expr else self.replace(changed, outside)
        return expr

    def apply(self, expr: sympy.Expr) -> sympy.Expr:
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = self.read(expr)
        return found


_equalities: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _text(node: torch.SymNode, expr: sympy.Expr) -> int | str:
    """The expression, after the guards."""
    if not expr.is_number and node.shape_env is not None:
        known = _equalities.get(node.shape_env)
        if known is None or known.count != len(node.shape_env.guards):
            known = _equalities[node.shape_env] = _Equalities(node.shape_env.guards, node.shape_env.replace)
        if known.solved:
            expr = known.apply(expr)
    return int(expr) if expr.is_number else str(expr)


def expression(size) -> int | str:
    """A size as an int or as sympy's text."""
    if isinstance(size, int):
        return size
    if _is_one(size):
        return 1
    return _text(size.node, size.node.expr)


def stride_expression(stride) -> int | str:
    """A stride as an int or as sympy's text. torch says max(1, size), so that no stride of an empty tensor is 0: there
    nobody sees it."""
    if isinstance(stride, int):
        return stride
    node, expr = stride.node, stride.node.expr
    expr = expr.replace(lambda e: e.func.__name__ == "Max" and 1 in e.args, lambda e: e.func(*(a for a in e.args if a != 1)))
    for factor in expr.args if expr.is_Mul else (expr,):
        if not factor.is_number and _is_one(node.shape_env.create_symintnode(factor, hint=None)):
            expr = expr / factor
    return _text(node, expr)
