"""Generates a graph from a seed: inputs, 5 to 40 ops, and outputs, which are some of the results."""

from __future__ import annotations

import random
import warnings

import torch
from builder import Builder, Lost
from op import FLOAT, Op, Unsuitable
from operations import OPS, images
from program import Program

MOST_OUTPUTS = 8
IMAGES = 10**10  # seeds from here on generate graphs of images


def weights(rng: random.Random, ops: list[Op]) -> list[float]:
    """Returns the relative frequency of each op in this graph. Each op is rare in some graphs and frequent in others."""
    liking = {op.name: rng.choice((0.2, 1, 1, 3)) for op in ops}
    return [op.weight * liking[op.name] * (0.35 if op.writes else 1) for op in ops]


def generate(seed: int) -> Program:
    """Generates a graph. Graphs of equal seeds are equal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for attempt in range(50):
            rng = random.Random(seed * 64 + attempt)
            mode = rng.choices(("inference", "gradient", "dynamic"), (55, 25, 20))[0]
            program = Program(seed, mode, rng.choice((1, 2)))
            try:
                grow(program, rng)
                with torch.no_grad():
                    outputs_of(program)
                if mode == "gradient":
                    backward(program)
                return program
            except (Lost, RuntimeError, IndexError):
                continue
    raise RuntimeError(f"no graph from seed {seed}")


def grow(program: Program, rng: random.Random) -> None:
    builder = Builder(rng.randrange(2**40), program)
    count = min(5 + int(rng.expovariate(1 / 9)), 40)
    each: list[Op] = images.OPS if program.seed >= IMAGES else OPS
    likely = weights(rng, each)
    if each is images.OPS:
        builder.input([rng.choice((1, 2)), rng.choice((3, 4, 8, 16, 24)), *rng.choices((7, 8, 9, 12, 16), k=2)], builder.dtype(FLOAT))
    tried = 0
    while sum(n.op not in ("guard", "scale") for n in program.nodes) < count and tried < 40 * count:
        tried += 1
        op = rng.choices(each, likely)[0]
        if program.mode not in op.modes:
            continue
        state = len(program.nodes), len(program.inputs), len(builder.values), builder.counter
        try:
            builder.apply(op)
        except Unsuitable:
            # Remove the nodes that were created for the op's operands. These nodes have written only to new values.
            del program.nodes[state[0] :], program.inputs[state[1] :], builder.values[state[2] :]
            builder.counter = state[3]
    choose_outputs(program, builder, rng)


def choose_outputs(program: Program, builder: Builder, rng: random.Random) -> None:
    """Chooses unused results and a few others, including views of inputs and values that are written later."""
    used = {name for node in program.nodes for name in node.uses()}
    results = [name for node in program.nodes for name in node.results]
    if not results:
        raise Lost
    last = [name for name in results if name not in used]
    rng.shuffle(last)
    others = [name for name in results if name in used]
    program.outputs = sorted(set(last[:MOST_OUTPUTS] + rng.sample(others, min(len(others), rng.choice((0, 0, 1, 2))))), key=lambda n: int(n[1:]))
    prune(program)


def prune(program: Program) -> None:
    """Removes the nodes and inputs that no output needs. Writes in place are kept."""
    while True:
        used = set(program.outputs) | {name for node in program.nodes for name in node.uses()}
        kept = [n for n in program.nodes if set(n.results) & used or "_(" in n.text]
        if len(kept) == len(program.nodes):
            break
        program.nodes = kept
    program.inputs = [i for i in program.inputs if i.name in used]


def outputs_of(program: Program):
    tensors = program.tensors()
    return program.module(tensors)(*[tensors[i.name] for i in program.inputs if not i.parameter])


def backward(program: Program) -> None:
    """Checks that eager has gradients of this graph."""
    tensors = program.tensors()
    module = program.module(tensors)
    results = module(*[tensors[i.name] for i in program.inputs if not i.parameter])
    asked = [p for p in module.parameters() if p.requires_grad] + [t for t in tensors.values() if t.requires_grad]
    differentiable = [r for r in results if r.requires_grad and r.is_floating_point()]
    if not asked or not differentiable:
        raise Lost
    torch.autograd.grad(differentiable, asked, [torch.ones_like(r) for r in differentiable], allow_unused=True)
