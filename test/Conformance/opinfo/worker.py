"""A process that runs cases for pool.py: a line of JSON in, a line per sample out. It may crash or hang; the pool does not.

    {"entry": "add", "dtype": "f32", "mode": "forward", "limit": 5, "seed": "", "after": -1}
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
MEMORY = 12 << 30  # bytes of address space: more is an error of the sample, not the end of the machine


def main() -> None:
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print goes with the errors
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.path[:0] = [str(here), str(here.parent.parent / "Python")]

    import torch
    from cases import Case, chosen, drawn_anew, entries, samples
    from sample import judge
    from verdict import Outcome, short

    def say(**fields) -> None:
        print(json.dumps(fields), file=channel, flush=True)

    torch.set_num_threads(1)
    known = entries()
    say(ready=True)
    for line in sys.stdin:
        asked = json.loads(line)
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
