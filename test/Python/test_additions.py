"""The worked examples of docs/contributing/add-an-op.md: patches that add an elementwise op, a reduction and a storage
dtype. docs/examples/guest-target is the example of a target (test_guest_target.py)."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "test" / "Additions"
PATCHES = {"elementwise-op": 4, "reduction": 4, "storage-dtype": 1}  # the most files that such an addition may change


def sources() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("the sources are not in a git repository")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def run(*command, cwd, **environment) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize("name", PATCHES)
def test_patch_applies_and_changes_few_files(name):
    patch = FOLDER / f"{name}.patch"
    run("git", "apply", "--check", patch, cwd=ROOT)
    changed = run("git", "apply", "--numstat", patch, cwd=ROOT).splitlines()
    assert 0 < len(changed) <= PATCHES[name], changed
    assert sorted(PATCHES) == sorted(path.stem for path in FOLDER.glob("*.patch"))


@pytest.mark.skipif(not os.environ.get("TILEWRIGHT_TEST_FULL"), reason="builds the compiler, 12 minutes: tools/test.sh --full")
def test_additions_match_eager_in_a_build_with_the_patches(tmp_path):
    for name in sources():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(pathlib.Path(sys.prefix))
    for name in PATCHES:
        run("git", "apply", FOLDER / f"{name}.patch", cwd=tmp_path)
    cmake = shutil.which("cmake", path=os.path.dirname(sys.executable)) or "cmake"
    run(cmake, "--preset", "release", "-DTILEWRIGHT_TESTS=OFF", cwd=tmp_path)
    run(cmake, "--build", "build", cwd=tmp_path)
    printed = run(sys.executable, "test/Additions/check_additions.py", "build/bin/tilewright", cwd=tmp_path, PYTHONPATH=str(tmp_path / "build" / "python"))
    assert printed.splitlines() == ["elementwise_op: correct", "reduction: correct", "storage_dtype: correct"]
