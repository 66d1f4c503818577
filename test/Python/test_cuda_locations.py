"""Tests of PTX with the user's source lines: they do not change the code, and errors of ptx-check name a line."""

import pathlib
import re
import subprocess

import pytest
import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
ONLY_LOCATIONS = re.compile(r"\s*(\.loc|\.file|\.section\s+\.debug_macinfo)\b|\$L__(tmp|func_begin|func_end)\d+:|\s*$")

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")


def code(ptx):
    """Returns the code without locations and without the numbers of functions in labels, with the declarations first.
    These numbers differ, because kernels with locations form one module, and each other kernel is a separate module."""
    lines = [re.sub(r"\$L__BB\d+_", "$L__BB_", line) for line in ptx.splitlines()]
    lines = [line for line in lines if not ONLY_LOCATIONS.match(line) and not line.endswith(" has been demoted")]
    declared = [line for line in lines if line.startswith(".extern .shared")]
    return declared + [line for line in lines if line not in declared]


@pytest.mark.parametrize("name", ["product", "softmax", "attention", "fma", "convolution", "long-rows", "product-i8"])
def test_locations_change_no_code(name, tmp_path, monkeypatch):
    """Printed PTX has locations; cached and executed PTX does not."""
    monkeypatch.setenv("TILEWRIGHT_SAVE_LAUNCHES", str(tmp_path / "launches"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
    model = ROOT / "test" / "Codegen" / "NVPTX" / f"{name}.mlir"
    printed = subprocess.run([PROGRAM, "compile", model, "--target=cuda", "--emit=ptx"], check=True, capture_output=True, text=True, timeout=60).stdout
    subprocess.run([PROGRAM, "run", model, "--target=cuda", "--device=emulated"], check=True, capture_output=True, timeout=120)
    run = next((tmp_path / "launches").iterdir()) / "kernels.ptx"
    assert len(re.findall(r"\.loc\s", printed)) >= 2 and f'{name}.mlir"' in printed
    assert ".loc" not in run.read_text() and ".file" not in run.read_text()
    assert code(printed) == code(run.read_text())
