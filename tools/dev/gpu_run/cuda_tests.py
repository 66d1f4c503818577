"""Runs the tests of the target cuda on the GPU of this machine instead of the emulated device.

The tests are copied, and the device "emulated" is replaced by the GPU in the copies. The row of a test has its outcome:
passed, fault (a failed assertion, an error of CUDA, a crash or a timeout), or does not apply (a test that needs ptx-check or
the fake driver, or that torch on this machine cannot run).
"""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable

from .children import Job, Outcome, run_jobs
from .results import Results
from .setting import REPOSITORY, Setting

DEVICE = os.environ.get("TILEWRIGHT_GPU_TESTS_DEVICE", "cuda")
LEFT_OUT = ("test_cuda_driver.py", "test_cuda_tuning.py")  # these tests use the fake driver
# A pattern of pytest that excludes tests of ptx-check and of the emulated device.
NOT_THESE = "not damage and not locations_change and not out_of_memory"
TIMEOUT = 90


def copied(setting: Setting):
    """Creates a folder with the layout of a checkout and copies of the tests, which name the GPU as device. Returns its path."""
    folder = setting.work / "tests"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build" / "bin").mkdir(parents=True)
    package = setting.package or REPOSITORY / "build" / "python"
    (folder / "build" / "python").symlink_to(package)
    (folder / "build" / "bin" / "tilewright").symlink_to(setting.program())
    # Copy the folders whose modules the tests import. The other folders of test/ have no tests of the device.
    (folder / "test").mkdir()
    for part in ("Python", "Conformance/harness", "Codegen", "Tuner"):
        shutil.copytree(REPOSITORY / "test" / part, folder / "test" / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-p no:logging"\nmarkers = ["reads_cache"]\n')
    for path in (folder / "test" / "Python").glob("test_cuda*.py"):
        text = path.read_text()
        path.write_text(re.sub(r'(?<=")emulated(?=")|(?<==)emulated(?=")', DEVICE, text))
    return folder


def run(setting: Setting, say: Callable[[str], None]) -> None:
    results = Results(setting, "tests")
    folder = copied(setting)
    finished = setting.work / "tests-done"
    finished.write_text("".join(key + "\n" for key in results.rows))
    files = sorted(path.name for path in (folder / "test" / "Python").glob("test_cuda*.py") if path.name not in LEFT_OUT)
    # A pattern with ::, such as test_cuda.py::test_conv*, selects tests of one file. A pattern without :: selects tests of all files.
    patterns = [pattern.partition("::")[0] for pattern in setting.only.split(",") if "::" in pattern]
    files = [name for name in files if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    command = [sys.executable, "-m", "pytest", "-p", "gpu_run.pytest_rows", "-p", "no:cacheprovider", "-q", "--tb=short", "-k", NOT_THESE]
    command += ["--rootdir", str(folder / "test" / "Python"), "-c", str(folder / "pyproject.toml")]
    cores = len(os.sched_getaffinity(0))
    for module, flags in (("xdist", ["-n", str(cores)]), ("pytest_timeout", [f"--timeout={TIMEOUT}", "--timeout-method=thread"])):
        if setting.dry:
            continue
        if not importlib.util.find_spec(module):
            raise RuntimeError(f"the Python module {module} is missing")
        command += flags
    command += [str(folder / "test" / "Python" / name) for name in files]
    command += [f"--rows={file.name}" for file in results.files] + [f"--done={finished}", f"--only={setting.only}"]
    environment = setting.environment()
    if setting.dry:
        environment["TILEWRIGHT_FAKE_CUDA"] = "capability=9.0"  # kernels are executed
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "build" / "python"), environment["PYTHONPATH"]])
    outcomes: list[Outcome] = []
    run_jobs([Job("tests", command, float("inf"))], 1, setting.deadline, environment, setting.work / "logs", lambda _, outcome: outcomes.append(outcome))
    results.close()
    after = Results(setting, "tests")
    faults = sum(row.get("outcome") == "fault" for row in after.rows.values())
    ended = outcomes and not outcomes[0].stopped
    say(f"tests: {len(after.rows)} tests, {faults} faults" + ("" if ended else "; the rest is left for another call"))
    after.close()
    if not after.rows and outcomes and outcomes[0].reason:
        raise RuntimeError(outcomes[0].reason + outcomes[0].output[-800:])
