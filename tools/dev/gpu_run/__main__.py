"""Runs the parts one after another: python -m gpu_run PART... --minutes N; see ../gpu-run.sh."""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import time

from . import cuda_tests, stages, summary, tables
from .setting import FAKE_DRIVER, REPOSITORY, Setting

PARTS = summary.PARTS
RESERVE = 6  # seconds at the end for the summary


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpu-run.sh", description="Measures and tests the target cuda on the GPU of this machine.")
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, required=True, help="time for all parts together")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the results; default: `out` in the folder --work")
    parser.add_argument("--work", type=pathlib.Path, default=REPOSITORY / "build" / "gpu-run", help="folder of the caches; default: build/gpu-run")
    parser.add_argument("--earlier", type=pathlib.Path, action="append", default=[], help="folder with results of an earlier run, which this run continues")
    parser.add_argument("--only", default="", help="patterns of rows, separated by commas, such as 'bert*,train-*'")
    parser.add_argument("--package", type=pathlib.Path, help="folder of the unpacked wheel")
    parser.add_argument("--dry", action="store_true", help="tiny sizes on the fake driver")
    return parser.parse_args(argv)


def machine(out: pathlib.Path) -> None:
    """Writes the GPU, its driver and its clocks."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem,memory.total", "--format=csv"]
    try:
        text = subprocess.run(query, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        text = f"nvidia-smi: {error}\n"
    (out / "machine.txt").write_text(text + f"{len(os.sched_getaffinity(0))} cores, Python {sys.version.split()[0]}\n")


def run_part(setting: Setting, part: str) -> None:
    say = lambda text: print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)  # noqa: E731
    if part == "tests":
        cuda_tests.run(setting, say)
    elif part == "tables":
        tables.run(setting, say)
    else:
        from .suites import suite_of

        stages.run(setting, part, suite_of(part, setting.dry), say)


def main(argv: list[str] | None = None) -> int:
    given = arguments(argv)
    end = time.time() + 60 * given.minutes - RESERVE
    out = given.out or given.work / "out"
    if given.dry and not FAKE_DRIVER.exists():
        print(f"gpu-run: --dry needs the fake driver {FAKE_DRIVER}; build it with tools/setup.sh", file=sys.stderr)
        return 2
    setting = Setting(out.absolute(), given.work.absolute(), [folder.absolute() for folder in given.earlier],
                      given.package.absolute() if given.package else None, given.only, given.dry)  # fmt: skip
    for folder in (setting.out, setting.work):
        folder.mkdir(parents=True, exist_ok=True)
    machine(setting.out)
    failed = False
    parts = list(dict.fromkeys(given.parts))
    for at, part in enumerate(parts):
        # This part gets an equal share of the remaining time, and so do the following parts.
        share = (end - time.time()) / (len(parts) - at)
        if share < 1:
            print(f"gpu-run: no time is left for {part}", file=sys.stderr)
            break
        try:
            run_part(dataclasses.replace(setting, deadline=time.time() + share), part)
        except Exception as error:  # the remaining parts still run
            print(f"gpu-run: {part}: {type(error).__name__}: {error}", file=sys.stderr)
            failed = True
        summary.write(setting.out)
    print(summary.write(setting.out))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
