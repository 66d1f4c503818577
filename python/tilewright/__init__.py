"""Tilewright: torch.compile(model, backend="tilewright"). The backend itself is tilewright.dynamo.backend.tilewright."""

from __future__ import annotations

from importlib.metadata import entry_points

from . import _tilewright
from .any_batch import any_batch
from .decompositions.lowerings import LoweringError, register_lowering
from .decompositions.table import register_decomposition
from .export import ExportError, export
from .library import Library, load
from .reports.report import repack, report

IndexOutOfRange = _tilewright.IndexOutOfRange  # derives from IndexError and RuntimeError, because operators of eager raise one or the other


def _register_backend() -> None:
    """Registers the backend `tilewright` in torch if no entry point registers it, for example if this package is not installed but only in
    sys.path."""
    if not any(point.name == "tilewright" for point in entry_points(group="torch_dynamo_backends")):
        from torch._dynamo.backends import registry

        from .dynamo.backend import tilewright

        if "tilewright" not in registry._COMPILER_FNS:
            registry.register_backend(tilewright, name="tilewright")


__all__ = ["ExportError", "IndexOutOfRange", "Library", "LoweringError", "any_batch", "calibrate", "export", "import_to_text", "load",
           "register_decomposition", "register_lowering", "repack", "report"]  # fmt: skip
__version__ = "0.1.0"


def calibrate() -> str:
    """Measures the rates of this machine for a few seconds and stores them next to the object cache.

    Processes that start later choose schedules with these rates. The machine should be idle during the measurement.
    Returns the rates as text, `name=number` separated by spaces (include/tilewright/MachineRates.h states the units).
    Raises RuntimeError if the rates cannot be stored.
    """
    return _tilewright.calibrate()


def import_to_text(gm, _inputs=None, static=()) -> str:
    """Imports an ATen graph and returns the resulting MLIR module with `tw` ops as text.

    `gm` is the torch.fx.GraphModule that AOTAutograd passes to a compiler. Each node has a fake tensor in
    `meta["val"]`, which states the shape, dtype and strides of its result. `static` contains the indices of the inputs
    that are parameters. `_inputs` is not used; with this argument, the function has the signature of a compiler for
    AOTAutograd. Raises RuntimeError with all reasons if the importer does not support some ops.
    """
    from .fx.walker import walk

    imported = walk(gm, static)
    if imported.refusals:
        raise RuntimeError("\n".join(r.reason for r in imported.refusals if not r.follows))
    assert imported.graph is not None  # walk() creates one
    return imported.graph.text()


_register_backend()
