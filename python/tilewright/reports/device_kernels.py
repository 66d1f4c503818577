"""The kernels of graphs on a GPU, with their times."""

from __future__ import annotations

from dataclasses import dataclass

from .operation_text import short_operations


@dataclass
class DeviceKernel:
    """A kernel, with the sums over all of its launches in one call of the graph."""

    kernel: str  # its name in profilers; empty: a copy
    operations: str
    schedule: str
    line: str  # the user's file:line; that of one launch, if the launches have several
    launches: int = 0
    microseconds: float = 0.0
    share: float = 0.0  # of the time of all kernels of the graph
    teraflops: float = 0.0  # per second
    gigabytes: float = 0.0  # per second

    def __str__(self) -> str:
        return (f"{self.microseconds:9.1f} us {self.share:6.1%} {self.teraflops:7.1f} TFLOP/s {self.gigabytes:7.1f} GB/s {self.launches:3} x "
                f"{self.kernel or 'copy'}: {self.schedule or '-'}; {short_operations(self.operations) or 'copy'}"
                + (f" [{self.line}]" if self.line else ""))  # fmt: skip


def device_kernels(calls: list) -> list[DeviceKernel]:
    """Returns the kernels of GraphCalls whose steps are timed, sorted by decreasing time."""
    rows: dict[tuple, DeviceKernel] = {}
    work: dict[tuple, list[int]] = {}
    for call in calls:
        if not call.timed_calls:
            continue
        for step in call.times():
            key = (step["kernel"], step["operations"], step["schedule"])
            row = rows.setdefault(key, DeviceKernel(*key, step["line"]))
            row.launches += 1
            row.microseconds += step["nanoseconds"] / 1e3 / call.timed_calls
            sums = work.setdefault(key, [0, 0])
            sums[0] += step["flops"]
            sums[1] += step["bytes"]
    busy = sum(row.microseconds for row in rows.values())
    for key, row in rows.items():
        if row.microseconds:
            row.share = row.microseconds / busy
            row.teraflops, row.gigabytes = work[key][0] / row.microseconds / 1e6, work[key][1] / row.microseconds / 1e3
    return sorted(rows.values(), key=lambda row: -row.microseconds)
