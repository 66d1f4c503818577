"""The mode `exported`: a file of torch.export.save, unchanged, is compiled and called by the program, without Python
and torch."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from results import named_tensors
from torch.utils._pytree import keystr, tree_flatten_with_path
from verdict import Outcome, Wrong, short

import tilewright

PROGRAM = Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
SECONDS = 200  # for one call


class Refused(Exception):
    """Raised if the program refuses the file, with the reason."""


class Untaken(Exception):
    """Raised if torch.export refuses the model."""


def to_numpy(tensor: torch.Tensor):
    return tensor.view(torch.int16).numpy().view("V2") if tensor.dtype == torch.bfloat16 else tensor.numpy()


def from_numpy(array) -> torch.Tensor:
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if array.dtype == np.dtype("V2") else torch.from_numpy(array)


def without_caches(model) -> None:
    """Switches off results that are not tensors, which a file cannot have."""
    for part in model.modules():
        if hasattr(getattr(part, "config", None), "use_cache"):
            part.config.use_cache = False


def tensors_in(arguments: dict) -> dict:
    return {name: value for name, value in arguments.items() if value is not None and name != "use_cache"}


class ExportedModel:
    """`model` exported for `arguments`; it can be called with others of the same sizes. Its files are in a temporary
    folder."""

    def __init__(self, model, arguments: dict):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "model.pt2"
        self.model = model
        self.calls = 0
        try:
            with torch.no_grad():
                program = torch.export.export(model, (), tensors_in(arguments), strict=False)
                torch.export.save(program, self.path)
        except Exception as error:
            raise Untaken(f"{type(error).__name__}: {error}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def __call__(self, **arguments) -> dict:
        self.calls += 1
        folder = Path(self.folder.name) / str(self.calls)
        folder.mkdir()
        words = ["run", str(self.path), "--output", str(folder / "results")]
        for path, tensor in tree_flatten_with_path(tensors_in(arguments))[0]:
            name = "_".join(re.findall(r"\w+", keystr(path)))
            np.save(folder / f"{name}.npy", to_numpy(tensor.contiguous()))
            words += ["--input", f"{name}={folder / name}.npy"]
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=SECONDS)
        if done.returncode == 1:
            raise Refused(done.stderr)
        if done.returncode != 0:
            raise Wrong("crash", f"the program ended with exit status {done.returncode}: {done.stderr[-500:]}")
        found = {file.stem: from_numpy(np.load(file)) for file in (folder / "results").iterdir()}
        with torch.no_grad():
            eager = self.model(**tensors_in(arguments))  # for its class and the order of its contents
        names = named_tensors(eager)
        if sorted(found) != sorted(names):
            raise Wrong("structure", f"results {sorted(found)[:6]}, but eager has {sorted(names)[:6]}")
        # The program's result files have no strides, so results are converted to eager's strides.
        return {name: torch.empty_strided(eager.shape, eager.stride(), dtype=found[name].dtype).copy_(found[name])
                if eager.shape == found[name].shape else found[name] for name, eager in names.items()}  # fmt: skip


def refused(error: Refused) -> Outcome:
    """Returns the outcome of a refused file, with the ops or the reason."""
    text = str(error)
    ops = sorted(set(re.findall(r"\b((?:aten|prims|transformers|torchvision|_operator)\.\w+(?:\.\w+)?)[( ]", text)))
    return Outcome("refused", " | ".join(ops) or short(text.replace("error: ", "")), text)


def judge_exported(trial, every: list, compare_all) -> Outcome:
    """Judges an exported model. `compare_all(forward)` returns seconds and the number of results that were judged
    over several draws."""
    before = time.monotonic()
    try:
        with ExportedModel(trial.model, every[0][0]) as forward:
            seconds, redrawn = compare_all(forward)
    except Untaken as error:
        return Outcome("torch", short(str(error)), str(error))
    except Refused as error:
        return refused(error)
    except subprocess.TimeoutExpired as error:
        return Outcome("hang", "", str(error))
    except Wrong as error:
        return Outcome("crash" if error.kind == "crash" else "wrong", error.kind, str(error))
    except Exception as error:
        return Outcome("error", short(f"{type(error).__name__}: {error}"), f"{type(error).__name__}: {error}")
    return Outcome("native", "", "", [], {"graphs": 1, "seconds": round(seconds, 1), "redrawn": redrawn, "all": round(time.monotonic() - before, 1)})
