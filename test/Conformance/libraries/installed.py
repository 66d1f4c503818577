"""The libraries in build/libraries, which are not part of the project's environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
FOLDER = here.parents[2] / "build" / "libraries"

# Importing torchvision requires that these ops exist. Its wheels are built for CUDA, and without the CUDA library none
# of its ops is registered.
OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
    "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
)  # fmt: skip


def install() -> int:
    """Installs the libraries. Returns the exit status of pip."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--upgrade", "--target", str(FOLDER)]
    return subprocess.run([*command, "-r", str(here / "requirements.txt")]).returncode


def demand() -> None:
    """Exits if the libraries are not installed."""
    if not (FOLDER / "timm").is_dir():
        sys.exit("the libraries are not installed: python test/Conformance/libraries install")


def make_importable() -> None:
    """Puts the libraries on sys.path. Exits if they are not installed."""
    demand()
    if str(FOLDER) in sys.path:
        return
    sys.path.append(str(FOLDER))
    try:
        import torchvision  # noqa: F401
    except RuntimeError:  # its compiled ops are missing
        import torch

        library = torch.library.Library("torchvision", "DEF")
        for operator in OPERATORS:
            library.define(operator)
        _kept.append(library)
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]


_kept: list = []  # keeps the torch.library object alive: its operators are removed with it
