"""Tests of ahead-of-time libraries as users call them: C and C++ programs, the commands of the how-to, and the
dependences of a library.

test/Unit/Driver/LibraryTest.cpp checks that results equal the JIT's. One test here checks it with a graph of
torch.compile.
"""

import contextlib
import ctypes
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "ahead-of-time"
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"
READELF = shutil.which("readelf") or "llvm-readelf-22"
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]

needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler (cc) on this machine")


def run(*command, cwd, status=0, **keywords):
    """Returns the output of a command. Its exit status must be `status`."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=120, **keywords)
    assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture
def example(tmp_path):
    """Returns a copy of the example's folder."""
    shutil.copytree(EXAMPLE, tmp_path / "example")
    return tmp_path / "example"


@needs_cc
def test_commands_of_the_ahead_of_time_how_to_print_its_output(example):
    """Every block of commands of the page prints the block of output that follows it."""
    text = (ROOT / "docs" / "how-to" / "ahead-of-time.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```\n\n```output\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```sh\n") >= 6
    path = os.pathsep.join([str(DRIVER.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    for commands, expected in blocks:
        done = subprocess.run(["bash", "-c", commands], cwd=example, env={**os.environ, "PATH": path}, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.stdout.strip() == expected.strip(), commands


def test_library_needs_only_the_c_library(example):
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run(READELF, "-d", "classify.so", cwd=example)))
    assert needed and needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0"}, needed
    symbols = run(READELF, "--dyn-syms", "-W", "classify.so", cwd=example)
    undefined = set(re.findall(r" UND (\S+)", symbols))
    kin = [ctypes.CDLL(name) for name in ("libc.so.6", "libm.so.6")]
    assert undefined
    assert not [name for name in undefined if not any(hasattr(library, name) for library in kin)]
    assert not [name for name in undefined if name.startswith(("_Z", "__cxa", "__gxx", "_Unwind", "__tls"))]
    exported = set(re.findall(r"GLOBAL +DEFAULT +\d+ (\S+)", symbols))
    assert exported == {f"classify_{name}" for name in
                        ("create", "destroy", "run", "shape", "profile", "steps", "error", "cpu", "num_inputs", "num_outputs", "input", "output")}
    assert "(TEXTREL)" not in run(READELF, "-d", "classify.so", cwd=example)


def test_manifest_describes_inputs_results_symbols_and_files(example):
    run(DRIVER, "compile", "classify.mlir", "--emit=shared", "-o", "out/", "--weights=external", "--cpu=x86-64-v3", cwd=example)
    manifest = json.loads((example / "out" / "classify.json").read_text())
    assert manifest["model"] == "classify"
    assert manifest["inputs"] == [{"name": "x", "dtype": "float32", "sizes": ["points", 2]}]
    assert manifest["outputs"] == [{"name": "probabilities", "dtype": "float32", "sizes": ["points", 3]}]
    assert manifest["symbols"] == [{"name": "points", "min": 1, "max": 1000000}]
    (variant,) = manifest["variants"]
    assert variant["cpu"] == "x86-64-v3" and "avx2" in variant["instruction_sets"]
    assert {file["name"]: file["bytes"] for file in manifest["files"]} == {
        name: (example / "out" / name).stat().st_size for name in ("classify.so", "classify.h", "classify.weights")}


def test_same_graph_compiles_to_the_same_bytes(example):
    for folder in ("a/", "b/"):
        run(DRIVER, "compile", "classify.mlir", "--emit=shared", "-o", folder, "--threads=2", cwd=example)
    for name in ("classify.so", "classify.h", "classify.json"):
        assert (example / "a" / name).read_bytes() == (example / "b" / name).read_bytes(), name


@needs_cc
def test_header_is_valid_c99_and_cxx98(example):
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    (example / "empty.c").write_text('#include "classify.h"\n#include "classify.h"\nint nothing;\n')
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    run("cc", "-std=c99", *strict, "empty.c", cwd=example)
    run("cc", "-std=c99", *strict, "main.c", cwd=example)
    if shutil.which("c++"):
        run("c++", "-x", "c++", "-std=c++98", *strict, "-Wno-long-long", "empty.c", cwd=example)


@needs_cc
def test_two_models_link_into_one_program(example):
    """The archive of a model and the object file of another have no symbol in common, although both contain the runtime."""
    shutil.copy(example / "classify.mlir", example / "int.mlir")  # a name that is not valid in C
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.a", cwd=example)
    run(DRIVER, "compile", "int.mlir", "-o", "int.o", cwd=example)
    (example / "two.c").write_text(
        '#include "classify.h"\n#include "int.h"\nint main(void) {\n'
        "  classify *a = classify_create(NULL, NULL, 0);\n  model_int *b = model_int_create(NULL, NULL, 0);\n"
        "  int ok = a && b && classify_num_inputs() == 1 && model_int_num_outputs() == 1;\n"
        "  classify_destroy(a);\n  model_int_destroy(b);\n  return ok ? 7 : 1;\n}\n")
    run("cc", "two.c", "classify.a", "int.o", "-lm", "-lpthread", "-o", "two", cwd=example)
    run("./two", cwd=example, status=7)


def test_library_refuses_a_cpu_without_its_instructions(example):
    with open("/proc/cpuinfo") as file:
        if " amx_fp16" in file.read():
            pytest.skip("this CPU has all instruction sets that Tilewright knows")
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", "--cpu=graniterapids", cwd=example)
    said = run(sys.executable, "call.py", cwd=example, status=1)
    assert re.search(r"this library was compiled for graniterapids and needs (.*, )?amx-fp16, which this CPU or its system "
                     r"does not have; compile the model with --cpu=x86-64-v3", said)


@pytest.mark.parametrize("weights", ["embedded", "external"])
def test_library_for_several_cpus_uses_the_best_code_that_runs(example, weights):
    """The code for each CPU computes the same results as a library that is compiled only for this CPU. An instance
    selects the best code that runs on this machine."""
    cpus = ["x86-64-v3", "graniterapids", "x86-64-v4"]
    np.save(example / "x.npy", np.random.default_rng(0).standard_normal((37, 2), dtype=np.float32))
    run(DRIVER, "compile", "classify.mlir", "-o", "all/classify.so", "--cpu=" + ",".join(cpus), f"--weights={weights}", cwd=example)
    variants = json.loads((example / "all" / "classify.json").read_text())["variants"]
    sizes = [len(v["instruction_sets"]) for v in variants]
    assert {v["cpu"] for v in variants} == set(cpus) and sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 3

    def results(folder, *flags, status=0):
        said = run(DRIVER, "run", f"{folder}/classify.so", "--input", "x=x.npy", "--output", "results", *flags, cwd=example, status=status)
        return said if status else (example / "results" / "probabilities.npy").read_bytes()

    inspected = run(DRIVER, "inspect", "all/classify.so", cwd=example)
    runs = {name for name, has in re.findall(r"^cpu +(\S+): .*\n +this CPU (has all|lacks)", inspected, re.MULTILINE) if has == "has all"}
    for cpu in cpus:
        if cpu not in runs:
            assert f"compiled for {cpu} and needs" in results("all", f"--cpu={cpu}", status=1)
            continue
        run(DRIVER, "compile", "classify.mlir", "-o", "one/classify.so", f"--cpu={cpu}", f"--weights={weights}", cwd=example)
        assert results("all", f"--cpu={cpu}") == results("one")
    if runs:
        assert results("all") == results("all", f"--cpu={next(v['cpu'] for v in variants if v['cpu'] in runs)}")
    assert "no code for the CPU 'z80'; it has code for graniterapids, x86-64-v4, x86-64-v3" in results("all", "--cpu=z80", status=1)


def test_expect_option_reports_results_that_differ(example):
    """For a library and for a model, --expect reports which results are equal and which differ, with the worst
    element."""
    x = np.array([[1, 0], [-1, 0.5]], dtype=np.float32)
    np.save(example / "x.npy", x)
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    for model in ("classify.so", "classify.mlir"):
        call = (DRIVER, "run", model, "--input", "x=x.npy")
        run(*call, "--output", "results", cwd=example)
        wanted = np.load(example / "results" / "probabilities.npy")
        said = run(*call, "--expect", "probabilities=results/probabilities.npy", cwd=example)
        assert "expected: probabilities has a relative RMS error of 0.00e+00 (allowed: 1.00e-05) from results/probabilities.npy" in said
        for name, change, message in (("near", lambda a: a * (1 + 1e-3), r"is (1.00e-03|9.99e-04), and .* largest error at \[\d, \d\]"), ("nan", lambda a: np.where(a > 0.6, np.nan, a), r"at \[0, 0\]: 0.84\d*, not nan"),
                                      ("short", lambda a: a[:1], r"its sizes are \[2, 3\], not \[1, 3\]"), ("wide", lambda a: a.astype(np.float64), r"wide.npy")):
            np.save(example / f"{name}.npy", change(wanted) if name == "wide" else change(wanted).astype(np.float32))
            assert re.search(message, run(*call, "--expect", f"0={name}.npy", cwd=example, status=1)), name
        run(*call, "--expect", "probabilities=near.npy", "--tolerance=0.01", cwd=example)
        assert "no result 'y'; its results are probabilities" in run(*call, "--expect", "y=near.npy", cwd=example, status=1)


def test_progress_is_printed_on_a_terminal(example):
    """Each step is printed when it is done, and then the output files; without a terminal, nothing is printed
    (test_commands_of_the_ahead_of_time_how_to_print_its_output)."""
    ours, theirs = pty.openpty()
    subprocess.run([DRIVER, "compile", "classify.mlir", "-o", "classify.so", "--cpu=x86-64-v3", "--weights=external"],
                   cwd=example, stderr=theirs, check=True, timeout=120)  # fmt: skip
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while part := os.read(ours, 4096):
            said += part
    os.close(ours)
    steps = re.findall(r"^\[\d+\.\d s\] (.*?)\r?$", said.decode(), re.MULTILINE)
    stages = ["graph", "structured", "tiled", "vector", "target", "code", "weights"]
    assert steps[:-1] == ["read", *(f"{stage} (x86-64-v3)" for stage in stages), "linked"], steps
    assert re.fullmatch(r"classify.weights \S+ bytes, classify.so \S+ KB, classify.h \S+ KB: [1-9]\d* kernels, called [1-9]\d* times, "
                        r"for x86-64-v3; weights 256 bytes", steps[-1]), steps[-1]  # fmt: skip


def test_invalid_list_of_cpus_is_refused(example):
    for cpus, said in {"x86-64-v3,z80": "unknown CPU 'z80'", "x86-64-v3,x86-64-v3": "names x86-64-v3 twice", "x86-64-v3,": "has an empty name"}.items():
        assert said in run(DRIVER, "compile", "classify.mlir", "-o", "no/classify.so", f"--cpu={cpus}", cwd=example, status=1)
    assert "which only libraries support" in run(DRIVER, "compile", "classify.mlir", "--emit=asm", "--cpu=x86-64-v3,x86-64-v4", cwd=example, status=1)
    assert not (example / "no").exists()


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 8), ("strides", ctypes.POINTER(ctypes.c_int64))]


def tensor_of(array):
    return Tensor(array.ctypes.data, DTYPES.index(str(array.dtype)), array.ndim, array.shape)


def test_library_results_equal_those_of_torch_compile(tmp_path):
    """The graph that torch.compile imports, compiled as a library, has bit-identical results."""
    def block(x, w, b, table, i):
        hidden = torch.nn.functional.gelu(x @ w + b) + table[i]
        return torch.softmax(hidden, -1), hidden.sum(0)

    torch.manual_seed(0)
    inputs = [torch.randn(24, 64), torch.randn(64, 80), torch.randn(80), torch.randn(50, 80), torch.randint(0, 50, (24,))]
    options = {"strict": True, "cache": False, "dump": str(tmp_path)}
    expected = torch.compile(block, backend="tilewright", options=options)(*inputs)
    run(DRIVER, "compile", "0-imported.mlir", "-o", "block.so", cwd=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "block.so"))
    library.block_create.restype = ctypes.c_void_p
    library.block_error.restype = ctypes.c_char_p
    model = ctypes.c_void_p(library.block_create(None, None, ctypes.c_size_t(0)))
    assert model
    count = library.block_num_inputs()
    assert count == len(inputs)
    # Arguments are in the order of the graph's inputs.
    library.block_input.restype = ctypes.POINTER(Tensor)
    arrays = [tensor.numpy() for tensor in inputs]
    results = [np.empty(tuple(result.shape), str(result.dtype).removeprefix("torch.")) for result in expected]
    given = (Tensor * count)(*map(tensor_of, arrays))
    made = (Tensor * len(results))(*map(tensor_of, results))
    assert library.block_run(model, given, made) == 0, library.block_error(model)
    for result, wanted in zip(results, expected):
        assert result.tobytes() == wanted.numpy().tobytes()
    library.block_destroy(model)


def test_invalid_compile_commands_are_refused(example):
    said = run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", "--weights=elsewhere", cwd=example, status=1)
    assert "--weights must be embedded or external, not 'elsewhere'" in said
    (example / "file").write_text("")
    said = run(DRIVER, "compile", "classify.mlir", "-o", "file/classify.so", cwd=example, status=1)
    assert "cannot create the folder 'file'" in said
    said = run(DRIVER, "compile", "classify.mlir", "-o", "c.so", "--target=abacus", cwd=example, status=1)
    assert "unknown target 'abacus'" in said
    said = run(DRIVER, "compile", "classify.mlir", "-o", "c.so", cwd=example, status=1,
               env={**os.environ, "TMPDIR": "/proc/nowhere"})
    assert "cannot make a folder for temporary files in '/proc/nowhere'" in said
    assert not list(example.glob("c.*"))


@pytest.mark.parametrize("place", ["embedded", "external"])
def test_library_of_exported_model_equals_tilewright_run(tmp_path, place):
    """The library of a .pt2 file with a symbolic batch size contains the weights. For two batch sizes, its results are
    bit-identical to those of `tilewright run`."""
    class Mlp(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(64, 128), torch.nn.Linear(128, 10)

        def forward(self, x):
            return torch.softmax(self.second(torch.nn.functional.gelu(self.first(x))), -1)

    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=2, max=512)
    exported = torch.export.export(Mlp().eval(), (torch.randn(8, 64),), dynamic_shapes={"x": {0: batch}})
    torch.export.save(exported.run_decompositions({}), tmp_path / "mlp.pt2")
    run(DRIVER, "compile", "mlp.pt2", "-o", "mlp.so", f"--weights={place}", cwd=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "mlp.so"))
    library.mlp_create.restype = ctypes.c_void_p
    library.mlp_error.restype = ctypes.c_char_p
    assert library.mlp_num_inputs() == library.mlp_num_outputs() == 1

    class Options(ctypes.Structure):
        _fields_ = [("threads", ctypes.c_int32), ("weights_file", ctypes.c_char_p), ("cpu", ctypes.c_char_p), ("verify_weights", ctypes.c_int32)]

    error = ctypes.create_string_buffer(512)
    options = Options(0, os.fsencode(tmp_path / "mlp.weights") if place == "external" else None)
    model = ctypes.c_void_p(library.mlp_create(ctypes.byref(options), error, ctypes.c_size_t(len(error))))
    assert model, error.value
    for rows in (8, 100):
        x, y = np.random.default_rng(rows).standard_normal((rows, 64), np.float32), np.empty((rows, 10), np.float32)
        given, made = (Tensor * 1)(tensor_of(x)), (Tensor * 1)(tensor_of(y))
        assert library.mlp_run(model, given, made) == 0, library.mlp_error(model)
        np.save(tmp_path / "x.npy", x)
        run(DRIVER, "run", "mlp.pt2", "--input", "x=x.npy", "--output", "results", cwd=tmp_path)
        wanted = np.load(next((tmp_path / "results").glob("*.npy")))
        assert y.tobytes() == wanted.tobytes()
    library.mlp_destroy(model)


def test_run_of_a_library_equals_run_of_its_model(example):
    """The CLI returns a library's results, which equal those of the model compiled on this machine."""
    np.save(example / "x.npy", np.random.default_rng(0).random((5, 2), dtype=np.float32))
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", "--weights=external", cwd=example)
    run(DRIVER, "run", "classify.so", "--input", "x=x.npy", "--output", "library", "--repeat", "3", cwd=example)
    run(DRIVER, "run", "classify.mlir", "--input", "x=x.npy", "--output", "jit", cwd=example)
    results = [np.load(example / folder / "probabilities.npy") for folder in ("library", "jit")]
    assert results[0].shape == (5, 3)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("arguments, said", [
    (["--input", "x=x.npy", "--sizes", "4"], "--sizes applies only to random inputs"),
    (["--sizes", "0"], "--sizes gives points the value 0; the model takes 1"),
    (["--sizes", "4,4"], "--sizes has 2 values; @main has 1 symbolic sizes"),
    (["--input", "y=x.npy"], "the model has no input 'y'; did you mean 'x'|the model has no input 'y'"),
    (["--input", "x=x.npy", "--input", "x=x.npy"], "given twice"),
    (["--input", "x=none.npy"], "none.npy"),
    (["--input", "x=wide.npy"], r"the input 'x' is float32\[5, 3\]; the model takes float32\[points, 2\], with points = 5"),
    (["--input", "x=double.npy"], "'<f8'; float32"),
    (["--input", "x=x.npy", "--check"], "--check is an option of compilation"),
])  # fmt: skip
def test_run_refuses_inputs_that_do_not_fit_the_library(example, arguments, said):
    for name, array in {"x": np.zeros((5, 2), "f4"), "wide": np.zeros((5, 3), "f4"), "double": np.zeros((5, 2))}.items():
        np.save(example / f"{name}.npy", array)
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    assert re.search(said, run(DRIVER, "run", "classify.so", *arguments, cwd=example, status=1))


def profiled(text):
    """Returns the operations of the steps in what run --profile prints, after checking the times."""
    lines = text[text.index("ms per call") :].splitlines()[1:]
    rows = [re.fullmatch(r" *([0-9.]+) +([0-9.]+)%  (.+)", line).groups() for line in lines if "%  " in line]
    assert rows and abs(sum(float(share) for _, share, _ in rows) - 100) < len(rows) * 0.1
    assert [float(time) for time, _, _ in rows] == sorted((float(time) for time, _, _ in rows), reverse=True)
    return {operations for _, _, operations in rows}


def test_profile_of_a_library_names_the_steps_of_its_model(example):
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    of_library, of_model = (run(DRIVER, "run", name, "--sizes", "2000", "--repeat", "5", "--profile", cwd=example)
                            for name in ("classify.so", "classify.mlir"))  # fmt: skip
    assert profiled(of_library) == profiled(of_model)
    assert "5 calls, median" in of_library


def test_steps_are_timed_only_while_profiling(example):
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)

    class Step(ctypes.Structure):
        _fields_ = [("operations", ctypes.c_char_p), ("seconds", ctypes.c_double)]

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                    ("sizes", ctypes.c_int64 * 8), ("strides", ctypes.c_void_p)]  # fmt: skip

    library = ctypes.CDLL(str(example / "classify.so"))
    library.classify_create.restype = ctypes.c_void_p
    model = ctypes.c_void_p(library.classify_create(None, None, 0))
    x, y = np.ones((100, 2), np.float32), np.empty((100, 3), np.float32)
    given, made = (Tensor(a.ctypes.data, 8, 2, (ctypes.c_int64 * 8)(*a.shape), None) for a in (x, y))

    def steps():
        times = (Step * 100)()
        count = library.classify_steps(model, times, 100)
        return [(step.operations.decode(), step.seconds) for step in times[:count]]

    assert library.classify_run(model, ctypes.byref(given), ctypes.byref(made)) == 0 and steps() == []
    assert library.classify_profile(model, 1) == 0 and sum(seconds for _, seconds in steps()) == 0
    assert library.classify_run(model, ctypes.byref(given), ctypes.byref(made)) == 0
    assert 0 < sum(seconds for _, seconds in steps()) < 60 and any("matmul" in name or "linear" in name for name, _ in steps())
    assert library.classify_steps(model, None, 0) == len(steps())
    assert library.classify_profile(model, 0) == 0 and steps() == []
    library.classify_destroy(model)
    assert library.classify_profile(None, 1) != 0 and library.classify_steps(None, None, 0) == 0


def test_run_calls_a_library_on_random_inputs(example):
    """A library and its model have the same random inputs for the same seed and sizes, so their results are equal,
    too."""
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    said = run(DRIVER, "run", "classify.so", "--sizes", "7", "--seed", "3", "--repeat", "4", "--output", "library", cwd=example)
    assert re.search(r"4 calls, median [\d.]+ ms, least [\d.]+ ms", said)
    run(DRIVER, "run", "classify.mlir", "--sizes", "7", "--seed", "3", "--output", "model", cwd=example)
    names = sorted(path.name for path in (example / "library").iterdir())
    assert names and names == sorted(path.name for path in (example / "model").iterdir())
    for name in names:
        results = [np.load(example / folder / name) for folder in ("library", "model")]
        assert results[0].shape[0] == 7
        np.testing.assert_array_equal(*results)


def test_manifest_with_a_dtype_that_libraries_cannot_take_is_refused(tmp_path):
    (tmp_path / "m.mlir").write_text(
        'func.func @main(%x: tensor<4xf32> {tw.name = "x"}) -> tensor<4xf32> {\n'
        "  %0 = tw.neg %x : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n")
    run(DRIVER, "compile", "m.mlir", "-o", "m.so", cwd=tmp_path)
    manifest = json.loads((tmp_path / "m.json").read_text())
    manifest["inputs"][0]["dtype"] = "float8_e5m2"
    (tmp_path / "m.json").write_text(json.dumps(manifest))
    done = subprocess.run([DRIVER, "run", "m.so"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "a library does not support tensors of float8_e5m2" in done.stderr, done.stderr


def test_size_that_is_an_expression_of_a_symbol_is_checked(tmp_path):
    """A size of 2 n + 1 determines n. A size of another form, or with an n out of range, is refused with the input
    and the dimension."""
    (tmp_path / "odd.mlir").write_text(
        "#odd = affine_map<()[s0] -> (s0 * 2 + 1, 3)>\n"
        'func.func @main(%n: index {tw.symbol = "n", tw.min = 2 : i64, tw.max = 9 : i64}, %x: tensor<?x3xf32, #odd> {tw.name = "x"})\n'
        '    -> (tensor<?x3xf32, #odd> {tw.name = "y"}) {\n'
        "  %y = tw.neg %x : (tensor<?x3xf32, #odd>) -> tensor<?x3xf32, #odd>\n  return %y : tensor<?x3xf32, #odd>\n}\n")
    run(DRIVER, "compile", "odd.mlir", "-o", "odd.so", cwd=tmp_path)
    for rows, said in ((7, ""), (19, ""), (8, "no value of the size n fits the sizes of the inputs; 'x' is float32[8, 3], and the model takes"),
                       (3, "the input 'x' has the size 3 in dimension 0; the model takes float32[n * 2 + 1, 3], where n is 2 to 9"),
                       (21, "the input 'x' has the size 21 in dimension 0; "), (0, "no value of the size n fits the sizes of the inputs")):  # fmt: skip
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        np.save(tmp_path / "x.npy", x)
        shown = run(DRIVER, "run", "odd.so", "--input", "x=x.npy", "--output", "results", cwd=tmp_path, status=1 if said else 0)
        assert said in shown
        assert said or np.array_equal(np.load(tmp_path / "results" / "y.npy"), -x)


def test_damaged_library_is_not_loaded(example):
    """The system's loader would crash on some of these files."""
    np.save(example / "x.npy", np.zeros((5, 2), "f4"))
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    right = (example / "classify.so").read_bytes()
    random = np.random.default_rng(0)
    for _ in range(20):
        damaged = bytearray(right)
        for place in random.integers(0, len(right), 4):
            damaged[place] ^= int(random.integers(1, 256))
        (example / "classify.so").write_bytes(damaged[: random.integers(1, len(right))] if random.random() < 0.3 else damaged)
        said = run(DRIVER, "run", "classify.so", "--input", "x=x.npy", cwd=example, status=1)
        assert "is not the file that the manifest of the model 'classify' was written with" in said


def test_libraries_of_two_kinds_in_one_folder_have_separate_manifests(example):
    """Libraries of two kinds share a header, and the first manifest does not change. If the header of the second library
    would differ, the compilation fails, and all existing files remain unchanged."""
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    first = (example / "classify.json").read_bytes()
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.a", "--cpu=x86-64-v3", cwd=example)
    assert (example / "classify.json").read_bytes() == first
    for library in ("classify.so", "classify.a"):
        assert library in run(DRIVER, "inspect", library, cwd=example)
    assert "x86-64-v3" in run(DRIVER, "inspect", "classify.a", cwd=example)
    other = (example / "classify.mlir").read_text().replace('tw.name = "x"', 'tw.name = "points"')
    assert other != (example / "classify.mlir").read_text()
    (example / "other").mkdir()
    (example / "other" / "classify.mlir").write_text(other)
    files = {path.name: path.read_bytes() for path in example.iterdir() if path.is_file()}
    said = run(DRIVER, "compile", "other/classify.mlir", "-o", "classify.o", cwd=example, status=1)
    assert "'classify.h' is also the header of the existing library 'classify.so'" in said and "-o" in said, said
    assert files == {path.name: path.read_bytes() for path in example.iterdir() if path.is_file()}
    (example / "classify.so").unlink()
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.o", cwd=example)
    assert "classify.o" in (example / "classify.json").read_text()


@needs_cc
@pytest.mark.parametrize("name", ["remove", "exit", "malloc", "index", "time", "timer", "errno", "template", "thrd", "wchar_t", "linux", "EOF", "main"])
def test_model_named_as_a_c_identifier_links_and_runs(example, name):
    """<stdio.h> and other standard headers are included before and after the header of the library."""
    run(DRIVER, "compile", "classify.mlir", "-o", f"{name}.so", cwd=example)
    headers = "".join(f"#include <{one}.h>\n" for one in ("stdio", "stdlib", "string", "strings", "time", "signal", "errno", "math", "unistd", "threads", "pthread"))
    use = f"int main(void) {{ model_{name} *m = model_{name}_create(NULL, NULL, 0); int bad = !m; model_{name}_destroy(m); return bad; }}\n"
    for order in (f'{headers}#include "{name}.h"\n', f'#include "{name}.h"\n{headers}'):
        (example / "use.c").write_text("#define _GNU_SOURCE\n" + order + use)
        run("cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "use.c", f"./{name}.so", "-Wl,-rpath,$ORIGIN", "-o", "use", cwd=example)
        run("./use", cwd=example)
        if shutil.which("c++"):
            (example / "use.cpp").write_text(order + use)
            run("c++", "-Wall", "-Werror", "use.cpp", f"./{name}.so", "-o", "usepp", cwd=example)


def test_failed_or_killed_compile_keeps_the_previous_library(example):
    np.save(example / "x.npy", np.float32([[1, 0]]))
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)

    def state():
        return {path.name: path.read_bytes() for path in example.iterdir() if path.is_file()}

    before = state()
    full = f"ulimit -f 8; exec {DRIVER} compile classify.mlir -o classify.so"  # files of at most 8 KiB, as on a full disk
    done = subprocess.run(["bash", "-c", full], cwd=example, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and state() == before, done.stderr
    if os.geteuid() != 0:
        example.chmod(0o555)
        assert "cannot" in run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example, status=1)
        example.chmod(0o755)
        assert state() == before
    for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4):
        process = subprocess.Popen([DRIVER, "compile", "classify.mlir", "-o", "classify.so"], cwd=example, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.kill()
        process.wait()
        assert set(state()) == set(before)
        run(DRIVER, "inspect", "classify.so", cwd=example)
        run(DRIVER, "run", "classify.so", "--input", "x=x.npy", cwd=example)
    for left in example.glob(".classify.making-*"):
        os.utime(left, (0, 0))
    run(DRIVER, "compile", "classify.mlir", "-o", "classify.so", cwd=example)
    assert not list(example.glob(".classify.making-*"))


def test_concurrent_runs_with_one_cache_give_equal_results(example, tmp_path):
    """All processes write their first compilations to one cache."""
    np.save(example / "x.npy", np.float32([[1, 0]]))
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    processes = [subprocess.Popen([DRIVER, "run", "classify.mlir", "--seed=1"], cwd=example, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True) for _ in range(60)]  # fmt: skip
    said = {process.communicate(timeout=300)[0] for process in processes}
    assert {process.returncode for process in processes} == {0} and len(said) == 1, said
    assert not list((tmp_path / "cache").glob("quarantine/*"))
