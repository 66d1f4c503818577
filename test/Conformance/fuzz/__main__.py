"""Compiles random graphs with Tilewright and compares the results: docs/conformance.md describes what is drawn and
compared.

    python test/Conformance/fuzz run --seed S --graphs N   graphs S, S + 1, ...
    python test/Conformance/fuzz run --metamorphic ...     the same graphs with identities before some operands
    python test/Conformance/fuzz run --through onnx ...    the same graphs through a file: pt2, onnx or mlir
    python test/Conformance/fuzz case SEED                 one graph, in this process: for gdb
    python test/Conformance/fuzz reduce SEED               a small script that reproduces the failure of a graph
    python test/Conformance/fuzz share                     up to 400 graphs, and up to 400 graphs of images; their seeds depend on the commit
    python test/Conformance/fuzz full                      the graphs of table.json, missing ones first
    python test/Conformance/fuzz table --results FILE      writes the results of a run into table.json
    python test/Conformance/fuzz summary [--results FILE]  prints a summary of the table, or of a run
    python test/Conformance/fuzz planted                   checks which planted bugs the fuzzer finds

--results FILE stores the results of a run; running the same command again continues that run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent.parent / "Python"), str(here.parent / "harness")]
import built  # noqa: E402, F401

os.environ.setdefault("TILEWRIGHT_CACHE", "0")  # each graph is compiled
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # torch's threads do not busy-wait
warnings.filterwarnings("ignore")

import ledger  # noqa: E402
import tally  # noqa: E402
from generate import IMAGES  # noqa: E402
from shares import commit  # noqa: E402
from states import verdict  # noqa: E402

CHUNK = 25  # graphs per request to a worker
SHARE_GRAPHS, SHARE_SECONDS, IMAGES_SECONDS = 400, 45, 30
FULL_SEED, FULL_GRAPHS = 400000, 20000
HANG = 90  # seconds for a graph


def asked(start: int, count: int, metamorphic: bool = False, through: str = "") -> dict:
    """Returns the request that is sent to a worker."""
    return {"entry": "m" * metamorphic + str(start), "limit": count, "through": through}


def run_graphs(first: int, count: int, processes: int, seconds: float, results: Path | None = None, later=(), **how) -> dict:
    """Runs graphs and returns seed -> Outcome. Graphs in `results` are not run again; the seeds `later` are run last."""
    from pool import Pool

    found = tally.load(results) if results is not None else {}
    chunks = tally.missing({*found, *later}, first, count, CHUNK)
    chunks += tally.missing({*found, *range(first, first + count)} - ({*later} - {*found}), first, count, CHUNK)
    before = time.monotonic()
    ran = 0

    def tell(chunk: tuple[int, int], outcomes: dict, reason: str) -> None:
        nonlocal ran
        made = {chunk[0] + index: outcome for index, outcome in outcomes.items() if index >= 0}
        ran += len(made)
        found.update(made)
        for seed, outcome in made.items():
            if tally.failed(outcome):
                print(tally.line(seed, outcome), flush=True)
        if results is not None:
            with results.open("a") as out:
                out.writelines(json.dumps({"seed": seed, **outcome.fields()}) + "\n" for seed, outcome in made.items())

    Pool(here / "worker.py", lambda chunk: asked(*chunk, **how), processes, seconds, HANG).run(chunks, tell)
    left = sum(length for _, length in chunks) - ran
    print(f"{ran} graphs in {time.monotonic() - before:.0f} s, {left} not started because the time limit was reached", flush=True)
    return found


def run_until_failure(first: int, count: int, processes: int) -> tuple[int, str | None]:
    """Returns the number of graphs that were run until one failed, and the description of the failure."""
    from pool import Pool

    few = 5  # graphs per request, so that the first failure is reported soon
    runner = Pool(here / "worker.py", lambda start: asked(start, few), processes, 1e9, HANG)
    lines, ran = [], 0

    def tell(start: int, outcomes: dict, reason: str) -> None:
        nonlocal ran
        ran += len(outcomes)
        # Hangs are not reported, because other load on the machine may also cause them.
        lines.extend(tally.line(start + index, outcome) for index, outcome in outcomes.items()
                     if tally.failed(outcome) and outcome.state != "hang")  # fmt: skip
        if lines:
            runner.until = 0.0  # no further graphs

    runner.run(list(range(first, first + count, few)), tell)
    return ran, lines[0] if lines else None


def run_case(seed: int, verbose: bool, metamorphic: bool, through: str) -> int:
    import torch
    from generate import generate
    from identities import changed
    from judge import judge, judge_file

    torch.set_num_threads(1)
    program = changed(generate(seed)) if metamorphic else generate(seed)
    print(f"graph {seed}: {program.mode}, {program.threads} threads\n{program.source()}")
    for i in program.inputs if verbose else []:
        print(" ", i)
    outcome = judge_file(program, through) if through else judge(program)
    print(tally.line(seed, outcome))
    return tally.failed(outcome)


def share_seed() -> int:
    """Returns the seed of this commit."""
    return int(hashlib.sha256(commit().encode()).hexdigest()[:8], 16)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "case", "reduce", "share", "full", "table", "summary", "planted"])
    parser.add_argument("number", nargs="?", type=int, help="the seed of one graph")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--graphs", type=int, default=SHARE_GRAPHS)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=1e9, help="start no further graph after this many seconds")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--output", type=Path, help="the file to which the command reduce writes the script")
    parser.add_argument("--metamorphic", action="store_true", help="insert identities before some operands")
    parser.add_argument("--through", choices=["pt2", "onnx", "mlir"], default="", help="compile a file instead of calling torch.compile")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.command == "case":
        return run_case(options.number, options.verbose, options.metamorphic, options.through)
    if options.command == "reduce":
        from reduce import reduce_seed

        return reduce_seed(options.number, options.output)
    if options.command == "summary":
        tally.show(ledger.merged(ledger.empty(), tally.load(options.results), commit()[:7]) if options.results else ledger.load())
        return 0
    if options.command == "table":
        ledger.write(ledger.merged(ledger.load(), tally.load(options.results), commit()[:7]))
        return 0
    if options.command == "planted":
        from planted import find_all

        return find_all(options)
    seed, seconds = options.seed, options.seconds
    if options.command == "share":
        seed, seconds = share_seed(), min(seconds, SHARE_SECONDS)
        print(f"fuzz: graphs from seed {seed} on, which is derived from the commit; run --seed {seed} runs them again")
    known = {}
    if options.command == "full":
        seed, options.graphs, known = FULL_SEED, FULL_GRAPHS, ledger.states(ledger.load())
    how = {"metamorphic": options.metamorphic, "through": options.through}
    found = run_graphs(seed, options.graphs, options.processes, seconds, options.results, known, **how)
    if options.command == "share":
        print(f"fuzz: graphs of images, from seed {IMAGES + seed} on")
        found |= run_graphs(IMAGES + seed, options.graphs, options.processes, IMAGES_SECONDS, **how)
    tally.show(ledger.merged(ledger.empty(), found, commit()[:7]))
    again = {seed: [ledger.plain(outcome)] for seed, outcome in found.items() if seed in known}
    if again and verdict("fuzz", again, known, complete=True):
        return 1
    return int(not found or any(tally.failed(o) for o in found.values()))


if __name__ == "__main__":
    sys.exit(main())
