"""The ops that AOTAutograd decomposes before it passes a graph to the backend."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from ..decompositions import table
from ..fx.refused_by_eager import asking
from ..fx.walker import is_random


@functools.cache
def _of_torch() -> dict:
    return {op: asking(op, fn) for op, fn in table.of_torch().items()}


class WhenTraced(Mapping):
    """The ops that AOTAutograd decomposes: those of decompositions().

    If `eager_random` is set, ops that draw random numbers are excluded. The table is created (0.1 s) when the first
    op is looked up, because graphs that torch restores from its cache do not need it.
    """

    def __init__(self, eager_random: bool = False):
        self.eager_random = eager_random

    @functools.cached_property
    def _table(self) -> dict:
        traced = _of_torch() | {op: asking(op, fn) for op, fn in table.added().items()}
        return {op: fn for op, fn in traced.items() if not is_random(op)} if self.eager_random else traced

    def __getitem__(self, op):
        registered = table.registered.get(str(op)) if table.registered else None
        return registered or self._table[op]

    def __iter__(self):
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)
