"""Draws the file that `tilewright tune --report=FILE.json` wrote: python -m tilewright.bench.tuning_chart FILE.json
CHART.png

For a tuning of the cpu, the chart shows the measured schedules of each kernel: the median of their times over the
default's with its 95% interval. The chosen schedule is marked. A model with symbolic sizes has a part for each class of
sizes. A kernel that was not measured has a line with the reason. For designs of target hls, the chart shows latency in
cycles over multipliers. Pareto-optimal designs are marked: every design with a lower latency has more multipliers.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from ..reports.operation_text import short_operations

_LEAST_GAIN = 0.02  # a schedule wins by at least 2%


def _slowest_shown(ratios: list[float]) -> float:
    """Returns the largest ratio on the axis. Schedules that are much slower than most others are beyond the axis.
    lib/Tuner/TunePage.cpp uses the same rule: the faster half of the schedules occupies at least a fifth of the axis.
    """
    ratios = [1.0, *ratios]
    middle = statistics.median_high(ratios)
    limit = max(1.0, middle + 4 * max(middle - min(ratios), _LEAST_GAIN))
    return max(ratio for ratio in ratios if ratio <= limit)


def _rows(tuning: dict) -> list[tuple[str, dict | None, bool]]:
    """Returns the lines of the chart from the top: a text, the schedule whose ratio is drawn there, and whether the
    schedule is the chosen one."""
    rows: list[tuple[str, dict | None, bool]] = []
    for part in (tuning, *tuning["otherSizes"]):
        if part["sizes"]:
            rows.append((f"sizes {', '.join(map(str, part['sizes']))}", None, False))
        for kernel in part["kernels"]:
            name = f"{kernel['name']} ({short_operations(kernel['operations'])}), {100 * kernel['share']:.0f}% of the model"
            rows.append((name if kernel["seen"] else f"{name}: {kernel['verdict']}", None, False))
            rows += [(seen["schedule"], seen, seen["schedule"] == kernel["chosen"]) for seen in kernel["seen"]]
    return rows


def _schedules(plt, tuning: dict):
    rows = _rows(tuning)
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.16 * max(len(rows), 4)))
    ratios = [seen["ratio"] for _, seen, _ in rows if seen]
    last = _slowest_shown(ratios)
    for row, (_, seen, chosen) in enumerate(rows):
        color = "tab:blue" if chosen else "tab:gray"
        if seen and seen["ratio"] <= last:
            axes.errorbar(seen["ratio"], row, xerr=[[max(0, seen["ratio"] - seen["low"])], [max(0, min(seen["high"], last) - seen["ratio"])]],
                          fmt="o" if chosen else ".", color=color, elinewidth=0.8)  # fmt: skip
        elif seen:
            axes.plot(last, row, ">", color=color)
            axes.annotate(f"{seen['ratio']:.2f}", (last, row), (6, 0), textcoords="offset points", va="center", fontsize=6)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [text for text, _, _ in rows], fontsize=6)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    axes.invert_yaxis()
    arrows = "; arrow: slower than the largest ratio of the axis" if max(ratios, default=1.0) > last else ""
    axes.set_xlabel(f"time / time of the default schedule, 95% interval of the median; blue: chosen schedule{arrows}")
    if not ratios:
        axes.set_xlim(0.9, 1.1)
        axes.text(0.5, 0.5, f"nothing was measured: {tuning['verdict']}", transform=axes.transAxes, ha="center", fontsize=8, wrap=True)
    model = f"the model {tuning['ratio']:.3f} [{tuning['low']:.3f}, {tuning['high']:.3f}] of the untuned time, " if tuning["untunedNanoseconds"] else ""
    axes.set_title(f"{Path(tuning['model']).name}: {model}{tuning['seconds']:.0f} s", fontsize=8)
    return figure


def _designs(plt, tuning: dict):
    figure, axes = plt.subplots(figsize=(7, 4.5))
    fitting = [point for point in tuning["designs"] if not point["refusal"]]
    best = sorted((point for point in fitting if point["best"]), key=lambda point: point["dsp"])
    axes.plot([p["dsp"] for p in fitting], [p["latency"] for p in fitting], ".", color="tab:gray", label="designs")
    axes.plot([p["dsp"] for p in best], [p["latency"] for p in best], "o-", color="tab:blue", label="Pareto-optimal designs")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("DSP")
    axes.set_ylabel("latency in cycles, estimated")
    axes.set_title(Path(tuning["model"]).name, fontsize=8)
    axes.legend(fontsize=7)
    return figure


def draw(tuning: dict, path: str) -> None:
    """Writes the chart to `path`. Requires matplotlib (pip install tilewright[bench])."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = _designs(plt, tuning) if "designs" in tuning else _schedules(plt, tuning)
    figure.savefig(path, dpi=130, bbox_inches="tight")  # the image is as wide as its labels require
    plt.close(figure)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        text = Path(arguments[0]).read_text()
    except OSError as error:
        print(f"cannot read '{arguments[0]}': {error.strerror}", file=sys.stderr)
        return 1
    try:
        draw(json.loads(text), arguments[1])
    except ImportError as error:
        print(f"{error}; install it with pip install tilewright[bench]", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"cannot write '{arguments[1]}': {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
