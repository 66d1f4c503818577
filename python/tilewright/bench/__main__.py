"""Runs the command `tilewright bench`, whose arguments arguments.py declares."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys

from . import dynamic, report, roof, workloads
from .arguments import PEERS, parser
from .race import run


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    given = parser().parse_args(argv)
    for name in given.workloads:
        if name not in workloads.WORKLOADS and not name.startswith("gemm:"):
            parser().error(f"unknown workload {name!r}; --list prints the names")
    if not (given.workloads or given.list or given.dynamic or given.goals is not None):
        parser().error("specify workloads (--list prints their names), --dynamic or --goals")
    if _measures_only_dynamic(given) and (given.json or given.chart):
        parser().error("--json and --chart write the measurements of workloads or of --goals, not those of --dynamic")
    if given.per_kernel and given.chart:
        parser().error("--chart draws ratios of peers, which --per-kernel does not measure")
    if given.device != "cpu" and not given.per_kernel:
        parser().error("--device=cuda measures kernels; add --per-kernel")
    # These mistakes are found before the measurements, which may take half an hour.
    for flag, file in (("--json", given.json), ("--chart", given.chart)):
        if file and not file.absolute().parent.is_dir():
            parser().error(f"{flag}: the folder {str(file.parent)!r} does not exist")
    if given.chart and importlib.util.find_spec("matplotlib") is None:
        parser().error("--chart needs matplotlib; pip install tilewright[bench]")
    return given


def _measures_only_dynamic(given: argparse.Namespace) -> bool:
    return bool(given.dynamic) and not given.workloads and given.goals is None


def main(argv: list[str] | None = None) -> int:
    given = _arguments(argv)
    if given.list:
        print("workloads: gemm:MxNxK, " + ", ".join(workloads.WORKLOADS))
        print("peers: " + ", ".join(p for p in PEERS if p != "exact"))
        return 0
    for shape in given.dynamic:
        for dtype in given.dtype:
            for threads in given.threads:
                rows = dynamic.measure(shape, dtype, threads, given.seconds)
                print(dynamic.table(shape, dtype, threads, rows), flush=True)
    if _measures_only_dynamic(given):
        return 0
    if given.per_kernel:
        measured = []
        for name in given.workloads:
            for dtype in given.dtype:
                for threads in given.threads:
                    print(f"{name} {dtype}, {threads} threads" if given.device == "cpu" else f"{name} {dtype}, {given.device}")
                    kernels, seconds, limits = roof.measure(workloads.make(name, dtype), dtype, threads, device=given.device)
                    print(roof.table(kernels, seconds, limits), flush=True)
                    measured.append({"workload": name, "dtype": dtype, "threads": threads, "seconds": seconds, "peaks": limits,
                                     "share": roof.share(kernels), "kernels": [vars(row) for row in kernels]})  # fmt: skip
        if given.json:
            given.json.write_text(json.dumps({"machine": report.describe_machine(), "roofs": measured}, indent=1))
        return 0
    machine = report.describe_machine()
    print(report.machine_line(machine), flush=True)
    races: list[report.Race] = []
    verdicts: list[report.Verdict] = []
    if given.goals is not None:
        races, verdicts = report.run_goals(given.goals, given.peers, given.threads[0], given.seconds, machine)
    else:
        if given.cold:
            print("cold: the L2 caches are flushed before each call")
        print(report.RACE_HEADER)
        for name in given.workloads:
            for dtype in given.dtype:
                for threads in given.threads:
                    races.append(run(name, dtype, threads, ["tilewright", *given.peers], given.seconds, given.warm, cold=given.cold))
                    print(report.race_lines(races[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps({"machine": machine, "races": [race.as_json() for race in races],
                                          "verdicts": [vars(v) | {"held": v.held} for v in verdicts]}, indent=1))  # fmt: skip
    if given.chart:
        from .chart import draw

        draw(races, given.chart)
    return 0


if __name__ == "__main__":
    sys.exit(main())
