"""tilewright bench: measures speed against other programs, and the time of each kernel.

    tilewright bench --goals                                   the table of the goals; takes half an hour with every peer
    tilewright bench bert resnet50 --dtype bf16 --peers eager inductor
    tilewright bench gemm:128x768x768 --peers eager --threads 1
    tilewright bench gemm:1x4096x4096 --cold                   weights and inputs not in the L2 caches
    tilewright bench bert --per-kernel                         time, share of the roof, bytes, flops, schedule
    tilewright bench --dynamic 3072x768                        dynamic rows against a compile for each number of them
    tilewright bench --list

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
    parser.add_argument("workloads", nargs="*", help="see --list")
    parser.add_argument("--dtype", nargs="*", choices=DTYPES, default=["f32", "bf16"])
    parser.add_argument("--threads", type=int, nargs="*", default=[2])
    parser.add_argument("--peers", nargs="*", choices=[p for p in PEERS if p != "exact"], metavar="PEER",
                        default=["eager", "inductor", "inductor-freezing", "inductor-autotune", "openvino", "jax"],
                        help=f"of {', '.join(PEERS)}")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=2.0, help="of paired rounds, for each peer")
    parser.add_argument("--warm", action="store_true", help="also a second process of each, caches filled")
    parser.add_argument("--cold", action="store_true", help="flood the L2 caches before each call of the named workloads")
    parser.add_argument("--goals", nargs="*", metavar="WORD", help="the rows of the goals; with words: those whose title has one")
    parser.add_argument("--per-kernel", action="store_true", help="where the time goes, kernel by kernel")
    parser.add_argument("--dynamic", nargs="*", metavar="NxK", default=[], help="linear layers whose rows are dynamic")
    parser.add_argument("--json", type=Path, help="write everything measured")
    parser.add_argument("--chart", type=Path, help="write a PNG of the ratios")
    parser.add_argument("--list", action="store_true", help="workloads and peers")
    return parser


if __name__ == "__main__":
    parser().parse_args()
