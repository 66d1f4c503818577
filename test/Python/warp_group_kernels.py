"""Checks of kernels for warp groups that tests of several schedules share: what ptxas reports, and what ptx-check finds
if the synchronization of a kernel is damaged."""

import json
import pathlib
import re
import subprocess

import pytest

from test_cuda import PROGRAM, find_ptxas


def emitted(model, kind, *options):
    """Returns a model, compiled for sm_90a, as text of the kind `ptx` or `target`."""
    command = [PROGRAM, "compile", model, "--target=cuda", "--arch=sm_90a", f"--emit={kind}", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def assert_assembled_without_spills(text, tmp_path, *options):
    """Checks that the model `text` (MLIR), compiled with `options`, has wgmma, and that ptxas reports no spills and no
    serialized wgmma. Returns its PTX."""
    ptxas = find_ptxas()
    if not ptxas:
        pytest.skip("there is no ptxas: run tools/setup.sh")
    model, ptx = tmp_path / "m.mlir", tmp_path / "m.ptx"
    model.write_text(text)
    ptx.write_text(emitted(model, "ptx", *options))
    assert "wgmma.mma_async" in ptx.read_text()
    done = subprocess.run([ptxas, "-arch=sm_90a", "-v", ptx, "-o", tmp_path / "m.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"(\d+) bytes spill stores", done.stderr)) == {"0"}, done.stderr
    assert "wgmma" not in done.stderr and "C75" not in done.stderr and "warning" not in done.stderr, done.stderr
    return ptx.read_text()


def check_damage(text, damage, launch, tmp_path):
    """Checks that ptx-check reports `expected` for the model `text`, whose PTX has `pattern` replaced by `change`, in any
    order of its warps. `damage` is (pattern, change, expected). An empty `pattern` changes nothing, and an empty
    `expected` is no error. `launch` describes the launch, except for its dynamic shared memory."""
    pattern, change, expected = damage
    (tmp_path / "m.mlir").write_text(text)
    ptx = emitted(tmp_path / "m.mlir", "ptx")
    damaged, count = re.subn(pattern, change, ptx) if pattern else (ptx, 1)
    assert count > 0
    (tmp_path / "k.ptx").write_text(damaged)
    shared = int(re.search(r"tw_cuda.shared = (\d+)", emitted(tmp_path / "m.mlir", "target"))[1])
    (tmp_path / "launch.json").write_text(json.dumps(launch | {"dynamic_shared": shared}))
    for seed in range(2):
        done = subprocess.run([pathlib.Path(PROGRAM).with_name("ptx-check"), tmp_path / "k.ptx", "--args", tmp_path / "launch.json", "--seed", str(seed)],
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        assert done.returncode == (1 if expected else 0), done.stdout + done.stderr
        assert expected in done.stdout + done.stderr
