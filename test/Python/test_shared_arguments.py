"""If arguments share memory with a written argument, each call has eager's results, regardless of which arguments of
earlier calls shared memory."""

import os
import subprocess
import sys
import warnings

import pytest
import torch

from tilewright.dynamo.backend import tilewright

LAYOUTS = {
    "apart": lambda: (torch.zeros(4), torch.zeros(4)),
    "overlapping": lambda: (lambda x: (x[:4], x[2:6]))(torch.zeros(8)),
    "at another offset": lambda: (lambda x: (x[1:5], x[2:6]))(torch.zeros(8)),
    "in larger memory": lambda: (lambda x: (x[:4], x[2:6]))(torch.zeros(9)),
    "the same": lambda: (lambda x: (x[:4], x[:4]))(torch.zeros(8)),
    "disjoint": lambda: (lambda x: (x[:4], x[4:]))(torch.zeros(8)),
    "interleaved": lambda: (lambda x: (x[::2], x[1::2]))(torch.zeros(8)),
}
ORDERS = [("apart", "overlapping", "disjoint", "overlapping", "the same"), ("overlapping", "apart", "at another offset", "in larger memory", "overlapping"),
          ("the same", "apart", "overlapping"), ("disjoint", "disjoint", "overlapping"), ("disjoint", "interleaved", "overlapping")]  # fmt: skip


def written(a, b):
    a.add_(1)
    return b * 2


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
@pytest.mark.parametrize("inference", [False, True])
def test_calls_with_written_overlapping_arguments_equal_eager(order, inference):
    if inference and "interleaved" in order:
        pytest.skip("torch cannot compile views of symbolic strides that share memory in inference mode: aot_eager fails, too")
    torch._dynamo.reset()
    compiled = torch.compile(written, backend=tilewright)
    with torch.inference_mode(inference), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in order:
            ours, theirs = LAYOUTS[name](), LAYOUTS[name]()
            assert torch.equal(compiled(*ours), written(*theirs)), name
            assert torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1]), name


def test_overlapping_arguments_warn_once_that_eager_runs():
    torch._dynamo.reset()
    compiled = torch.compile(written, backend=tilewright)
    compiled(*LAYOUTS["apart"]())
    with pytest.warns(UserWarning, match="the arguments l_a_ and l_b_ share memory, and one of them is written.*run in eager") as said:
        compiled(*LAYOUTS["overlapping"]())
        compiled(*LAYOUTS["overlapping"]())
    assert len([w for w in said if "share memory" in str(w.message)]) == 1


def test_strict_mode_refuses_written_overlapping_arguments():
    torch._dynamo.reset()
    compiled = torch.compile(written, backend="tilewright", options={"strict": True})
    compiled(*LAYOUTS["apart"]())
    with pytest.raises(ValueError, match=r"share memory.*pass copies \(.clone\(\)\)"):
        compiled(*LAYOUTS["overlapping"]())


def test_overlapping_arguments_that_are_only_read_are_compiled():
    torch._dynamo.reset()
    compiled = torch.compile(lambda a, b: a * b, backend=tilewright)
    compiled(*LAYOUTS["apart"]())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(compiled(*LAYOUTS["overlapping"]()), torch.zeros(4))


def test_cached_graph_detects_overlapping_arguments(tmp_path):
    program = """
import sys, torch, tilewright
def written(a, b):
    a.add_(1)
    return b * 2
compiled = torch.compile(written, backend="tilewright")
x = torch.zeros(8)
print((compiled(x[:4], x[2:6]) if sys.argv[1] == "shared" else compiled(torch.zeros(4), torch.zeros(4))).tolist())
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torch"), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "ours"),
                   "TORCHINDUCTOR_AUTOGRAD_CACHE": "1"}  # fmt: skip
    for first, want in (("apart", [0.0] * 4), ("shared", [2.0, 2.0, 0.0, 0.0]), ("apart", [0.0] * 4), ("shared", [2.0, 2.0, 0.0, 0.0])):
        run = subprocess.run([sys.executable, str(path), first], env=environment, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        assert eval(run.stdout) == want, first
