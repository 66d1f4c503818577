"""The driver's device, without a GPU: kernels go through CUDA's driver API, into a driver that runs them on ptx-check."""

import os
import pathlib
import subprocess
import sys

import pytest

here = pathlib.Path(__file__).parent
FAKE = pathlib.Path(os.environ.get("TILEWRIGHT_FAKE_CUDA_LIBRARY", here.parent.parent / "build/lib/libtilewright_fake_cuda.so"))
pytestmark = pytest.mark.skipif(not FAKE.exists(), reason=f"{FAKE} is not built")


def run(*names, settings="", **environment):
    done = subprocess.run([sys.executable, here / "driver_program.py", *names], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "TILEWRIGHT_LIBCUDA": str(FAKE), "TILEWRIGHT_FAKE_CUDA": settings, **environment})  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def assert_good(*names, **how):
    code, out, errors = run(*names, **how)
    assert code == 0, errors[-3000:]
    assert out.splitlines() == [f"{name}: good" for name in names]


def test_graphs_give_the_same_bits():
    assert_good("network", "convolution", "attention", "training", "parameters", "in_place", "random", "index")


def test_graphs_of_hopper_give_the_same_bits():
    assert_good("network", "chip", settings="capability=9.0")


def test_graphs_on_a_gpu_are_compiled_for_it():
    assert_good("tensors_on_the_gpu")


def test_models_run_whole():
    pytest.importorskip("transformers")
    assert_good("transformer", "resnet")


def test_a_device_without_stream_ordered_allocation():
    assert_good("network", "index", settings="pools=0")


def test_launches_may_block():
    assert_good("network", "index", CUDA_LAUNCH_BLOCKING="1")


@pytest.mark.parametrize("settings, wanted", [
    ("devices=0", "the NVIDIA driver cannot start: CUDA_ERROR_NO_DEVICE"),
    ("fail=cuInit:1:3", "the NVIDIA driver cannot start: CUDA_ERROR_NOT_INITIALIZED"),
    ("fail=cuDevicePrimaryCtxRetain:1:2", "out of memory: cuda:0 cannot be used: CUDA_ERROR_OUT_OF_MEMORY"),
    ("fail=cuModuleLoadDataEx:1:222", "the driver is older than the PTX: update it"),
    ("memory=1000", "out of memory: this call needs"),
    ("fail=cuMemcpyHtoDAsync_v2:1:700", "failed to copy an argument: CUDA_ERROR_ILLEGAL_ADDRESS"),
])  # fmt: skip
def test_what_the_driver_refuses_is_told(settings, wanted):
    code, _, errors = run("network", settings=settings)
    assert code == 1 and wanted in errors, errors[-3000:]


def test_a_failing_kernel_is_named():
    code, _, errors = run("network", settings="fault=kernel_0", CUDA_LAUNCH_BLOCKING="1")
    assert code == 1
    assert "kernel kernel_0 failed on cuda:0 (Fake GPU, sm_80): CUDA_ERROR_ILLEGAL_ADDRESS" in errors, errors[-3000:]
    assert "is launched by" in errors and "driver_program.py" in errors, errors[-3000:]


def test_code_for_another_chip_is_refused():
    code, _, errors = run("chip", settings="capability=8.6")
    assert code == 1
    assert "does not take the compiled kernels: CUDA_ERROR_INVALID_PTX" in errors and "compile for this chip" in errors, errors[-3000:]
