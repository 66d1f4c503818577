"""Measures the peak rates of this machine and each kernel's share of them.

The library measures the peaks (lib/Runtime/Host/MachinePeaks.cpp) on the threads that the kernels use. A kernel's
roof is the larger of two times: its flops divided by the peak FLOP/s of its dtype, and its bytes divided by the bandwidth
of the cache that is assumed to contain them. This cache is a core's L2 cache if the bytes fit into it, else the last-level
last-level cache. For weights, constants and arguments, the bandwidth is that of DRAM if all of them together are larger than twice
the last-level cache, because then the next call finds none of them in the cache. On a GPU, the bandwidth is that of the card's memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from .. import _tilewright
from ..reports.device_kernels import steps_by_kernel
from ..reports.operation_text import short_operations
from ..reports.report import report
from .workloads import Workload


@dataclass
class KernelRow:
    """A kernel of a model, with the sums over all of its launches in one call."""

    kernel: str  # its name in profilers
    operations: str
    schedule: str
    line: str  # the user's file:line; that of one launch, if the launches have several
    launches: int
    seconds: float  # seconds of the kernel in one call of the model, mean over threads
    flops: int
    bytes: int
    roof: float  # minimum seconds according to the peak rates; 0 if they are not known

    @property
    def share(self) -> float:
        return self.roof / self.seconds if self.seconds else 0.0


def peaks(threads: int) -> dict[str, float]:
    """Returns the peak FLOP/s (keys f32, bf16, int8) and bytes/s (keys l1, l2, l3, dram) of `threads` threads, and the sizes of the caches
    (keys l2_bytes, l3_bytes). If the CPU has no fast instructions for bf16, its rate is that of f32. Other rates that cannot be measured
    are 0."""
    return _tilewright.machine_peaks(threads)


def measure(work: Workload, dtype: str, threads: int, calls: int = 20, device: str = "cpu") -> tuple[list[KernelRow], float, dict[str, float]]:
    """Returns the rows sorted by decreasing time, the seconds per call of the whole program, and the measured peaks.

    `device` is "cpu" or "cuda". If torch finds no GPU, the tensors stay on the host, and each call copies them to the device
    that Tilewright finds.
    """
    from . import gpu_peaks
    from .peers import tilewright

    on_gpu = device == "cuda"
    if on_gpu and torch.cuda.is_available():
        work.to(device)

    torch.set_num_threads(threads)
    torch._dynamo.reset()  # without it, the ninth linear layer of a process exceeds the recompile limit and runs in eager
    earlier = report()
    work.native = False
    program = tilewright(work, **({"target": "cuda"} if on_gpu else {}))
    for _ in range(4):
        program()
    compiled = [call for graph in report() if not any(graph is old for old in earlier) for call in graph.calls]
    if not compiled:
        raise RuntimeError(f"no part of {work.name or 'the workload'} was compiled, so there are no kernels to measure")
    limits = gpu_peaks.peaks() if on_gpu else peaks(threads)
    synchronize = torch.cuda.synchronize if on_gpu and torch.cuda.is_available() else lambda: None
    rows, seconds = measure_calls(compiled, program, dtype, limits, calls, synchronize, 1 if on_gpu else threads, on_gpu)
    return rows, seconds, limits


def measure_calls(compiled: list, program: Callable, dtype: str, limits: dict[str, float], calls: int = 20, synchronize: Callable = lambda: None,
                  threads: int = 1, on_gpu: bool = True) -> tuple[list[KernelRow], float]:  # fmt: skip
    """Returns the rows of the compiled graphs (GraphCall) that a call of `program` runs, sorted by decreasing time, and the seconds per call.

    `synchronize` waits for the device. `limits` are the peaks of the machine; if they are empty, the shares of the roof are 0.
    """
    for call in compiled:
        call.profile(True)
    began = time.perf_counter()
    for _ in range(calls):
        program()
    synchronize()
    seconds = (time.perf_counter() - began) / calls
    by_kernel = {key: [step for _, step in steps] for key, steps in steps_by_kernel(compiled).items()}
    for call in compiled:
        call.profile(False)
    streamed = not on_gpu and sum(step["kept"] for steps in by_kernel.values() for step in steps) > 2 * limits["l3_bytes"] > 0
    rows = [KernelRow(kernel, operations or "copy", schedule, steps[0]["line"], len(steps),
                      sum(step["nanoseconds"] for step in steps) / 1e9 / calls / threads, sum(step["flops"] for step in steps),
                      sum(step["bytes"] for step in steps), sum(_roof(step, dtype, limits, streamed) for step in steps))
            for (kernel, operations, schedule), steps in by_kernel.items()]  # fmt: skip
    return sorted(rows, key=lambda row: -row.seconds), seconds


def _roof(step: dict, dtype: str, limits: dict[str, float], streamed: bool) -> float:
    if not limits:
        return 0.0
    peak = limits.get(dtype) or limits["f32"]
    if "l2" not in limits:  # a GPU
        return max(step["flops"] / peak, step["bytes"] / limits["dram"])
    bandwidth = limits["l2"] if step["bytes"] <= limits["l2_bytes"] else limits["l3"]
    far = step["kept"] if streamed else 0
    return max(step["flops"] / peak, (step["bytes"] - far) / bandwidth + (far / limits["dram"] if far else 0.0))


def share(rows: list[KernelRow]) -> float:
    """Returns the share of the roof of all kernels of a call together: the sum of their minimum seconds over the sum of their measured
    seconds."""
    busy = sum(row.seconds for row in rows)
    return sum(row.roof for row in rows) / busy if busy else 0.0


def table(rows: list[KernelRow], seconds: float, limits: dict[str, float], most: int = 30) -> str:
    """Formats the rows as text, at most `most` of them."""
    busy = sum(row.seconds for row in rows)
    lines = ["peaks: " + ", ".join(f"{name} {value / 1e9:.0f} G{'B' if name in ('l1', 'l2', 'l3', 'dram') else 'FLOP'}/s"
                                   for name, value in limits.items() if value and not name.endswith("_bytes")),
             f"a call takes {seconds * 1e3:.3f} ms, its kernels {busy * 1e3:.3f} ms"
             + (f"; {share(rows):.0%} of the roof" if limits else "; torch finds no GPU, so the peaks are not known"),
             f"{'us':>9} {'share':>6} {'roof':>5} {'GFLOP/s':>8} {'GB/s':>7} {'x':>3}  kernel: schedule, operations, line"]  # fmt: skip
    for row in rows[:most]:
        lines.append(f"{row.seconds * 1e6:9.1f} {row.seconds / busy if busy else 0:6.1%} {row.share:5.0%} "
                     f"{row.flops / row.seconds / 1e9 if row.seconds else 0:8.1f} "
                     f"{row.bytes / row.seconds / 1e9 if row.seconds else 0:7.1f} {row.launches:3}  "
                     f"{row.kernel or 'copy'}: {row.schedule or '-'}, {short_operations(row.operations)}{', ' if row.line else ''}{row.line}")  # fmt: skip
    if len(rows) > most:
        lines.append(f"... {len(rows) - most} more kernels")
    return "\n".join(lines)
