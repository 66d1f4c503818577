"""table.json: the expected state of every case, one line per entry.

    "abs": {"forward": {"native": "f32 i64"}, "gradient": {"native": "f32"}},
    "angle": {"forward": {"fallback: aten.angle.default": "f32", "eager": "bool"}},

harness/states.py defines states.
"""

from __future__ import annotations

import json
from pathlib import Path

from cases import DTYPES, MODES, Case
from states import State

PATH = Path(__file__).with_name("table.json")


def read() -> dict[Case, State]:
    if not PATH.exists():
        return {}
    return {Case(entry, dtype, mode): State.parse(text) for entry, modes in json.loads(PATH.read_text()).items()
            for mode, states in modes.items() for text, dtypes in states.items() for dtype in dtypes.split()}  # fmt: skip


def write(states: dict[Case, State]) -> None:
    lines = []
    for entry in sorted({case.entry for case in states}):
        modes = {}
        for mode in MODES:
            by_text: dict[str, list] = {}
            for dtype in DTYPES:
                if (state := states.get(Case(entry, dtype, mode))) is not None:
                    by_text.setdefault(str(state), []).append(dtype)
            if by_text:
                modes[mode] = {text: " ".join(dtypes) for text, dtypes in by_text.items()}
        lines.append(f"{json.dumps(entry)}: {json.dumps(modes)}")
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
