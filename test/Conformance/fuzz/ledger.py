"""table.json: the state of every graph that runs have judged, as lists of seeds, and counts of the drawn ops.

    {"runs": {"3df5416": 7725}, "states": {"native": "300000-300011 300013", "fallback: aten.x.default": "300012"},
     "ops": {"abs": 51}, "words": {"mode inference": 9, "noise": 2}}

A seed identifies a graph as long as the generator does not change; `generator` is its digest. harness/states.py
defines states.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from states import State, state_of
from verdict import PASSING, Outcome

PATH = Path(__file__).with_name("table.json")
PROBES = range(0, 6400, 100)  # the graphs from which the digest is computed


@functools.cache
def generator() -> str:
    from generate import generate

    digest = hashlib.sha256()
    for seed in PROBES:
        digest.update(generate(seed).to_json().encode())
    return digest.hexdigest()[:16]


def spelled(seeds) -> str:
    """Formats seeds as ranges: 1 2 3 7 is "1-3 7"."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][1] + 1:
            runs[-1][1] = seed
        else:
            runs.append([seed, seed])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def seeds_of(text: str) -> list[int]:
    return [seed for run in text.split() for a, _, b in [run.partition("-")] for seed in range(int(a), int(b or a) + 1)]


def empty() -> dict:
    return {"generator": generator(), "runs": {}, "states": {}, "ops": {}, "words": {}}


def load() -> dict:
    return json.loads(PATH.read_text()) if PATH.exists() else empty()


def states(table: dict) -> dict[int, State]:
    return {seed: State.parse(text) for text, seeds in table["states"].items() for seed in seeds_of(seeds)}


def plain(outcome: Outcome) -> Outcome:
    """Removes the drawn ops, which are listed with those that fell back, and addresses."""
    ops = [re.sub(" at 0x[0-9a-f]+", "", op) for op in outcome.ops if not op.startswith(("op ", "mode "))]
    return Outcome(outcome.state, outcome.reason, ops=ops)


def merged(table: dict, found: dict[int, Outcome], commit: str) -> dict:
    """Merges the results of a run into the table. The drawn ops of a graph are counted once."""
    if table["generator"] != generator():
        table = empty()
    known = states(table)
    ops, words = Counter(table["ops"]), Counter(table["words"])
    for seed, outcome in found.items():
        if seed not in known:
            ops.update(op[3:] for op in outcome.ops if op.startswith("op "))
            words.update(op for op in outcome.ops if op.startswith("mode "))
            words.update(outcome.reason.split() if outcome.state in PASSING else [])
    known |= {seed: state_of([plain(outcome)]) for seed, outcome in found.items()}
    by_text: dict[str, list[int]] = {}
    for seed, state in known.items():
        by_text.setdefault(str(state), []).append(seed)
    runs = dict(table["runs"])
    runs[commit] = runs.get(commit, 0) + len(found)
    return {"generator": table["generator"], "runs": runs, "states": {text: spelled(by_text[text]) for text in sorted(by_text)},
            "ops": dict(sorted(ops.items())), "words": dict(sorted(words.items()))}  # fmt: skip


def write(table: dict) -> None:
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" if not isinstance(value, dict) else
             f"{json.dumps(key)}: {{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()) + "\n}"
             for key, value in table.items()]  # fmt: skip
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
