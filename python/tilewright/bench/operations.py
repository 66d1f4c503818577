"""The operations of a kernel as text for users."""

from __future__ import annotations

import itertools


def short_operations(operations: str) -> str:
    """Counts operations that follow each other, as include/tilewright/OperationText.h does.

    A kernel's list has one entry for each structured op, of which a layer norm has seven:
    "add+layer_norm+layer_norm+..." becomes "add+layer_norm x7".
    """
    counted = ((name, len(list(group))) for name, group in itertools.groupby(operations.split("+")))
    return "+".join(name + (f" x{count}" if count > 1 else "") for name, count in counted)
