"""Architectures of `transformers`, whole and small, against Tilewright: docs/conformance.md says what is compared.

    python test/Conformance/transformers case bert [--mode training]   one case, in this process
    python test/Conformance/transformers share                   the architectures of this commit
    python test/Conformance/transformers full                    every case of the table
    python test/Conformance/transformers run --entries 'qwen.*'  those architectures
    python test/Conformance/transformers table --results FILE    writes what a run found into table.json
    python test/Conformance/transformers summary --results FILE  the bars of a run

--results FILE keeps what a run found, and the same command again goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness"), str(here.parent.parent / "Python")]
try:
    import tilewright  # noqa: F401
except ImportError:
    built = str(here.parent.parent.parent / "build" / "python")
    sys.path.insert(0, built)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [built, os.environ.get("PYTHONPATH")]))

import bars  # noqa: E402
import expected  # noqa: E402
from architectures import MODES, PARTS, Case, all_cases, architectures  # noqa: E402
from pool import Pool  # noqa: E402
from shares import commit, share  # noqa: E402
from states import verdict  # noqa: E402
from verdict import FAILING, Outcome  # noqa: E402

HANG = 300  # seconds for one sample
SHARE_SECONDS = 240


def load(path: Path | None) -> dict:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {Case(*line["case"]): [Outcome(**o) for o in line["outcomes"]] for line in lines}


def run_case(options) -> int:
    """Runs and prints all samples of a case."""
    from settings import prepare

    prepare()
    from trial import CACHES, judge

    one, status = architectures()[options.entry], 0
    for mode in options.modes:
        if not one.has(mode):
            continue
        for sample in range(len(CACHES) if mode == "generate" else 1):
            outcome = judge(Case(one.name, mode), one, sample)
            print(f"{one.name} {mode} {sample}: {outcome.state} {' '.join(outcome.ops)} {outcome.reason}")
            print(outcome.detail.strip(), json.dumps(outcome.facts, indent=1), sep="\n", flush=True)
            status |= outcome.state in FAILING
    return status


def run_cases(chosen: list[Case], options, seconds: float) -> tuple[dict, int]:
    results = load(options.results)
    chosen = [case for case in chosen if case not in results]
    before = time.monotonic()

    def tell(case: Case, outcomes: dict, reason: str) -> None:
        results[case] = list(outcomes.values())
        print(f"{time.monotonic() - before:5.0f} s  {case}: {expected.row(results[case])}", flush=True)
        if options.results is not None:
            with options.results.open("a") as out:
                line = {"case": [case.entry, case.mode], "outcomes": [o.fields() for o in results[case]]}
                out.write(json.dumps(line) + "\n")

    def ask(case: Case) -> dict:
        return {"entry": case.entry, "mode": case.mode}

    left = Pool(here / "worker.py", ask, options.jobs, seconds, HANG).run(chosen, tell)
    print(f"{len(chosen) - left} cases in {time.monotonic() - before:.0f} s, {left} left for lack of time", flush=True)
    return results, left


def more_breaks(results: dict) -> int:
    """Says where a case of the table has more graph breaks than there."""
    known, bad = expected.rows(), 0
    for case, outcomes in results.items():
        found = expected.row(outcomes)
        if case in known and found["breaks"] > known[case]["breaks"]:
            print(f"WORSE: {case}: {found['breaks']} graph breaks; expected are {known[case]['breaks']}")
            bad += 1
    return int(bad > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["case", "share", "full", "run", "table", "summary"])
    parser.add_argument("entry", nargs="?")
    parser.add_argument("--modes", "--mode", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--entries", default=".*", help="a pattern that the whole name matches")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=0, help="no case is begun later")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    if options.command == "case":
        return run_case(options)
    if options.command == "summary":
        bars.show(load(options.results), long=True)
        return 0
    if options.command == "table":
        expected.write(expected.rows() | {case: expected.row(outcomes) for case, outcomes in load(options.results).items()})
        return 0
    names = sorted(architectures())
    if options.command == "run":
        results, _ = run_cases(all_cases([n for n in names if re.fullmatch(options.entries, n)], options.modes), options,
            options.seconds or 1e9)
        bars.show(results)
        return 0
    planned = list(expected.rows())
    if options.command == "share":
        at = options.commit or commit()
        chosen = set(share(names, at, PARTS))
        print(f"transformers: {len(chosen)} of {len(names)} architectures, those of commit {at[:12]}; --commit repeats them")
        planned = [case for case in planned if case.entry in chosen]
    results, left = run_cases(planned, options, options.seconds or (SHARE_SECONDS if options.command == "share" else 1e9))
    bars.show(results)
    complete = options.command == "full" and not left
    return verdict("transformers", results, expected.states(), complete) | more_breaks(results)


if __name__ == "__main__":
    sys.exit(main())
