"""The loop of a worker of a harness of whole models. It reads a line of JSON per request and writes a line per
sample. It may crash or hang; harness/pool.py handles this.

    {"entry": "bert", "mode": "training", "after": -1}
"""

from __future__ import annotations

import quick_process
from channel import open_channel, questions
from modes import Case
from subject import Subject


def work(subject: Subject) -> None:
    say = open_channel()
    subject.prepare()
    from trial import CACHES, judge
    from verdict import Outcome

    known = subject.architectures()
    quick_process.prepare()
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
