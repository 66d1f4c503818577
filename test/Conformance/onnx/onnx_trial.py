"""Runs one case with `tilewright run model.onnx` and compares its outputs with the package's.

A state is a word and a reason. "pass"; "pass: constant axes" if these inputs of the model had to become initializers
(a compiled model needs them at compile time); "refused: ..." if the program reports what it does not support;
"finer", which does not count as a pass, if a float16 result differs from the expected one but is closer to float64's
(onnx_exact.py). "wrong", "error", "crash" and "hang" are bugs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx_cases import Case
from onnx_exact import is_finer

HANG = 120  # seconds for one call
program = Path(os.environ.get("TILEWRIGHT_PROGRAM", Path(__file__).resolve().parents[3] / "build" / "bin" / "tilewright"))
MUST_BE_KNOWN = re.compile(r"\('([^']*)'\) must be known when the model is compiled")


def ancestors(model: onnx.ModelProto, name: str) -> set[str]:
    """Returns the inputs of the graph on which a value depends."""
    made = {output: node for node in model.graph.node for output in node.output}
    inputs = {value.name for value in model.graph.input}
    found, seen, todo = set(), set(), [name]
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in inputs:
            found.add(value)
        elif value in made:
            todo.extend(made[value].input)
    return found


def with_constants(case: Case, inputs: list, constants: set[str]) -> onnx.ModelProto:
    """Returns the model with these inputs as initializers."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for value, array in zip(case.model.graph.input, inputs, strict=False):
        if value.name in constants:
            tensor = onnx.numpy_helper.from_array(np.asarray(array), value.name)
            tensor.data_type = value.type.tensor_type.elem_type
            model.graph.initializer.append(tensor)
    for value in [v for v in model.graph.input if v.name in constants]:
        model.graph.input.remove(value)
    return model


def reason_of(text: str) -> str:
    """Returns the first refusal, without names of values and paths."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    line = lines[0] if lines else (text.strip().splitlines() or ["no message"])[-1]
    line = re.sub(r" \(operator set \d+\)( '[^']*')?", "", line)
    line = re.sub(r"\S*/", "", re.sub(r"'[^']*\.onnx'", "FILE", line))
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", line)[:140]


def is_numpys(dtype: np.dtype) -> bool:
    """Returns whether the dtype is one of numpy's, not of ml_dtypes."""
    return dtype.isbuiltin == 1


def same(got: np.ndarray, want: np.ndarray, case: Case) -> str:
    """Returns why a result differs from the expected one, or ''. Uses the package's tolerances and its comparison."""
    want = np.asarray(want)
    if got.shape != want.shape:
        return f"its shape is {got.shape}, expected is {want.shape}"
    if not is_numpys(want.dtype) and got.dtype.itemsize == want.dtype.itemsize and got.dtype.kind in "Viu":
        got = got.view(want.dtype)  # bfloat16 and narrow types, which the program writes as bytes
    if got.dtype != want.dtype:
        return f"its dtype is {got.dtype}, expected is {want.dtype}"
    rtol = case.rtol
    if want.dtype.name == "bfloat16":  # two units in the last place, as in the package's own runner
        rtol = max(rtol, 2**-6)
    if not is_numpys(want.dtype):
        got, want = got.astype(np.float32), want.astype(np.float32)
    try:
        np.testing.assert_allclose(got, want, rtol=rtol, atol=case.atol)
    except AssertionError as problem:
        return " ".join(str(problem).split())[:300]
    return ""


def call(model: onnx.ModelProto, arrays: dict, folder: Path) -> subprocess.CompletedProcess:
    onnx.save(model, folder / "model.onnx")
    command = [str(program), "run", str(folder / "model.onnx"), "--output", str(folder / "out"), "--threads", "1", "--rounding", "eager"]
    for number, (name, array) in enumerate(arrays.items()):
        array = np.asarray(array)
        if array.dtype.name == "bfloat16":
            array = array.view(np.dtype("V2"))
        elif array.dtype.name in ("int4", "int2"):
            array = array.astype(np.int8)
        elif not is_numpys(array.dtype):  # the program reads 8-bit floats and narrower types as bytes
            array = array.view(np.uint8)
        np.save(folder / f"{number}.npy", array)
        command += ["--input", f"{name}={folder / f'{number}.npy'}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG, errors="replace")


def attempt(case: Case, inputs: list, outputs: list, constants: set[str]) -> str:
    names = [value.name for value in case.model.graph.input if value.name not in {t.name for t in case.model.graph.initializer}]
    arrays = {name: array for name, array in zip(names, inputs, strict=False) if name not in constants}
    if any(not hasattr(array, "dtype") or array.dtype.kind in "OUS" for array in arrays.values()):
        arrays = {}  # sequences and strings have no .npy; the program reports what it does with such models
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            done = call(with_constants(case, inputs, constants) if constants else case.model, arrays, folder)
        except subprocess.TimeoutExpired:
            return "hang"
        if done.returncode < 0 or done.returncode > 2:
            return f"crash: signal {-done.returncode}"
        if done.returncode and "cannot be compiled" in done.stderr:
            return "refused: " + done.stderr
        if done.returncode:
            return "error: " + reason_of(done.stderr)
        for number, (value, want) in enumerate(zip(case.model.graph.output, outputs, strict=False)):
            path = folder / "out" / (re.sub(r"[^A-Za-z0-9_.-]", "_", value.name) + ".npy")
            if not path.exists():
                path = next((folder / "out").glob(f"result{number}-*.npy"))
            got = np.load(path)
            if why := same(got, want, case):
                finer = got.shape == want.shape and got.dtype == want.dtype and is_finer(case, inputs, number, got, want)
                return f"{'finer' if finer else 'wrong'}: {value.name}: {why}"
    return "pass"


def run(case: Case, details: bool = False) -> str:
    """Returns the state of a case; with `details`, all output."""
    constants: set[str] = set()
    state = "pass"
    for inputs, outputs in case.data:
        state = attempt(case, inputs, outputs, constants)
        while state.startswith("refused: "):
            missing = set()
            for name in MUST_BE_KNOWN.findall(state):
                missing |= ancestors(case.model, name)
            if not missing - constants:
                break
            constants |= missing
            state = attempt(case, inputs, outputs, constants)
        if state != "pass":
            break
    if details:
        return state + (f"\n(inputs converted to initializers: {', '.join(sorted(constants))})" if constants else "")
    if state.startswith("refused: "):
        return "refused: " + reason_of(state.removeprefix("refused: "))
    if state.startswith(("wrong", "finer")):
        return state.split(":")[0]
    return state + (f": constant {', '.join(sorted(constants))}" if state == "pass" and constants else "")
