"""Draws the file that `tilewright tune --report=FILE.json` wrote: python -m tilewright.bench.tuning_chart FILE.json
CHART.png

For a tuning of the cpu, the chart shows the measured schedules of each kernel: the median of their times over the
default's with its 95% interval. The chosen schedule is marked. For designs of target hls, it shows latency in cycles
over multipliers. Designs that no other design beats in both are marked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def _schedules(plt, tuning: dict):
    kernels = [kernel for kernel in tuning["kernels"] if kernel["seen"]]
    rows = sum(len(kernel["seen"]) + 1 for kernel in kernels)
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.16 * max(rows, 4)))
    names, ticks, row = [], [], 0
    for kernel in kernels:
        names.append(f"{kernel['name']} ({kernel['operations'][:40]}), {100 * kernel['share']:.0f}% of the model")
        ticks.append(row)
        for seen in kernel["seen"]:
            row += 1
            chosen = seen["schedule"] == kernel["chosen"]
            names.append(seen["schedule"])
            ticks.append(row)
            axes.errorbar(seen["ratio"], row, xerr=[[max(0, seen["ratio"] - seen["low"])], [max(0, seen["high"] - seen["ratio"])]],
                          fmt="o" if chosen else ".", color="tab:blue" if chosen else "tab:gray", elinewidth=0.8)  # fmt: skip
        row += 1
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(ticks, names, fontsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("time over the default's, 95% interval of the median; blue: chosen")
    model = f"the model {tuning['ratio']:.3f} [{tuning['low']:.3f}, {tuning['high']:.3f}] of the untuned time, " if tuning["untunedNanoseconds"] else ""
    axes.set_title(f"{Path(tuning['model']).name}: {model}{tuning['seconds']:.0f} s", fontsize=8)
    return figure


def _designs(plt, tuning: dict):
    figure, axes = plt.subplots(figsize=(7, 4.5))
    fitting = [point for point in tuning["designs"] if not point["refusal"]]
    best = sorted((point for point in fitting if point["best"]), key=lambda point: point["dsp"])
    axes.plot([p["dsp"] for p in fitting], [p["latency"] for p in fitting], ".", color="tab:gray", label="designs")
    axes.plot([p["dsp"] for p in best], [p["latency"] for p in best], "o-", color="tab:blue", label="no other is better in both")
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
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        draw(json.loads(Path(arguments[0]).read_text()), arguments[1])
    except ImportError as error:
        print(f"{error}; pip install tilewright[bench] brings it", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"cannot write '{arguments[1]}': {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
