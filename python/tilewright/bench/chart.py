"""A PNG: each workload's ratios, one bar for each peer, 1 is as fast as Tilewright."""

from __future__ import annotations

from pathlib import Path

from .race import Race


def draw(races: list[Race], path: Path) -> None:
    """Needs matplotlib (pip install tilewright[bench])."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    races = [race for race in races if any(e.ratio for e in race.entries.values())]
    peers = list(dict.fromkeys(p for race in races for p in race.entries if not p.startswith("tilewright")))
    figure, axes = plt.subplots(figsize=(8, 1.5 + 0.16 * len(races) * max(1, len(peers))))
    height = 0.8 / max(1, len(peers))
    for place, peer in enumerate(peers):
        values = [(row + place * height, race.entries[peer]) for row, race in enumerate(races) if peer in race.entries]
        values = [(y, entry) for y, entry in values if not entry.failed and entry.ratio]
        axes.barh([y for y, _ in values], [e.ratio for _, e in values], height, label=peer,
                  xerr=[[e.ratio - e.low for _, e in values], [e.high - e.ratio for _, e in values]])  # fmt: skip
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(races))],
                    [f"{race.workload} {race.dtype} {race.threads}T" for race in races], fontsize=7)  # fmt: skip
    axes.invert_yaxis()
    axes.set_xlabel("time of the peer over the time of Tilewright (more than 1: Tilewright is faster), 95% interval of the median")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
