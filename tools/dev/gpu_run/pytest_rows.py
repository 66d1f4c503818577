"""A pytest plugin that writes the outcome of each test as a line of JSON, and ends a process whose GPU context is lost.

Its options are --rows (a file to append to; may be repeated), --done (a file with the tests to leave out) and --only
(patterns of tests, separated by commas).
"""

from __future__ import annotations

import fnmatch
import json
import os
import pathlib
import re
import sys

import pytest

# Patterns of failures that the tested code does not cause, and their reasons. Only the emulated device reports ptx-check's findings.
NOT_APPLICABLE = (
    (r"No such file or directory: .*/build/|FileNotFoundError: .*/build/", "needs a program that is not in the wheel"),
    (r"\"\w+\" not implemented for '\w+'|_scaled_mm.* (is not|not) (supported|implemented)|NotImplementedError: Could not run 'aten::_scaled_mm",
     "torch does not support the call in eager"),
    (r"(DID NOT RAISE|did not match|did not find)[\s\S]*(ptx-check|emulated)", "expects a message of the emulated device"),
)  # fmt: skip
FAULTS = (
    (r"worker '\w+' crashed|Fatal Python error|Segmentation fault", "crash, or a test that did not end"), (r"Timeout >", "timeout"),
    (r"CUDA_ERROR_\w+|CUDA error: [^\n]*|CUDA out of memory", "CUDA error"), (r"AssertionError|assert ", "assertion"),
)  # fmt: skip


def judged(text: str) -> tuple[str, str]:
    """Returns the outcome of a failed test, and the reason."""
    for pattern, why in NOT_APPLICABLE:
        if re.search(pattern, text):
            return "does not apply", why
    for pattern, why in FAULTS:
        if found := re.search(pattern, text):
            return "fault", f"{why}: {found[0]}"
    return "fault", "error"


def last_lines(text: str, most: int = 700) -> str:
    errors = [line for line in text.splitlines() if line.startswith("E ")]
    return "\n".join(errors or text.splitlines()[-10:])[:most]


def row_of(report) -> dict | None:
    """Returns the row for a phase of a test (setup, call or teardown), or None if the phase does not determine the outcome."""
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", "") or str(report.longrepr)
        return {"outcome": "does not apply", "why": f"skipped: {reason.removeprefix('Skipped: ')}"}
    if report.failed:
        outcome, why = judged(report.longreprtext)
        return {"outcome": outcome, "why": f"{why}; {last_lines(report.longreprtext)}", "phase": report.when}
    return {"outcome": "passed", "seconds": round(report.duration, 3)} if report.when == "call" else None


class Rows:
    def __init__(self, paths: list[str]):
        self.files = [pathlib.Path(path).open("a") for path in paths]

    def pytest_runtest_logreport(self, report) -> None:
        row = row_of(report)
        if row is None:
            return
        for file in self.files:
            file.write(json.dumps({"key": report.nodeid, **row}) + "\n")
            file.flush()


def pytest_addoption(parser) -> None:
    parser.addoption("--rows", action="append", default=[])
    parser.addoption("--done", required=True)
    parser.addoption("--only", default="")


def pytest_configure(config) -> None:
    if not hasattr(config, "workerinput"):  # the process that collects the reports of all workers
        config.pluginmanager.register(Rows(config.getoption("--rows")))


def pytest_collection_modifyitems(config, items: list) -> None:
    done = set(pathlib.Path(config.getoption("--done")).read_text().splitlines())
    only = [pattern for pattern in config.getoption("--only").split(",") if pattern]
    kept = [item for item in items if item.nodeid not in done and (not only or any(fnmatch.fnmatchcase(item.nodeid, f"*{pattern}*") for pattern in only))]
    kept_set = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept_set])
    items[:] = kept


@pytest.fixture(autouse=True)
def context_lives():
    """Exits if a fault has destroyed the GPU context, because no further test can run in it. xdist then starts another process."""
    yield
    import torch

    try:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    except Exception as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(3)
