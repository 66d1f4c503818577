"""options={"nvtx": True} marks calls and kernels as NVTX ranges. A library that the tests build in place of NVTX records the ranges."""

import os
import subprocess
import sys

import pytest

import tilewright  # noqa: F401 - registers the backend
from test_cuda_driver import FAKE

LIBRARY = r"""
#include <cstdio>
#include <cstdlib>
static void note(const char *what, const char *text) {
  FILE *file = std::fopen(std::getenv("RANGES"), "a");
  std::fprintf(file, "%s%s\n", what, text);
  std::fclose(file);
}
extern "C" int nvtxRangePushA(const char *name) { note("push ", name); return 0; }
extern "C" int nvtxRangePop() { note("pop", ""); return 0; }
"""
PROGRAM = """
import torch, tilewright
def layer(x, w):
    return torch.nn.functional.gelu(x @ w).softmax(-1)
x, w = torch.randn(64, 128).bfloat16(), torch.randn(128, 96).bfloat16()
compiled = torch.compile(layer, backend="tilewright", options={"strict": True, "nvtx": True, **OPTIONS})
for _ in range(2):
    compiled(x, w)
"""
GPU = {"target": "cuda", "device": "cuda:0"}


def compiled_library(tmp_path, source):
    (tmp_path / "nvtx.cpp").write_text(source)
    path = tmp_path / "libnvtx.so"
    subprocess.run(["clang++-22", "-shared", "-fPIC", "-o", path, tmp_path / "nvtx.cpp"], check=True)
    return path


def run(tmp_path, options, **environment):
    program = PROGRAM.replace("OPTIONS", repr(options))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TILEWRIGHT_LIBCUDA": str(FAKE), "TILEWRIGHT_FAKE_CUDA": "capability=9.0",
                               "RANGES": str(tmp_path / "ranges"), **environment})  # fmt: skip


@pytest.mark.skipif(not FAKE.exists(), reason=f"{FAKE} is not built")
def test_calls_and_launches_on_a_gpu_are_nested_ranges(tmp_path):
    library = compiled_library(tmp_path, LIBRARY)
    done = run(tmp_path, GPU, TILEWRIGHT_LIBNVTX=str(library))
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (tmp_path / "ranges").read_text().splitlines()
    one, two = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    assert one == two and one[0] == "push tilewright: layer (inference)" and one[-1] == "pop", lines
    kernels = one[1:-1]
    assert kernels and kernels[1::2] == ["pop"] * (len(kernels) // 2)
    assert any(line.startswith("push matmul") and line.endswith("64x96x128") for line in kernels[::2]), kernels


def test_calls_on_the_cpu_are_ranges(tmp_path):
    done = run(tmp_path, {}, TILEWRIGHT_LIBNVTX=str(compiled_library(tmp_path, LIBRARY)))
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (tmp_path / "ranges").read_text().splitlines()
    assert lines.count("pop") == len(lines) / 2 and lines.count("push tilewright: layer (inference)") == 2


def test_missing_library_is_an_error_with_instructions(tmp_path):
    missing = run(tmp_path, {}, TILEWRIGHT_LIBNVTX=str(tmp_path / "none.so"))
    assert missing.returncode == 1 and "which TILEWRIGHT_LIBNVTX names, does not exist" in missing.stderr
    other = run(tmp_path, {}, TILEWRIGHT_LIBNVTX=str(compiled_library(tmp_path, "int nothing;")))
    assert other.returncode == 1 and "is not an NVTX library: it has no functions nvtxRangePushA and nvtxRangePop" in other.stderr
    if not os.environ.get("LD_LIBRARY_PATH") and not any((__import__("pathlib").Path(folder) / "nvidia").is_dir() for folder in sys.path):
        absent = run(tmp_path, {}, TILEWRIGHT_LIBNVTX="")
        assert absent.returncode == 1 and "pip install nvidia-nvtx" in absent.stderr
