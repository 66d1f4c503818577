"""A process that runs cases for pool.py: a line of JSON in, a line per sample out. It may crash or hang; the pool does not.

    {"entry": "bert", "mode": "training", "after": -1}
"""

from __future__ import annotations

import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness"), str(here.parent.parent / "Python")]

from channel import open_channel, questions  # noqa: E402


def main() -> None:
    say = open_channel()

    from settings import prepare

    prepare()
    from architectures import Case, architectures
    from trial import CACHES, judge
    from verdict import Outcome

    known = architectures()
    say(ready=True)
    for asked in questions():
        case = Case(asked["entry"], asked["mode"])
        for sample in range(len(CACHES) if case.mode == "generate" else 1):
            if sample <= asked["after"]:
                continue
            say(start=sample)
            try:
                outcome = judge(case, known[case.entry], sample)
            except MemoryError as error:
                outcome = Outcome("memory", "", str(error))
            say(sample=sample, **outcome.fields())
        say(done=True, reason="")


if __name__ == "__main__":
    main()
