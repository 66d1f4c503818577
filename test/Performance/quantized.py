"""Compares BERT-base and ResNet-50 with layers quantized to int8 with eager in f32, and with Tilewright in f32 and bf16, in alternating calls.

    python test/Performance/quantized.py --threads 1
"""

from __future__ import annotations

import argparse
import copy
import pathlib
import statistics
import sys
import time

import torch

from tilewright.bench import workloads

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Python"))
from quantized_layers import quantize  # noqa: E402


def measure(workload: str, threads: int, rounds: int) -> dict[str, float]:
    """Returns medians in milliseconds. The variants are measured in alternation."""
    work = workloads.make(workload, "f32")
    plain, (x,) = work.model, work.inputs.values()
    variants = {"f32": copy.deepcopy(plain), "bf16": copy.deepcopy(plain).bfloat16(), "int8": quantize(copy.deepcopy(plain), x)}
    compiled = {}
    for name, module in variants.items():
        compiled[name] = torch.compile(module, backend="tilewright", options={"strict": True, "threads": threads})
    arguments = {"bf16": x.bfloat16() if x.is_floating_point() else x}
    times: dict[str, list[float]] = {name: [] for name in ("eager f32", *compiled)}
    with torch.no_grad():
        for turn in range(rounds + 3):
            for name in times:
                begin = time.perf_counter()
                compiled.get(name, plain)(arguments.get(name, x))
                if turn >= 3:
                    times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) * 1e3 for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    for workload in ("bert", "resnet50-nchw"):
        for threads in options.threads:
            torch.set_num_threads(threads)
            torch._dynamo.reset()
            times = measure(workload, threads, options.rounds)
            line = ", ".join(f"{name} {ms:.1f} ms" for name, ms in times.items())
            print(f"{workload}, {threads} threads: {line}; int8 is {times['eager f32'] / times['int8']:.2f} times as fast as eager f32")


if __name__ == "__main__":
    main()
