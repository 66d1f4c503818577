"""A process that runs cases for pool.py. It may crash or hang; the pool handles this. It reads requests, which are lines of
JSON, and writes two lines per sample: one before the sample runs, and one with its outcome. A request looks like this:

    {"entry": "add", "dtype": "f32", "mode": "forward", "limit": 5, "seed": "", "after": -1}
"""

from __future__ import annotations

import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness"), str(here.parent.parent / "Python")]

import quick_process  # noqa: E402
from channel import open_channel, questions  # noqa: E402


def main() -> None:
    say = open_channel()

    import torch
    from cases import Case, chosen, drawn_anew, entries, samples
    from sample import judge
    from verdict import Outcome, short

    torch.set_num_threads(1)
    known = entries()
    quick_process.prepare()
    say(ready=True)
    for asked in questions():
        case = Case(asked["entry"], asked["dtype"], asked["mode"])
        info = known[case.entry]
        try:
            found = samples(info, case)
        except Exception as error:
            say(done=True, count=0, reason=short(f"torch cannot make samples: {error}"))
            continue
        indices = chosen(len(found), asked["limit"], asked["seed"] + str(case))
        for index in indices:
            if index <= asked["after"]:
                continue
            say(start=index)
            try:
                outcome = judge(info, case, found[index], drawn_anew(info, case, index))
            except MemoryError as error:
                outcome = Outcome("memory", "", str(error))
            say(sample=index, **outcome.fields())
        say(done=True, count=len(indices), reason="")


if __name__ == "__main__":
    main()
