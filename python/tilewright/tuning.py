"""options={"tune": "quick"}: a graph's kernels are raced before it is compiled; docs/tuning.md."""

from __future__ import annotations

import logging
import os
import pathlib
import sys
import warnings

from . import _tilewright
from .options import CompileOptions

log = logging.getLogger("tilewright")

# The workers load the extension alone: torch is not needed to compile or measure, and takes a second to import.
_WORKER = "import sys; sys.path.insert(0, sys.argv[1]); import _tilewright; _tilewright.tune_worker()"


def _interpreter() -> str:
    """A Python of this version: where Python is embedded, sys.executable is empty or the host program, which would start
    itself. Empty where there is none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in [sys.executable, *(os.path.join(prefix, "bin", version) for prefix in (sys.exec_prefix, sys.base_exec_prefix))]:
        if found and os.path.basename(found).startswith(("python", "pypy")) and os.access(found, os.X_OK):
            return found
    return ""


def tune(graph, options: CompileOptions, sizes: list[int]) -> list[str]:
    """Searches schedules for the kernels of `graph` that have no record yet, and writes records. `sizes`: of its symbolic
    sizes, in order, to measure at. Returns a line per
    kernel and one of the whole graph. Targets other than cpu have nothing that can be measured: a ValueError."""
    if options.target != "cpu":
        raise ValueError(f"tilewright: options['tune'] = {options.tune!r} measures kernels on the CPU; target {options.target!r} "
                         "has no schedules that can be measured. Leave it out")  # fmt: skip
    worker = [_interpreter(), "-c", _WORKER, str(pathlib.Path(_tilewright.__file__).parent)]
    try:
        lines = graph.tune(options.native(), options.tune, worker, sizes)
    except _tilewright.NoTuneWorker as why:
        warnings.warn(f"tilewright: options['tune'] = {options.tune!r} measures in processes of their own, and there are none: {why}. The graph is "
                      "compiled with the schedules of the cost model", stacklevel=2)  # fmt: skip
        return []
    for line in lines:
        log.info("%s", line)
    return lines
