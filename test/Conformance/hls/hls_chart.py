"""Draws multipliers against cycles of designs at several budgets, together with public points."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hls_trial import DESIGNS, generate

BUDGETS = (55, 110, 220, 640, 2560, 9024)


def points_of(name: str, budgets) -> list[tuple[int, int]]:
    """Returns (multipliers, cycles without ports) at each sufficient budget. Omits a point if another point has at most
    as many multipliers and cycles."""
    found = set()
    with tempfile.TemporaryDirectory() as scratch:
        for budget in budgets:
            folder = Path(scratch) / f"{name}_{budget}"
            made = generate(DESIGNS / f"{name}.mlir", folder, "--budget", f"dsp={budget}")
            if made.returncode != 0 and "budget" not in made.stderr:
                raise RuntimeError(f"{name} at dsp={budget}: {made.stderr.strip()}")
            if made.returncode == 0:
                report = json.loads((folder / "report.json").read_text())
                found.add((report["dsp"], report["kernel_latency"]))
    return front(found)


def front(points) -> list[tuple[int, int]]:
    """Returns the Pareto front, in order of multipliers."""
    best: list[tuple[int, int]] = []
    for point in sorted(points):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return best


def draw(series: dict[str, list[tuple[int, int]]], public: dict[str, dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for number, (name, points) in enumerate(series.items()):
        axes.step(*zip(*points), where="post", marker="o", color=f"C{number}", label=name)
        if others := [(dsp, cycles) for cycles, dsp in public.get(name, {}).values()]:
            axes.scatter(*zip(*others), marker="x", color=f"C{number}", label=f"{name}, Stream-HLS")
    axes.set(xscale="log", yscale="log", xlabel="DSP", ylabel="cycles without ports", title="Designs of target hls at several budgets")
    axes.legend()
    axes.grid(True, which="both", alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
