"""table.json: the expected state of every case, a line an entry, and what differs from it.

    "abs": {"forward": {"native": "f32 i64"}, "gradient": {"native": "f32"}},
    "angle": {"forward": {"fallback: aten.angle.default": "f32", "eager": "bool"}},

A state is a word of verdict.STATES; behind the colon stand the ops that fall back, or the reasons of what fails.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cases import DTYPES, MODES, Case
from verdict import FAILING, STATES, Outcome

PATH = Path(__file__).with_name("table.json")


@dataclass(frozen=True)
class State:
    word: str
    reasons: frozenset = frozenset()

    def __str__(self) -> str:
        return self.word + (": " + " | ".join(sorted(self.reasons)) if self.reasons else "")

    @staticmethod
    def parse(text: str) -> State:
        word, _, reasons = text.partition(": ")
        return State(word, frozenset(reasons.split(" | ")) if reasons else frozenset())


def state_of(outcomes: list[Outcome]) -> State:
    """Of a case: that of its worst sample, with the reasons of all such."""
    if not outcomes:
        return State("eager")
    word = min((o.state for o in outcomes), key=STATES.index)
    alike = [o for o in outcomes if o.state == word]
    if word == "fallback":
        return State(word, frozenset(op for o in alike for op in o.ops))
    return State(word, frozenset(o.reason.replace(" | ", " ") for o in alike if o.reason) if word not in ("native", "eager") else frozenset())


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


def worse(found: State, expected: State) -> str:
    """Why `found`, perhaps of some samples only, is worse than `expected`, or ''."""
    if found.word in FAILING and found.word != expected.word:
        return f"{found}; expected is {expected}"
    if found.word == "fallback" and expected.word == "native":
        return f"{found}; expected is {expected}"
    if found.word == expected.word and found.word in FAILING and found.reasons - expected.reasons:
        return f"also {', '.join(sorted(found.reasons - expected.reasons))}; expected is {expected}"
    return ""


def better(found: State, expected: State) -> str:
    """Why the table is out of date when `found` is of all samples, or ''."""
    return f"{found}; the table says {expected}" if found != expected and not worse(found, expected) else ""
