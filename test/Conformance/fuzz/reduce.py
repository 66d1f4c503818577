"""Reduces a failing graph: fewer results, nodes and inputs, smaller sizes, simpler inputs, as long as it fails in the
same manner."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from generate import generate, prune
from program import NAME, Input, Program
from script import script
from verdict import FAILING, Outcome

CHECKS = 600  # at most
HANG = 90  # seconds for a graph


class Runner:
    """Judges programs in a worker process, which may crash or hang."""

    def __init__(self):
        import pool

        self.pool, self.worker = pool, None
        self.file = Path(tempfile.mkdtemp()) / "program.json"

    def __call__(self, program: Program) -> Outcome:
        self.file.write_text(program.to_json())
        try:
            self.worker = self.worker or self.pool.Worker(Path(__file__).with_name("worker.py"))
            self.worker.ask(entry=str(self.file), limit=1, after=-1)
            outcome = Outcome("crash")
            while "done" not in (line := self.worker.read(HANG)):
                if "sample" in line:
                    line.pop("sample")
                    outcome = Outcome(**line)
            return outcome
        except self.pool.Gone as gone:
            self.worker = None
            return Outcome(gone.state, gone.reason, gone.reason)

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()


def copied(program: Program) -> Program:
    return Program.from_json(program.to_json())


def values_of(program: Program) -> dict[str, torch.Tensor]:
    """Returns every value as eager computes it."""
    scope = {"torch": torch, "F": torch.nn.functional, **{n: t.detach() for n, t in program.tensors().items()}}
    for node in program.nodes:
        found = eval(node.text, scope)
        scope |= dict(zip(node.results, list(found) if node.many else [found]))
    return scope


def with_fewer_outputs(program: Program) -> Iterator[Program]:
    for output in program.outputs:
        other = copied(program)
        other.outputs = [output]
        yield other
    for output in program.outputs if len(program.outputs) > 1 else []:
        other = copied(program)
        other.outputs.remove(output)
        yield other


def with_fewer_nodes(program: Program) -> Iterator[Program]:
    """Yields programs in which a node's results become inputs, or its operand replaces its result."""
    try:
        values = values_of(program)
    except Exception:
        return
    for node in reversed(program.nodes):
        if set(node.results) & set(program.outputs) and len(program.nodes) > 1 and len(node.results) == 1:
            other = copied(program)  # the operands become the results
            other.nodes = [n for n in other.nodes if n.results != node.results]
            operands = [u for u in node.uses() if u in values]
            other.outputs = list(dict.fromkeys([o for o in other.outputs if o not in node.results] + operands))
            yield other
        for operand in node.uses():
            a, b = values[operand], values[node.results[0]]
            if len(node.results) == 1 and a.shape == b.shape and a.dtype == b.dtype:
                yield renamed(program, node.results[0], operand)
        other = copied(program)
        other.nodes = [n for n in other.nodes if n.results != node.results]
        for name, keeps in zip(node.results, node.exact):
            value = values[name]
            kind = "dyadic" if keeps and value.is_floating_point() else "uniform" if value.is_floating_point() else "integers"
            strides = list(value.stride())
            other.inputs.append(Input(name, str(value.dtype).removeprefix("torch."), list(value.shape), strides, 0, kind,
                                      gradient=program.mode == "gradient" and value.is_floating_point() and 0 not in strides))  # fmt: skip
        yield other


def renamed(program: Program, name: str, by: str) -> Program:
    other = copied(program)
    other.nodes = [n for n in other.nodes if n.results != [name]]
    for node in other.nodes:
        node.text = NAME.sub(lambda m: by if m[0] == name else m[0], node.text)
    other.outputs = list(dict.fromkeys(by if o == name else o for o in other.outputs))
    return other


def with_plainer_settings(program: Program) -> Iterator[Program]:
    for mode, threads in (("inference", 1), (program.mode, 1), ("inference", program.threads)):
        if (mode, threads) != (program.mode, program.threads):
            other = copied(program)
            other.mode, other.threads = mode, threads
            for i in other.inputs:
                i.gradient = i.gradient and mode == "gradient"
            yield other
    for index, i in enumerate(program.inputs):
        plain = list(torch.empty(i.shape, device="meta").stride())
        for changes in ({"parameter": False}, {"gradient": False}, {"strides": plain, "offset": 0}, {"offset": 0}, {"numbers": "uniform"}):
            if i.numbers.startswith(("index", "order")) and "numbers" in changes or i.dtype == "bool" and "numbers" in changes:
                continue
            if any(getattr(i, k) != v for k, v in changes.items()):
                other = copied(program)
                for k, v in changes.items():
                    setattr(other.inputs[index], k, v)
                yield other


def with_smaller_sizes(program: Program) -> Iterator[Program]:
    for size in sorted({n for i in program.inputs for n in i.shape if n > 1}, reverse=True):
        for smaller in sorted({1, 2, 3, size // 2, size - 1} - {0, size}):
            if smaller < size:
                other = copied(program)
                for i in other.inputs:
                    if size in i.shape:
                        order = sorted(range(len(i.shape)), key=lambda d: (i.strides[d], -d))
                        i.shape = [smaller if n == size else n for n in i.shape]
                        step = 1
                        for d in order:
                            if i.strides[d]:
                                i.strides[d], step = step, step * max(i.shape[d], 1)
                yield other


STEPS: tuple[Callable, ...] = (with_fewer_outputs, with_fewer_nodes, with_plainer_settings, with_smaller_sizes)


def reduced(program: Program, judge: Callable[[Program], Outcome], tell=print) -> tuple[Program, Outcome]:
    """Returns the smallest program found that fails in the same manner as this one, and its outcome."""
    first = judge(program)
    if first.state not in FAILING:
        return program, first
    outcome, checks, changed = first, 0, True
    while changed and checks < CHECKS:
        changed = False
        for step in STEPS:
            again = True
            while again and checks < CHECKS:
                again = False
                for other in step(program):
                    prune(other)
                    if not other.outputs or other.to_json() == program.to_json():
                        continue
                    checks += 1
                    found = judge(other)
                    if (found.state, found.reason) == (first.state, first.reason):
                        program, outcome, changed, again = other, found, True, True
                        break
                    if checks >= CHECKS:
                        break
        tell(f"after {checks} checks: {len(program.nodes)} nodes, {len(program.inputs)} inputs", flush=True)
    return program, outcome


def reduce_seed(seed: int, output: Path | None) -> int:
    runner = Runner()
    try:
        program, outcome = reduced(generate(seed), runner)
    finally:
        runner.close()
    if outcome.state not in FAILING:
        print(f"graph {seed} does not fail: {outcome.state} {outcome.reason}")
        return 0
    text = script(program, outcome)
    if output is not None:
        output.write_text(text)
    print(text)
    return 1
