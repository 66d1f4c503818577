"""The description of a harness of whole models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pool import SAMPLES


@dataclass(frozen=True)
class Subject:
    """The models that a harness runs, and the parameters of the run.

    `folder` has worker.py and table.json. `architectures()` returns the architectures by name
    (trial.Architecture). Each process calls `prepare()` once before it runs a model. By default, one of
    every `parts` architectures runs, for at most `share_seconds` seconds. A worker is replaced after `samples` samples, and
    stopped if one takes longer than `hang` seconds.
    """

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
    """Returns architectures by their names. Raises a ValueError if a name occurs twice."""
    found: dict = {}
    for one in declared:
        if one.name in found:
            raise ValueError(f"{one.name} is declared twice")
        found[one.name] = one
    return found
