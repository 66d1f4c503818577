"""The rows of the table of ATen operators (lib/Import/ATen/Table.h), which states for each overload whether it is imported, and
where eager stores its results.

torch also states aliasing, in the schemas of operators. The table states it again because files of torch.export are
imported without torch, and because some schemas are imprecise: the schema of reshape states "view", although the result
may be a copy. test/Python/test_operators.py compares the table with the schemas.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from . import _tilewright


class Row(NamedTuple):
    kind: str  # "import": imported for all callers; "composite": imported, but most of them occur only in plain files; "declared": not imported
    aliasing: str  # aliasing of the results: "fresh", "view", ... (lib/Import/ATen/Table.h)
    family: str  # the title of its family


@functools.cache
def table() -> dict[str, Row]:
    """Returns the rows by name of the overload ("aten.add.Tensor"), in the order of the families."""
    return {name: Row(*row) for name, row in _tilewright.operators().items()}


@functools.cache
def of_kind(kind: str) -> frozenset[str]:
    """Returns the names of the overloads of a kind."""
    return frozenset(name for name, row in table().items() if row.kind == kind)


@functools.cache
def with_aliasing(*aliasing: str) -> frozenset:
    """Returns torch's overloads whose results have one of these aliasings. Overloads that this version of torch does
    not have are omitted."""
    import torch

    found = set()
    for name, row in table().items():
        space, op, overload = name.split(".")
        if row.aliasing in aliasing and hasattr(packet := getattr(getattr(torch.ops, space), op, None), overload):
            found.add(getattr(packet, overload))
    return frozenset(found)
