"""Runs one changed kernel in ptx-check, and determines whether an error of ptx-check or wrong results reveal the
change."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mutation_kernels import CHECKER
from mutation_sites import Site, mutate

SEEDS = (0, 1, 2)  # of the order of blocks and warps; tried until something is found


@dataclass
class Verdict:
    how: str  # "finding", "numbers", "survived", "refused"
    detail: str = ""


def numbers_of(data: np.ndarray, dtype: str) -> np.ndarray:
    raw = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
    if dtype == "bfloat16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return raw.view(np.dtype(dtype))


def wrong(data: np.ndarray, exact: np.ndarray, expected: dict) -> str:
    """Returns how a result violates the numbers rule, or ''."""
    got = numbers_of(data, expected["dtype"])[: exact.size]
    if not np.issubdtype(got.dtype, np.floating):
        return f"{(got != exact).sum()} of {exact.size} integers differ" if (got != exact).any() else ""
    with np.errstate(all="ignore"):
        if not np.array_equal(np.isfinite(got), np.isfinite(exact)):
            return "NaN or infinities elsewhere"
        finite = np.isfinite(exact)
        error = float(np.sqrt(np.square(got[finite].astype(np.float64) - exact[finite]).mean()))
    return f"RMS error {error:.3g}, {error / expected['allowed']:.1f} times the allowed" if error > expected["allowed"] else ""


def run_once(here: Path, text: str, launch: dict, seed: int) -> tuple[int, dict | str]:
    """Returns the exit status and the report (or the reason why there is none) of a kernel with the buffers in the
    parent folder of `here`."""
    launch = dict(launch, buffers={name: dict(b, file="../" + b["file"]) if "file" in b else b for name, b in launch["buffers"].items()})
    here.mkdir(exist_ok=True)
    (here / "kernels.ptx").write_text(text)
    (here / "launch.json").write_text(json.dumps(launch))
    run = subprocess.run([CHECKER, here / "kernels.ptx", "--args", here / "launch.json", "--seed", str(seed), "--json"],
                         capture_output=True, text=True, timeout=300)  # fmt: skip
    return run.returncode, json.loads(run.stdout) if run.returncode < 2 else run.stderr.strip() or f"exit {run.returncode}"


def try_site(folder: Path, site: Site, number: int) -> Verdict:
    case = folder / site.case
    expected = json.loads((case / "expected.json").read_text())
    text, launch = mutate((case / "kernels.ptx").read_text(), json.loads((case / "launch.json").read_text()), site)
    launch["step_limit"] = expected["instructions"] * 20 + 100000
    here = case / f"m{number}"
    exact = np.load(case / "exact.npy")
    try:
        for seed in SEEDS:
            status, report = run_once(here, text, launch, seed)
            if status >= 2 or status < 0:
                return Verdict("refused", str(report)[-300:])
            if report["findings"]:
                first = report["findings"][0]
                return Verdict("finding", f"{first['kind']}: {first['message']}"[:200])
            if problem := wrong(np.load(here / f"{expected['buffer']}.after.npy"), exact, expected):
                return Verdict("numbers", problem)
        return Verdict("survived")
    finally:
        shutil.rmtree(here, ignore_errors=True)
