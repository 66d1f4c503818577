"""tilewright.export: writes a model as a .pt2 file that the tilewright program reads without Python."""

from __future__ import annotations

import os
import tempfile

import torch

from . import _tilewright, operators
from .decompositions.table import decompositions


class ExportError(RuntimeError):
    """Raised if a model cannot be compiled without Python. The text lists every reason."""


def _table() -> dict:
    """Returns the table for run_decompositions(): composite ops and the ops that torch.compile decomposes, without
    those that the importer supports."""
    known = operators.of_kind("import")
    composite = {op: fn for op, fn in torch.export.default_decompositions().items() if str(op) not in known}
    return composite | decompositions()


def export(model, inputs, path, *, kwargs=None, dynamic_shapes=None):
    """Exports `model` for ahead-of-time use: `tilewright compile PATH`, `tilewright run PATH --input NAME=x.npy`.

    `model` is a torch.nn.Module, in its current mode: call model.eval() first if the mode matters. `inputs` is the
    tuple of example arguments, and `kwargs` has those given by name. Sizes are fixed to those of the examples, except
    the ones that `dynamic_shapes` names in the format of torch.export.export: `{"x": {0: torch.export.Dim("batch",
    max=512)}}`. A dynamic size must be at least 2 in the example, because torch fixes a size of 1. `path` is the file
    to write, `NAME.pt2`; it contains the parameters. Returns the torch.export.ExportedProgram that was written.

    Ops that Tilewright supports are kept; the others are decomposed as for torch.compile. Raises ExportError if a
    part of the model cannot be compiled without Python (the text has each op with its reason and the line of the
    user's program), and the errors of torch.export.export if it cannot trace the model. In both cases no file is
    written.
    """
    path = os.fspath(path)
    if not path.endswith(".pt2"):
        raise ValueError(f"tilewright: the path {path!r} does not end in .pt2")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"tilewright: there is no folder {folder!r} to write {os.path.basename(path)!r} into")
    if isinstance(inputs, torch.Tensor):
        raise TypeError("tilewright: inputs is the tuple of the model's arguments: (x,), not x")
    with torch.no_grad():
        program = torch.export.export(model, tuple(inputs), kwargs, dynamic_shapes=dynamic_shapes)
        program = program.run_decompositions(_table())
    with tempfile.TemporaryDirectory(prefix=".tilewright-export-", dir=folder) as scratch:
        written = os.path.join(scratch, os.path.basename(path))  # the archive's first folder is named after the file
        torch.export.save(program, written)
        try:
            _tilewright.import_exported(written)
        except _tilewright.Refused as error:
            text = str(error).replace(written, path)  # errors of the reader contain the path that it has read
            raise ExportError(f"tilewright: {type(model).__name__} is not exported: {text}") from None
        os.replace(written, path)
    return program
