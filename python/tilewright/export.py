"""tilewright.export: writes a model as a .pt2 file that the tilewright program reads without Python."""

from __future__ import annotations

import inspect
import json
import os
import tempfile

import torch
from torch.utils._pytree import tree_leaves

from . import _tilewright, operators
from .decompositions.table import decompositions


class ExportError(RuntimeError):
    """Raised if a part of a model cannot be compiled without Python. The message lists all reasons."""


def _table() -> dict:
    """Returns the table for run_decompositions(). It contains the composite ops that the importer does not support, and the ops that
    torch.compile decomposes."""
    known = operators.of_kind("import")
    composite = {op: fn for op, fn in torch.export.default_decompositions().items() if str(op) not in known}
    return composite | decompositions()


def _find_dims(value, spec, found: dict) -> None:
    """Adds the torch.export.Dim of each dimension of the tensors in `value` to `found`, by the tensor's id and dimension."""
    if isinstance(value, torch.Tensor):
        for dim, size in spec.items() if isinstance(spec, dict) else enumerate(spec or ()):
            if isinstance(size, torch.export.Dim):
                found[id(value), dim] = size.__name__
    elif isinstance(value, dict) and isinstance(spec, dict):
        for key, part in value.items():
            _find_dims(part, spec.get(key), found)
    elif isinstance(value, (list, tuple)) and isinstance(spec, (list, tuple)):
        for part, its in zip(value, spec):
            _find_dims(part, its, found)


def _names_of_sizes(program, model, inputs: tuple, kwargs: dict, dynamic_shapes) -> dict[str, str]:
    """Returns for each symbol of the program, such as s31, the name in `dynamic_shapes`, which the program does not contain."""
    found: dict = {}
    if isinstance(dynamic_shapes, dict):
        arguments = inspect.signature(model.forward).bind(*inputs, **kwargs).arguments
        _find_dims(dict(arguments), dynamic_shapes, found)
    else:
        _find_dims([*inputs, *kwargs.values()], dynamic_shapes, found)
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    names: dict[str, str] = {}
    for leaf, user in zip(tree_leaves((inputs, kwargs)), program.graph_signature.user_inputs):
        node = placeholders.get(user) if isinstance(user, str) else None
        if node is None or not isinstance(leaf, torch.Tensor):
            continue
        for dim, size in enumerate(node.meta["val"].shape):
            name = found.get((id(leaf), dim), "")
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol and name.isidentifier():
                names[str(size.node.expr)] = name
    return names


def export(model, inputs, path, *, kwargs=None, dynamic_shapes=None):
    """Exports `model` for ahead-of-time use: `tilewright compile PATH`, `tilewright run PATH --input NAME=x.npy`.

    `model` is a torch.nn.Module. It is exported in its current mode (train or eval), so call model.eval() first if
    necessary. `inputs` is the tuple of example arguments, and `kwargs` contains example keyword arguments. All sizes are
    fixed to those of the examples, except sizes that `dynamic_shapes` names in the format of torch.export.export, as in
    `{"x": {0: torch.export.Dim("batch", max=512)}}`. C headers, manifests and errors use these names (here `batch`). A
    dynamic size of an example argument must be at least 2, because torch specializes a size of 1. `path` is the file to write,
    `NAME.pt2`, which also contains the parameters. Returns the torch.export.ExportedProgram that was written.

    Ops that Tilewright supports are not decomposed; all other ops are decomposed as in torch.compile. Raises ExportError if a
    part of the model cannot be compiled without Python. The message lists each such op with the reason and the line in
    the user's program. Raises the errors of torch.export.export if it cannot trace the model. In both cases no file is
    written.
    """
    path = os.fspath(path)
    if not path.endswith(".pt2"):
        raise ValueError(f"tilewright: the path {path!r} does not end in .pt2")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"tilewright: there is no folder {folder!r}, in which {os.path.basename(path)!r} would be written")
    if isinstance(inputs, torch.Tensor):
        raise TypeError("tilewright: inputs must be the tuple of the model's arguments, (x,), not the tensor x")
    with torch.no_grad():
        program = torch.export.export(model, tuple(inputs), kwargs, dynamic_shapes=dynamic_shapes)
        program = program.run_decompositions(_table())
    with tempfile.TemporaryDirectory(prefix=".tilewright-export-", dir=folder) as scratch:
        written = os.path.join(scratch, os.path.basename(path))  # the top folder in the archive has the name of the file
        names = _names_of_sizes(program, model, tuple(inputs), kwargs or {}, dynamic_shapes)
        torch.export.save(program, written, extra_files={"tilewright/sizes.json": json.dumps(names)})
        try:
            _tilewright.import_exported(written)
        except _tilewright.Refused as error:
            text = str(error).replace(written, path)  # errors contain the path of the temporary file
            raise ExportError(f"tilewright: {type(model).__name__} is not exported: {text}") from None
        os.replace(written, path)
    return program
