"""Compiles the operators of torch's op_db with Tilewright. docs/conformance.md describes what is compared.

    python test/Conformance/opinfo case ENTRY [--dtype f32] [--mode forward] [--sample N]   one case, in this process
    python test/Conformance/opinfo share                     a sample of every entry in every mode
    python test/Conformance/opinfo full                      every sample of every case in the table
    python test/Conformance/opinfo run --entries 'conv.*'    every sample of the entries that match
    python test/Conformance/opinfo table --results FILE      writes the results of a run into table.json
    python test/Conformance/opinfo summary --results FILE    prints the counts of a run
    python test/Conformance/opinfo core                      counts the core ATen overloads that are imported, decomposed or run in eager

--results FILE stores the results of a run; running the same command again continues that run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import warnings
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness"), str(here.parent.parent / "Python")]
import built  # noqa: E402, F401

os.environ.setdefault("TILEWRIGHT_CACHE", "0")  # each case is compiled
warnings.filterwarnings("ignore")

import cases as case_list  # noqa: E402
import summary  # noqa: E402
import table  # noqa: E402
from cases import DTYPES, MODES, Case  # noqa: E402
from pool import Pool  # noqa: E402
from states import state_of, verdict  # noqa: E402
from verdict import FAILING, Outcome  # noqa: E402

SHARE_SECONDS = 500
HANG = 90  # seconds for one sample


def load(path: Path | None) -> dict:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {Case(*line["case"]): [Outcome(**o) for o in line["outcomes"]] for line in lines}


def run_case(options) -> int:
    """Prints every sample of a case."""
    import torch
    from sample import judge

    torch.set_num_threads(1)
    info = case_list.entries()[options.entry]
    status = 0
    for dtype in options.dtypes or [d for d in DTYPES if case_list.has(info, d, options.mode)]:
        case = Case(options.entry, dtype, options.mode)
        found = case_list.samples(info, case)
        for index in [options.sample] if options.sample is not None else case_list.chosen(len(found), options.limit, str(case)):
            outcome = judge(info, case, found[index], case_list.drawn_anew(info, case, index))
            print(f"{case} sample {index}: {outcome.state} {' '.join(outcome.ops)} {outcome.detail.strip()}", flush=True)
            if options.verbose:
                print("   ", found[index].summary())
            status |= outcome.state in FAILING
    return status


def run_cases(chosen: list[Case], options, limit: int, seed: str, seconds: float) -> tuple[dict, int]:
    results = load(options.results)
    chosen = [case for case in chosen if case not in results]
    before = time.monotonic()

    def tell(case: Case, outcomes: dict, reason: str) -> None:
        results[case] = list(outcomes.values()) or [Outcome("eager", reason, reason)]
        if options.results is not None:
            with options.results.open("a") as out:
                line = {"case": [case.entry, case.dtype, case.mode], "outcomes": [o.fields() for o in results[case]]}
                out.write(json.dumps(line) + "\n")

    def ask(case: Case) -> dict:
        return {"entry": case.entry, "dtype": case.dtype, "mode": case.mode, "limit": limit, "seed": seed}

    left = Pool(here / "worker.py", ask, options.jobs, seconds, HANG).run(chosen, tell)
    print(f"{len(chosen) - left} cases in {time.monotonic() - before:.0f} s, {left} not started because the time limit was reached", flush=True)
    return results, left


def core() -> int:
    """Prints the number of core ATen overloads of each kind (importer, size, decomposition, eager), and the names of all
    overloads that are not imported."""
    import torch
    from tilewright import operators
    from tilewright.decompositions.table import decompositions

    known, apart = operators.of_kind("import"), {str(op) for op in decompositions()}
    counts: dict[str, list] = {}
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if space != "aten" or not hasattr(torch.ops.aten, base):
            continue
        op = getattr(getattr(torch.ops.aten, base), overload or "default", None)
        if op is None or torch.Tag.core not in op.tags:
            continue
        kind = "importer" if str(op) in known else "size" if base.startswith("sym_") else "decomposition" if str(op) in apart else "eager"
        counts.setdefault(kind, []).append(str(op))
    for kind, ops in sorted(counts.items()):
        print(f"{kind}: {len(ops)}" + ("" if kind == "importer" else ": " + ", ".join(sorted(ops))))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["case", "share", "full", "run", "table", "summary", "core"])
    parser.add_argument("entry", nargs="?")
    parser.add_argument("--dtypes", "--dtype", nargs="+", choices=DTYPES)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--mode", choices=MODES, default="forward")
    parser.add_argument("--entries", default="", help="a regular expression that must match the whole name of an entry")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--limit", type=int, default=0, help="run at most this many samples of each case; 0: all samples")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=0, help="start no further case after this many seconds")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.command == "case":
        return run_case(options)
    if options.command == "core":
        return core()
    if options.command == "summary":
        summary.show(load(options.results), long=True)
        return 0
    if options.command == "table":
        states = table.read() | {case: state_of(outcomes) for case, outcomes in load(options.results).items()}
        table.write(states)
        return 0
    names = sorted(case_list.entries())
    if options.command == "share":
        results, _ = run_cases(case_list.default_cases(table.read()), options, 1, "", options.seconds or SHARE_SECONDS)
        summary.show(results)
        return verdict("opinfo", results, table.read(), complete=False)
    if options.command == "full":
        planned = list(table.read())
    else:
        names = [n for n in names if re.fullmatch(options.entries or ".*", n)]
        planned = case_list.all_cases(names, options.dtypes or list(DTYPES), options.modes)
    results, left = run_cases(planned, options, options.limit, "", options.seconds or 1e9)
    summary.show(results)
    return verdict("opinfo", results, table.read(), complete=options.limit == 0 and not left) if options.command == "full" else 0


if __name__ == "__main__":
    sys.exit(main())
