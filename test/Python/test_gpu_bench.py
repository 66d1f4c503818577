"""tools/dev/gpu-bench.sh measures a machine with a GPU. This test runs its rows at tiny sizes on the emulated
device."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import tilewright

repository = pathlib.Path(__file__).parent.parent.parent
QUICK = ["host", "gemm", "fused"]


@pytest.mark.parametrize("group", ["host", "gemm", "fused", "linear", "attention", "rows", "models"])
def test_every_row_runs_on_the_emulated_device(group, tmp_path):
    if group not in QUICK and not os.environ.get("TILEWRIGHT_TEST_FULL"):
        pytest.skip("up to a minute: --full")
    if group == "models":
        pytest.importorskip("transformers")
    package = pathlib.Path(tilewright.__file__).parent.parent
    done = subprocess.run([repository / "tools/dev/gpu-bench.sh", "--dry", "--rows", group, "--out", tmp_path], capture_output=True,
                          text=True, env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(package)})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "gpu-bench.json").read_text())
    assert rows and all(row["ratio"] > 0 and row.get("difference", 0) < 0.05 for row in rows), rows
    assert all(row["row"] in done.stdout for row in rows)


def test_missing_wheel_is_an_error_with_instructions(tmp_path):
    done = subprocess.run([repository / "tools/dev/gpu-bench.sh", "--out", tmp_path, "--wheel", tmp_path / "none.whl"],
                          capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})  # fmt: skip
    assert done.returncode == 2 and "build one with tools/build-wheel.sh" in done.stderr, done
