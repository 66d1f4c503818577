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


def steps_by_kernel(calls: list) -> dict[tuple[str, str, str], list[tuple]]:
    """Returns the timed steps of GraphCalls, each with its call, by the kernel's name, its operations and its schedule."""
    steps: dict[tuple[str, str, str], list[tuple]] = {}
    for call in calls:
        for step in call.times():
            steps.setdefault((step["kernel"], step["operations"], step["schedule"]), []).append((call, step))
    return steps


def device_kernels(calls: list) -> list[DeviceKernel]:
    """Returns the kernels of GraphCalls whose steps are timed, sorted by decreasing time."""
    rows = []
    for key, steps in steps_by_kernel([call for call in calls if call.timed_calls]).items():
        microseconds = sum(step["nanoseconds"] / 1e3 / call.timed_calls for call, step in steps)
        row = DeviceKernel(*key, steps[0][1]["line"], len(steps), microseconds)
        if microseconds:
            row.teraflops = sum(step["flops"] for _, step in steps) / microseconds / 1e6
            row.gigabytes = sum(step["bytes"] for _, step in steps) / microseconds / 1e3
        rows.append(row)
    busy = sum(row.microseconds for row in rows)
    for row in rows:
        row.share = row.microseconds / busy if busy else 0.0
    return sorted(rows, key=lambda row: -row.microseconds)
