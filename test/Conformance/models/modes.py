"""The cases of a harness of whole models: pairs of an entry and a mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MODES = ("inference", "generate", "training", "exported")


@dataclass(frozen=True)
class Case:
    entry: str
    mode: str

    def __str__(self) -> str:
        return f"{self.entry} {self.mode}"


def all_cases(known: dict, names: Iterable[str], modes: Iterable[str] = MODES) -> list[Case]:
    """Returns a case for each of these entries of `known` and each of the modes that the entry supports."""
    return [Case(name, mode) for name in names for mode in modes if known[name].has(mode)]
