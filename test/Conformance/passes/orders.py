"""Passes in unusual orders: tilewright-opt must end with a result or an error, never with a signal.

    python test/Conformance/passes/orders.py [--orders N] [--seed N] [--jobs N] [--opt build/bin/tilewright-opt]

Pairs: each pass, and each stage of the target cpu, after the first 0, 1, ... stages, with each model in models/. Orders:
a few stages in order, followed by passes and stages drawn at random. With --orders 0, only pairs are run. Prints one line per crash, with the command
that repeats it; exit status 1 if there was one.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
STAGES = ["tw-stage-graph", "tw-stage-structured", "tw-stage-tiled", "tw-stage-vector", "tw-stage-cpu"]
# These passes need a file as an option. Without the file, they fail on any IR.
NEEDS_FILE = {"tw-override-schedules", "tw-apply-scripts", "tw-cuda-override-schedules"}
LIMIT = 120  # seconds for a command


def passes() -> list[str]:
    """Returns the passes of Passes.td that do not need a file."""
    text = (ROOT / "include/tilewright/Passes.td").read_text()
    return [name for name in re.findall(r': Pass<"([^"]+)"', text) if name not in NEEDS_FILE]


def models() -> list[Path]:
    """Returns the files whose IR the passes are run on."""
    return sorted((HERE / "models").glob("*.mlir"))


def pairs() -> list[tuple[Path, list[str]]]:
    """Returns each pass and each stage after each prefix of the stages, for each model."""
    return [(model, [*STAGES[:done], name]) for model in models() for done in range(len(STAGES) + 1) for name in [*passes(), *STAGES]]


def orders(count: int, seed: int) -> list[tuple[Path, list[str]]]:
    """Returns drawn orders: some stages in order, then any passes."""
    draw, found = random.Random(seed), []
    everything = [*passes(), *STAGES, *STAGES, "canonicalize", "cse"]
    for _ in range(count):
        order = STAGES[: draw.randint(0, len(STAGES))]
        order += draw.choices(everything, k=draw.randint(1, 5))
        found.append((draw.choice(models()), order))
    return found


def crash_of(opt: str, model: Path, order: list[str]) -> str | None:
    """Returns the command and its output if it ended with a signal or exceeded the time limit, else None."""
    command = [opt, str(model), *(f"--{name}" for name in order), "-o", "/dev/null"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, errors="replace")
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)}: it did not end within {LIMIT} s"
    if done.returncode in (0, 1, 2):
        return None
    said = [line for line in done.stderr.splitlines() if line and not line.startswith(("PLEASE", "Stack dump", " #", "0.", "1."))]
    return f"{' '.join(command)}: ended with exit status {done.returncode}: {' | '.join(said[:2])[:300]}"


def run(cases, opt: str, jobs: int) -> list[str]:
    with ThreadPoolExecutor(jobs) as pool:
        return [found for found in pool.map(lambda case: crash_of(opt, *case), cases) if found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--opt", default=str(ROOT / "build/bin/tilewright-opt"))
    arguments = parser.parse_args()
    cases = pairs() + orders(arguments.orders, arguments.seed)
    found = run(cases, arguments.opt, arguments.jobs)
    print("\n".join(found))
    print(f"{len(cases)} orders of passes, {len(found)} crashes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
