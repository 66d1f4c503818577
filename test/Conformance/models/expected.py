"""Reads and writes the table.json of a suite, which has the expected state of every case. Each architecture is one line
(wrapped here):

    "bert": {"inference": {"state": "native", "graphs": 1, "breaks": 0}, "training": {"state": "native", "graphs": 1,
        "breaks": 0}},

harness/states.py defines states.
"""

from __future__ import annotations

import json
from pathlib import Path

from modes import MODES, Case
from states import State, state_of
from verdict import Outcome


def count(outcomes: list[Outcome], name: str) -> int:
    """Returns the number of graphs, or of graph breaks, of all samples of a case."""
    values = [o.facts.get(name) or 0 for o in outcomes]
    return sum(sum(v.values()) if isinstance(v, dict) else v for v in values)


def row(outcomes: list[Outcome]) -> dict:
    return {"state": str(state_of(outcomes)), "graphs": count(outcomes, "graphs"), "breaks": count(outcomes, "breaks")}


def rows(path: Path) -> dict[Case, dict]:
    if not path.exists():
        return {}
    return {Case(entry, mode): fields for entry, modes in json.loads(path.read_text()).items() for mode,
                 fields in modes.items()}


def states(path: Path) -> dict[Case, State]:
    return {case: State.parse(fields["state"]) for case, fields in rows(path).items()}


def write(path: Path, found: dict[Case, dict]) -> None:
    lines = []
    for entry in sorted({case.entry for case in found}):
        modes = {mode: found[Case(entry, mode)] for mode in MODES if Case(entry, mode) in found}
        lines.append(f"{json.dumps(entry)}: {json.dumps(modes)}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
