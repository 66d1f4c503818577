"""tilewright.export: a model as a .pt2 file that the tilewright program reads without Python."""

from __future__ import annotations

import os
import tempfile

import torch

from . import _tilewright
from .decompositions import decompositions


class ExportError(RuntimeError):
    """A model cannot be compiled without Python: the text lists every reason."""


def _table() -> dict:
    """What run_decompositions() decomposes: ops made of others, and what torch.compile has decomposed, minus what the
    importer takes whole."""
    known = set(_tilewright.known_targets())
    composite = {op: fn for op, fn in torch.export.default_decompositions().items() if str(op) not in known}
    return composite | decompositions()


def export(model, inputs, path, *, kwargs=None, dynamic_shapes=None):
    """Exports `model` for ahead-of-time use: `tilewright compile PATH`, `tilewright run PATH --input NAME=x.npy`.

    `model` is a torch.nn.Module, run as it stands: call model.eval() first where it matters. `inputs` is the tuple of
    example arguments and `kwargs` those given by name; sizes are fixed to theirs but where `dynamic_shapes` names them,
    as torch.export.export takes it: `{"x": {0: torch.export.Dim("batch", max=512)}}`, with examples of at least 2 there,
    since torch fixes a size of 1. `path` is the file to write, *.pt2, with the parameters in it. Returns the
    torch.export.ExportedProgram that was written.

    The ops that Tilewright takes whole stay whole, others are decomposed as for torch.compile. Raises ExportError where
    something of the model cannot be compiled without Python (each op with its reason and the line of your program), and
    what torch.export.export raises where it cannot trace the model. Nothing is written then."""
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
            text = str(error).replace(written, path)
            raise ExportError(f"tilewright: {type(model).__name__} is not exported: {text}") from None
        os.replace(written, path)
    return program
