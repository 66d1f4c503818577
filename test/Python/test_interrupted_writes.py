"""Processes that are killed and disks that are full while the compiler writes: nothing is lost, and no partially
written file is read."""

import os
import pathlib
import random
import subprocess
import time

import pytest

import tilewright

DRIVER = str(pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright")
KILLS = 60 if os.environ.get("TILEWRIGHT_TEST_FULL") else 10

pytestmark = pytest.mark.skipif(not pathlib.Path(DRIVER).exists(), reason="tilewright was not imported from a build tree")


def model(number: int) -> str:
    """Returns a model whose code depends on `number`."""
    return f"""
func.func @main(%x: tensor<4x{8 + number}xf32>) -> tensor<4xf32> {{
  %e = tw.exp %x : (tensor<4x{8 + number}xf32>) -> tensor<4x{8 + number}xf32>
  %s = tw.reduce sum %e {{dims = array<i64: 1>}} : tensor<4x{8 + number}xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}}
"""


@pytest.fixture
def here(tmp_path):
    for number in range(KILLS):
        (tmp_path / f"m{number}.mlir").write_text(model(number))
    return tmp_path


def run(here, *command, cache="cache", shell=""):
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(here / cache)}
    text = " ".join([shell, "exec", DRIVER, *command])
    return subprocess.run(["bash", "-c", text], cwd=here, env=environment, capture_output=True, text=True, timeout=300)


def kill_some(here, seed, command):
    """Starts `command(number)` for each number, and kills it a moment later."""
    draw = random.Random(seed)
    took = time.monotonic()
    run(here, *command(0), cache="other")
    took = time.monotonic() - took
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(here / "cache")}
    for number in range(KILLS):
        process = subprocess.Popen([DRIVER, *command(number)], cwd=here, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.3, 1.05) * took)
        process.kill()
        process.wait()
        yield number


def contents(folder) -> dict:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_killed_compiles_leave_a_valid_cache(here):
    for _ in kill_some(here, 1, lambda number: ("run", f"m{number}.mlir")):
        pass
    for number in range(KILLS):
        again, want = run(here, "run", f"m{number}.mlir"), run(here, "run", f"m{number}.mlir", cache="other")
        assert again.returncode == 0 and not again.stderr and again.stdout == want.stdout
    assert not list((here / "cache").glob("quarantine/*"))


def test_killed_compiles_leave_a_complete_design(here):
    wanted = []
    for number in range(KILLS):
        assert run(here, "compile", f"m{number}.mlir", "--target=hls", "-o", f"design{number}").returncode == 0
        wanted.append(contents(here / f"design{number}"))
    (here / "design0").rename(here / "design")
    for number in kill_some(here, 2, lambda number: ("compile", f"m{number}.mlir", "--target=hls", "-o", "design")):
        assert contents(here / "design") in wanted[: number + 1]
    for left in here.glob(".tilewright-design*"):
        os.utime(left, (0, 0))
    assert run(here, "compile", "m1.mlir", "--target=hls", "-o", "design").returncode == 0
    assert contents(here / "design") == wanted[1] and not list(here.glob(".tilewright-design*"))


def test_killed_tunings_leave_valid_records(here):
    command = ("tune", "m0.mlir", "--records=records")
    assert run(here, *command).returncode == 0
    for _ in kill_some(here, 3, lambda number: ("tune", f"m{number}.mlir", "--records=records")):
        done = run(here, "compile", "m0.mlir", "--records=records", "--tune=strict", "--emit=tiled")
        assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.reads_cache
@pytest.mark.parametrize("kilobytes", [1, 8])
def test_full_disk_is_reported_and_leaves_no_partial_file(here, kilobytes):
    """A write beyond the limit of a file's size fails as on a full disk."""
    full = f"trap '' XFSZ; ulimit -f {kilobytes};"
    done = run(here, "run", "m0.mlir", shell=full)
    assert done.returncode == 0 and done.stdout == run(here, "run", "m0.mlir", cache="other").stdout
    assert kilobytes > 1 or "compiled code is not cached" in done.stderr and "File too large" in done.stderr
    assert not list((here / "cache").rglob("*.tmp*"))
    before = {path.name for path in here.iterdir()}
    for command in (("compile", "m0.mlir", "--target=hls", "-o", "design"), ("compile", "m0.mlir", "-o", "m0.so")):
        done = run(here, *command, shell=full)
        assert done.returncode == 1 and "File too large" in done.stderr
        assert {path.name for path in here.iterdir()} == before
