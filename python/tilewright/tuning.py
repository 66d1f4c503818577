"""options={"tune": "quick"}: a graph's kernels are raced before it is compiled; docs/tuning.md."""

from __future__ import annotations

import logging
import pathlib
import sys

from . import _tilewright
from .options import CompileOptions

log = logging.getLogger("tilewright")

# The workers load the extension alone: torch is not needed to compile or measure, and takes a second to import.
_WORKER = "import sys; sys.path.insert(0, sys.argv[1]); import _tilewright; _tilewright.tune_worker()"


def tune(graph, options: CompileOptions, sizes: list[int]) -> list[str]:
    """Searches schedules for the kernels of `graph` that have no record yet, and writes records. `sizes`: of its symbolic
    sizes, in order, to measure at. Returns a line per
    kernel and one of the whole graph. Targets other than cpu have nothing that can be measured: a ValueError."""
    if options.target != "cpu":
        raise ValueError(f"tilewright: options['tune'] = {options.tune!r} measures kernels on the CPU; target {options.target!r} "
                         "has no schedules that can be measured. Leave it out")  # fmt: skip
    worker = [sys.executable, "-c", _WORKER, str(pathlib.Path(_tilewright.__file__).parent)]
    lines = graph.tune(options.native(), options.tune, worker, sizes)
    for line in lines:
        log.info("%s", line)
    return lines
