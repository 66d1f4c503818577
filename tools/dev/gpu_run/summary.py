"""Writes the rows of all parts as Markdown tables (summary.md)."""

from __future__ import annotations

import math
import pathlib
from collections import Counter

from .drawn_models import DRAWN
from .model_list import INFERENCE, TRAINING
from .results import read

PARTS = ("tests", "models", "tables", "kernels", "tuned")
GROUPS = (("16 inference models", tuple(INFERENCE)), ("8 drawn models", DRAWN), ("inference, all 24", (*INFERENCE, *DRAWN)), ("4 training steps", tuple(TRAINING)))


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def cell(value) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return " ".join(str(value).split()).replace("|", "/")


def table(header: list[str], rows: list[list]) -> str:
    return "\n".join("| " + " | ".join(map(cell, row)) + " |" for row in [header, ["---"] * len(header), *rows])


def result_rows(path: pathlib.Path) -> list[dict]:
    """Returns the last row of each key."""
    return list({row["key"]: row for row in read(path) if "key" in row and row.get("kind") != "first"}.values())


def mean_and_least(values: list[float], of: int) -> str:
    return f"{geometric_mean(values):.3f} / {min(values):.3f} ({len(values)} of {of})" if values else f"- (0 of {of})"


def of_models(rows: list[dict], part: str) -> str:
    known = {row["key"]: row for row in rows}
    engines = list(dict.fromkeys(engine for row in rows for engine in row.get("ms", {})))
    lines = [[row["key"], row.get("ratio", ""), *(row.get("ms", {}).get(engine, "") for engine in engines),
              " ".join(f"{name} {value:.1e}" for name, value in row.get("difference", {}).items() if name.startswith("tilewright")),
              " ".join(f"{row.get('first_s', {}).get(engine, 0):.1f}" for engine in engines if engine != "eager"),
              row.get("failed") or "; ".join(f"{engine}: {why}" for engine, why in row.get("errors", {}).items())[:200]] for row in rows]  # fmt: skip
    text = [f"## {part}: time of Inductor's better mode / time of our better mode (above 1, Tilewright is faster)", ""]
    text += [table(["model", "ratio", *(f"{engine}, ms" for engine in engines), "difference from eager", "first call, s: all but eager", "problems"], lines), ""]
    summary = []
    for title, names in GROUPS:
        here = [known[name] for name in names if name in known]
        sooner = [row["first_s"]["inductor"] / row["first_s"]["tilewright"] for row in here if {"inductor", "tilewright"} <= row.get("first_s", {}).keys()]
        ratios = [row["ratio"] for row in here if row.get("ratio")]
        summary.append([title, mean_and_least(ratios, len(names)), mean_and_least(sooner, len(names)) if part == "models" else "-"])
    text += [table(["group", "speed: geometric mean / least", "first call, times sooner: geometric mean / least"], summary), ""]
    for row in rows:
        if row.get("kernels"):
            text += [f"### {row['key']}: our kernels", "", of_kernels(row["kernels"]), ""]
    return "\n".join(text)


def of_kernels(kernels: list[dict], most: int = 12) -> str:
    header = ["kernel", "us", "launches", "share", "TFLOP/s", "GB/s", "of its limit", "schedule", "line"]
    rows = [[k["name"], k["us"], k["launches"], f"{k['share']:.1%}", k["tflops"], k["gbps"], f"{k['of_limit']:.0%}", k["schedule"][:90], k["line"].split("/")[-1]]
            for k in kernels[:most]]  # fmt: skip
    return table(header, rows) + (f"\n\n... and {len(kernels) - most} more" if len(kernels) > most else "")


def of_single_kernels(rows: list[dict]) -> str:
    lines = [[row["key"], row.get("bar", ""), f"{row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" if "ratio" in row else row.get("failed", "")[:160],
              row.get("ours_ms", ""), row.get("peer_ms", ""), row.get("difference", "")] for row in rows]  # fmt: skip
    means = []
    for group, peer in dict.fromkeys((row.get("group", ""), row.get("peer", "")) for row in rows):
        found = [row["ratio"] for row in rows if (row.get("group"), row.get("peer")) == (group, peer) and "ratio" in row]
        if found:
            means.append([group, peer, len(found), geometric_mean(found), min(found)])
    return "\n".join(["## kernels: time of the peer / time of Tilewright", "", table(["row", "bar", "ratio [95%]", "ours, ms", "peer, ms", "difference"], lines), "",
                      table(["group", "peer", "rows", "geometric mean", "least"], means), ""])  # fmt: skip


def of_tables(rows: list[dict]) -> str:
    lines = []
    for row in rows:
        for kernel in row.get("tables", []):
            times = [ms for _, ms in kernel["schedules"]]
            best = min(times) if times else 0.0
            peer, default = row.get("peer_ms", 0.0), kernel.get("default_ms", 0.0)
            lines.append([row["key"], kernel["operations"], len(times), peer, default, best, peer / default if default else "", peer / best if best else ""])
        if not row.get("tables"):
            lines.append([row["key"], row.get("failed", ""), 0, "", "", "", "", ""])
    header = ["row", "operations", "schedules", "peer, ms", "default, ms", "best, ms", "peer / default", "peer / best"]
    return "\n".join(["## tables", "", table(header, lines), ""])


def of_tests(rows: list[dict]) -> str:
    counts = Counter(row["outcome"] for row in rows if "outcome" in row)
    faults = [[row["key"], row["why"][:200]] for row in rows if row.get("outcome") == "fault"]
    reasons = Counter(row["why"][:80] for row in rows if row.get("outcome") == "does not apply")
    text = ["## tests", "", ", ".join(f"{count} {name}" for name, count in counts.items()), ""]
    text += [table(["fault", "reason"], faults), ""] if faults else []
    text += [table(["does not apply", "tests"], [[why, count] for why, count in reasons.most_common()]), ""] if reasons else []
    return "\n".join(text)


def write(out: pathlib.Path) -> str:
    """Writes summary.md from the rows in `out`, and returns its text."""
    texts = []
    for part in PARTS:
        rows = result_rows(out / f"{part}.jsonl")
        if not rows:
            continue
        if part in ("models", "tuned"):
            texts.append(of_models(rows, part))
        else:
            texts.append({"kernels": of_single_kernels, "tables": of_tables, "tests": of_tests}[part](rows))
    text = "\n".join(texts) or "there are no rows\n"
    (out / "summary.md").write_text(text)
    return text
