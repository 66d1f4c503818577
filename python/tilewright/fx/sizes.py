"""Converts symbolic sizes and strides to text for the importer: the text of sympy's expression, simplified by the
equations in torch's guards.

    guards of the graph                           size                  read as
    Eq((s0 + 1)//2, 4)                            (s0 + 1)//2           4
    Eq(2*(s0//4), s0//2), Eq(4*(s0//4), s0)       s0, s0//2             4*(s0//4), 2*(s0//4)
    Eq(s0//4, s1), the graph has both symbols     s0//4                 s1

A guard holds before the graph runs. torch itself uses a guard only to replace single symbols. Without this
simplification, the importer would see two operands whose sizes are not known to be equal (rotary position embeddings
with a symbolic head size, concatenations in a U-net). The guards are solved as linear equations in symbols and in
functions of symbols. The solutions contain no fractions, so that products of equal sizes are equal, too. Axioms of the
ShapeEnv, and torch's assertions about symbols that depend on data, are used like guards.
"""

from __future__ import annotations

import contextlib
import contextvars
import weakref

import sympy
import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import statically_known_true


def _is_one(size: torch.SymInt) -> bool:
    """Returns whether torch has added a guard that this composed size is 1, because a dimension of this size is
    broadcast."""
    expr = size.node.expr
    return not expr.is_number and not expr.is_Symbol and size.node.hint in (None, 1) and statically_known_true(size == 1)


def _is_factor(one: sympy.Expr, term: sympy.Expr) -> bool:
    """Returns whether `one` or a power of it is a factor of the term. Occurrences of `one` within functions are not factors."""
    return any(factor.as_base_exp()[0] == one for factor in sympy.Mul.make_args(term))


def _has_extreme(expr: sympy.Expr) -> bool:
    return any(e.func.__name__ in ("Max", "Min") for e in sympy.preorder_traversal(expr))


class _Equalities:
    """The solved equations of a ShapeEnv's guards: replacements for symbols, and for functions such as s0//4."""

    def __init__(self, facts: list, replace=lambda expr: expr, symbols: frozenset = frozenset()):
        """Solves the equations in `facts`.

        `replace` applies torch's replacements of single symbols; replaced symbols do not occur in graphs. `symbols`
        contains the symbols of the graph. The replacement of a size contains only these symbols and symbols of the
        size.
        """
        self.symbols, self.count = symbols, 0  # count is _count_of_facts() at construction
        self.solved: dict[sympy.Expr, sympy.Expr] = {}
        self.outside: set[sympy.Expr] = set()  # keys of `solved` that are not replaced inside of functions
        self.known: dict[sympy.Expr, sympy.Expr] = {}  # cache of apply()
        for fact in facts:
            if isinstance(fact, sympy.Eq) and fact.lhs.is_integer and fact.rhs.is_integer:
                self.solve(self.read(replace(fact.lhs - fact.rhs)))

    def solve(self, zero: sympy.Expr) -> None:
        """Solves `zero` = 0 for one symbol or function.

        A candidate is a symbol or function whose factor divides the factors of all terms and which occurs in no other
        term, except within functions. Symbols, and functions that do not occur in any other term, are preferred, and
        among these the most complex candidate. The solution contains only symbols of the graph and of the candidate. It
        contains no Max or Min, because the importer cannot compare all sizes that contain Max or Min.
        """
        terms = [term.as_coeff_Mul() for term in sympy.Add.make_args(zero)]
        least = sympy.gcd([factor for factor, _ in terms])
        lone = [(one, factor) for factor, one in terms if abs(factor) == least and (one.is_Symbol or one.is_Function)
                and zero.free_symbols <= one.free_symbols | self.symbols
                and not any(_is_factor(one, other) or _has_extreme(other) for _, other in terms if other != one)]  # fmt: skip
        if lone:
            isolated = {one: one.is_Symbol or not any(other.has(one) for _, other in terms if other != one) for one, _ in lone}
            one, factor = max(lone, key=lambda pair: (isolated[pair[0]], pair[0].count_ops(), str(pair[0])))
            self.learn(one, sympy.expand(one - zero / factor))
        elif len(terms) == 2 and (number := zero.as_coeff_Add()[0]) != 0:
            factor, power = (zero - number).as_coeff_Mul()
            base, exponent = power.as_base_exp()
            root = sympy.root(-number / factor, exponent)
            if base.is_Function and base.is_nonnegative and root.is_Integer:
                self.learn(base, root)

    def learn(self, one: sympy.Expr, value: sympy.Expr) -> None:
        self.solved[one] = value
        for _ in range(2):  # a replaced value may contain its own key again
            self.outside = {key for key, value in self.solved.items() if key.is_Symbol or value.has(key)}
            self.solved = {key: self.read(value) for key, value in self.solved.items()}

    def read(self, expr: sympy.Expr) -> sympy.Expr:
        return sympy.expand(self.replace(expr, outside=True))

    def replace(self, expr: sympy.Expr, outside: bool) -> sympy.Expr:
        """Applies the replacements. Within functions, a key that occurs in its own value is not replaced, because the
        replacement would not terminate: s0 is 4*(s0//4), and s0//4 may be 8*((s0//4 + 7)//8)."""
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


_equalities: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # ShapeEnv -> the symbols of a graph -> _Equalities
_symbols: contextvars.ContextVar[frozenset] = contextvars.ContextVar("tilewright_symbols", default=frozenset())


@contextlib.contextmanager
def of_graph(symbols):
    """Sets the sympy symbols of the graph whose sizes are converted."""
    token = _symbols.set(frozenset(symbols))
    try:
        yield
    finally:
        _symbols.reset(token)


def _count_of_facts(shape_env) -> int:
    """Returns a number that grows with _facts_of(), so that the facts need not be collected for each size."""
    asserts = getattr(shape_env, "deferred_runtime_asserts", {}).values()
    return len(shape_env.guards) + len(getattr(shape_env, "axioms", ())) + sum(map(len, asserts))


def _facts_of(shape_env) -> list[sympy.Expr]:
    """Returns the expressions that hold whenever a graph of `shape_env` runs."""
    facts = [guard.expr for guard in shape_env.guards]
    facts += [expr for expr, holds in getattr(shape_env, "axioms", {}).items() if holds is True or holds == sympy.true]
    for asserts in getattr(shape_env, "deferred_runtime_asserts", {}).values():
        facts += [each.expr for each in asserts]
    return facts


def _text(node: fx.experimental.sym_node.SymNode, expr: sympy.Expr) -> int | str:
    """Returns the expression, simplified by the guards, as an int or as text."""
    if not expr.is_number and node.shape_env is not None:
        by_symbols, symbols = _equalities.setdefault(node.shape_env, {}), _symbols.get()
        known, count = by_symbols.get(symbols), _count_of_facts(node.shape_env)
        if known is None or known.count != count:
            known = by_symbols[symbols] = _Equalities(_facts_of(node.shape_env), node.shape_env.replace, symbols)
            known.count = count
        if known.solved:
            expr = known.apply(expr)
    return int(expr) if expr.is_number else str(expr)


def expression(size) -> int | str:
    """Returns a size as an int or as sympy's text."""
    if isinstance(size, int):
        return size
    if _is_one(size):
        return 1
    return _text(size.node, size.node.expr)


def stride_expression(stride) -> int | str:
    """Returns a stride as an int or as sympy's text.

    torch uses max(1, size), so that no stride of an empty tensor is 0. The maximum is dropped, because strides of
    empty tensors have no effect.
    """
    if isinstance(stride, int):
        return stride
    node, expr = stride.node, stride.node.expr
    expr = expr.replace(lambda e: e.func.__name__ == "Max" and 1 in e.args, lambda e: e.func(*(a for a in e.args if a != 1)))
    for factor in expr.args if expr.is_Mul else (expr,):
        if not factor.is_number and _is_one(node.shape_env.create_symintnode(factor, hint=None)):
            expr = expr / factor
    return _text(node, expr)
