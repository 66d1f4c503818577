"""BERT-base and ResNet-50 with layers quantized to int8 against eager f32, and Tilewright's f32 and bf16, call by call.

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
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Python"))
import models  # noqa: E402
from test_quantized_models import quantized  # noqa: E402


def bert():
    return transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False), (torch.randint(0, 30522, (1, 128)),)


def resnet50():
    return transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)), (torch.randn(1, 3, 224, 224),)


def measure(make, threads: int, rounds: int) -> dict[str, float]:
    """Medians in milliseconds; the variants take turns."""
    models.MODELS["measured"] = make
    whole, x = quantized("measured")
    plain = make()[0].eval()
    narrow = copy.deepcopy(plain).bfloat16()
    compiled = {}
    for name, module in {"f32": copy.deepcopy(plain), "bf16": narrow, "int8": whole}.items():
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
    for make in (bert, resnet50):
        for threads in options.threads:
            torch.set_num_threads(threads)
            torch._dynamo.reset()
            times = measure(make, threads, options.rounds)
            line = ", ".join(f"{name} {ms:.1f} ms" for name, ms in times.items())
            print(f"{make.__name__}, {threads} threads: {line}; int8 is {times['eager f32'] / times['int8']:.2f} times as fast as eager f32")


if __name__ == "__main__":
    main()
