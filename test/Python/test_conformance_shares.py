"""A share of the cases that test/Conformance takes from torch's own test data, and of random programs."""

import os
import pathlib
import subprocess
import sys

import pytest

CONFORMANCE = pathlib.Path(__file__).resolve().parents[1] / "Conformance"


@pytest.mark.parametrize("command", [("opinfo/errors.py", "--share", "--from", "errors,modules,dtypes"), ("opinfo/databases.py", "--share"),
                                     ("programs", "share", "--jobs", "1")], ids=["refused inputs", "databases", "programs"])  # fmt: skip
def test_share_of_the_conformance_suite_passes(command):
    if os.environ.get("TILEWRIGHT_TEST_FULL"):
        command = [part for part in command if part != "--share"]
        command = ["programs", "run", "--programs", "2000"] if command[0] == "programs" else command
    done = subprocess.run([sys.executable, str(CONFORMANCE / command[0]), *command[1:]], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
