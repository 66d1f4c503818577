"""Lowers complex numbers to pairs of real numbers: ops on complex tensors become ops on real tensors whose last
dimension has 2 elements, as torch.view_as_real returns them.

    z: c64[8, 4] = view_as_complex(x: f32[8, 4, 2])          a: f32[8, 4, 1] = slice(x, 2, 0, 1) ...
    r: c64[8, 4] = mul(z, w: c64[8, 4])               ->     r: f32[8, 4, 2] = cat([a * c - b * d, a * d + b * c], -1)
    return view_as_real(r)                                   return r

Complex arguments and results are viewed as pairs at a call. Ops without a rule for pairs (Fourier transforms,
eigenvalues), and ops that read complex results of such ops, remain complex, with eager's strides. Views convert the
arguments of these ops to complex tensors. Test: test/Python/test_complex.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import fx
from torch._prims_common import is_non_overlapping_and_dense_or_false
from torch._subclasses.fake_tensor import unset_fake_temporarily

from .refused_by_eager import reason_of_node
from .rewriting import Rewriter

aten = torch.ops.aten
TO_REAL = aten.view_as_real.default
TO_COMPLEX = aten.view_as_complex.default

Real: TypeAlias = fx.Node  # a tensor [..., 2]
RULES: dict[object, Callable] = {}  # for each overload, a function that returns the pairs of its result, or a real result


class Unknown(Exception):
    """Raised if an op with these arguments cannot be expressed with pairs."""


def is_written_by(node: fx.Node, user: fx.Node) -> bool:
    """Returns whether `user` writes pairs into the argument `node`."""
    return user.target is aten.copy_.default and user.args[0] is node and user.args[1].target is TO_COMPLEX and not node.meta["val"].is_conj()


def is_viewed(node: fx.Node) -> bool:
    """Returns whether the graph reads and writes only the pairs of a complex argument."""
    value = node.meta.get("val")
    if node.op != "placeholder" or not isinstance(value, torch.Tensor) or not value.dtype.is_complex:
        return False
    uses = [user for user in node.users if user.op != "output"]
    return bool(uses) and all(user.target is TO_REAL or is_written_by(node, user) for user in uses)


def is_result(node: fx.Node) -> bool:
    """Returns whether the node only converts pairs to a complex result, or to the value that is written into an
    argument."""
    return node.target is TO_COMPLEX and all(user.op == "output" or is_written_by(user.args[0], user) for user in node.users)


def of_pairs(strides) -> list:
    """Returns the strides of the pairs of a complex tensor with these strides."""
    return [*(2 * stride for stride in strides), 1]


def strides_of_pairs(root: fx.Node, shown: fx.Node, layout) -> list:
    """Returns the strides of the pairs of the complex tensor `shown`, whose strides are `layout`."""
    held = root.meta.get("complex")  # the fake tensor of the complex graph
    if shown.args[0] is not root:
        layout = held.stride() if held is not None else ()
    if held is not None and is_non_overlapping_and_dense_or_false(held):
        return of_pairs(layout)
    return list(torch.empty_like(root.meta["val"], memory_format=torch.contiguous_format).stride())


def shown_as_pairs(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the pairs of a complex tensor, fake or not. Resolves a lazy conjugate."""
    return torch.view_as_real(tensor.resolve_conj())


def is_complex(node) -> bool:
    value = node.meta.get("val") if isinstance(node, fx.Node) else node
    return isinstance(value, complex) or isinstance(value, torch.Tensor) and value.dtype.is_complex


def rule(*ops):
    def add(function):
        RULES.update(dict.fromkeys(ops, function))
        return function

    return add


class Pairs(Rewriter):
    """Rewrites the complex ops of a graph."""

    def __init__(self, gm: fx.GraphModule):
        super().__init__(gm)
        self.pairs: dict[fx.Node, Real] = {}  # the pairs of complex nodes
        self.made: dict[fx.Node, fx.Node] = {}  # complex nodes that were created from pairs, for ops that need a complex value

    def result(self, op, *args, **kwargs):
        if op is TO_COMPLEX and args[0].stride(-1) != 1:  # the strides of the fake pairs are preliminary: strides_of_pairs()
            return op(args[0].contiguous())
        return shown_as_pairs(*args) if op is TO_REAL else op(*args, **kwargs)

    def pair(self, value) -> Real:
        """Returns the pairs of a complex node, or of a real node with zeros as imaginary parts."""
        if not is_complex(value):
            return self.emit(aten.cat.default, [last := self.last(value), self.emit(aten.zeros_like.default, last)], -1)
        if value not in self.pairs:
            self.pairs[value] = self.emit(TO_REAL, value)
        return self.pairs[value]

    def last(self, node: fx.Node) -> fx.Node:
        """Appends a dimension of size 1."""
        return self.emit(aten.unsqueeze.default, node, node.meta["val"].dim())

    def parts(self, value) -> tuple:
        """Returns the real and the imaginary part, each as a number or as a tensor with an appended dimension of size
        1. A part that does not exist (the imaginary part of a real value) is None."""
        if isinstance(value, complex):
            return value.real, value.imag
        if not isinstance(value, fx.Node):
            return value, None
        if not is_complex(value):
            return self.last(value), None
        pairs = self.pair(value)
        last = pairs.meta["val"].dim() - 1
        return tuple(self.emit(aten.slice.Tensor, pairs, last, i, i + 1) for i in range(2))

    def together(self, real, imaginary) -> Real:
        return self.emit(aten.cat.default, [real, imaginary], -1)

    def calculate(self, op, a, b):
        """Returns a `op` b for two parts; at least one of them is a tensor."""
        if a is None or b is None:
            if op is aten.mul.Tensor:
                return None
            return a if b is None else b if op is aten.add.Tensor else self.emit(aten.neg.default, b)
        if isinstance(a, fx.Node):
            return self.emit(op, a, b)
        return self.emit(op, b, a) if op is not aten.sub.Tensor else self.emit(aten.add.Tensor, self.emit(aten.neg.default, b), a)

    def of_dtype(self, node: fx.Node, dtype: torch.dtype) -> fx.Node:
        """Casts to `dtype`. The cast is needed because a 0-d tensor does not promote the dtype of other operands, but
        its pairs, which are a 1-d tensor, would."""
        return node if node.meta["val"].dtype == dtype else self.emit(aten._to_copy.default, node, dtype=dtype)

    def complex_node(self, node: fx.Node) -> fx.Node:
        """Returns the complex node of a value, for an op without a rule for pairs or for a result of the graph."""
        if node not in self.pairs or self.pairs[node].target is TO_REAL and self.pairs[node].args[0] is node:
            return node
        if node not in self.made:
            self.made[node] = self.emit(TO_COMPLEX, self.pairs[node])
            self.made[node].meta["val"] = node.meta["val"]  # has eager's strides
        return self.made[node]

    def lay_out(self, made: fx.Node, held: torch.Tensor) -> None:
        """Records the complex tensor that the pairs `made` represent. The pairs receive the strides of this tensor,
        because views of the pairs depend on their strides."""
        if "complex" in made.meta:
            return
        made.meta["complex"], pairs = held, made.meta["val"]
        if made.target is not TO_REAL and not pairs._is_view() and is_non_overlapping_and_dense_or_false(held):
            with self.mode:
                made.meta["val"] = torch.empty_strided(pairs.shape, of_pairs(held.stride()), dtype=pairs.dtype, device=pairs.device)

    def constant(self, node: fx.Node) -> Real:
        """Returns the pairs of a complex constant of the graph."""
        value = operator.attrgetter(str(node.target))(self.gm)
        name = str(node.target).replace(".", "_") + "_pairs"
        with unset_fake_temporarily():
            pairs = shown_as_pairs(value).clone()
        self.gm.register_buffer(name, pairs, persistent=False)
        made = self.graph.get_attr(name)
        made.meta = {**node.meta, "val": pairs if node.meta["val"] is value else TO_REAL(node.meta["val"])}
        return made

    def rewrite(self, node: fx.Node) -> None:
        inputs = [a for a in node.all_input_nodes if is_complex(a)]
        results = _results(node)
        if not inputs and not any(is_complex(v) for v in results):
            return
        self.of = node
        if node.target in RULES and all(a in self.pairs or a.op == "placeholder" for a in inputs) and not reason_of_node(node):
            count = len(self.emitted)
            try:
                made = RULES[node.target](self, node, *node.args, **node.kwargs)
            except (Unknown, RuntimeError, ValueError):  # the last two mean that torch rejects the pairs, e.g. a view of their strides
                if gone := self.take_back(count):
                    self.pairs = {n: p for n, p in self.pairs.items() if p not in gone}
            else:
                if isinstance(made, dict):
                    self.pairs.update(made)
                elif is_complex(node):
                    self.pairs[node] = made = self.of_dtype(made, results[0].dtype.to_real())
                    self.lay_out(made, results[0])
                elif made is not None:
                    node.replace_all_uses_with(self.of_dtype(made, results[0].dtype))
                return
        for a in inputs:
            node.replace_input_with(a, self.complex_node(a))

    def run(self) -> None:
        for node in list(self.graph.nodes):
            if node.op == "output":
                self.of = node
                for a in [a for a in node.all_input_nodes if is_complex(a)]:
                    node.replace_input_with(a, self.complex_node(a))
            elif node.op == "get_attr" and is_complex(node) and isinstance(node.meta["val"], torch.Tensor):
                with self.graph.inserting_after(node):
                    self.pairs[node] = self.constant(node)
            elif node.op == "call_function":
                self.rewrite(node)
        self.graph.eliminate_dead_code()
        self.gm.recompile()


def lower(gm: fx.GraphModule) -> None:
    """Rewrites the complex values of a graph as pairs, in place."""
    if any(is_complex(v) for node in gm.graph.nodes for v in _results(node)):
        from . import pair_rules  # noqa: F401 -- it fills RULES

        Pairs(gm).run()


def _results(node: fx.Node) -> list | tuple:
    value = node.meta.get("val")
    return value if isinstance(value, (list, tuple)) else [value]
