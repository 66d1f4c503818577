"""What a harness of whole models runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pool import SAMPLES


@dataclass(frozen=True)
class Subject:
    """`folder` has worker.py and table.json; `architectures()` gives what is run by name (trial.Architecture); `prepare()` is called once by
    each process before it runs a model; the default run's share is one architecture of `parts`, in so many seconds; a worker is replaced after so many
    `samples`, and stopped where one takes longer than `hang` seconds."""

    folder: Path
    architectures: Callable[[], dict]
    prepare: Callable[[], None]
    parts: int
    share_seconds: int
    samples: int = SAMPLES
    hang: int = 300

    @property
    def table(self) -> Path:
        return self.folder / "table.json"


def by_name(declared: Iterable) -> dict:
    """Architectures by their names, no two of which are the same."""
    found: dict = {}
    for one in declared:
        if one.name in found:
            raise ValueError(f"{one.name} is declared twice")
        found[one.name] = one
    return found
