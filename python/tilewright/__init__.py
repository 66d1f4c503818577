"""Tilewright: torch.compile(model, backend="tilewright"). The backend itself is tilewright.backend.tilewright."""

from __future__ import annotations

from . import _tilewright
from .any_batch import any_batch
from .decompositions import register_decomposition
from .exported import ExportError, export
from .lowerings import LoweringError, register_lowering
from .report import repack, report

__all__ = ["ExportError", "LoweringError", "any_batch", "calibrate", "export", "import_to_text", "register_decomposition", "register_lowering", "repack", "report"]
__version__ = "0.1.0"


def calibrate() -> str:
    """Measures this machine for two seconds, best while it does nothing else, and keeps the rates beside the object cache:
    processes that start from then on choose schedules by them. Returns the rates."""
    return _tilewright.calibrate()


def import_to_text(gm, _inputs=None, static=()) -> str:
    """The tw module of an ATen graph whose nodes carry fake tensors; raises with all reasons where ops are refused."""
    from .walker import walk

    imported = walk(gm, static)
    if imported.refusals:
        raise RuntimeError("\n".join(r.reason for r in imported.refusals if not r.follows))
    return imported.graph.text()
