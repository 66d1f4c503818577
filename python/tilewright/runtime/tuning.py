"""options={"tune": "quick"}: measures schedules of a graph's kernels before the graph is compiled; docs/tuning.md."""

from __future__ import annotations

import logging
import os
import pathlib
import sys
import warnings

from .. import _tilewright
from ..options import CompileOptions

log = logging.getLogger("tilewright")

# Worker processes of the tuner import only the extension module, because importing torch takes a second.
_WORKER = "import sys; sys.path.insert(0, sys.argv[1]); import _tilewright; _tilewright.tune_worker()"


def _interpreter() -> str:
    """Returns a Python interpreter of this version, or '' if there is none.

    If Python is embedded, sys.executable is empty or the host program, which must not be started again.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in [sys.executable, *(os.path.join(prefix, "bin", version) for prefix in (sys.exec_prefix, sys.base_exec_prefix))]:
        if found and os.path.basename(found).startswith(("python", "pypy")) and os.access(found, os.X_OK):
            return found
    return ""


def tune(graph, options: CompileOptions, sizes: list[int]) -> list[str]:
    """Searches schedules for the kernels of `graph` that have no record yet, and writes records.

    `sizes` contains the values of the graph's symbolic sizes, in order, with which kernels are measured. Returns lines
    about the kernels and the whole graph, or an empty list if no process can measure. Raises a ValueError if the
    target is neither cpu nor cuda, or if the device is emulated, because their schedules cannot be measured.
    """
    emulated = options.target == "cuda" and options.own("device") == "emulated"
    if options.target not in ("cpu", "cuda") or emulated:
        device = " on the emulated device" if emulated else ""
        raise ValueError(f"tilewright: options['tune'] = {options.tune!r} measures kernels on the CPU or on a GPU; target {options.target!r}{device} "
                         "has no schedules that can be measured. Remove this option")  # fmt: skip
    worker = [_interpreter(), "-c", _WORKER, str(pathlib.Path(_tilewright.__file__).parent)]
    try:
        lines = graph.tune(options.native(), options.tune, worker, sizes)
    except _tilewright.NoTuneWorker as why:
        warnings.warn(f"tilewright: options['tune'] = {options.tune!r} measures in separate processes, which do not work here: {why}. The graph is "
                      "compiled with the schedules of the cost model", stacklevel=2)  # fmt: skip
        return []
    for line in lines:
        log.info("%s", line)
    return lines
