"""Tests of the CUDA runtime without a GPU: a fake driver has the functions of the CUDA driver API, and runs kernels in
ptx-check."""

import os
import pathlib
import subprocess
import sys

import pytest

from test_cuda import find_ptxas

here = pathlib.Path(__file__).parent
FAKE = pathlib.Path(os.environ.get("TILEWRIGHT_FAKE_CUDA_LIBRARY", here.parent.parent / "build/lib/libtilewright_fake_cuda.so"))
pytestmark = pytest.mark.skipif(not FAKE.exists(), reason=f"{FAKE} is not built")


def run(*names, settings="", **environment):
    done = subprocess.run([sys.executable, here / "driver_program.py", *names], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "TILEWRIGHT_LIBCUDA": str(FAKE), "TILEWRIGHT_FAKE_CUDA": settings,
                               "TILEWRIGHT_PTXAS": "off", **environment})  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def assert_good(*names, **how):
    code, out, errors = run(*names, **how)
    assert code == 0, errors[-3000:]
    assert out.splitlines() == [f"{name}: good" for name in names]


def test_results_equal_those_of_the_emulated_device():
    assert_good("network", "convolution", "attention", "training", "parameters", "in_place", "random", "index")


def test_sm_90a_results_equal_those_of_the_emulated_device():
    assert_good("network", "chip", settings="capability=9.0")


def test_graph_of_gpu_tensors_is_compiled_for_their_device():
    assert_good("tensors_on_the_gpu")


def test_graph_of_cpu_and_gpu_tensors_is_split_by_device():
    assert_good("mixed", "mixed_ops")


def test_a_forked_child_is_refused():
    assert_good("forked")


def test_model_results_equal_those_of_the_emulated_device():
    pytest.importorskip("transformers")
    assert_good("transformer", "resnet")


def test_device_without_memory_pools_gives_equal_results():
    assert_good("network", "index", settings="pools=0")


def test_blocking_launches_give_equal_results():
    assert_good("network", "index", CUDA_LAUNCH_BLOCKING="1")


def test_calls_as_cuda_graphs_give_equal_results():
    names = ["network", "convolution", "attention", "training", "parameters", "in_place", "random", "index", "reduced_overhead"]
    assert_good(*names, DRIVER_PROGRAM_GRAPHS="1")
    assert_good("network", "chip", settings="capability=9.0", DRIVER_PROGRAM_GRAPHS="1")


def test_models_as_cuda_graphs_give_equal_results():
    pytest.importorskip("transformers")
    assert_good("transformer", "resnet", DRIVER_PROGRAM_GRAPHS="1")


@pytest.mark.parametrize("settings, wanted", [
    ("devices=0", "the NVIDIA driver cannot start: CUDA_ERROR_NO_DEVICE"),
    ("fail=cuInit:1:3", "the NVIDIA driver cannot start: CUDA_ERROR_NOT_INITIALIZED"),
    ("fail=cuDevicePrimaryCtxRetain:1:2", "out of memory: cuda:0 cannot be used: CUDA_ERROR_OUT_OF_MEMORY"),
    ("fail=cuModuleLoadDataEx:1:222", "the driver is older than the PTX: update it"),
    ("memory=1000", "out of memory: this call needs"),
    ("fail=cuMemcpyHtoDAsync_v2:1:700", "failed to copy an argument: CUDA_ERROR_ILLEGAL_ADDRESS"),
])  # fmt: skip
def test_error_of_the_nvidia_driver_is_reported(settings, wanted):
    code, _, errors = run("network", settings=settings)
    assert code == 1 and wanted in errors, errors[-3000:]


def test_failing_kernel_is_named_with_device_and_source():
    code, _, errors = run("network", settings="fault=matmul_add_gelu_48x96x64", CUDA_LAUNCH_BLOCKING="1")
    assert code == 1
    assert "kernel matmul_add_gelu_48x96x64 failed on cuda:0 (Fake GPU, sm_80): CUDA_ERROR_ILLEGAL_ADDRESS" in errors, errors[-3000:]
    assert "is launched by" in errors and "driver_program.py" in errors, errors[-3000:]


def test_code_for_another_chip_is_refused():
    code, _, errors = run("chip", settings="capability=8.6")
    assert code == 1
    assert "cannot load the compiled kernels: CUDA_ERROR_INVALID_PTX" in errors and "compile for this chip" in errors, errors[-3000:]


@pytest.fixture
def assembler(tmp_path):
    """Installs a fake ptxas whose cubins the fake driver accepts. Returns the file in which its runs are recorded,
    and the environment."""
    script, log = tmp_path / "ptxas", tmp_path / "log"
    log.touch()
    script.write_text(f"""#!/bin/sh
case "$1" in --version) echo "fake ptxas, release 1"; exit 0;; --help) echo "--split-compile <N>"; exit 0;; esac
echo "$@" >> {log}
test -e {tmp_path}/fails && {{ echo "ptxas fatal : it does not like this"; exit 255; }}
{{ echo "fake cubin"; cat "$2"; }} > "$4"
""")
    script.chmod(0o755)
    return log, {"TILEWRIGHT_PTXAS": str(script), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}


def test_cubins_that_ptxas_assembles_are_cached(assembler):
    log, environment = assembler
    code, out, errors = run("network", **environment)
    assert code == 0 and "ptxas" not in errors, errors[-3000:]
    runs = log.read_text().splitlines()
    assert runs and all("-arch=sm_80 " in line for line in runs)
    assert any("--split-compile=0" in line for line in runs)
    assert_good("network", **environment)
    assert log.read_text().splitlines() == runs, "the second process assembles again"
    program = FAKE.parent.parent / "bin" / "tilewright"
    listed = subprocess.run([program, "cache", "list"], env={**os.environ, **environment}, capture_output=True, text=True, check=True).stdout
    assert "in another format" not in listed and " 0 operations, " in listed
    key = next(line.split()[0] for line in listed.splitlines() if " 0 operations, " in line)
    shown = subprocess.run([program, "cache", "explain", key], env={**os.environ, **environment}, capture_output=True, text=True, check=True).stdout
    assert "chip: sm_80" in shown and "ptxas: fake ptxas, release 1" in shown


def test_ptxas_assembles_for_the_chip_of_the_device(assembler):
    log, environment = assembler
    assert_good("chip", settings="capability=9.0", **environment)
    assert "-arch=sm_90a " in log.read_text()  # the program's PTX is only for that chip
    log.write_text("")
    assert_good("network", settings="capability=8.6", **environment)
    assert "-arch=sm_86 " in log.read_text()  # the program's PTX is for sm_80 and later


def test_nvidia_driver_compiles_ptx_if_ptxas_fails(assembler, tmp_path):
    _, environment = assembler
    (tmp_path / "fails").touch()
    code, out, errors = run("network", **environment)
    assert code == 0 and out == "network: good\n", errors[-3000:]
    assert "because ptxas failed" in errors and "it does not like this" in errors, errors[-3000:]
    code, out, errors = run("network", TILEWRIGHT_PTXAS="/nowhere/ptxas", TILEWRIGHT_CACHE="0")
    assert code == 0 and "/nowhere/ptxas" in errors, errors[-3000:]


def test_nvidia_driver_compiles_ptx_if_it_rejects_the_cubin():
    """ptxas writes a real cubin, which the fake driver rejects."""
    ptxas = find_ptxas()
    if not ptxas:
        pytest.skip("there is no ptxas: run tools/setup.sh")
    code, out, errors = run("network", TILEWRIGHT_PTXAS=ptxas, TILEWRIGHT_CACHE="0")
    assert code == 0 and out == "network: good\n", errors[-3000:]
    assert "it rejects the code that ptxas generated" in errors, errors[-3000:]


def test_cache_entry_that_a_device_refuses_is_not_quarantined(tmp_path):
    """The device causes the failure, and not the cache entry. Therefore the call reports an error, and the
    cache entry is neither quarantined nor compiled again."""
    cache = {"TILEWRIGHT_CACHE_DIR": str(tmp_path)}
    assert_good("network", **cache)
    code, _, errors = run("network", settings="fail=cuModuleLoadDataEx:1:222", **cache)
    assert code == 1 and "the driver is older than the PTX: update it" in errors and "quarantine" not in errors, errors[-3000:]
    assert not (tmp_path / "quarantine").exists()
