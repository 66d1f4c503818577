"""What runs found, and the summary of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from verdict import FAILING, Outcome


def load(path: Path | None) -> dict[int, Outcome]:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line.pop("seed"): Outcome(**line) for line in lines}


def missing(found: dict[int, Outcome], first: int, count: int, most: int) -> list[tuple[int, int]]:
    """What is not found of the seeds first, first + 1, ...: as (seed, count) of at most `most` graphs in a row."""
    made: list[tuple[int, int]] = []
    for seed in range(first, first + count):
        if seed in found:
            continue
        if made and seed == sum(made[-1]) and made[-1][1] < most:
            made[-1] = made[-1][0], made[-1][1] + 1
        else:
            made.append((seed, 1))
    return made


def failed(outcome: Outcome) -> bool:
    return outcome.state in FAILING


def line(seed: int, outcome: Outcome) -> str:
    detail = " ".join(outcome.detail.split())[:300]
    fallback = " ".join(o for o in outcome.ops if not o.startswith(("op ", "mode ")))
    return f"graph {seed}: {outcome.state}: {outcome.reason}: {detail} {fallback}".rstrip(" :")


def show(found: dict[int, Outcome]) -> None:
    outcomes = list(found.values())
    states = Counter(o.state for o in outcomes)
    modes = Counter(op[5:] for o in outcomes for op in o.ops if op.startswith("mode "))
    ops = Counter(op[3:] for o in outcomes for op in o.ops if op.startswith("op "))
    fallen = Counter(op for o in outcomes for op in set(o.ops) if not op.startswith(("op ", "mode ")))
    failures = sum(states[s] for s in FAILING)
    rows = [
        ("graphs, nodes", f"{len(outcomes)}, {sum(ops.values())}"),
        ("of them inference, gradient, dynamic", ", ".join(str(modes[m]) for m in ("inference", "gradient", "dynamic"))),
        ("kinds of ops, least often drawn", f"{len(ops)}, {min(ops.values(), default=0)} times"),
        ("right, wholly compiled", str(states["native"])),
        ("right, some ops in eager", str(states["fallback"])),
        ("right by the rule with noise (of both)", str(sum("noise" in o.reason.split() for o in outcomes if not failed(o)))),
        ("right over several draws of the inputs", str(sum("draws" in o.reason.split() for o in outcomes if not failed(o)))),
        ("right by what torch's fake tensors tell", str(sum("told" in o.reason.split() for o in outcomes if not failed(o)))),
        ("called again with other sizes", str(sum("resized" in o.reason.split() for o in outcomes if not failed(o)))),
        ("torch.compile itself fails alike, eager refuses", f"{states['torch']}, {states['eager']}"),
        ("failures: " + ", ".join(FAILING), f"{failures}: " + ", ".join(str(states[s]) for s in FAILING)),
    ]
    for name, text in rows:
        print(f"{name:56} {text}")
    if fallen:
        print("in eager: " + ", ".join(f"{name} {count}" for name, count in fallen.most_common(12)))
