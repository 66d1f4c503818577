"""Builds a graph node by node, and runs it in its dtypes and in float64. The builder draws operands, and limits sizes
and numbers."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from op import ANY, BOOL, FLOAT, INT, Op, Unsuitable, need
from program import FLOATS, NAME, Input, Node, Program, strided

SIZES = (1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 23, 31, 32, 33, 63, 64, 65, 127, 128, 129)
INEXACT = ("uniform", "below", "far")
MOST = 1 << 14  # elements of a value
MAGNITUDE = 8.0  # results with larger numbers are scaled


class Lost(Exception):
    """Raised if a write cannot be undone. The graph is drawn again."""


@dataclass
class Value:
    name: str
    tensor: torch.Tensor
    wide: torch.Tensor
    exact: bool
    expanded: bool = False
    computed: bool = True
    uses: int = 0

    @property
    def dtype(self):
        return self.tensor.dtype

    @property
    def shape(self):
        return self.tensor.shape

    def dim(self):
        return self.tensor.dim()

    def numel(self):
        return self.tensor.numel()

    def memory(self):
        return self.tensor.untyped_storage()._cdata

    def __str__(self):
        return self.name

    __format__ = lambda self, spec: self.name  # noqa: E731


def overlaps(tensor: torch.Tensor) -> bool:
    """Returns whether two elements share memory."""
    return any(s == 0 and n > 1 for n, s in zip(tensor.shape, tensor.stride()))


class Builder:
    def __init__(self, seed: int, program: Program):
        self.rng = random.Random(seed)
        self.program = program
        self.values: list[Value] = []
        self.counter = 0
        rng = self.rng
        self.main = rng.choices((torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64), (60, 10, 11, 7, 5))[0]
        if program.mode == "gradient" and self.main not in (torch.float32, torch.float64):
            self.main = torch.float32
        self.mixed = rng.random() < 0.25  # other dtypes occur, too
        self.sizes = [rng.choice(SIZES) for _ in range(rng.randint(2, 4))]
        if rng.random() < 0.04:
            self.sizes.append(0)
        self.special = program.mode == "inference" and rng.random() < 0.1
        self.exactly = rng.random() < 0.35  # most inputs are exact

    # Inputs.

    def dtype(self, allowed=ANY) -> torch.dtype:
        rng = self.rng
        if self.main in allowed and not (self.mixed and rng.random() < 0.35):
            return self.main
        floats = [d for d in allowed if d in FLOAT]
        if self.main in FLOAT and not self.mixed and floats:
            return self.main if self.main in floats else rng.choice(floats)
        return rng.choice(allowed)

    def shape(self, ranks=(0, 5), most=MOST) -> list[int]:
        rng = self.rng
        rank = rng.choices(range(6), (3, 15, 34, 25, 18, 5))[0]
        rank = min(max(rank, ranks[0]), ranks[1])
        found = [1 if rng.random() < 0.06 else rng.choice(self.sizes) for _ in range(rank)]
        while torch.Size(found).numel() > most:
            found[found.index(max(found))] = rng.choice((2, 3, 5, 7))
        return found

    def layout(self, shape) -> tuple[list, int]:
        """Returns strides and offset."""
        rng, rank = self.rng, len(shape)
        order = list(range(rank))
        kind = rng.random()
        if kind < 0.12 and rank >= 2:
            rng.shuffle(order)
        elif kind < 0.20 and rank >= 2:
            order[-2:] = order[:-3:-1]
        elif kind < 0.32 and rank in (4, 5):
            order = [0, *range(2, rank), 1]  # channels last
        padded = [1] * rank
        if rank and rng.random() < 0.12:
            padded[rng.randrange(rank)] = 2 if rng.random() < 0.5 else 1
        strides, step = [0] * rank, 1
        gap = rng.random() < 0.1
        for d in reversed(order):
            strides[d] = step * padded[d]
            step = strides[d] * max(shape[d], 1) + (rng.choice((0, 1, 8)) if gap else 0)
        if rank and rng.random() < 0.05:
            strides[rng.randrange(rank)] = 0  # expanded
        return strides, rng.choice((0, 1, 3, 16)) if rng.random() < 0.12 else 0

    def input(self, shape, dtype, numbers: str = "", parameter: float = 0.0, dense: bool = False) -> Value:
        rng = self.rng
        if not numbers:
            if dtype.is_floating_point:
                numbers = "dyadic" if rng.random() < (0.8 if self.exactly else 0.1) else rng.choices(INEXACT, (80, 14, 6))[0]
                numbers = "special" if self.special and rng.random() < 0.4 else numbers
            else:
                numbers = "bits" if dtype in INT and rng.random() < 0.05 else "integers"
        strides, offset = self.layout(shape)
        parameter = len(shape) > 0 and (parameter > rng.random() or rng.random() < 0.05)
        if numbers.startswith("order") or dense or parameter:
            strides, offset = list(torch.empty(shape, device="meta").stride()), 0
        made = Input(f"v{self.counter}", str(dtype).removeprefix("torch."), list(shape), strides, offset, numbers, parameter)
        self.counter += 1
        if self.program.mode == "gradient" and dtype in (torch.float32, torch.float64) and 0 not in strides:
            made.gradient = rng.random() < 0.8
        self.program.inputs.append(made)
        seed = self.program.seed * 1000 + int(made.name[1:])
        tensor = strided(made, torch.Generator().manual_seed(seed))
        wide = strided(made, torch.Generator().manual_seed(seed), wide=True)
        self.values.append(Value(made.name, tensor, wide, numbers not in INEXACT, overlaps(tensor), False))
        return self.values[-1]

    # Operands.

    def chosen(self, candidates: list[Value]) -> Value:
        """Returns one of the candidates. Candidates that are recent, unused or computed are more likely."""
        likely = [(1 + i / len(candidates)) * (4 if v.computed and v.uses == 0 else 2 if v.computed else 1) for i, v in enumerate(candidates)]
        return self.rng.choices(candidates, likely)[0]

    def pick(self, dtypes, ranks=(0, 5), exact=False, where=None) -> Value:
        def suits(v):
            return v.dtype in dtypes and ranks[0] <= v.dim() <= ranks[1] and (v.exact or not exact) and (where is None or where(v))

        candidates = [v for v in self.values if suits(v)]
        fresh = 0.3 if len(self.program.inputs) < 2 else 0.06
        if candidates and self.rng.random() > fresh:
            return self.chosen(candidates)
        need(len(self.program.inputs) < 10)
        dtype = self.dtype(dtypes)
        made = self.input(self.shape(ranks), dtype, "dyadic" if exact and dtype in FLOAT and not self.special else "")
        need(suits(made))
        return made

    def partner(self, of: Value, dtypes=None, exact=False) -> Value:
        rng = self.rng
        allowed = dtypes or ((of.dtype,) if not self.mixed and rng.random() < 0.9 else ANY if of.dtype == BOOL else tuple(set(ANY) - {BOOL}))

        def suits(v):
            if v.dtype not in allowed or (exact and not v.exact):
                return False
            return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(of.shape), reversed(v.shape))) and \
                torch.broadcast_shapes(of.shape, v.shape).numel() <= MOST  # fmt: skip

        candidates = [v for v in self.values if suits(v)]
        if len(candidates) > 1 and rng.random() < 0.8:
            return self.chosen(candidates)
        need(len(self.program.inputs) < 12)
        shape = list(of.shape)
        if rng.random() < 0.3:
            shape = shape[rng.randint(0, len(shape)) :]
        if rng.random() < 0.3:
            shape = [1 if rng.random() < 0.4 else n for n in shape]
        dtype = of.dtype if of.dtype in allowed and rng.random() < 0.8 else self.dtype(allowed)
        return self.input(shape, dtype, "dyadic" if exact and dtype in FLOAT else "")

    def of_shape(self, shape, dtype, numbers: str = "", parameter: float = 0.0) -> Value:
        """Returns a value of exactly this shape: for weights, indices, updates."""
        need(torch.Size(shape).numel() <= 1 << 16)
        if not numbers:
            # Weights are finite, because eager's kernels disagree about products of NaN with padding and inserted zeros.
            candidates = [v for v in self.values if list(v.shape) == list(shape) and v.dtype == dtype and bool(v.tensor.isfinite().all())]
            if candidates and self.rng.random() < 0.5 - parameter / 2:
                return self.chosen(candidates)
        need(len(self.program.inputs) < 16)
        if self.special and not numbers and dtype in FLOAT:
            numbers = "uniform"
        return self.input(shape, dtype, numbers, parameter)

    # Nodes.

    def run(self, text: str, wide: bool):
        scope = {v.name: v.wide if wide else v.tensor for v in self.values}
        scope |= {"torch": torch, "F": torch.nn.functional}
        torch.set_default_dtype(torch.float64 if wide else torch.float32)
        try:
            return eval(FLOATS.sub("torch.float64", text) if wide else text, scope)
        finally:
            torch.set_default_dtype(torch.float32)

    def emit_text(self, name: str, text: str, keeps: bool = False, operands=None, writes: Value | None = None) -> Value:
        """Appends a node and returns its first result. `keeps`: results are exact if operands are exact."""
        used = operands or [v for v in self.values if v.name in set(NAME.findall(text))]
        try:
            results, wide = self.run(text, False), self.run(text, True)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            if writes is not None:
                raise Lost from error
            raise Unsuitable from error
        many = not isinstance(results, torch.Tensor)
        results, wide = (list(r) if many else [r] for r in (results, wide))
        for r, w in zip(results, wide):
            good = isinstance(r, torch.Tensor) and r.shape == w.shape and r.numel() <= MOST * 4 and not r.is_complex()
            if good and r.is_floating_point():
                good = torch.equal(r.isfinite(), w.isfinite())
            if not good:
                raise Lost if writes is not None else Unsuitable
        exactly = [keeps and all(v.exact for v in used) and (not r.is_floating_point() or same(r, w)) for r, w in zip(results, wide)]
        for r, k in zip(results, exactly):
            if not r.is_floating_point() and not k:  # integers computed from rounded numbers may differ legitimately
                raise Lost if writes is not None else Unsuitable
        names = [f"v{self.counter + i}" for i in range(len(results))]
        self.counter += len(results)
        node = Node(name, names, text, exactly, [str(r.dtype).removeprefix("torch.") for r in results], many)
        self.program.nodes.append(node)
        made = [Value(n, r, w, e, overlaps(r)) for n, r, w, e in zip(names, results, wide, exactly)]
        if writes is not None:
            for v in self.values:
                if v.memory() == writes.memory():
                    v.exact = v.exact and exactly[0]
        for v in used:
            v.uses += 1
        self.values += made
        return made[0]

    def tame(self, value: Value) -> None:
        """Scales large numbers by a power of 2."""
        if not value.dtype.is_floating_point or value.numel() == 0:
            return
        largest = value.wide.nan_to_num(0, 0, 0).abs().max().item()
        if largest > MAGNITUDE:
            factor = 2.0 ** -int(torch.tensor(largest / 2).log2().ceil().item())
            self.emit_text("scale", f"{value.name} * {factor!r}", keeps=True)

    def apply(self, op: Op) -> None:
        """Draws the op's arguments and runs the op."""
        drawn: dict = {}
        for name, draw in op.draws.items():
            drawn[name] = draw(self, drawn)
        target = drawn[op.writes] if op.writes else None
        if target is not None:
            need(self.may_write(target))
        before = self.counter
        self.emit_text(op.name, op.call.format(**drawn), op.exact, [v for v in drawn.values() if isinstance(v, Value)] or None, target)
        for v in [v for v in self.values if int(v.name[1:]) >= before]:
            self.tame(v)

    def may_write(self, target: Value) -> bool:
        """Returns whether a write in place is allowed: not into overlapping elements, and not into tensors that
        require gradients."""
        if any(v.expanded for v in self.values if v.memory() == target.memory()):
            return False
        return not any(i.gradient and v.memory() == target.memory() for i in self.program.inputs for v in self.values if v.name == i.name)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.double().nan_to_num(1e30), b.double().nan_to_num(1e30))
