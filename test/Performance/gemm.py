"""Linear layers against eager (MKL, oneDNN) and against the FMA peak of this machine, measured beside each.

    python test/Performance/gemm.py [--dtype f32 bf16] [--threads 1 2] [128x768x768 ...]     # rows x columns x depth

`of peak` is for f32 on one thread: speed over FMA on registers alone, measured between the calls (the clock of a shared
machine moves by a third within seconds), median of the quotients.
"""

from __future__ import annotations

import argparse
import ctypes
import pathlib
import statistics
import time

import torch

from paired import paired

SHAPES = ["1024x1024x1024", "128x768x768", "128x3072x768", "128x768x3072", "512x3072x768", "256x1024x4096", "1x4096x4096"]
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
LIBRARY = pathlib.Path(__file__).parents[2] / "build" / "lib" / "libTilewright.so"


def peak():
    """tilewright::runtime::fmaPeak() (lib/Runtime/Host/Machine.h), in GFLOP/s."""
    function = ctypes.CDLL(str(LIBRARY))._ZN10tilewright7runtime7fmaPeakEv
    function.restype = ctypes.c_double
    return function()


def share_of_peak(program, flops, rounds=30):
    shares = []
    for _ in range(rounds):
        before = peak()
        start = time.perf_counter()
        program()
        seconds = time.perf_counter() - start
        shares.append(flops / seconds / max(before, peak()))
    return statistics.median(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--dtype", nargs="*", choices=DTYPES, default=list(DTYPES))
    given = parser.parse_args()
    print(f"{'shape':16} {'dtype':5} {'T':>2} {'eager GF/s':>11} {'here GF/s':>11} {'ratio':>7} {'of peak':>8}")
    for shape in given.shapes:
        rows, columns, depth = (int(size) for size in shape.split("x"))
        for dtype in given.dtype:
            layer = torch.nn.Linear(depth, columns, dtype=DTYPES[dtype])
            x = torch.randn(rows, depth, dtype=DTYPES[dtype])
            for threads in given.threads:
                torch.set_num_threads(threads)
                torch._dynamo.reset()
                compiled = torch.compile(layer, backend="tilewright", fullgraph=True, options={"strict": True})
                flops = 2e-9 * rows * columns * depth
                with torch.no_grad():
                    eager, here, ratio = paired(lambda: layer(x), lambda: compiled(x))
                    alone = dtype == "f32" and threads == 1
                    share = f"{share_of_peak(lambda: compiled(x), flops):8.0%}" if alone else ""
                print(f"{shape:16} {dtype:5} {threads:2} {flops / eager:11.1f} {flops / here:11.1f} {ratio:7.2f} {share}", flush=True)


if __name__ == "__main__":
    main()
