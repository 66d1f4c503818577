"""Adds up the results of tools/test.sh and exits with 1 on any failure.

Each part has NAME.rc, its exit status, and may have NAME.xml (JUnit: lit, pytest) or NAME.json (GoogleTest). A part with neither of these
is a script and counts as one test. If the status of a part is a failure but its results show no failure, the part crashed. A part whose
results contain no test that ran is a failure, too.

    python tools/dev/sum_tests.py build/test-results [--full]

With --full, the date, the commit and the counts of each part are written to test/last-full-run.json, which is committed. A run with
--full may consist of some parts only, because all parts together take more than a day on a small machine. Without --full, the contents of
that file are printed.
"""

import datetime
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# Test runners that always write a result file. If this file is missing, the runner has crashed. Scripts write no result file.
RUNNERS = ("lit", "pytest")

# The parts that --full adds, or of which it runs more cases.
FULL_PARTS = ("tidy", "pytest", "newest-torch", "opinfo", "transformers", "onnx", "hls", "rtl",
              "fuzz", "fuzz-metamorphic", "fuzz-pt2", "fuzz-onnx", "fuzz-mlir")  # fmt: skip

ROOT = Path(__file__).resolve().parents[2]
LAST_FULL_RUN = ROOT / "test" / "last-full-run.json"


def count_junit(path: Path) -> tuple[int, int, int]:
    total = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        total += 1
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
    return total - failed - skipped, failed, skipped


def count_gtest(path: Path) -> tuple[int, int, int]:
    total = failed = skipped = 0
    for suite in json.loads(path.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            total += 1
            if case.get("failures"):
                failed += 1
            elif case.get("status") == "NOTRUN" or case.get("result") in ("SKIPPED", "SUPPRESSED"):
                skipped += 1
    return total - failed - skipped, failed, skipped


def count(folder: Path, name: str, status: int) -> tuple[int, int, int, str]:
    """Returns the numbers of passed, failed and skipped tests, and a remark."""
    for suffix, read in ((".xml", count_junit), (".json", count_gtest)):
        path = folder / (name + suffix)
        if not path.exists():
            continue
        try:
            passed, failed, skipped = read(path)
        except (ElementTree.ParseError, ValueError, KeyError) as error:
            return 0, 1, 0, f"unreadable results ({error})"
        if passed + failed == 0:
            return passed, 1, skipped, "no test ran"
        if status and not failed:
            return passed, 1, skipped, f"crashed, exit {status}"
        return passed, failed, skipped, ""
    if name in RUNNERS or name.endswith("_tests"):
        return 0, 1, 0, f"crashed, exit {status}: it wrote no results"
    return (0, 1, 0, f"exit {status}") if status else (1, 0, 0, "")


def record_full_run(counts: dict[str, list[int]]) -> None:
    """Records the counts (passed, failed, skipped) of each part that ran. The records of other parts stay."""
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    runs = json.loads(LAST_FULL_RUN.read_text()) if LAST_FULL_RUN.exists() else {}
    for part, numbers in counts.items():
        run = {"date": datetime.date.today().isoformat(), "commit": commit}
        runs[part] = run | dict(zip(("passed", "failed", "skipped"), numbers, strict=True))
    LAST_FULL_RUN.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n")


def describe_full_runs() -> list[str]:
    runs = json.loads(LAST_FULL_RUN.read_text()) if LAST_FULL_RUN.exists() else {}
    lines = ["last runs with --full (test/last-full-run.json):"]
    lines += [f"  {part}: {run['date']}, commit {run['commit']}: {run['passed']} passed, {run['failed']} failed, {run['skipped']} skipped"
              for part, run in runs.items()]  # fmt: skip
    if missing := [part for part in FULL_PARTS if part not in runs]:
        lines.append(f"  not recorded: {', '.join(missing)}")
    return lines


def main() -> int:
    full = sys.argv[2:] == ["--full"]
    if len(sys.argv) != 2 + full or not Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    totals = [0, 0, 0]
    counts = {}
    parts = sorted(folder.glob("*.rc"))
    for path in parts:
        *numbers, remark = count(folder, path.stem, int(path.read_text()))
        print(f"{path.stem}: {numbers[0]} passed, {numbers[1]} failed, {numbers[2]} skipped" + (f" ({remark})" if remark else ""))
        totals = [a + b for a, b in zip(totals, numbers)]
        counts[path.stem] = numbers
    if not parts:
        print("no part of the tests ran")
        totals[1] += 1
    if full:
        record_full_run(counts)
    else:
        print("\n".join(describe_full_runs()))
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
