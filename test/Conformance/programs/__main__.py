"""Compiles random programs with views, writes in place, operators that run in eager, graph breaks and branches, and
compares them with eager.

    python test/Conformance/programs run --seed S --programs N [--jobs J]   programs S, S + 1, ...
    python test/Conformance/programs case SEED                              prints program SEED and its verdict
    python test/Conformance/programs peer SEED                              runs program SEED with aot_eager only
    python test/Conformance/programs share                                  one in twenty of the programs that are known to be right

After each of two calls, these properties of results and arguments are compared: dtypes, shapes, values, strides, offsets,
which of them share memory, and the version counters of the arguments. If aot_eager also differs from eager for a program,
the difference is attributed to torch.
"""

from __future__ import annotations

import argparse
import collections
import linecache
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness")]
import built  # noqa: E402, F401

os.environ.setdefault("TILEWRIGHT_CACHE", "0")

import torch  # noqa: E402
from draw import Program, argument, drawn  # noqa: E402
from shares import share  # noqa: E402

import tilewright  # noqa: E402, F401
from tilewright.dynamo import crashes  # noqa: E402

CALLS = (0, 100)  # seeds of the arguments, one for each call
CHUNK = 40  # programs per process
CRASHED = 70  # exit status of a process whose compiler crashed, which differs from that of an exception (1)
FIRST, KNOWN, PARTS = 1000, 1000, 20  # programs that are known to be right; the share is one of PARTS


def function_of(program: Program):
    """Returns the program as a function whose source lines are shown in tracebacks."""
    file = f"<program {program.seed}>"
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
    scope = {"torch": torch}
    exec(compile(program.source, file, "exec"), scope)
    return scope["program"]


def plain(tensor: torch.Tensor) -> list:
    return tensor.detach().resolve_conj().resolve_neg().tolist()


def described(tensors: list[torch.Tensor], first: int) -> list:
    """Returns all compared properties of these tensors, the first `first` of which are arguments."""
    storages = [t.untyped_storage().data_ptr() if t.numel() else None for t in tensors]
    found = []
    for number, tensor in enumerate(tensors):
        strides = [s for s, size in zip(tensor.stride(), tensor.shape) if size > 1] if tensor.numel() else []
        shared = [other for other in range(len(tensors)) if storages[other] is not None and storages[other] == storages[number]]
        # A result that is a dense part of an intermediate value may have a separate storage. Therefore the offsets of
        # tensors that share memory with no argument are compared relative to each other.
        origin = 0 if shared and shared[0] < first else min((tensors[other].storage_offset() for other in shared), default=tensor.storage_offset())
        offset = tensor.storage_offset() - origin
        found.append((str(tensor.dtype), tuple(tensor.shape), strides, offset, shared, plain(tensor), tensor._version if number < first else 0))
    return found


def is_same(got, want) -> bool:
    """Returns True if two tensors have the same properties. The number of writes may be less than in eager, but not 0, because a graph
    increments the version counter of an argument once for all its writes to the argument."""
    return got[:-1] == want[:-1] and (got[-1] > 0) == (want[-1] > 0) and got[-1] <= want[-1]


def agree(ours: list, eager: list) -> bool:
    return all(len(got) == len(want) and all(map(is_same, got, want)) for got, want in zip(ours, eager))


def run(function, program: Program) -> list:
    """Returns the state after each call, or the error that it raises."""
    seen = []
    for seed in CALLS:
        arguments = [argument(*given, seed + number) for number, given in enumerate(program.arguments)]
        try:
            results = list(function(*arguments))
        except Exception as error:
            seen.append([(f"{type(error).__name__}: {error}"[:300], 0)])
            continue
        seen.append(described([*arguments, *results], len(arguments)))
    return seen


def by_peer(function, program: Program) -> list:
    torch._dynamo.reset()
    return run(torch.compile(function, backend="aot_eager"), program)


def judged(program: Program) -> tuple[str, str]:
    """Returns the verdict and, for `wrong`, the difference. The verdict is `right` if the program does what eager does, `eager` if eager
    itself raises an error, `torch` if aot_eager also differs from eager, and `wrong` if only Tilewright differs."""
    function = function_of(program)
    eager = run(function, program)
    if any(len(call) < len(program.arguments) + 1 for call in eager):
        return "eager", ""
    torch._dynamo.reset()
    ours = run(torch.compile(function, backend="tilewright"), program)
    if crashes.has_crashed():  # Eager runs every later program of this process, so its other verdicts would mean nothing.
        print(f"the compiler crashed in program {program.seed}", file=sys.stderr)
        sys.exit(CRASHED)
    if agree(ours, eager):
        return "right", ""
    if not agree(by_peer(function, program), eager):
        return "torch", ""
    got, want = next((got, want) for got, want in zip(ours, eager) if not agree([got], [want]))
    differing = [f"{number}: {a}, eager {b}" for number, (a, b) in enumerate(zip(got, want)) if not is_same(a, b)]
    return "wrong", ("; ".join(differing) or str(got))[:600]


def of_seeds(seeds: Sequence[int]) -> tuple[collections.Counter, list[str]]:
    counts, said = collections.Counter(), []
    for seed in seeds:
        word, difference = judged(drawn(seed))
        counts[word] += 1
        if word == "wrong":
            said.append(f"{seed}: {difference}")
    return counts, said


def in_process(seeds: Sequence[int]) -> tuple[collections.Counter, list[str], int, str]:
    """Runs of_seeds() in a separate process. Returns the result of of_seeds(), the exit status of the process,
    and the end of its standard error."""
    done = subprocess.run([sys.executable, str(here), "chunk", *map(str, seeds)], capture_output=True, text=True)
    counts, said = collections.Counter(), []
    for line in done.stdout.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "COUNT":
            word, number = rest.split()
            counts[word] += int(number)
        elif kind == "WRONG":
            said.append(rest)
    return counts, said, done.returncode, done.stderr[-300:]


def in_processes(seeds: Sequence[int]) -> tuple[collections.Counter, list[str]]:
    """Runs of_seeds() in one process. If this process dies, runs each seed in a separate process. A seed whose process dies is an error, unless
    aot_eager dies, too."""
    counts, said, ended, why = in_process(seeds)
    if not ended:
        return counts, said
    counts, said, deaths = collections.Counter(), [], 0
    for seed in seeds:
        own, lines, status, text = in_process([seed])
        if status:
            deaths += 1
            peer = subprocess.run([sys.executable, str(here), "peer", str(seed)], capture_output=True)
            own = collections.Counter(["torch" if peer.returncode == status else "wrong"])
            lines = [f"{seed}: its process ended with exit status {status}: {text}"] if own["wrong"] else []
        counts += own
        said += lines
    if not deaths:
        counts["wrong"] += 1
        said.append(f"one process for {seeds[0]} to {seeds[-1]} ended with status {ended}, but separate processes did not: {why}")
    return counts, said


def run_all(seeds: Sequence[int], jobs: int) -> int:
    total = collections.Counter()
    with ThreadPoolExecutor(jobs) as threads:
        for counts, said in threads.map(in_processes, [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]):
            total += counts
            for line in said:
                print(line, flush=True)
    print(f"{len(seeds)} programs: {', '.join(f'{number} {word}' for word, number in total.most_common())}")
    return 1 if total["wrong"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "case", "share", "chunk", "peer"))
    parser.add_argument("numbers", nargs="*", type=int, help="seeds of programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    if arguments.what == "run":
        return run_all(range(arguments.seed, arguments.seed + arguments.programs), arguments.jobs)
    if arguments.what == "share":
        numbers = [int(number) for number in share([str(seed) for seed in range(FIRST, FIRST + KNOWN)], PARTS)]
        return run_all(numbers, arguments.jobs)
    if arguments.what == "chunk":
        counts, said = of_seeds(arguments.numbers)
        print("\n".join([*(f"COUNT {word} {number}" for word, number in counts.items()), *(f"WRONG {line}" for line in said)]))
        return 0
    program = drawn(*arguments.numbers)
    if arguments.what == "peer":
        by_peer(function_of(program), program)
        return 0
    print(program.arguments, program.source, sep="\n")
    print(*judged(program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
