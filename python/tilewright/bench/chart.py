"""Draws the ratios of each workload as a PNG. Each peer has one bar, from 1 (the time of Tilewright) to the ratio of the times.

A bar to the right is a peer that is slower than Tilewright, and a bar to the left is a faster peer. The axis is
logarithmic, so that twice as fast and half as fast have bars of equal length.
"""

from __future__ import annotations

from pathlib import Path

from .race import Race

_FINE_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)


def _ticks(least: float, most: float) -> list[float]:
    """Returns the labels of the axis from `least` to `most`: powers of two, or a finer scale if the axis is short."""
    if 0.5 <= least and most <= 2:
        return [tick for tick in _FINE_TICKS if least <= tick <= most]
    return [tick for tick in (2.0**power for power in range(-20, 21)) if least <= tick <= most]


def _figure(plt, races: list[Race]):
    peers = list(dict.fromkeys(p for race in races for p in race.entries if not p.startswith("tilewright")))
    races = [race for race in races if race.ratio(*peers)]
    # A row of the chart has one line for each peer with a result, followed by a gap of half a line.
    shown = [[(peer, race.entries[peer]) for peer in peers if peer in race.entries and not race.entries[peer].failed and race.entries[peer].ratio] for race in races]
    begins = [0.0]
    for entries in shown:
        begins.append(begins[-1] + len(entries) + 0.5)
    figure, axes = plt.subplots(figsize=(8, 1 + 0.11 * begins[-1]))
    axes.set_xscale("log", base=2)
    for peer in peers:
        values = [(begin + line, entry) for begin, entries in zip(begins, shown) for line, (name, entry) in enumerate(entries) if name == peer]
        axes.barh([y for y, _ in values], [e.ratio - 1 for _, e in values], 1.0, left=1.0, label=peer, error_kw={"linewidth": 0.6},
                  xerr=[[e.ratio - e.low for _, e in values], [e.high - e.ratio for _, e in values]])  # fmt: skip
    axes.axvline(1.0, color="black", linewidth=0.8)
    drawn = [entry for entries in shown for _, entry in entries]
    least, most = min([e.low for e in drawn] + [0.8]) / 1.05, max([e.high for e in drawn] + [1.25]) * 1.05
    axes.set_xlim(least, most)
    axes.set_xticks(_ticks(least, most))
    axes.set_xticks([], minor=True)
    axes.set_yticks([begin + (len(entries) - 1) / 2 for begin, entries in zip(begins, shown)],
                    [f"{race.workload} {race.dtype} {race.threads}T" for race in races], fontsize=5)  # fmt: skip
    axes.set_ylim(-1, begins[-1])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("time of the peer over the time of Tilewright (right of 1: Tilewright is faster), 95% interval of the median", fontsize=7)
    if drawn:
        axes.legend(fontsize=7)
    else:
        axes.text(0.5, 0.5, "no peer was measured", transform=axes.transAxes, ha="center", fontsize=8)
    return figure


def draw(races: list[Race], path: Path) -> None:
    """Writes the chart to `path`. Requires matplotlib (pip install tilewright[bench])."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = _figure(plt, races)
    figure.savefig(path, dpi=130, bbox_inches="tight")  # the image is as wide as its labels require
    plt.close(figure)
