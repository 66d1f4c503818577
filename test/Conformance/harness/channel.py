"""The worker's end of pool.py: lines of JSON in on stdin, lines out by what open_channel() gives."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator

MEMORY = 12 << 30  # bytes of address space: more is an error of the sample, not the end of the machine


def open_channel() -> Callable:
    """`say(**fields)`; what others print goes with the errors."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def say(**fields) -> None:
        print(json.dumps(fields), file=channel, flush=True)

    return say


def questions() -> Iterator[dict]:
    return (json.loads(line) for line in sys.stdin)
