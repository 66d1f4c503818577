"""Runs the same graph through a file and the tilewright program: an exported model, an ONNX file, or MLIR.

The results of the program are judged like those of torch.compile. A program from a file takes contiguous arguments.
It has no gradients, no eager strides, and no results that share memory. Results are converted to eager's layout before they are compared.

    pt2     tilewright.export, then `tilewright run model.pt2`
    onnx    torch.onnx.export; onnxruntime checks differences: if its results differ as well, the exporter is at fault
    mlir    `tilewright compile model.pt2 --emit=graph`, then `tilewright run` of that text
"""

from __future__ import annotations

import logging
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from judge import Run, call
from program import Program
from verdict import Wrong

import tilewright

THROUGH = ("pt2", "onnx", "mlir")
PROGRAM = Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
SECONDS = 60


class Refused(Exception):
    """Raised if the program refuses the file, with a reason."""


class NotExported(Exception):
    """Raised if torch cannot write a file of the graph."""


def as_inference(program: Program) -> Program:
    """Returns the parts of a graph that a file can represent."""
    return replace(program, mode="inference", inputs=[replace(i, gradient=False) for i in program.inputs])


def writes_an_input(program: Program) -> bool:
    names = {i.name for i in program.inputs}
    before, after = program.tensors(), program.tensors()
    with torch.no_grad():
        program.module(after)(*[after[i.name] for i in program.inputs if not i.parameter])
    return any(after[name]._version != before[name]._version for name in names)


def command(*words) -> str:
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=SECONDS)
    if done.returncode == 1 and "cannot be compiled:" in done.stderr:
        raise Refused(done.stderr.partition("cannot be compiled:")[2])
    if done.returncode:
        raise RuntimeError(f"tilewright {words[0]} ended with exit status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def as_array(tensor: torch.Tensor) -> np.ndarray:
    """Returns a NumPy array. bfloat16 becomes bytes."""
    dense = tensor.detach().contiguous()
    return dense.view(torch.int16).numpy().view("V2") if dense.dtype == torch.bfloat16 else dense.numpy()


def as_tensor(array: np.ndarray) -> torch.Tensor:
    if array.dtype.kind == "V":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16).reshape(array.shape)
    tensor = torch.from_numpy(array.copy()).reshape(array.shape)
    return tensor if array.size else torch.empty_like(tensor, memory_format=torch.contiguous_format)  # NumPy's strides are 0


def laid_out(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Returns the same elements in the layout of `like`. Returns `tensor` unchanged if its shape or dtype differs, or
    if elements that share memory have different values."""
    if tensor.shape != like.shape or tensor.dtype != like.dtype:
        return tensor
    if not tensor.numel():
        return like
    memory = torch.empty(like.untyped_storage().nbytes() // like.element_size(), dtype=like.dtype)
    made = memory.as_strided(like.shape, like.stride(), like.storage_offset())
    if not any(s == 0 and n > 1 for s, n in zip(like.stride(), like.shape)):
        return made.copy_(tensor)
    for place in np.ndindex(*like.shape):
        made[place] = tensor[place]
    return made if torch.equal(made.nan_to_num(), tensor.nan_to_num()) else tensor


def run_peer(path: Path, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Runs an ONNX file in onnxruntime. If onnxruntime has no kernel for a dtype, the reference evaluator of the package onnx runs the file."""
    import onnxruntime

    try:
        return onnxruntime.InferenceSession(path).run(None, inputs)
    except Exception:
        from ml_dtypes import bfloat16
        from onnx.reference import ReferenceEvaluator

        inputs = {name: array.view(bfloat16) if array.dtype.kind == "V" else array for name, array in inputs.items()}
        return ReferenceEvaluator(str(path)).run(None, inputs)


class FromFile:
    """A program that is exported once. The class replaces judge.Compiled."""

    fakes: list = []  # the exporter's fake results
    apart: set[int] = set()

    def __init__(self, program: Program, through: str):
        self.program, self.through = program, through
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        self.path: Path | None = None
        self.peer = False  # run another runtime instead of the program
        self.names: list[str] = []
        self.results: list[torch.Tensor] = []  # of the last call, as the program returned them
        self.weights: dict[str, torch.Tensor] = {}  # parameters and constants that are arguments in MLIR
        self.declared: list[str] = []  # dtypes of the results of an ONNX file

    def run(self, program: Program) -> Run:
        want = call(program)
        got = call(program, self.called)
        self.results = got.tensors[: len(got.aliases)]
        return Run([laid_out(ours, theirs) for ours, theirs in zip(got.tensors, want.tensors)], want.aliases, 0)

    def called(self, module):
        return lambda *arguments: self.of_file(module, [a.detach().contiguous() for a in arguments])

    def export(self, module, arguments) -> None:
        folder = Path(self.folder.name)
        self.names = [i.name for i in self.program.inputs if not i.parameter]
        if self.through == "onnx":
            if any("scatter_reduce" in node.text and "'mean'" in node.text for node in self.program.nodes):
                raise NotExported("torch.onnx.export writes scatter_reduce with reduce='mean' as a scatter without a reduction")
            self.path = folder / "model.onnx"
            before = logging.root.manager.disable
            logging.disable(logging.ERROR)
            try:
                made = torch.onnx.export(module, tuple(arguments), dynamo=True, verbose=False)
                made.save(str(self.path))
                self.names = [i.name for i in made.model.graph.inputs]
                self.declared = [str(o.dtype.numpy()) for o in made.model.graph.outputs]
            except Exception as error:
                raise NotExported(f"{type(error).__name__}: {error}") from error
            finally:
                logging.disable(before)
            return
        try:
            made = tilewright.export(module, tuple(arguments), folder / "model.pt2")
        except tilewright.ExportError as error:
            raise Refused(str(error)) from error
        except Exception as error:
            raise NotExported(f"{type(error).__name__}: {error}") from error
        self.path = folder / f"model.{self.through}"
        # The shapes of fake tensors differ from those of eager in some cases (pixel_unshuffle of an empty tensor).
        values = {node.name: node.meta.get("val") for node in made.graph.nodes}
        outputs = [values.get(name) for name in made.graph_signature.user_outputs]
        self.fakes = [value if isinstance(value, torch.Tensor) else None for value in outputs]
        if self.through == "mlir":
            command("compile", folder / "model.pt2", "--emit=graph", "-o", self.path)
            named = set(re.findall(r'tw\.name = "([^"]+)"', self.path.read_text()))  # parameters without uses are not in the file
            weights = dict(module.state_dict()) | made.constants
            self.weights = {name: value for name, value in weights.items() if name in named and isinstance(value, torch.Tensor)}

    def of_file(self, module, arguments) -> list[torch.Tensor]:
        if self.path is None:
            self.export(module, arguments)
        given = dict(zip(self.names, arguments, strict=True))
        if self.through == "mlir":
            given |= self.weights
        if self.peer:
            return [as_tensor(a) for a in run_peer(self.path, {n: as_array(t) for n, t in given.items()})]
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            words = []
            for number, (name, tensor) in enumerate(given.items()):
                np.save(f"{folder}/{number}.npy", as_array(tensor))
                words += ["--input", f"{name}={folder}/{number}.npy"]
            said = command("run", self.path, *words, "--threads", self.program.threads, "--output", f"{folder}/results")
            names = [line.split("(", 1)[1].split("):", 1)[0] for line in said.splitlines() if line.startswith("result ")]
            return [as_tensor(np.load(f"{folder}/results/{name}.npy")) for name in names]


def exporter_differs(compiled: FromFile, wrong: Wrong, judged) -> bool:
    """Returns whether the file itself is wrong, according to the dtypes of its results or to another runtime."""
    if wrong.kind == "dtype":
        return [str(t.dtype).removeprefix("torch.") for t in compiled.results] == compiled.declared
    compiled.peer = True
    try:
        judged()
    except Wrong:
        return True
    except Exception:
        return False
    finally:
        compiled.peer = False
    return False
