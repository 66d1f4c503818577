"""A crash inside the compiler becomes an error with a reproducer. The graph runs in eager, with one warning that
names the reproducer."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import tilewright

PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
KINDS = {"signal": "signal 11", "division": "signal 8", "abort": "signal 6", "fatal": "fatal error: planted", "memory": "out of memory", "stack": "signal 11",
         "thread": "signal 11"}  # fmt: skip
STAGES = ["graph", "structured", "tiled", "vector", "target", "codegen"]

SCRIPT = """
import faulthandler, signal, sys, tempfile, warnings
import torch
import tilewright

torch.manual_seed(0)
before = [signal.getsignal(s) for s in (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT)]
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))
x = torch.randn(4, 8)
with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    compiled = torch.compile(model, backend="tilewright", options=OPTIONS)
    torch.testing.assert_close(compiled(x), model(x))
    torch._dynamo.reset()
    again = torch.compile(lambda x: (x @ x.T).softmax(0), backend="tilewright", options=OPTIONS)
    torch.testing.assert_close(again(x), (x @ x.T).softmax(0))
    said = [str(w.message) for w in caught if "crash" in str(w.message)]
assert len(said) == 1, said
assert before == [signal.getsignal(s) for s in (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT)]
# Training runs, too.
model.train()
torch.compile(model, backend="tilewright", options=OPTIONS)(x).sum().backward()
assert model[0].weight.grad is not None
print(said[0])
"""


def python(script, crash, tmp_path, **options):
    env = {**os.environ, "TILEWRIGHT_PLANT_CRASH": crash, "TMPDIR": str(tmp_path), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
           "PYTHONPATH": str(pathlib.Path(tilewright.__file__).parents[1])}  # fmt: skip
    script = script.replace("OPTIONS", repr(options or None))
    return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("kind", KINDS)
def test_graph_that_crashes_the_compiler_runs_in_eager(kind, tmp_path):
    done = python(SCRIPT, f"structured:{kind}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"the compiler crashed: {KINDS[kind]}" in done.stdout and "in stage structured" in done.stdout
    folder = pathlib.Path(re.search(r"are in (\S+)", done.stdout)[1])
    assert "func.func @main" in (folder / "graph.mlir").read_text() and "torch.compile" in (folder / "reproduce.py").read_text()


@pytest.mark.parametrize("stage", [s for s in STAGES if s != "structured"])
def test_crash_in_each_stage_is_reported_with_its_stage(stage, tmp_path):
    done = python(SCRIPT, f"{stage}:signal", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"in stage {stage}" in done.stdout


def test_crash_in_strict_mode_is_a_compile_error(tmp_path):
    script = """
import torch, tilewright
for i in range(2):
    torch._dynamo.reset()
    try:
        torch.compile(lambda x: x.exp() + i, backend="tilewright", options=OPTIONS)(torch.randn(4))
    except Exception as error:
        print(str(error).splitlines()[1] if i == 0 else "again: " + str(error)[:2000])
        assert "CompileError" in str(error)
    else:
        raise SystemExit("no error")
"""
    done = python(script, "vector:abort", tmp_path, strict=True)
    assert done.returncode == 0, done.stderr
    assert "the compiler crashed: signal 6" in done.stdout and "again:" in done.stdout


def test_signal_outside_of_the_compiler_is_not_caught(tmp_path):
    """After a compile, the previous signal handlers are restored: faulthandler's, and the system's."""
    script = """
import ctypes, faulthandler, torch, tilewright
faulthandler.enable()
torch.compile(lambda x: x.exp(), backend="tilewright", options=OPTIONS)(torch.randn(4))
ctypes.string_at(0)
"""
    done = python(script, "", tmp_path)
    assert done.returncode == -11 and "Fatal Python error: Segmentation fault" in done.stderr


def test_driver_reports_a_crash_as_an_error(tmp_path):
    """tilewright compile and run report an error and do not end with a signal."""
    (tmp_path / "m.mlir").write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = tw.exp %x : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n")
    for words in (["compile", tmp_path / "m.mlir", "--emit=target"], ["run", tmp_path / "m.mlir"], ["compile", tmp_path / "m.mlir", "-o", tmp_path / "m.so"]):
        for kind in ("signal", "fatal", "memory"):
            env = {**os.environ, "TILEWRIGHT_PLANT_CRASH": f"tiled:{kind}", "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
            done = subprocess.run([PROGRAM, *words], env=env, capture_output=True, text=True, timeout=120)
            assert done.returncode == 70 and f"the compiler crashed: {KINDS[kind]}" in done.stderr, (words, kind, done)
