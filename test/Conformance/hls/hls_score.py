"""Compares the estimator of target hls with public co-simulated designs (public/README.md states the sources of the
numbers).

Every second design of each file, by its position, is in the fitted half: constants of the estimator may be chosen
with it. The others are held out.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PUBLIC = Path(__file__).resolve().parent / "public"
PROGRAM = ROOT / "build/bin/hls-estimate"


@dataclass
class Point:
    group: str
    held_out: bool
    truth: dict
    estimate: dict

    def error(self, of: str) -> float:
        """Returns the relative error of the estimate. If a design does not end in the estimate, the estimated number of
        cycles is -1, so the error of its cycles is slightly above 1."""
        measured = self.truth[of]
        return abs(self.estimate[of] - measured) / measured if measured else float(self.estimate[of] != 0)


def points(folder: Path = PUBLIC, program: Path = PROGRAM) -> list[Point]:
    files = sorted(folder.glob("*.json"))
    printed = subprocess.run([program, *files], check=True, capture_output=True, text=True).stdout
    estimates = iter([json.loads(line) for line in printed.splitlines()])
    result = []
    for file in files:
        for number, truth in enumerate(json.loads(file.read_text())):
            estimate = next(estimates)
            assert estimate["name"] == truth["name"], f"{estimate['name']} is not {truth['name']}"
            result.append(Point(file.stem, number % 2 == 1, truth, estimate))
    return result


def summary(some: list[Point]) -> dict[str, float]:
    """Returns percentages: the median and the 90th percentile of the error of cycles; the shares of designs with exact
    DSP, with DSP within 5 %, and with BRAM within 20 %; and the median errors of LUT and FF."""
    cycles = sorted(point.error("cycles") for point in some)
    share = lambda good: 100 * sum(good(point) for point in some) / len(some)  # noqa: E731
    return {
        "cycles, median": 100 * statistics.median(cycles),
        "cycles, 90th": 100 * cycles[min(len(cycles) - 1, int(0.9 * len(cycles)))],
        "DSP exact": share(lambda point: point.truth["dsp"] == point.estimate["dsp"]),
        "DSP within 5": share(lambda point: point.error("dsp") <= 0.05),
        "BRAM within 20": share(lambda point: point.error("bram") <= 0.2),
        "LUT, median": 100 * statistics.median(point.error("lut") for point in some),
        "FF, median": 100 * statistics.median(point.error("ff") for point in some),
    }


def print_score(all_points: list[Point]) -> None:
    print("| group | design | half | cycles | estimate | error | DSP | estimate | BRAM | estimate | LUT | estimate | FF | estimate |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for point in all_points:
        off = 100 * (point.estimate["cycles"] / point.truth["cycles"] - 1)
        pairs = " | ".join(f"{point.truth[of]} | {point.estimate[of]}" for of in ("dsp", "bram", "lut", "ff"))
        print(f"| {point.group} | {point.truth['name']} | {'held out' if point.held_out else 'fitted'} | {point.truth['cycles']} | "
              f"{point.estimate['cycles']} | {off:+.2f} % | {pairs} |")
    halves = {"fitted": [p for p in all_points if not p.held_out], "held out": [p for p in all_points if p.held_out], "all": all_points}
    groups = {group: [p for p in all_points if p.group == group] for group in sorted({p.group for p in all_points})}
    print(f"\n| of | designs | {' | '.join(f'{key}, %' for key in summary(all_points))} |\n|{'---|' * (2 + len(summary(all_points)))}")
    for name, some in {**groups, **halves}.items():
        print(f"| {name} | {len(some)} | {' | '.join(f'{value:.2f}' for value in summary(some).values())} |")
    print("\nLeft out, since they fail co-simulation: Allo 3mm, POM atax, POM bicg.")
