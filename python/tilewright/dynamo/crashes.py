"""Handles crashes of the compiler (a signal, an assertion, out of memory): a crash ends the compile but not the
process.

The graph runs in eager, with one warning that names the reproducer. No further graph of this process is compiled.
"""

from __future__ import annotations

import warnings

from torch import fx

from .. import _tilewright
from ..fx.walker import Imported, Refusal
from ..reports.report import describe
from ..runtime import compiled

_said: list[str] = []  # the text of the first crash


def has_crashed() -> bool:
    """Returns whether a compiler of this process has crashed."""
    return _tilewright.compiler_has_crashed()


def what_crashed() -> str:
    """Returns the text of the first crash."""
    return _said[0] if _said else "the compiler has crashed in this process"


def left_to_eager(gm: fx.GraphModule, said: str) -> Imported:
    """Returns an Imported that refuses every op of the graph. The first call warns."""
    nodes = [n for n in gm.graph.nodes if n.op == "call_function"]
    refusals = [Refusal(n.name, "", said, follows=i > 0) for i, n in enumerate(nodes)]
    if not _said:
        _said.append(said)
        warnings.warn(f"tilewright: {said}\nThis graph and all later ones of this process run in eager.", stacklevel=2)
    compiled._warned.add(describe(refusals))
    return Imported(None, refusals)
