"""Draws each workload's ratios as a PNG: one bar for each peer; a ratio of 1 means as fast as Tilewright."""

from __future__ import annotations

from pathlib import Path

from .race import Race


def draw(races: list[Race], path: Path) -> None:
    """Writes the chart to `path`. Requires matplotlib (pip install tilewright[bench])."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    races = [race for race in races if any(e.ratio for e in race.entries.values())]
    peers = list(dict.fromkeys(p for race in races for p in race.entries if not p.startswith("tilewright")))
    # A row has a line for each of its peers, and a gap of half a line before the next row.
    shown = [[(peer, race.entries[peer]) for peer in peers if peer in race.entries and not race.entries[peer].failed and race.entries[peer].ratio] for race in races]
    begins = [0.0]
    for entries in shown:
        begins.append(begins[-1] + len(entries) + 0.5)
    figure, axes = plt.subplots(figsize=(8, 1 + 0.11 * begins[-1]))
    for peer in peers:
        values = [(begin + line, entry) for begin, entries in zip(begins, shown) for line, (name, entry) in enumerate(entries) if name == peer]
        axes.barh([y for y, _ in values], [e.ratio for _, e in values], 1.0, label=peer, error_kw={"linewidth": 0.6},
                  xerr=[[e.ratio - e.low for _, e in values], [e.high - e.ratio for _, e in values]])  # fmt: skip
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks([begin + (len(entries) - 1) / 2 for begin, entries in zip(begins, shown)],
                    [f"{race.workload} {race.dtype} {race.threads}T" for race in races], fontsize=5)  # fmt: skip
    axes.set_ylim(-1, begins[-1])
    axes.invert_yaxis()
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("time of the peer over the time of Tilewright (more than 1: Tilewright is faster), 95% interval of the median", fontsize=7)
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
