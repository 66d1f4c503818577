"""Measures each operation's time on a million elements relative to eager's: the tables of test/Python/ops, one op at a
time.

    python test/Conformance/op_speed.py [--rows 'sort.*'] [--dtype f32] [--elements 1048576] [--threads N] [--calls 9] [--all]

A row that is a function of a size gets the size at which the larger of its inputs and its results has `--elements`
elements. Eager and Tilewright are called alternately. Rows whose median ratio is above --bar, 2, are printed (below
1, Tilewright is faster). Some functions of a million elements compute only a thousand (a row, a diagonal), in less
time than any compiled call takes for Dynamo's checks of its arguments. Therefore, rows above the bar also show the
time of backend="eager", which calls the same ops.
"""

import argparse
import os
import re
import statistics
import sys
import time
import warnings
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "Python")]
try:
    import tilewright  # noqa: F401
except ImportError:
    sys.path.insert(0, str(here.parent.parent / "build" / "python"))
os.environ.setdefault("TILEWRIGHT_CACHE", "0")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from numbers_rule import compiled_strictly, leaves  # noqa: E402
from ops import size_table, table  # noqa: E402
from ops.test_tables import DTYPES, make  # noqa: E402

ALL_DTYPES = {**DTYPES, "i8": torch.int8, "i16": torch.int16}
LARGEST = 1 << 24  # largest size that is tried


def elements(row) -> int:
    fn, *inputs = row
    with torch.no_grad():
        return max(x.numel() for x in [*inputs, *leaves(fn(*inputs))] if isinstance(x, torch.Tensor))


def sized(build, wanted: int):
    """Returns the result of `build` for the least size with `wanted` elements. The size is found by doubling and a
    bisection, up to a relative error of a tenth."""
    size = 64
    while elements(build(size)) < wanted and size < LARGEST:
        size *= 2
    low, high = size // 2, size
    while high - low > max(1, high // 10):
        middle = (low + high) // 2
        low, high = (middle, high) if elements(build(middle)) < wanted else (low, middle)
    return build(high)


def rows(dtype: torch.dtype, wanted: int):
    """Returns name -> a function that makes (function, inputs...)."""
    side = round(wanted**0.5)
    found = {}
    for kind in ("PRODUCTS", "CONVOLUTIONS", "POOLS", "NORMS", "INDEXING", "ATTENTION", "MORE", "OVERLOADS"):
        for name, build in getattr(size_table, kind).items():
            found[f"{kind.lower()} {name}"] = lambda build=build: sized(build, wanted)
    for name, (kind, _) in table.UNARY.items():
        found[f"unary {name}"] = lambda name=name, kind=kind: (getattr(torch, name), make((side, side), dtype, kind))
    for name, (kind, _) in table.BINARY.items():
        found[f"binary {name}"] = lambda name=name, kind=kind: (getattr(torch, name), *(make((side, side), dtype, kind) for _ in range(2)))
    for kind in ("ACTIVATIONS", "SCALARS", "REDUCTIONS", "VIEWS"):
        for name, fn in getattr(table, kind).items():
            found[f"{kind.lower()} {name}"] = lambda fn=fn: (fn, make((side, side), dtype))
    return found


def paired(ours, eager, inputs, calls: int) -> tuple[float, float]:
    """Returns the median ratio of our time to eager's, both called alternately, and eager's median in milliseconds."""
    ratios, theirs = [], []
    for _ in range(calls):
        times = []
        for function in (ours, eager):
            begin = time.perf_counter()
            function(*inputs)
            times.append(time.perf_counter() - begin)
        ratios.append(times[0] / times[1])
        theirs.append(times[1])
    return statistics.median(ratios), statistics.median(theirs) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=".*", help="a regular expression for the names of rows, '<table> <name>'")
    parser.add_argument("--dtype", choices=list(ALL_DTYPES), default="f32", help="of rows that have one shape")
    parser.add_argument("--elements", type=int, default=1 << 20)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--calls", type=int, default=9)
    parser.add_argument("--bar", type=float, default=2.0)
    parser.add_argument("--all", action="store_true", help="print all rows")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    ratios: dict[str, float] = {}
    calls: dict[str, float] = {}  # the ratio with backend="eager", for rows above the bar
    for name, build in rows(ALL_DTYPES[options.dtype], options.elements).items():
        if not re.search(options.rows, name):
            continue
        torch.manual_seed(0)
        torch._dynamo.reset()
        try:
            with torch.no_grad():
                eager, *inputs = build()
                eager(*inputs)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            print(f"{name:40} eager fails: {str(error).splitlines()[0][:100]}", flush=True)
            continue
        with torch.no_grad():
            ours = compiled_strictly(eager)
            ours(*inputs)
            ours(*inputs)
            ratios[name], milliseconds = paired(ours, eager, inputs, options.calls)
            alone = ""
            if ratios[name] > options.bar:
                torch._dynamo.reset()
                called = torch.compile(eager, backend="eager", fullgraph=True)
                called(*inputs)
                calls[name] = paired(called, eager, inputs, 10 * options.calls)[0]
                alone = f"   backend='eager' {calls[name]:.2f}"
        if options.all or ratios[name] > options.bar:
            shapes = " ".join("x".join(map(str, x.shape)) for x in inputs if isinstance(x, torch.Tensor))
            print(f"{name:40} {ratios[name]:6.2f} of eager's {milliseconds:8.3f} ms   {shapes}{alone}", flush=True)
    if not ratios:
        sys.exit(f"no row that can be timed matches '{options.rows}'")
    slow = [name for name in calls if ratios[name] > 1.1 * calls[name]]
    print(f"{len(ratios)} rows of {options.elements} elements, {options.threads} threads: median {statistics.median(ratios.values()):.2f} of eager's time, "
          f"{len(calls)} above {options.bar:g}; {len(slow)} of these take over 1.1 times as long as with backend='eager'")  # fmt: skip
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
