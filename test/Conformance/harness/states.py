"""The state of a case as it is stored in a table, and comparisons of states.

A state is a word of verdict.STATES. A colon and the ops that fall back, or the reasons of failures, may follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from verdict import FAILING, STATES, Outcome


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
    """Returns the state of a case: that of its worst samples, with the reasons of all of these."""
    if not outcomes:
        return State("eager")
    word = min((o.state for o in outcomes), key=STATES.index)
    alike = [o for o in outcomes if o.state == word]
    if word == "fallback":
        return State(word, frozenset(op for o in alike for op in o.ops))
    return State(word, frozenset(o.reason.replace(" | ", " ") for o in alike if o.reason) if word not in ("native", "eager") else frozenset())


def worse(found: State, expected: State) -> str:
    """Returns why `found`, possibly of some samples only, is worse than `expected`, or ''."""
    if found.word in FAILING and found.word != expected.word:
        return f"{found}; expected is {expected}"
    if found.word in ("refused", "fallback") and STATES.index(found.word) < STATES.index(expected.word):
        return f"{found}; expected is {expected}"
    if found.word == expected.word and found.word in (*FAILING, "refused") and found.reasons - expected.reasons:
        return f"also {', '.join(sorted(found.reasons - expected.reasons))}; expected is {expected}"
    return ""


def better(found: State, expected: State) -> str:
    """Returns why the table is out of date if `found` covers all samples, or ''."""
    return f"{found}; in the table: {expected}" if found != expected and not worse(found, expected) else ""


def verdict(name: str, results: dict, expected: dict, complete: bool) -> int:
    """Compares {case: outcomes} with the table's {case: State} and prints what is worse; with all samples, also what
    is better."""
    bad = known = 0
    for case, outcomes in results.items():
        if case not in expected:
            print(f"not in the table: {case}")
            bad += 1
            continue
        found = state_of(outcomes)
        text = worse(found, expected[case])
        kind = "WORSE"
        if not text and complete:
            text, kind = better(found, expected[case]), "table.json is out of date"
        known += not text
        if text:
            bad += 1
            first = next((o for o in outcomes if o.state == found.word), None)
            print(f"{kind}: {case}: {text}" + (f"\n    {first.detail.strip()[:300]}" if first and first.detail else ""))
    print(f"{name}: {known} cases have the state in the table, {bad} cases do not")
    return int(bad > 0)
