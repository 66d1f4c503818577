"""The measurement of a single kernel against a peer, and the rows for reductions along rows and for the host time of a call.

A row compares a call of Tilewright with a call of a peer in rounds. The L2 cache is flushed before each call. The result
of a row is the median of the rounds' ratios (peer's time / Tilewright's time) with a 95% interval. If it is above 1,
Tilewright is faster.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from .timing import Device, difference, tensors_of

BF16 = torch.bfloat16
COMPILED = {"inductor": {}, "max-autotune": {"mode": "max-autotune-no-cudagraphs"}}  # peers that torch.compile runs
SECONDS = 2.0


@dataclass
class Row:
    group: str
    name: str
    bar: str
    peer: str  # eager, inductor, max-autotune, or copy: a copy of the bytes that the row must read and write
    make: Callable[[], tuple]  # (function, inputs)
    bytes: int = 0
    training: bool = False

    @property
    def key(self) -> str:
        return f"{self.group}: {self.name}; {self.peer}"


class Kernels:
    """Sizes and random tensors of rows. In a dry run, they are small."""

    def __init__(self, device: Device):
        self.dry, self.device = device.dry, device.name

    def size(self, real: int, dry: int) -> int:
        return dry if self.dry else real

    def random(self, *sizes: int, dtype: torch.dtype = BF16) -> torch.Tensor:
        return torch.randn(*sizes, dtype=dtype, device=self.device)


def ours(function: Callable, device: Device) -> Callable:
    own = {"target": "cuda", "device": "cuda:0"} if device.dry else {}
    return torch.compile(function, backend="tilewright", options={"strict": True, **own})


def theirs(row: Row, function: Callable, device: Device) -> Callable:
    if row.peer == "copy":
        source = torch.empty(max(1, row.bytes // 2), dtype=torch.uint8, device=device.name)
        target = torch.empty_like(source)
        return lambda *_: target.copy_(source)
    if device.dry or row.peer == "eager":
        return function
    return torch.compile(function, backend="inductor", **COMPILED[row.peer])


def first_call(row: Row, engine: str, device: Device) -> dict:
    torch.manual_seed(0)
    function, inputs = row.make()
    call = ours(function, device) if engine == "tilewright" else theirs(row, function, device)
    device.synchronize()
    with torch.set_grad_enabled(row.training):
        return {"seconds": device.seconds(lambda: call(*inputs))}


def measure(row: Row, engines: list[str], device: Device, say: Callable[[str], None]) -> dict:
    if len(engines) < 2:
        return {"failed": "the first call of an engine failed"}
    torch.manual_seed(0)
    if not device.dry:
        torch.backends.cudnn.benchmark = True  # cuDNN's fastest algorithm
    function, inputs = row.make()
    with torch.set_grad_enabled(row.training):
        say("tilewright")
        own = ours(function, device)
        result: dict = {"group": row.group, "name": row.name, "peer": row.peer, "bar": row.bar}
        for _ in range(2):
            outcome = own(*inputs)
        if row.group != "host":
            result["difference"] = difference(tensors_of(outcome), tensors_of(function(*inputs)))
        say(row.peer)
        other = theirs(row, function, device)
        for _ in range(2):
            other(*inputs)
        say("rounds")
        calls = {"ours": lambda: own(*inputs), "peer": lambda: other(*inputs)}
        times = host_milliseconds(calls, device) if row.group == "host" else device.race(calls, SECONDS, flush=True)
    return result | ratios(times)


def ratios(times: dict[str, list[float]]) -> dict:
    from tilewright.bench.race import interval

    found = [peer / own for own, peer in zip(times["ours"], times["peer"], strict=True)]
    low, high = interval(found)
    return {"ratio": statistics.median(found), "low": low, "high": high, "ours_ms": statistics.median(times["ours"]),
            "peer_ms": statistics.median(times["peer"]), "rounds": len(found)}  # fmt: skip


def host_milliseconds(calls: dict[str, Callable], device: Device) -> dict[str, list[float]]:
    """Measures the wall time per call of many consecutive calls, without waiting for the device."""
    count, times = 10 if device.dry else 500, {name: [] for name in calls}
    for _ in range(3 if device.dry else 21):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(count):
                call()
            times[name].append(1e3 * (time.perf_counter() - start) / count)
            device.synchronize()
    return times


def rows(k: Kernels) -> Iterator[Row]:
    elements = k.size(1 << 26, 1 << 13)
    for width in (512, 4096, 32768, 65536, 262144):
        width = k.size(width, max(64, width // 256))
        height = max(1, elements // width)

        def cross_entropy(x, wanted):
            return F.cross_entropy(x.float(), wanted)

        def norm(x):
            return F.rms_norm(x, [x.shape[-1]])

        def layer_norm(x):
            return F.layer_norm(x, [x.shape[-1]])

        def softmax(x):
            return x.softmax(-1)

        for name, function in (("softmax", softmax), ("RMS norm", norm), ("layer norm", layer_norm)):
            make = lambda f=function, h=height, w=width: (f, (k.random(h, w),))  # noqa: E731
            yield Row("rows", f"{name} {height} x {width}", "0.9", "copy", make, bytes=4 * height * width)
            yield Row("rows", f"{name} {height} x {width}", "1.1", "inductor", make)

        def classes(h=height, w=width):
            return cross_entropy, (k.random(h, w), torch.randint(0, w, (h,), device=k.device))

        yield Row("rows", f"cross-entropy {height} x {width}", "1.1", "inductor", classes)
    yield Row("host", "x + 1 of 16 numbers", "1", "inductor", lambda: (lambda x: x + 1, (k.random(16, dtype=torch.float32),)))
