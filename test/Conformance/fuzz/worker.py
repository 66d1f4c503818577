"""A process that runs graphs for harness/pool.py. It reads a line of JSON per request and writes a line per graph. It
may crash or hang; the pool handles this.

    {"entry": "1200", "limit": 50, "after": -1, ...}      graphs 1200 to 1249
    {"entry": "m1200", "limit": 50, "after": -1, ...}     the same graphs with identities (identities.py)
    {"entry": "1200", "through": "onnx", ...}             the same graphs through a file (entries.py)
    {"entry": "/tmp/one.json", "limit": 1, "after": -1}   the graph of a file: the request of reduce.py
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent.parent / "Python"), str(here.parent / "harness")]

import quick_process  # noqa: E402
from channel import open_channel, questions  # noqa: E402


def main() -> None:
    say = open_channel()

    import torch
    from generate import generate
    from identities import changed
    from judge import judge, judge_file
    from planted import plant
    from program import Program
    from verdict import Outcome

    torch.set_num_threads(1)
    quick_process.prepare()
    plant(os.environ.get("FUZZ_PLANTED", ""))
    say(ready=True)
    for asked in questions():
        torch._dynamo.reset()
        gc.collect()
        for index in range(asked["after"] + 1, asked["limit"]):
            say(eager=index)
            try:
                named = asked["entry"]
                number = named.removeprefix("m")
                program = generate(int(number) + index) if number.isdigit() else Program.from_json(Path(named).read_text())
                program = changed(program) if named.startswith("m") else program
                eager_ran = lambda index=index: say(start=index)  # noqa: E731
                through = asked.get("through", "")
                outcome = judge_file(program, through, eager_ran) if through else judge(program, eager_ran=eager_ran)
                if outcome.state == "crash":
                    # The pool counts this graph as a crash, and runs the next graphs in a new process, which can compile.
                    sys.exit(f"LLVM ERROR: {outcome.reason}")
                outcome.ops += [f"op {n.op}" for n in program.nodes] + [f"mode {program.mode}"]
            except MemoryError as error:
                outcome = Outcome("memory", "", str(error))
            except Exception as error:
                outcome = Outcome("error", "harness", f"{type(error).__name__}: {error}")
            say(sample=index, **outcome.fields())
        say(done=True, count=asked["limit"], reason="")


if __name__ == "__main__":
    main()
