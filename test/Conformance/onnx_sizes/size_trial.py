"""Compiles one graph as a library, calls it at many sizes in guarded memory, and compares it with the reference."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx

from size_graphs import GraphMaker

ROOT = Path(__file__).resolve().parents[3]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"
MAX_RANK, F32 = 8, 8

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * MAX_RANK), ("strides", ctypes.POINTER(ctypes.c_int64))]


libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Guarded:
    """Memory of `count` floats that is followed by a page without access."""

    def __init__(self, count: int):
        page = mmap.PAGESIZE
        inner = (count * 4 + page - 1) // page * page or page
        self.bytes = inner + 2 * page
        self.base = libc.mmap(None, self.bytes, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        assert self.base not in (None, 2**64 - 1)
        assert libc.mprotect(self.base + page, inner, 3) == 0
        self.address = self.base + page + inner - count * 4
        self.array = np.ctypeslib.as_array(ctypes.cast(self.address, ctypes.POINTER(ctypes.c_float)), (count,))

    def free(self):
        self.array = None
        libc.munmap(self.base, self.bytes)


class Library:
    def __init__(self, path: Path, name: str):
        self.lib = ctypes.CDLL(str(path))
        function = lambda what: getattr(self.lib, f"{name}_{what}")  # noqa: E731
        self.run_, self.shape_, self.error_ = function("run"), function("shape"), function("error")
        create = function("create")
        create.restype = ctypes.c_void_p
        create.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        self.error_.restype = ctypes.c_char_p
        for f in (self.run_, self.shape_):
            f.argtypes = [ctypes.c_void_p, ctypes.POINTER(Tensor), ctypes.POINTER(Tensor)]
        self.error_.argtypes = [ctypes.c_void_p]
        text = ctypes.create_string_buffer(512)
        self.model = create(None, text, 512)
        if not self.model:
            raise RuntimeError(text.value.decode())
        self.outputs = function("num_outputs")()

    def call(self, arrays: list[np.ndarray]) -> tuple[list[np.ndarray] | None, str]:
        """Returns the results and '', or None and the error."""
        given, memory = (Tensor * max(1, len(arrays)))(), []
        for tensor, array in zip(given, arrays):
            held = Guarded(array.size)
            held.array[:] = array.ravel()
            memory.append(held)
            tensor.data, tensor.dtype, tensor.rank = held.address, F32, array.ndim
            tensor.sizes[:array.ndim] = array.shape
        made = (Tensor * self.outputs)()
        try:
            if self.shape_(self.model, given, made):
                return None, self.error_(self.model).decode()
            shapes = [tuple(tensor.sizes[:tensor.rank]) for tensor in made]
            for tensor, shape in zip(made, shapes):
                held = Guarded(int(np.prod(shape, dtype=np.int64)))
                held.array[:] = np.nan
                memory.append(held)
                tensor.data = held.address
            if self.run_(self.model, given, made):
                return None, self.error_(self.model).decode()
            results = memory[len(arrays):]
            return [held.array.copy().reshape(shape) for held, shape in zip(results, shapes)], ""
        finally:
            for held in memory:
                held.free()


class Reference:
    """onnxruntime if it is installed, otherwise the reference evaluator of the package onnx."""

    def __init__(self, model: onnx.ModelProto):
        if onnxruntime:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.intra_op_num_threads = 1
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        else:
            from onnx.reference import ReferenceEvaluator
            self.session = ReferenceEvaluator(model)

    def call(self, feeds) -> list[np.ndarray] | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.session.run(None, feeds)
        except Exception:  # any exception is a refusal
            return None


def differs(mine: np.ndarray, expected: np.ndarray) -> str:
    if mine.shape != expected.shape:
        return f"the shape is {mine.shape}, not {expected.shape}"
    if not mine.size:
        return ""
    if not np.array_equal(np.isfinite(mine), np.isfinite(expected)):
        return "different elements are finite"
    mine, expected = np.nan_to_num(mine.astype(np.float64)), np.nan_to_num(expected.astype(np.float64))
    error, scale = np.abs(mine - expected).max(), np.abs(expected).max()
    return "" if error <= 1e-4 * max(scale, 1.0) else f"elements differ by {error:.3g} of {scale:.3g}"


def trial(seed: int, count: int) -> dict:
    """Returns the result of graph `seed`: counts, and the errors that were found."""
    maker = GraphMaker(seed)
    model = maker.make()
    result = {"calls": 0, "same": 0, "both refuse": 0, "refused here alone": 0, "findings": [], "not compiled": ""}
    try:
        reference = Reference(model)
    except Exception as error:  # a graph that the reference does not load is skipped
        result["not compiled"] = f"reference: {str(error).splitlines()[0][:150]}"
        return result
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.onnx"
        path.write_bytes(model.SerializeToString())
        done = subprocess.run([str(DRIVER), "compile", str(path), "-o", f"{folder}/graph.so"], capture_output=True, text=True, timeout=300)
        if done.returncode not in (0, 1):
            result["findings"].append(f"tilewright compile ended with {done.returncode}")
            return result
        if done.returncode:
            result["not compiled"] = done.stderr.strip().splitlines()[-1][:300]
            return result
        library = Library(Path(folder) / "graph.so", "graph")
        numbers = np.random.default_rng(seed)
        inputs = [(info.name, [d.dim_param or d.dim_value for d in info.type.tensor_type.shape.dim]) for info in model.graph.input]
        for at, sizes in enumerate(maker.calls(count)):
            arrays = [numbers.standard_normal([sizes.get(d, d) for d in dims]).astype(np.float32) for _, dims in inputs]
            print(f"graph {seed} call {at} {sizes}", file=sys.stderr, flush=True)
            mine, why = library.call(arrays)
            expected = reference.call({name: array for (name, _), array in zip(inputs, arrays)})
            result["calls"] += 1
            where = f"graph {seed} at {sizes}"
            if mine is None and expected is None:
                result["both refuse"] += 1
            elif mine is None and (at == 0 or "sizes" not in why and "out of range" not in why and "index" not in why):
                result["findings"].append(f"{where}: refused: {why}")
            elif mine is None:
                result["refused here alone"] += 1
            elif expected is None:
                result["findings"].append(f"{where}: the reference refuses the call, but Tilewright returns a result")
            else:
                bad = next(filter(None, (differs(a, b) for a, b in zip(mine, expected))), "")
                result["findings" if bad else "same"] = (
                    result["findings"] + [f"{where}: {bad}"] if bad else result["same"] + 1)
    return result
