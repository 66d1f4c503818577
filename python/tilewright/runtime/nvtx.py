"""Finds NVIDIA's library of NVTX, for options={"nvtx": True}."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

# libnvtx3interop is part of the package nvidia-nvtx; older versions of CUDA have libnvToolsExt.
NAMES = ("libnvtx3interop.so.1", "libnvToolsExt.so.1")


def library() -> str:
    """Returns the path of the library, or its name if the dynamic linker finds it. Raises RuntimeError if there is none."""
    if chosen := os.environ.get("TILEWRIGHT_LIBNVTX", ""):
        if not Path(chosen).exists():
            raise RuntimeError(f"tilewright: options['nvtx']: the library {chosen!r}, which TILEWRIGHT_LIBNVTX names, does not exist")
        return chosen
    for name in NAMES:
        for folder in dict.fromkeys(sys.path):
            for found in sorted(Path(folder or ".", "nvidia").glob(f"*/lib/{name}")):
                return str(found)
        try:
            ctypes.CDLL(name)
            return name
        except OSError:
            continue
    raise RuntimeError(f"tilewright: options['nvtx'] needs NVIDIA's library of NVTX, but neither {' nor '.join(NAMES)} was found; "
                       "pip install nvidia-nvtx, or set TILEWRIGHT_LIBNVTX to the path of the library")  # fmt: skip
