"""Draws a program: views, writes in place, operators that run in eager, graph breaks and branches on data.

Statements are executed while they are drawn, so that eager accepts the program. All numbers are small integers, in
floats too, so that results are equal to the last bit in any order of computation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import torch

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64")
SIZES = (1, 2, 3, 4, 6)
MOST = 400  # elements of a value at most
TRIES = 12  # tries to draw a statement that eager accepts

if not hasattr(torch.ops.tilewright_programs, "double"):
    LIBRARY = torch.library.Library("tilewright_programs", "DEF")
    LIBRARY.define("double(Tensor x) -> Tensor")
    LIBRARY.impl("double", lambda x: x + x if x.dtype != torch.bool else x.clone(), "CPU")
    LIBRARY.impl("double", torch.empty_like, "Meta")
    LIBRARY.define("fill(Tensor(a!) x, int number) -> ()")
    LIBRARY.impl("fill", lambda x, number: x.fill_(number) and None, "CPU")
    LIBRARY.impl("fill", lambda x, number: None, "Meta")


@dataclass
class Program:
    seed: int
    source: str
    arguments: list[tuple[tuple[int, ...], str, str]]  # sizes, dtype, layout
    parameters: str = field(default="")


def argument(sizes, dtype: str, layout: str, seed: int) -> torch.Tensor:
    """Returns a tensor of small integers with the layout `layout`."""
    made = torch.randint(0, 4, sizes, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))
    if layout == "transposed":
        return made.mT.contiguous().mT if made.dim() > 1 else made
    if layout == "part":
        whole = torch.zeros([s + 2 for s in sizes], dtype=made.dtype)
        part = whole[tuple(slice(1, 1 + s) for s in sizes)]
        return part.copy_(made)
    return made


class Drawing:
    """The part of the program that has been drawn so far, and its values."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.values: dict[str, torch.Tensor] = {}
        self.lines: list[str] = []
        self.made = 0

    def name(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def pick(self, wanted=lambda value: True) -> str:
        names = [name for name, value in self.values.items() if wanted(value)]
        return self.draw.choice(names)

    def number(self) -> int:
        return self.draw.choice((0, 1, 1, 2, 3))

    # -- statements; each returns text and the name of its result ----------------

    def view(self) -> tuple[str, str]:
        x = self.pick()
        value, new, draw = self.values[x], self.name(), self.draw
        rank = value.dim()
        dim = draw.randrange(max(rank, 1))
        size = value.shape[dim] if rank else 1
        begin = draw.randrange(size) if size else 0
        forms = [f"{x}.unsqueeze({draw.randrange(rank + 1)})", f"{x}.detach()", f"{x}.view_as({x})", f"{x}.expand(2, *{x}.shape)", f"{x}.reshape(-1)"]
        if rank:
            forms += [f"{x}.select({dim}, {begin})", f"{x}.narrow({dim}, {begin}, {draw.randint(1, max(size - begin, 1))})", f"{x}.view(-1)",
                      f"{x}.squeeze({dim})", f"{x}.unbind({dim})[{begin}]", f"{x}.movedim({dim}, 0)", f"{x}.chunk(2, {dim})[-1]"]  # fmt: skip
            step = ", ".join([":"] * dim + [f"{begin}::{draw.randint(1, 3)}"])
            forms += [f"{x}[{step}]", f"{x}[{step}]", f"{x}[..., {draw.randint(0, 1)}:]"]
        if rank >= 2:
            forms += [f"{x}.transpose({dim}, {draw.randrange(rank)})", f"{x}.mT", f"{x}.diagonal()", f"{x}.flatten(0, 1)"]
        return f"{new} = {draw.choice(forms)}", new

    def compute(self) -> tuple[str, str]:
        x, new, draw = self.pick(), self.name(), self.draw
        y = self.pick(lambda value: value.dtype == self.values[x].dtype)
        n = self.number()
        forms = [f"{x} + {y}", f"{x} * {y}", f"torch.where({x} == {n}, {x}, {y})", f"{x} == {y}", f"{x}.clone()", f"{x}.flip(0)", f"{x}.roll(1)",
                 f"torch.cat([{x}, {y}])", f"torch.stack([{x}, {x}], -1)", f"{x}.to(torch.{draw.choice(DTYPES[:10])})", f"{x}.sum({draw.randint(-1, 0)})",
                 f"{x}.sum()", f"{x} + {n}", f"{x} * {n}", f"{x}.masked_fill({x} == {n}, {self.number()})", f"torch.maximum({x}, {y})", f"{x}.amax(0)",
                 f"{x}.index_select(0, torch.tensor([0, 0]))", f"{x}.contiguous()", f"torch.zeros_like({x})", f"{x}.new_ones({x}.shape)"]  # fmt: skip
        return f"{new} = {draw.choice(forms)}", new

    def write(self) -> tuple[str, str]:
        x, draw = self.pick(lambda value: value.numel() and torch._debug_has_internal_overlap(value) != 1), self.draw
        value, n = self.values[x], self.number()
        y = self.pick(lambda other: other.dtype == value.dtype)
        forms = [f"{x}.add_({y})", f"{x}.mul_({n})", f"{x}.copy_({y})", f"{x}.zero_()", f"{x}.fill_({n})", f"{x}.masked_fill_({x} == {n}, {self.number()})",
                 f"{x} += {n}", f"{x}.add_({x}.flip(0))", f"{x}.copy_({self.pick()})", f"torch.add({x}, {n}, out={x})", f"{x}.clamp_(max={n + 1})"]  # fmt: skip
        if value.dim():
            at = draw.randrange(value.shape[0])
            forms += [f"{x}[{at}] = {n}", f"{x}[{at}:] += {n}", f"{x}[{at}] = {y}", f"{x}[{x} == {n}] = {self.number()}", f"{x}[..., 0] = {x}[..., -1]",
                      f"{x}.index_fill_(0, torch.tensor([{at}]), {n})", f"{x}.index_add_(0, torch.tensor([{at}]), {x}[{at}:{at + 1}].clone())",
                      f"{x}[torch.tensor([{at}])] = {n}", f"{x}.select(0, {at}).mul_({n})"]  # fmt: skip
        return draw.choice(forms), ""

    def eager(self) -> tuple[str, str]:
        """Draws an operator that is not compiled."""
        if self.draw.random() < 0.4:
            x = self.pick(lambda value: value.numel() and torch._debug_has_internal_overlap(value) != 1)
            return f"torch.ops.tilewright_programs.fill({x}, {self.number()})", ""
        new = self.name()
        return f"{new} = torch.ops.tilewright_programs.double({self.pick()})", new

    def leave(self) -> tuple[str, str]:
        """Draws a graph break, or a branch on data."""
        x, draw = self.pick(lambda value: value.numel() > 0), self.draw
        write, _ = self.write()
        forms = ["torch._dynamo.graph_break()", f"if {x}.sum().abs() > {draw.randint(0, 6)}:\n        {write}",
                 f"for _ in range(int({x}.flatten()[0].real) % 3):\n        {write}"]  # fmt: skip
        return draw.choice(forms), ""

    def statement(self) -> None:
        kinds = (self.view, self.view, self.view, self.compute, self.compute, self.write, self.write, self.write, self.eager, self.leave)
        for _ in range(TRIES):
            try:
                text, new = self.draw.choice(kinds)()
                trial = {"torch": torch, **self.values}
                exec(text.replace("\n    ", "\n"), trial)
            except Exception:
                continue  # eager refuses it; values that it has written stay, because they do not affect the drawing
            made = trial.get(new) if new else None
            if new and (not isinstance(made, torch.Tensor) or made.numel() > MOST or made.dim() > 5):
                continue
            if new:
                self.values[new] = made
            for name in self.values:
                self.values[name] = trial[name]
            self.lines.append(text)
            return


def drawn(seed: int) -> Program:
    """Returns the program of `seed`."""
    drawing = Drawing(seed)
    draw, arguments = drawing.draw, []
    dtype = draw.choice(DTYPES)
    for number in range(draw.randint(1, 3)):
        sizes = tuple(draw.choice(SIZES) for _ in range(draw.choice((1, 1, 2, 2, 2, 3, 0))))
        given = dtype if draw.random() < 0.7 else draw.choice(DTYPES)
        layout = draw.choice(("dense", "dense", "transposed", "part"))
        arguments.append((sizes, given, layout))
        drawing.values[f"a{number}"] = argument(sizes, given, layout, number)
    for _ in range(draw.randint(3, 12)):
        drawing.statement()
    results = draw.sample(sorted(drawing.values), draw.randint(1, min(4, len(drawing.values))))
    names = ", ".join(f"a{number}" for number in range(len(arguments)))
    body = "\n".join(f"    {line}" for line in (*drawing.lines, f"return {', '.join(results)},"))
    return Program(seed, f"def program({names}):\n{body}\n", arguments)
