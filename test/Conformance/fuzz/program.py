"""A random graph as data: inputs, one line of Python per node, outputs. A reduced script contains the same text that
is run here."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass, field

import torch

NAME = re.compile(r"\bv\d+\b")
FLOATS = re.compile(r"torch\.(float32|bfloat16|float16)\b")
WIDE = (torch.float32, torch.bfloat16, torch.float16)
MODES = ("inference", "gradient", "dynamic")


@dataclass
class Input:
    """A strided tensor and the distribution of its numbers: see numbers()."""

    name: str
    dtype: str
    shape: list
    strides: list
    offset: int = 0
    numbers: str = "uniform"
    parameter: bool = False
    gradient: bool = False

    def extent(self) -> int:
        """Returns the number of elements of its memory."""
        if 0 in self.shape:
            return self.offset
        return self.offset + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))


@dataclass
class Node:
    """`results` = `text`, of the op `op`. `exact`: for each result, whether every order of evaluation gives the same
    numbers."""

    op: str
    results: list
    text: str
    exact: list
    dtypes: list
    many: bool = False  # the call returns a tuple

    def uses(self) -> list[str]:
        return list(dict.fromkeys(NAME.findall(self.text)))

    def writes(self) -> bool:
        """Returns whether it writes into an operand: such methods of torch have names that end with an underscore."""
        return re.search(r"[a-z0-9]_\(|out=", self.text) is not None

    def line(self) -> str:
        return f"{', '.join(self.results)}{',' * (self.many and len(self.results) == 1)} = {self.text}"


@dataclass
class Program:
    seed: int
    mode: str
    threads: int
    inputs: list = field(default_factory=list)
    nodes: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    draw: int = 0  # selects the numbers of the inputs

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Program:
        made = Program(**json.loads(text))
        made.inputs = [Input(**i) for i in made.inputs]
        made.nodes = [Node(**n) for n in made.nodes]
        return made

    def source(self, wide: bool = False) -> str:
        """Returns the text of a module whose forward is the graph. `wide`: in float64."""
        arguments = [i.name for i in self.inputs if not i.parameter]
        lines = ["class Graph(torch.nn.Module):", f"    def forward({', '.join(['self', *arguments])}):"]
        lines += [f"        {i.name} = self.{i.name}" for i in self.inputs if i.parameter]
        lines += ["        " + n.line() for n in self.nodes]
        lines += [f"        return ({''.join(o + ', ' for o in self.outputs)})"]
        text = "\n".join(lines) + "\n"
        return FLOATS.sub("torch.float64", text) if wide else text

    def module(self, tensors: dict, wide: bool = False) -> torch.nn.Module:
        """Returns the module with its parameters from `tensors`."""
        scope = {"torch": torch, "F": torch.nn.functional}
        exec(compile(self.source(wide), f"<graph {self.seed}>", "exec"), scope)
        made = scope["Graph"]()
        for i in self.inputs:
            if i.parameter and tensors[i.name].is_floating_point():
                setattr(made, i.name, torch.nn.Parameter(tensors[i.name], requires_grad=i.gradient))
            elif i.parameter:
                made.register_buffer(i.name, tensors[i.name])
        return made

    def tensors(self, wide: bool = False, fake=None) -> dict:
        """Returns the inputs, with the same numbers each time, or without numbers in the fake mode `fake`."""
        made = {}
        for i in self.inputs:
            if fake is not None:
                base = torch.empty(i.extent(), dtype=getattr(torch, i.dtype))
                tensor = base.as_strided(i.shape, i.strides, i.offset)
            else:
                draw = 0 if i.parameter else self.draw  # a compiled module keeps its parameters
                seed = draw * 0x9E3779B1 + self.seed * 1000 + int(i.name[1:])
                tensor = strided(i, torch.Generator().manual_seed(seed % 2**32), wide)  # torch uses 32 bits of the seed
            made[i.name] = tensor.requires_grad_() if i.gradient else tensor
        return made


def numbers(kind: str, shape, dtype: torch.dtype, generator) -> torch.Tensor:
    """Returns contiguous numbers of a kind. uniform: in [-2, 2]; below: in [-4, -0.5]; far: in [6, 7]; dyadic:
    multiples of 1/4 in [-2, 2]; special: with NaN and infinities; integers: small; index:N: in [0, N); order:D:N:
    along D the first elements of a random permutation of N; bits: any."""
    word, _, rest = kind.partition(":")
    if word == "order":
        dim, most = (int(r) for r in rest.split(":"))
        wide = list(shape)
        wide[dim] = most
        return torch.rand(wide, generator=generator).argsort(dim).narrow(dim, 0, shape[dim]).contiguous().to(dtype)
    if word == "index":
        return torch.randint(0, int(rest), shape, generator=generator).to(dtype)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) < 0.6
    if word == "bits":
        info = torch.iinfo(dtype)
        return torch.randint(max(info.min, -(2**62)), min(info.max, 2**62), shape, generator=generator).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -6, 7, shape, generator=generator).to(dtype)
    if word == "uniform":
        return (torch.rand(shape, generator=generator, dtype=torch.float64) * 4 - 2).to(dtype)
    if word in ("below", "far"):
        low, high = (-4.0, -0.5) if word == "below" else (6.0, 7.0)
        return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype)
    values = torch.randint(-8, 9, shape, generator=generator).to(dtype) / 4
    if word == "special":
        for value in (math.nan, math.inf, -math.inf, -0.0):
            values = torch.where(torch.rand(shape, generator=generator) < 0.03, value, values)
    return values.to(dtype)


def strided(i: Input, generator, wide: bool = False) -> torch.Tensor:
    dtype = getattr(torch, i.dtype)
    if i.numbers.startswith("order"):
        base = numbers(i.numbers, i.shape, dtype, generator).flatten()
    else:
        base = numbers(i.numbers, (i.extent() + 3,), dtype, generator)
    if wide and dtype in WIDE:
        base = base.double()
    return base.as_strided(i.shape, i.strides, i.offset)
