"""A mutation campaign for ptx-check, which must detect that kernels of Tilewright with one changed site are wrong.

    export PYTHONPATH=build/python
    python test/Conformance/ptx_mutations run --seed 0 --count 480   # draws and tries; writes table.json with --table
    python test/Conformance/ptx_mutations share --seconds 40         # a part of the draws of table.json
    python test/Conformance/ptx_mutations one 'softmax: index: ...'  # one mutation by its key: what the checker reports
    python test/Conformance/ptx_mutations sites                      # the number of sites, by kernel and kind

A mutation is detected if ptx-check reports an error, or if the result violates the numbers rule. A mutation that is not
detected is counted as missed, unless equivalent.json explains why it is equivalent. If ptx-check reports an error for
an unchanged kernel, every command except `sites` fails. """

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness")]

from mutation_kernels import all_names, make_all  # noqa: E402
from mutation_sites import KINDS, Site, draw, sites  # noqa: E402
from mutation_trial import Verdict, run_once, try_site  # noqa: E402
from shares import rank  # noqa: E402

EQUIVALENT, TABLE = HERE / "equivalent.json", HERE / "table.json"
BAR = 0.95
SHARE, LEAST = 60, 0.7  # least number of mutations of a share; least fraction to find (low, because new equivalent mutations count as missed)


def sites_of(folder: Path, names: list[str]) -> list[Site]:
    found = []
    for name in names:
        launch = json.loads((folder / name / "launch.json").read_text())
        found += sites(name, (folder / name / "kernels.ptx").read_text(), launch)
    return found


def check_unchanged(folder: Path, names: list[str], seeds=(0, 1, 2)) -> int:
    """Prints the errors that ptx-check reports for unchanged kernels. Returns their number."""
    count = 0
    for name in names:
        launch = json.loads((folder / name / "launch.json").read_text())
        for seed in seeds:
            status, report = run_once(folder / name / "unchanged", (folder / name / "kernels.ptx").read_text(), launch, seed)
            if status:
                count += 1
                print(f"{name}, unchanged, seed {seed}: {report if status > 1 else report['findings'][0]['message']}")
    return count


def argued() -> dict[str, str]:
    return {key: entry["argument"] for entry in json.loads(EQUIVALENT.read_text()) for key in entry["sites"]}


def try_all(folder: Path, chosen: list[Site], seconds: float) -> list[tuple[Site, Verdict]]:
    """Tries mutations in threads until the time is over."""
    until = time.monotonic() + seconds

    def one(pair):
        number, site = pair
        return (site, try_site(folder, site, number)) if time.monotonic() < until else None

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
        return [result for result in threads.map(one, enumerate(chosen)) if result]


def score(results: list[tuple[Site, Verdict]]) -> tuple[dict, list[tuple[Site, Verdict]]]:
    """Returns counts by kind, and the missed mutations."""
    known = argued()
    counts: dict[str, Counter] = defaultdict(Counter)
    missed = []
    for site, verdict in results:
        how = verdict.how
        if how == "survived" and site.key in known:
            how = "equivalent"
        counts[site.kind][how] += 1
        if how in ("survived", "refused"):
            missed.append((site, verdict))
    return counts, missed


def show(results: list[tuple[Site, Verdict]]) -> float:
    """Prints the table. Returns the found fraction of the mutations that are not equivalent, or 0 if equivalent.json lists a mutation that was
    found."""
    counts, missed = score(results)
    columns = ("finding", "numbers", "equivalent", "survived", "refused")
    print("| kind | mutations | by a finding | by the numbers alone | equivalent | missed | refused |")
    print("|---|---|---|---|---|---|---|")
    total = Counter()
    for kind in KINDS:
        total.update(counts[kind])
        print(f"| {kind} | {sum(counts[kind].values())} | {' | '.join(str(counts[kind][c]) for c in columns)} |")
    print(f"| all | {sum(total.values())} | {' | '.join(str(total[c]) for c in columns)} |")
    for site, verdict in missed:
        print(f"{verdict.how}: {site.key} (line {site.line + 1}) {verdict.detail}")
    known = argued()
    wrong = [site.key for site, verdict in results if site.key in known and verdict.how != "survived"]
    for key in wrong:
        print(f"equivalent.json lists it as equivalent, but it was found: {key}")
    real = sum(total.values()) - total["equivalent"]
    part = (total["finding"] + total["numbers"]) / max(real, 1)
    print(f"found: {100 * part:.1f}% of {real} that are not equivalent")
    return 0 if wrong else part


def try_share(folder: Path, every: list[Site], seconds: float) -> int:
    """Checks that the mutations that table.json lists as found are found. If kernels have changed since, others are
    drawn."""
    known = set(json.loads(TABLE.read_text())["found"])
    order = sorted(every, key=lambda s: rank(s.key))
    chosen = [s for s in order if s.key in known]
    if len(chosen) < SHARE:
        chosen += draw([s for s in every if s.key not in known and s.key not in argued()], 0, SHARE - len(chosen))
    results = try_all(folder, chosen, seconds)
    found = [s for s, v in results if v.how in ("finding", "numbers")]
    lost = [(s, v) for s, v in results if s.key in known and s not in found]
    for site, verdict in lost:
        print(f"no longer found: {site.key} {verdict.detail}")
    new = sum(s.key not in known for s, _ in results)
    print(f"{len(results)} mutations of {', '.join(sorted({s.case for s in every}))} ({new} not in table.json): {len(found)} found")
    return 1 if lost or len(found) < LEAST * len(results) or len(results) < 10 else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="the folder in which compiled kernels are stored for later runs")
    parser.add_argument("--kernels", type=lambda names: names.split(","), help="run only these kernels, separated by commas")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--count", type=int, default=480)
    run.add_argument("--table", action="store_true")
    share = commands.add_parser("share")
    share.add_argument("--seconds", type=float, default=40)
    one = commands.add_parser("one")
    one.add_argument("key")
    commands.add_parser("sites")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return act(words, words.folder.resolve() if words.folder else Path(scratch))


def act(words, folder: Path) -> int:
    names = words.kernels or all_names()
    if words.command == "share" and not words.kernels:
        # Compiling all kernels would take longer than running the mutations.
        names = sorted(names, key=rank)[:6]
    if words.command == "one":
        names = [words.key.split(":")[0]]
    make_all(names, folder)
    every = sites_of(folder, names)
    if words.command == "sites":
        count = Counter((s.case, s.kind) for s in every)
        for name in names:
            print(f"{name:20} " + " ".join(f"{kind} {count[name, kind]:4}" for kind in KINDS))
        return 0
    if check_unchanged(folder, names, (0,) if words.command == "share" else (0, 1, 2)):
        return 1
    if words.command == "one":
        chosen = [s for s in every if s.key == words.key]
        for site in chosen:
            print(try_site(folder, site, 0))
        return 0 if chosen else 2
    if words.command == "share":
        return try_share(folder, every, words.seconds)
    results = try_all(folder, draw(every, words.seed, words.count), 1e9)
    part = show(results)
    if words.table:
        found = sorted(s.key for s, v in results if v.how in ("finding", "numbers"))
        TABLE.write_text(json.dumps({"seed": words.seed, "count": words.count, "found": found}, indent=0) + "\n")
    return 0 if part >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
