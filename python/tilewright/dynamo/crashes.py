"""Handles crashes of the compiler (a signal, an assertion, out of memory). A crash ends the compilation, but not the
process.

After a crash, the graph runs in eager, and a warning names the folder with the reproducer. Later graphs of this process
are not compiled.
"""

from __future__ import annotations

import warnings

from torch import fx

from .. import _tilewright
from ..fx.walker import Imported, Refusal
from ..reports.report import describe
from ..runtime import compiled

_said: list[str] = []  # the error message of the first crash


def has_crashed() -> bool:
    """Returns whether the compiler has crashed in this process."""
    return _tilewright.compiler_has_crashed()


def what_crashed() -> str:
    """Returns the error message of the first crash."""
    return _said[0] if _said else "the compiler has crashed in this process"


def left_to_eager(gm: fx.GraphModule, said: str) -> Imported:
    """Returns an Imported in which all ops of the graph are refused, so that they run in eager. The first call of this function warns."""
    nodes = [n for n in gm.graph.nodes if n.op == "call_function"]
    refusals = [Refusal(n.name, "", said, follows=i > 0) for i, n in enumerate(nodes)]
    if not _said:
        _said.append(said)
        warnings.warn(f"tilewright: {said}\nThis graph and all later graphs of this process run in eager.", stacklevel=2)
    compiled._warned.add(describe(refusals))
    return Imported(None, refusals)
