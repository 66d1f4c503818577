"""Calls ONNX graphs with symbolic sizes: with sizes that satisfy the equations that their nodes require, and with other sizes.

    python test/Conformance/onnx_sizes share                 ten graphs, 60 calls each
    python test/Conformance/onnx_sizes run --graphs 500      500 graphs, 200 calls each
    python test/Conformance/onnx_sizes one 17                graph 17; prints its result
    python test/Conformance/onnx_sizes show 17               its nodes

Each graph becomes a library. In each call, a page without access follows every buffer (inputs and results in this
program; weights, constants and the arena by TILEWRIGHT_GUARD_PAGES). These outcomes are errors: a result that differs
from the reference's, a result if the reference refuses the sizes, a refusal of the sizes for which the graph was
created, and a process that dies. Refusals of other sizes that the reference accepts are counted, but are not errors
unless the message is not about sizes or an index, because the reference broadcasts sizes of 1 and clamps slices. The
reference is onnxruntime or, if it is not installed, the evaluator of the package onnx."""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness")]

import size_trial  # noqa: E402

os.environ["TILEWRIGHT_GUARD_PAGES"] = "1"

FIRST = 0  # first graph of the share


def in_process(seed: int, calls: int) -> dict:
    """Runs a graph in a separate process, which may die, and returns its result."""
    command = [sys.executable, str(here), "one", str(seed), "--calls", str(calls), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return {"findings": [f"graph {seed}: the process did not end within 600 s"]}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    last = done.stderr.strip().splitlines()[-1:] or [f"graph {seed}"]
    return {"findings": [f"{last[0]}: the process ended with {done.returncode}"]}


def run(seeds, calls: int, jobs: int) -> int:
    if not size_trial.onnxruntime:
        print("onnxruntime is not installed (pip install onnxruntime): results are compared with the package onnx's evaluator")
    totals, findings, reasons = collections.Counter(), [], collections.Counter()
    with ThreadPoolExecutor(jobs) as threads:
        for result in threads.map(lambda seed: in_process(seed, calls), seeds):
            findings += result.pop("findings")
            reason = result.pop("not compiled", "")
            totals.update(result)
            totals["graphs"] += 1
            if reason:
                totals["graphs not compiled"] += 1
                reasons[re.sub(r"'[^']*'|[0-9]+", "*", reason)] += 1
    for finding in findings:
        print(finding)
    for reason, count in reasons.most_common(12):
        print(f"not compiled, {count} times: {reason}")
    print(", ".join(f"{count} {what}" for what, count in totals.items()) + f"; {len(findings)} findings")
    return 1 if findings else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["share", "run", "one", "show"])
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.what == "one":
        result = size_trial.trial(given.seed, given.calls)
        print(json.dumps(result) if given.json else "\n".join(f"{key}: {value}" for key, value in result.items()))
        return 0
    if given.what == "show":
        import onnx
        maker = size_trial.GraphMaker(given.seed)
        print(onnx.printer.to_text(maker.make()), maker.symbols)
        return 0
    if given.what == "share":
        return run(range(FIRST, FIRST + 10), 60, given.jobs)
    return run(range(given.seed, given.seed + given.graphs), given.calls, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
