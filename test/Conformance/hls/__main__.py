"""Compiles, runs and lints designs of target hls: docs/targets/hls.md describes what is checked.

    python test/Conformance/hls one gemm_small [folder]   one design, written to the folder; prints all output
    python test/Conformance/hls run 'gemm.*'               the designs that match; exit status 1 if one fails
    python test/Conformance/hls run                        some small designs, as CI does; all designs if TILEWRIGHT_TEST_FULL is set
    python test/Conformance/hls table [--dsp N]            all designs but *_inner and *_ports; prints the two tables of docs/targets/hls.md
    python test/Conformance/hls rtl [PATTERN]              designs of integers as Verilog: simulated, and counted by yosys;
                                                           without a pattern some designs, as CI does, or all if TILEWRIGHT_TEST_FULL is set
    python test/Conformance/hls chart NAMES [-o FILE]      multipliers against cycles at six budgets, as a PNG
    python test/Conformance/hls score                      the estimator against public co-simulated designs
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import hls_rtl  # noqa: E402
from hls_chart import BUDGETS, draw, points_of  # noqa: E402
from hls_score import points, print_score  # noqa: E402
from hls_trial import DESIGNS, Result, all_names, trial  # noqa: E402

# The designs that `run` checks without a pattern if TILEWRIGHT_TEST_FULL is not set: a product, one matrix read by two
# tasks, reductions, windows, attention, bytes, reshapes, a deep queue, integers that wrap around, a ROM, padded slices,
# padding, ports that are streams, torch models with their weights, a residual network of two stages (once with the
# inputs of its layers as results, and once with weights as ports), and two designs in fixed point.
SMALL = ["gemm_small", "atax_small", "softmax", "conv", "attention", "int8", "elementwise", "residual", "integers", "constant", "slices", "padded_pool", "lenet_int8", "resnet_small_int8_inner", "resnet_small_int8_ports", "fixed_mlp", "fixed_pooled", "attention_block", "streams"]

# Public co-simulated designs of Stream-HLS (FPGA 2025 artifact, part xcu280, clock period 3.33 ns). For each design,
# the budget of multipliers for Tilewright's design is mapped to (cycles, multipliers) of the public design.
PUBLIC = {
    "gemm": {220: (330.1e3, 194), 2560: (24.1e3, 2552)},
    "2mm": {220: (378.3e3, 222), 2560: (36.4e3, 1942)},
    "3mm": {220: (601.5e3, 227), 2560: (49.1e3, 2507)},
    "atax": {220: (15.9e3, 202), 2560: (2.2e3, 1502)},
    "bicg": {220: (8.0e3, 201), 2560: (1.1e3, 1501)},
    "gesummv": {220: (3.2e3, 218), 2560: (0.67e3, 922)},
    "mvt": {220: (8.0e3, 202), 2560: (0.67e3, 2306)},
}


def times_public(name: str, budget: int, cycles: int, dsp: int) -> str:
    """Returns cycles x multipliers over those of the public design, or '' if there is none for this budget."""
    point = PUBLIC.get(name, {}).get(budget)
    return f"{cycles * dsp / (point[0] * point[1]):.2f}" if point else ""


def run_all(names, *flags) -> list[Result]:
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as threads:
        return list(threads.map(lambda name: trial(name, *flags), names))


def tell(results: list[Result]) -> int:
    for result in results:
        print(f"{result.name}: {'; '.join(result.failures) or 'good'}")
    bad = sum(bool(result.failures) for result in results)
    print(f"{len(results) - bad} of {len(results)} designs are good")
    return 1 if bad else 0


def print_table(results: list[Result], budget: int) -> int:
    print(f"| design | latency | interval | largest II | DSP | BRAM | LUT | FF | MACs per DSP and cycle | runs | threads | lint | to public | with ports |\n|{'---|' * 14}")
    for result in results:
        if not result.report:
            print(f"| {result.name} | | | | | | | | | {'; '.join(result.failures)} | | | | |")
            continue
        intervals = [nest["ii"] for task in result.report["tasks"] for nest in task["nests"]]
        state = {kind: "no" if any(f.startswith(kind) for f in result.failures) else "yes" for kind in ("g++", "clang", "threads", "lint")}
        efficiency = f"{result.report['dsp_efficiency']:.2f}" if result.report["macs"] else ""
        runs = "yes" if state["g++"] == state["clang"] == "yes" else "no"
        compared = [times_public(result.name, budget, result.report[of], result.report["dsp"]) for of in ("kernel_latency", "latency")]
        print(f"| {result.name} | {result.report['latency']} | {result.report['interval']} | {max(intervals, default=0)} | "
              f"{result.report['dsp']} | {result.report['bram']} | {result.report['lut']} | {result.report['ff']} | {efficiency} | {runs} | {state['threads']} | {state['lint']} | {' | '.join(compared)} |")
    return 1 if any(result.failures for result in results) else 0


def run_rtl(pattern: str | None, yosys: bool) -> int:
    if why := hls_rtl.missing():
        print(f"skipped: {why}")
        return 0
    full = pattern or os.environ.get("TILEWRIGHT_TEST_FULL")
    names = [n for n in hls_rtl.NAMES if re.fullmatch(pattern or ".*", n)] if full else hls_rtl.SMALL
    if not names:
        sys.exit(f"no design is called '{pattern}'; there are {', '.join(hls_rtl.NAMES)}")
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as threads:
        results = list(threads.map(lambda name: hls_rtl.trial(name, yosys=yosys and (bool(full) or name in hls_rtl.COUNTED)), names))
    print(hls_rtl.table(results))
    bad = [each for each in results if each.failures]
    for each in bad:
        print(f"{each.name}: {'; '.join(each.failures)}")
    print(f"{len(results) - len(bad)} of {len(results)} designs are good")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("one")
    one.add_argument("name", choices=all_names())
    one.add_argument("folder", nargs="?", type=Path)
    run = commands.add_parser("run")
    run.add_argument("pattern", nargs="?")
    table = commands.add_parser("table")
    table.add_argument("--dsp", type=int, default=220)
    rtl = commands.add_parser("rtl")
    rtl.add_argument("pattern", nargs="?")
    rtl.add_argument("--no-yosys", action="store_true", help="only simulate")
    chart = commands.add_parser("chart")
    chart.add_argument("names", nargs="+", choices=[n for n in all_names() if (DESIGNS / f"{n}.mlir").exists()])
    chart.add_argument("-o", type=Path, default=Path("pareto.png"))
    commands.add_parser("score")
    words = parser.parse_args()
    if words.command == "chart":
        draw({name: points_of(name, BUDGETS) for name in words.names}, PUBLIC, words.o)
        print(words.o)
        return 0
    if words.command == "score":
        return print_score(points()) or 0
    if words.command == "one":
        return tell([trial(words.name, keep=words.folder and words.folder.resolve())])
    if words.command == "table":
        status = print_table(run_all([n for n in all_names() if not n.endswith(("_inner", "_ports"))], "--budget", f"dsp={words.dsp}"), words.dsp)
        print()
        return max(status, run_rtl(".*", yosys=True))
    if words.command == "rtl":
        return run_rtl(words.pattern, not words.no_yosys)
    full = os.environ.get("TILEWRIGHT_TEST_FULL")
    names = [n for n in all_names() if re.fullmatch(words.pattern, n)] if words.pattern else all_names() if full else SMALL
    if not names:
        sys.exit(f"no design is called '{words.pattern}'; there are {', '.join(all_names())}")
    return tell(run_all(names, "--budget", "dsp=220"))


if __name__ == "__main__":
    sys.exit(main())
