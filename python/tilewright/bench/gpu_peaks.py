"""Measures the peak rates of a GPU with torch, for the share of the limit of each kernel."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch


def _seconds(call: Callable, rounds: int = 10) -> float:
    """Returns the median device time of a call in seconds."""
    times = []
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(3):
        call()
    for _ in range(rounds):
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


def peaks() -> dict[str, float]:
    """Returns the FLOP/s of torch's products of 8192 x 8192 x 8192 (keys bf16, f16, f32) and the bytes/s of a copy of 1 GiB (key dram) on the
    current GPU. A copy reads and writes each byte. Returns an empty dictionary if torch finds no GPU."""
    if not torch.cuda.is_available():
        return {}
    size, found = 8192, {}
    for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16), ("f32", torch.float32)):
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        result = torch.empty_like(a)
        found[name] = 2 * size**3 / _seconds(lambda a=a, b=b, result=result: torch.matmul(a, b, out=result))
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    found["dram"] = 2 * source.numel() / _seconds(lambda: target.copy_(source))
    return found
