"""tilewright bench: measures speed against other programs, and the time of each kernel.

    tilewright bench --goals                                   all performance goals; takes half an hour with all peers
    tilewright bench bert resnet50 --dtype bf16 --peers eager inductor
    tilewright bench gemm:128x768x768 --peers eager --threads 1
    tilewright bench gemm:1x4096x4096 --cold                   flushes the L2 caches before each call
    tilewright bench bert --per-kernel                         each kernel's time, share of the roof, bytes, flops and schedule
    tilewright bench bert --per-kernel --device=cuda           the same on a GPU
    tilewright bench --dynamic 3072x768                        one program for all numbers of rows against one for each number
    tilewright bench --list                                    prints the names of the workloads and peers

This file imports neither torch nor the rest of the package, so that --help works without them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

# The values of --dtype, with torch's name of each dtype.
DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
# The values of --peers. The function that runs a peer is in peers.py; its name has underscores instead of hyphens.
PEERS = ("tilewright", "tilewright-frozen", "eager", "eager-fused", "inductor", "inductor-freezing", "inductor-autotune", "openvino", "jax", "exact")


def parser() -> argparse.ArgumentParser:
    description = __doc__.rpartition("\n\nThis file")[0]
    parser = argparse.ArgumentParser(prog="tilewright bench", description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help="the workloads to measure (see --list)")
    parser.add_argument("--dtype", nargs="*", choices=DTYPES, default=["f32", "bf16"])
    parser.add_argument("--threads", type=int, nargs="*", default=[2])
    parser.add_argument("--peers", nargs="*", choices=[p for p in PEERS if p != "exact"], metavar="PEER",
                        default=["eager", "inductor", "inductor-freezing", "inductor-autotune", "openvino", "jax"],
                        help=f"programs to compare with, out of: {', '.join(p for p in PEERS if p != 'exact')}")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=2.0, help="how many seconds to measure each peer")
    parser.add_argument("--warm", action="store_true", help="also measure the first call in a second process of each peer, with filled caches")
    parser.add_argument("--cold", action="store_true", help="flush the L2 caches before each call of the named workloads")
    parser.add_argument("--goals", nargs="*", metavar="WORD", help="measure all performance goals, or those whose title contains one of the words")
    parser.add_argument("--per-kernel", action="store_true", help="print the time of each kernel of the workloads")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="with --per-kernel: the device that runs the kernels (default: cpu)")
    parser.add_argument("--dynamic", nargs="*", metavar="NxK", default=[], help="measure a linear layer of N x K whose number of rows is dynamic")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    parser.add_argument("--chart", type=Path, help="write a chart of the ratios to this PNG file")
    parser.add_argument("--list", action="store_true", help="print the names of the workloads and peers")
    return parser


if __name__ == "__main__":
    parser().parse_args()
