"""Formats the operations of a kernel as text for users."""

from __future__ import annotations

import itertools


def short_operations(operations: str) -> str:
    """Replaces consecutive equal operations by one operation and its count, like lib/Interfaces/OperationText.h.

    A kernel's list of operations has one entry for each structured op, and a layer norm consists of seven structured
    ops. "add+layer_norm+layer_norm+..." becomes "add+layer_norm x7".
    """
    counted = ((name, len(list(group))) for name, group in itertools.groupby(operations.split("+")))
    return "+".join(name + (f" x{count}" if count > 1 else "") for name, count in counted)
