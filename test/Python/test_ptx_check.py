"""Compares ptx-check with the host: one C++ source, compiled by clang to x86 and to PTX, must compute the same bits.

Tests scalar arithmetic (integers, f16, bf16, f32, f64, conversions) on random bits and random numbers.
"""

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "ptx-check"
CLANG = shutil.which("clang++-22")
THREADS = 64 * 64


def draw(rng, dtype):
    """Returns random bits. Seven of ten floats are numbers of moderate size."""
    bits = rng.integers(0, 2**64, THREADS, dtype=np.uint64)
    if dtype == np.uint64:
        bits[::5] >>= np.uint64(40)
        return bits
    values = bits.view(np.uint32)[::2].view(dtype).copy() if np.dtype(dtype).itemsize == 4 else bits.view(dtype).copy()
    if dtype == np.int32:
        values[::7] = rng.integers(-4, 5, len(values[::7]))
        return values
    moderate = rng.random(THREADS) < 0.7
    values[moderate] = rng.standard_normal(moderate.sum()) * 10 ** rng.uniform(-6, 6, moderate.sum())
    return values


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ptx")
    source = str(ROOT / "test" / "Python" / "Inputs" / "scalars.cpp")
    host = ["-x", "c++", "-DHOST", "-O1", "--rtlib=compiler-rt", "-shared", "-fPIC", "-o", folder / "scalars.so"]
    device = ["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib", "-O2", "-S"]
    for options in (host, [*device, "-o", folder / "scalars.ptx"]):
        subprocess.run([CLANG, "-ffp-contract=off", *options, source], check=True, capture_output=True, timeout=120)
    return folder


@pytest.mark.skipif(CLANG is None, reason="needs clang++-22")
@pytest.mark.parametrize(
    "kernel, dtypes, result",
    [
        ("ints", (np.int32, np.int32, np.uint64, np.uint64), np.int32),
        ("floats", (np.float32, np.float32, np.float64, np.float64), np.float32),
    ],
)
def test_scalar_ops_equal_those_of_the_host(compiled, tmp_path, kernel, dtypes, result):
    rng = np.random.default_rng(5)
    inputs = [draw(rng, dtype) for dtype in dtypes]
    expected = np.zeros((THREADS, 40), result)
    function = getattr(ctypes.CDLL(str(compiled / "scalars.so")), kernel)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (expected, *inputs)]
    for thread in range(THREADS):
        function(*pointers, ctypes.c_int(thread))
    buffers = {"o": {"dtype": "u32", "shape": [THREADS, 40], "out": "o.npy"}}
    for number, array in enumerate(inputs):
        np.save(tmp_path / f"in{number}.npy", array)
        buffers[f"i{number}"] = {"file": f"in{number}.npy"}
    launch = {"kernel": kernel, "grid": THREADS // 64, "block": 64, "buffers": buffers, "arguments": [{"buffer": name} for name in buffers]}
    (tmp_path / "launch.json").write_text(json.dumps(launch))
    run = subprocess.run(
        [CHECKER, compiled / "scalars.ptx", "--args", tmp_path / "launch.json"], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr
    got = np.load(tmp_path / "o.npy").view(result)
    same = got.view(np.uint32) == expected.view(np.uint32)
    if result == np.float32:
        same |= np.isnan(got) & np.isnan(expected)
    columns = np.flatnonzero(~same.all(axis=0))
    assert columns.size == 0, f"results {columns.tolist()} differ"
