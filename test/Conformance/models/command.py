"""The commands of a harness of whole models."""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from pathlib import Path

import bars
import expected
from modes import MODES, Case, all_cases
from pool import Pool
from shares import share
from states import verdict
from subject import Subject
from verdict import FAILING, Outcome


def load(path: Path | None) -> dict:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {Case(*line["case"]): [Outcome(**o) for o in line["outcomes"]] for line in lines}


def run_case(subject: Subject, options) -> int:
    """Runs and prints all samples of a case."""
    subject.prepare()
    from trial import CACHES, judge

    one, status = subject.architectures()[options.entry], 0
    for mode in options.modes:
        if not one.has(mode):
            continue
        for sample in range(len(CACHES) if mode == "generate" else 1):
            outcome = judge(Case(one.name, mode), one, sample)
            print(f"{one.name} {mode} {sample}: {outcome.state} {' '.join(outcome.ops)} {outcome.reason}")
            print(outcome.detail.strip(), json.dumps(outcome.facts, indent=1), sep="\n", flush=True)
            status |= outcome.state in FAILING
    return status


def run_cases(subject: Subject, chosen: list[Case], options, seconds: float) -> tuple[dict, int]:
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

    left = Pool(subject.folder / "worker.py", ask, options.jobs, seconds, subject.hang, subject.samples).run(chosen, tell)
    print(f"{len(chosen) - left} cases in {time.monotonic() - before:.0f} s, {left} not started because the time limit was reached", flush=True)
    return results, left


def more_breaks(subject: Subject, results: dict) -> int:
    """Prints the cases that have more graph breaks than in the table."""
    known, bad = expected.rows(subject.table), 0
    for case, outcomes in results.items():
        found = expected.row(outcomes)
        if case in known and found["breaks"] > known[case]["breaks"]:
            print(f"WORSE: {case}: {found['breaks']} graph breaks; in the table: {known[case]['breaks']}")
            bad += 1
    return int(bad > 0)


def main(subject: Subject, description: str) -> int:
    """Runs the command in sys.argv. Returns its exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["case", "share", "full", "run", "table", "summary"])
    parser.add_argument("entry", nargs="?")
    parser.add_argument("--modes", "--mode", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--entries", default=".*", help="a regular expression that must match the whole name of an architecture")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=0, help="start no further case after this many seconds")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    if options.command == "case":
        return run_case(subject, options)
    if options.command == "summary":
        bars.show(load(options.results), long=True)
        return 0
    if options.command == "table":
        found = {case: expected.row(outcomes) for case, outcomes in load(options.results).items()}
        expected.write(subject.table, expected.rows(subject.table) | found)
        return 0
    known = subject.architectures()
    names = sorted(known)
    if options.command == "run":
        chosen = all_cases(known, [n for n in names if re.fullmatch(options.entries, n)], options.modes)
        results, _ = run_cases(subject, chosen, options, options.seconds or 1e9)
        bars.show(results)
        return 0
    planned = list(expected.rows(subject.table))
    if options.command == "share":
        chosen = set(share(names, subject.parts))
        print(f"{subject.folder.name}: {len(chosen)} of {len(names)} architectures")
        planned = [case for case in planned if case.entry in chosen]
    seconds = options.seconds or (subject.share_seconds if options.command == "share" else 1e9)
    results, left = run_cases(subject, planned, options, seconds)
    bars.show(results)
    complete = options.command == "full" and not left
    return verdict(subject.folder.name, results, expected.states(subject.table), complete) | more_breaks(subject, results)

