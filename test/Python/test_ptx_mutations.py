"""The mutation campaign of ptx-check (test/Conformance/ptx_mutations): its mutation sites, its verdicts, and a share
of it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tilewright
from tilewright.dynamo.backend import tilewright as backend

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "test" / "Conformance" / "ptx_mutations"
CHECKER = Path(tilewright.__file__).parents[2] / "bin" / "ptx-check"
sys.path.insert(0, str(FOLDER))

from mutation_sites import KINDS, draw, mutate, sites  # noqa: E402
from mutation_trial import wrong  # noqa: E402

pytestmark = pytest.mark.skipif(not CHECKER.exists(), reason="tilewright was not imported from a build tree")

KERNEL = """
.visible .entry k(.param .u64 p)
{
\t.shared .align 16 .b8 tile[256];
\tld.param.b64 %rd1, [p];
\tmov.u32 %r1, %tid.x;
\tshl.b32 %r2, %r1, 2;
\tadd.s32 %r9, %r1, 7;
\tcvt.u64.u32 %rd2, %r2;
\tadd.s64 %rd3, %rd1, %rd2;
\tcp.async.cg.shared.global [tile], [%rd3+16], 16;
\tcp.async.commit_group;
\tcp.async.wait_group 0;
\tbar.sync 0;
\tsetp.lt.u32 %p1, %r1, 30;
\t@%p1 st.global.b32 [%rd3], %r9;
\tfence.proxy.async;
\tret;
}
.visible .entry other()
{
\tbar.sync 0;
\tret;
}
"""
LAUNCH = {"kernel": "k", "arguments": []}


def changes(kind):
    return {(s.old, s.new) for s in sites("case", KERNEL, LAUNCH) if s.kind == kind}


def test_mutation_sites_are_in_the_launched_kernel_and_its_addresses():
    assert changes("wait") == {("cp.async.wait_group 0;", ""), ("cp.async.wait_group 0;", "cp.async.wait_group 1;")}
    assert changes("commit") == {("cp.async.commit_group;", "")}
    assert [s.line for s in sites("case", KERNEL, LAUNCH) if s.kind == "barrier"] == [KERNEL.splitlines().index("\tbar.sync 0;")]
    assert changes("fence") == {("fence.proxy.async;", "")}
    assert {new for _, new in changes("size")} == {f".shared .align 16 .b8 tile[{n}];" for n in (128, 192, 240, 248)}
    assert ("shl.b32 %r2, %r1, 2;", "shl.b32 %r2, %r1, 3;") in changes("index")
    assert not any("%r9" in old and "add" in old for old, _ in changes("index"))  # a value, not an address
    assert ("setp.lt.u32 %p1, %r1, 30;", "setp.le.u32 %p1, %r1, 30;") in changes("bound")
    assert ("@%p1 st.global.b32 [%rd3], %r9;", "st.global.b32 [%rd3], %r9;") in changes("bound")


def test_a_mutation_changes_one_line():
    for site in sites("case", KERNEL, LAUNCH):
        text, launch = mutate(KERNEL, LAUNCH, site)
        pairs = [(a, b) for a, b in zip(KERNEL.splitlines(), text.splitlines(), strict=True) if a != b]
        assert len(pairs) == 1 and launch == LAUNCH


def test_draws_are_deterministic_and_cover_all_kinds():
    every = sites("case", KERNEL, LAUNCH)
    drawn = draw(every, 3, 12)
    assert drawn == draw(every, 3, 12) != draw(every, 4, 12)
    assert {s.kind for s in drawn} == {s.kind for s in every} and len(set(drawn)) == 12
    assert len(draw(every, 3, 1000)) == len(every)
    assert set(KINDS) >= {s.kind for s in every}


def test_results_beyond_the_allowed_error_are_wrong():
    exact = np.arange(1, 5, dtype=np.float64)
    expected = {"dtype": "float32", "allowed": 1e-3}
    assert not wrong((exact + 9e-4).astype(np.float32), exact, expected)
    assert "times the allowed" in wrong((exact + 2e-3).astype(np.float32), exact, expected)
    assert "NaN" in wrong(np.array([1, np.nan, 3, 4], np.float32), exact, expected)
    assert wrong(np.array([1, 2, 3, 5]), np.array([1, 2, 3, 4]), {"dtype": "int64"})
    # the bits of 1.0 and 1.5 in bf16
    assert not wrong(np.array([0x3F80, 0x3FC0], np.uint16), np.array([1.0, 1.5]), {"dtype": "bfloat16", "allowed": 1e-6})


def test_saved_launch_reproduces_its_results_in_ptx_check(tmp_path, monkeypatch):
    """For a launch that TILEWRIGHT_SAVE_LAUNCHES saved, ptx-check computes the same results as the emulated device."""
    monkeypatch.setenv("TILEWRIGHT_SAVE_LAUNCHES", str(tmp_path / "here"))
    x = torch.randn(5, 40)
    options = {"strict": True, "target": "cuda", "device": "emulated"}
    torch._dynamo.reset()
    got = torch.compile(lambda x: torch.softmax(x, -1), backend=backend, options=options)(x)
    (launch,) = (tmp_path / "here").iterdir()
    assert launch.name == "000-softmax_5x40"
    for attempt in range(2):
        done = subprocess.run([CHECKER, launch / "kernels.ptx", "--args", launch / "launch.json"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "0 findings" in done.stdout, done.stdout + done.stderr
    outputs = [np.load(f).tobytes() for f in launch.glob("*.after.npy")]
    assert len(outputs) == 2 and got.numpy().tobytes() in outputs and x.numpy().tobytes() in outputs
    torch.compile(lambda x: torch.softmax(x, -1), backend=backend, options=options)(x)
    assert len(list((tmp_path / "here").iterdir())) == 2


def test_launch_that_cannot_be_saved_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_SAVE_LAUNCHES", str(tmp_path / "file"))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="a launch cannot be saved"):
        torch.compile(torch.neg, backend=backend, options={"target": "cuda", "device": "emulated"})(torch.randn(4))


def test_every_equivalent_mutation_has_a_justification():
    found = set(json.loads((FOLDER / "table.json").read_text())["found"])
    keys = []
    for entry in json.loads((FOLDER / "equivalent.json").read_text()):
        assert len(entry["argument"]) > 60 and entry["sites"]
        keys += entry["sites"]
        assert not found & set(entry["sites"])
    assert len(keys) == len(set(keys)) and all(re.match(r"[\w-]+: (\w+): .* -> .* #\d+$", key) for key in keys)


def test_share_of_the_mutation_campaign_passes():
    run = subprocess.run([sys.executable, FOLDER, "share", "--seconds", "25"], capture_output=True, text=True, timeout=240, env=dict(os.environ))
    assert run.returncode == 0, run.stdout + run.stderr
