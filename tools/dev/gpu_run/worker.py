"""A process that compiles or measures rows of a part: python -m gpu_run.worker [--dry] first PART KEY ENGINE | rows PART DEADLINE JSON

`first` makes the first call of one engine, which fills the caches on disk, and prints its wall time. `rows` measures the
rows of a JSON object {key: engines} in turn, and prints them as children.run_rows() expects.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback

from .results import plain

LOST = 3  # exit status if a fault has destroyed the context
LEAST = 5  # least time in seconds that is left when a row begins


def say(word: str, text: str) -> None:
    print(word, " ".join(text.split()), flush=True)


def first(suite, key: str, engine: str) -> int:
    say("RESULT", json.dumps(plain(suite.first_call(key, engine))))
    sys.stdout.flush()
    os._exit(0)  # ends without the destructors of libraries, some of which wait


def rows(suite, deadline: float, engines: dict[str, list[str]]) -> int:
    for key, names in engines.items():
        if deadline - time.time() < LEAST:
            return 0
        say("BEGIN", key)
        try:
            row = suite.measure(key, names, lambda step: say("STEP", step))
        except Exception as error:
            traceback.print_exc()
            row = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())}"[:600]}
        print("ROW " + json.dumps(plain({"key": key, **row})), flush=True)
        if not suite.device.is_alive():
            print("the context of the device is lost", file=sys.stderr)
            sys.stderr.flush()
            os._exit(LOST)
        suite.clean()
    return 0


def main(arguments: list[str]) -> int:
    import tilewright  # noqa: F401 - registers the backend

    from .suites import suite_of

    dry = arguments[:1] == ["--dry"]
    action, part, *others = arguments[dry:]
    suite = suite_of(part, dry)
    if action == "first":
        return first(suite, *others)
    return rows(suite, float(others[0]), json.loads(others[1]))


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
