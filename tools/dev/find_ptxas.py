"""Finds NVIDIA's assembler ptxas."""

import pathlib
import shutil
import sysconfig


def find_ptxas() -> str | None:
    """Returns the path of ptxas of NVIDIA's wheel, which tools/setup.sh installs, of PATH, or of /usr/local/cuda, or None if there is none."""
    wheels = sorted(pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/bin/ptxas"), key=lambda path: int(path.parts[-3][2:]), reverse=True)
    return next(filter(None, map(shutil.which, [*wheels, "ptxas", "/usr/local/cuda/bin/ptxas"])), None)
