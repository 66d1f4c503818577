"""Runs ONNX's own backend tests with `tilewright run`: docs/conformance.md describes what is compared.

    python test/Conformance/onnx case node/test_abs    one case; prints its output
    python test/Conformance/onnx share                 a tenth of the cases
    python test/Conformance/onnx full                  all cases against table.json
    python test/Conformance/onnx run 'test_conv.*'     the cases that match; prints their states
    python test/Conformance/onnx table                 runs all cases and writes table.json
    python test/Conformance/onnx summary               prints a summary of table.json
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness")]

import onnx  # noqa: E402
import onnx_trial as trial  # noqa: E402
from onnx_cases import all_cases  # noqa: E402
from shares import share  # noqa: E402

TABLE = here / "table.json"
PARTS = 10
BAD = ("wrong", "error", "crash", "hang")


def run_all(names) -> dict[str, str]:
    cases = all_cases()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        return dict(zip(names, threads.map(lambda name: trial.run(cases[name]), names), strict=True))


def word(state: str) -> str:
    return state.split(":")[0]


def load() -> dict:
    table = json.loads(TABLE.read_text())
    if table["onnx"] != onnx.__version__:
        sys.exit(f"table.json is for onnx {table['onnx']}, not {onnx.__version__}; tools/setup.sh installs the right version")
    return table["cases"]


def compare(names) -> int:
    """Prints the cases whose state differs from the table. Returns the exit status."""
    expected, begin = load(), time.monotonic()
    found = run_all(names)
    bad = 0
    for name, state in found.items():
        if state != expected.get(name):
            bad += 1
            print(f"{name}: {state}; in the table: {expected.get(name, 'nothing')}")
    print(f"onnx: {len(found) - bad} cases have the state in the table, {bad} cases do not; {time.monotonic() - begin:.0f} s")
    return int(bad > 0)


def summary() -> int:
    table = load()
    words = collections.Counter(word(state) for state in table.values())
    constants = sum(state.startswith("pass: ") for state in table.values())
    print(f"{len(table)} cases of onnx {onnx.__version__}: " + ", ".join(f"{count} {name}" for name, count in words.most_common()))
    print(f"{100 * words['pass'] / len(table):.1f}% pass, {constants} of them with inputs that were converted to initializers")
    reasons = collections.Counter(state.split(": ", 1)[1] for state in table.values() if word(state) in ("refused", *BAD) and ": " in state)
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("case", "share", "full", "run", "table", "summary"))
    parser.add_argument("name", nargs="?", default=".*", help="a case, or a regular expression for cases")
    options = parser.parse_args()
    if options.what == "summary":
        return summary()
    names = list(all_cases())
    if options.what == "case":
        if options.name not in names:
            parser.error(f"there is no case {options.name}")
        print(trial.run(all_cases()[options.name], details=True))
        return 0
    if options.what == "share":
        return compare(share(names, PARTS))
    if options.what == "full":
        return compare(names)
    found = run_all([name for name in names if re.search(options.name, name)])
    if options.what == "run":
        for name, state in found.items():
            print(f"{name}: {state}")
        print(dict(collections.Counter(map(word, found.values()))))
        return 0
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(state)}" for name, state in sorted(found.items()))
    TABLE.write_text(f'{{\n  "onnx": "{onnx.__version__}",\n  "cases": {{\n{lines}\n  }}\n}}\n')
    return summary()


if __name__ == "__main__":
    sys.exit(main())
