"""Times of calls on the device. In a dry run, tensors are on the CPU, and Tilewright's programs run on the fake driver."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

FLUSHED = 256 << 20  # bytes; several times the L2 cache of a GPU


class Device:
    def __init__(self, dry: bool):
        self.dry = dry
        self.name = "cpu" if dry else "cuda"
        self._flushed: torch.Tensor | None = None

    def synchronize(self) -> None:
        if not self.dry:
            torch.cuda.synchronize()

    def is_alive(self) -> bool:
        """Returns False if a fault has destroyed the GPU context, so that no further kernel can run in it."""
        try:
            self.synchronize()
        except Exception:
            return False
        return True

    def seconds(self, call: Callable) -> float:
        """Returns the wall time of one call, including the work that the call enqueues."""
        start = time.perf_counter()
        call()
        self.synchronize()
        return time.perf_counter() - start

    def milliseconds(self, call: Callable, flush: bool = False) -> float:
        """Returns the time of one call on the device.

        Without `flush`, the device is idle when the call begins, so the time includes the time that the device waits for
        the host. With `flush`, the device first executes writes that replace the contents of the L2 cache. These writes
        take longer than the host needs for the call, so the device does not wait for the host.
        """
        if self.dry:
            return 1e3 * self.seconds(call)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        if flush:
            if self._flushed is None:
                self._flushed = torch.empty(FLUSHED, dtype=torch.uint8, device="cuda")
            for _ in range(3):
                self._flushed.zero_()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def race(self, calls: dict[str, Callable], seconds: float, flush: bool = False, most: int = 31) -> dict[str, list[float]]:
        """Returns the milliseconds of each call in each round. A round makes each call once; the order of the calls
        rotates from round to round. There are at least five rounds, and at most `most` within `seconds`."""
        times: dict[str, list[float]] = {name: [] for name in calls}
        names, end = list(calls), time.monotonic() + seconds
        for number in range(2 if self.dry else most):
            if number >= 5 and time.monotonic() > end:
                break
            first = number % max(1, len(names))
            for name in names[first:] + names[:first]:
                times[name].append(self.milliseconds(calls[name], flush))
        return times


def medians(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in times.items() if values}


def tensors_of(result) -> list[torch.Tensor]:
    """Returns copies of the tensors of a result, because a later call may overwrite them (CUDA graphs of Inductor)."""
    leaves = torch.utils._pytree.tree_leaves(dict(result) if hasattr(result, "to_tuple") else result)
    return [leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def difference(ours: list[torch.Tensor], eager: list[torch.Tensor]) -> float:
    """Returns the RMS of the difference from eager's results, relative to their RMS."""
    if len(ours) != len(eager):
        raise ValueError(f"{len(ours)} results instead of {len(eager)}")
    square = total = 0.0
    for a, b in zip(ours, eager, strict=True):
        if a.shape != b.shape:
            raise ValueError(f"a result has the sizes {list(a.shape)} instead of {list(b.shape)}")
        square += (a.double() - b.double()).square().sum().item()
        total += b.double().square().sum().item()
    return (square / total) ** 0.5 if total else square**0.5
