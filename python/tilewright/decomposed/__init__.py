"""Tilewright's own decompositions into ops that the importer has: one file per family, each with a TABLE.

A function of a TABLE takes what the overload takes, and may return NotImplemented: then the op stays as it is. So may
decompositions of overloads that the importer takes whole, of the cases that it refuses.
"""

from __future__ import annotations

from . import copies, losses, order, pooling, scatters, searches, windows


def own() -> dict:
    return {op: fn for family in (copies, losses, order, pooling, scatters, searches, windows) for op, fn in family.TABLE.items()}
