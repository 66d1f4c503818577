"""Runs a part in groups of rows. First, processes on all cores make the first call of each engine of the group, which
fills the caches of compiled code on disk. Then one process measures the group, and no other process runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from .children import Job, Outcome, run_jobs, run_rows
from .results import Results
from .setting import Setting


def failed_engines(results: Results, key: str) -> dict[str, str]:
    return {engine: row["failed"] for (of, engine), row in results.first.items() if of == key and row.get("failed")}


def compile_group(setting: Setting, results: Results, part: str, suite, keys: list[str], say: Callable[[str], None]) -> None:
    cache = setting.cache_id()
    # An engine that shares compiled code with another engine follows that engine, so that its first call finds this code.
    wanted = [(key, engine) for turn in (False, True) for key in keys for engine in suite.engines(key)
              if suite.compiles(engine) and suite.follows(engine) == turn]  # fmt: skip
    jobs = [Job(json.dumps([key, engine]), setting.worker("first", part, key, engine), suite.first_limit) for key, engine in wanted
            if results.first.get((key, engine), {}).get("cache") != cache]  # fmt: skip

    def done(job: Job, outcome: Outcome) -> None:
        key, engine = json.loads(job.name)
        row = {"kind": "first", "key": key, "engine": engine, "cache": cache}
        if outcome.stopped:
            return
        found = [line.partition(" ")[2] for line in outcome.output.splitlines() if line.startswith("RESULT ")]
        row |= json.loads(found[-1]) if found else {"failed": outcome.reason or "the process printed no result"}
        results.add(row)
        say(f"{part}: first call of {key}, {engine}: " + (row.get("failed") or f"{row['seconds']:.1f} s"))

    workers = suite.workers or len(os.sched_getaffinity(0))
    run_jobs(jobs, workers, setting.deadline, setting.environment(), setting.work / "logs", done)


def measure_group(setting: Setting, results: Results, part: str, suite, keys: list[str], say: Callable[[str], None]) -> None:
    left_out = {key: failed_engines(results, key) for key in keys}

    def command(rest: list[str]) -> list[str]:
        engines = {key: [name for name in suite.engines(key) if name not in left_out[key]] for key in rest}
        return setting.worker("rows", part, str(setting.deadline), json.dumps(engines))

    def done(row: dict) -> None:
        key = row["key"]
        first = {engine: found["seconds"] for (of, engine), found in results.first.items() if of == key and "seconds" in found}
        errors = {**left_out[key], **row.pop("errors", {})}
        results.add(row | ({"first_s": first} if first else {}) | ({"errors": errors} if errors else {}))
        say(f"{part}: {key}: " + (row.get("failed") or suite.line(row)))

    run_rows(command, keys, suite.row_limit, setting.deadline, setting.environment(), setting.work / "logs", done)


def run(setting: Setting, part: str, suite, say: Callable[[str], None]) -> None:
    results = Results(setting, part)
    keys = results.missing(setting.chosen(suite.keys()))
    for at in range(0, len(keys), suite.group):
        if setting.left() < 5:
            break
        group = keys[at : at + suite.group]
        compile_group(setting, results, part, suite, group, say)
        measure_group(setting, results, part, suite, group, say)
    left = len(results.missing(setting.chosen(suite.keys())))
    say(f"{part}: {left} rows are left for another call" if left else f"{part}: complete")
    results.close()
