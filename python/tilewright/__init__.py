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

IndexOutOfRange = _tilewright.IndexOutOfRange  # derives from IndexError and RuntimeError, because eager's operators raise either of them


def _register_backend() -> None:
    """Registers the backend's name if no installed package has an entry point for it, for example if the package is
    only on sys.path."""
    if not any(point.name == "tilewright" for point in entry_points(group="torch_dynamo_backends")):
        from torch._dynamo.backends import registry

        from .dynamo.backend import tilewright

        if "tilewright" not in registry._COMPILER_FNS:
            registry.register_backend(tilewright, name="tilewright")


__all__ = ["ExportError", "IndexOutOfRange", "Library", "LoweringError", "any_batch", "calibrate", "export", "import_to_text", "load",
           "register_decomposition", "register_lowering", "repack", "report"]  # fmt: skip
__version__ = "0.1.0"


def calibrate() -> str:
    """Measures the rates of this machine for two seconds and stores them next to the object cache.

    Processes that start later choose schedules by these rates. The machine should be idle meanwhile. Returns the
    rates as text, `name=number` separated by spaces (include/tilewright/MachineRates.h has the units). Raises
    RuntimeError if they cannot be stored.
    """
    return _tilewright.calibrate()


def import_to_text(gm, _inputs=None, static=()) -> str:
    """Returns the text of the tw module of an ATen graph whose nodes carry fake tensors.

    `gm` is the torch.fx.GraphModule that AOTAutograd passes to a compiler, and each node has its tensor's shape, dtype
    and strides in `meta["val"]`. `static` has the numbers of the inputs that are parameters. `_inputs` is not used: the
    function has the signature of such a compiler. Raises RuntimeError with all reasons if the importer refuses ops.
    """
    from .fx.walker import walk

    imported = walk(gm, static)
    if imported.refusals:
        raise RuntimeError("\n".join(r.reason for r in imported.refusals if not r.follows))
    assert imported.graph is not None  # walk() creates one
    return imported.graph.text()


_register_backend()
