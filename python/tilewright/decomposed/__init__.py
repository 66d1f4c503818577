"""Tilewright's own decompositions into ops that the importer has: one file per family, each with a TABLE.

A function of a TABLE takes what the overload takes, and may return NotImplemented: then the op stays as it is. So may
decompositions of overloads that the importer takes whole, of the cases that it refuses.
"""

from __future__ import annotations

from . import attention, copies, matrices, numbers, order, pooling, random, scatters, searches, special, windows


def own() -> dict:
    families = (attention, copies, matrices, numbers, order, pooling, random, scatters, searches, special, windows)
    return {op: fn for family in families for op, fn in family.TABLE.items()}
