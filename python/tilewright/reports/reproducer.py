"""Writes a folder after a failed compilation, with a script that repeats the compilation, the imported IR and the
error."""

from __future__ import annotations

import pathlib
import tempfile
import traceback

import torch
from torch import fx

from ..options import CompileOptions


def _input_text(value) -> str:
    """Returns a Python expression that makes an argument like `value`."""
    if not isinstance(value, torch.Tensor):
        return repr(value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value)

    def known(sizes):
        return tuple(int(s.node.hint) if isinstance(s, torch.SymInt) and s.node.hint is not None else int(s) for s in sizes)

    return f"argument({known(value.shape)}, {known(value.stride())}, {value.dtype})"


def script(gm: fx.GraphModule, options: CompileOptions) -> str:
    """Returns a program that compiles only this graph with the backend."""
    inputs = [n.meta.get("val") for n in gm.graph.nodes if n.op == "placeholder"]
    constants = {str(n.target): getattr(gm, str(n.target), None) for n in gm.graph.nodes if n.op == "get_attr"}
    lines = ["import torch", "from torch import device, inf, nan, tensor  # noqa: F401", "",
             "def argument(sizes, strides, dtype):",
             "    result = torch.empty_strided(sizes, strides, dtype=dtype)",
             "    return result.uniform_(-1, 1) if dtype.is_floating_point else result.random_(0, 2)", "",
             "class Graph(torch.nn.Module):"]  # fmt: skip
    for name, value in constants.items():
        if isinstance(value, torch.Tensor):
            lines.append(f"    {name} = {_input_text(value)}")
    lines += ["    " + line for line in gm.code.strip().splitlines()]
    dynamic = any(isinstance(s, torch.SymInt) for v in inputs for s in (v.shape if isinstance(v, torch.Tensor) else [v]))
    lines += ["", "arguments = ["] + [f"    {_input_text(value)}," for value in inputs] + ["]"]
    lines += ["with torch.no_grad():",
              f"    torch.compile(Graph(), backend=\"tilewright\", dynamic={dynamic}, options={options.chosen()!r})(*arguments)", ""]  # fmt: skip
    return "\n".join(lines)


def write(gm: fx.GraphModule, ir: str, options: CompileOptions, error: Exception) -> pathlib.Path:
    """Writes the folder and returns it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-error-"))
    for name, make in (("reproduce.py", lambda: script(gm, options)), ("graph.mlir", lambda: ir),
                       ("error.txt", lambda: "".join(traceback.format_exception(error)))):  # fmt: skip
        try:
            text = make()
        except Exception as trouble:  # the original error is more important
            text = f"# this file could not be written: {trouble!r}\n"
        (folder / name).write_text(text)
    return folder
