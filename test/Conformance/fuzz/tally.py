"""Results of runs, and their summary."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from ledger import seeds_of
from verdict import FAILING, Outcome


def load(path: Path | None) -> dict[int, Outcome]:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line.pop("seed"): Outcome(**line) for line in lines}


def missing(found, first: int, count: int, most: int) -> list[tuple[int, int]]:
    """Returns the seeds first, first + 1, ... that are not in `found`, as (seed, count) of at most `most` consecutive
    graphs."""
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


def show(table: dict) -> None:
    """Prints the summary of a table (ledger.py)."""
    states, fallen, seeds = Counter(), Counter(), set()
    for text, spelled in table["states"].items():
        word, _, reasons = text.partition(": ")
        of = seeds_of(spelled)
        seeds.update(of)
        states[word] += len(of)
        fallen.update({op: len(of) for op in reasons.split(" | ")} if word == "fallback" else {})
    words, ops = table["words"], table["ops"]
    failures = sum(states[s] for s in FAILING)
    rows = [
        ("graphs, nodes", f"{len(seeds)}, {sum(ops.values())}"),
        ("of seeds", f"{min(seeds, default=0)} to {max(seeds, default=0)}"),
        ("of them inference, gradient, dynamic", ", ".join(str(words.get(f"mode {m}", 0)) for m in ("inference", "gradient", "dynamic"))),
        ("kinds of ops, least often drawn", f"{len(ops)}, {min(ops.values(), default=0)} times"),
        ("right, wholly compiled", str(states["native"])),
        ("right, some ops in eager", str(states["fallback"])),
        ("right by the rule with noise (of both)", str(words.get("noise", 0))),
        ("right over several draws of the inputs", str(words.get("draws", 0))),
        ("right by eager's results for dense inputs", str(words.get("dense", 0))),
        ("right by the shapes and strides of torch's fake tensors", str(words.get("fake-layout", 0))),
        ("called again with other sizes", str(words.get("resized", 0))),
        ("torch.compile itself fails, eager refuses", f"{states['torch']}, {states['eager']}"),
        ("failures: " + ", ".join(FAILING), f"{failures}: " + ", ".join(str(states[s]) for s in FAILING)),
    ]
    for name, text in rows:
        print(f"{name:56} {text}")
    print("by commit: " + ", ".join(f"{commit} {count}" for commit, count in table["runs"].items()))
    if fallen:
        print("in eager: " + ", ".join(f"{name} {count}" for name, count in fallen.most_common(12)))
