"""Compares one program for all numbers of rows with programs for fixed numbers: `tilewright bench --dynamic 3072x768`.

The workload is a linear layer of `columns` x `depth`. It is compiled once with dynamic rows, and once for each number of
rows. The two programs are called in alternation, without Dynamo's guards. A single row is not measured, because torch
always specializes a size of 1.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import torch

from . import peers
from .workloads import DTYPES, Workload

ROWS = (7, 16, 33, 100, 128, 197, 512)


@dataclass
class DynamicRow:
    rows: int
    seconds: float  # time of the program compiled for this number of rows
    ratio: float  # this time divided by the time of the program with dynamic rows, median over rounds
    error: float  # largest difference of the two results, divided by the largest result


def program(layer: torch.nn.Module, x: torch.Tensor, dynamic: bool):
    """Returns the compiled program of `layer` as a function of x. If `dynamic` is set, the program accepts any number of rows."""
    torch._dynamo.reset()
    work = Workload(layer, {"input": x}, native=True, dynamic={"input": 0} if dynamic else {})
    arguments: list = []
    kept = peers._native

    def native(compiled, recorders):
        compiled()
        arguments.append((recorders[0].inner, recorders[0].arguments))
        return compiled

    peers._native = native
    try:
        peers.tilewright(work)
    finally:
        peers._native = kept
    inner, given = arguments[0]

    def call(rows: torch.Tensor):
        return inner([rows.shape[0] if isinstance(value, int) else rows if value is x else value for value in given])

    return call


def _seconds(function, x: torch.Tensor, side: float) -> float:
    function(x)
    began = time.perf_counter()
    function(x)
    count = max(2, int(side / max(time.perf_counter() - began, 1e-7)))
    began = time.perf_counter()
    for _ in range(count):
        function(x)
    return (time.perf_counter() - began) / count


def measure(shape: str, dtype: str, threads: int, seconds: float, rows: tuple[int, ...] = ROWS) -> list[DynamicRow]:
    columns, depth = (int(size) for size in shape.split("x"))
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    layer = torch.nn.Linear(depth, columns).to(DTYPES[dtype])
    example = torch.randn(128, depth, dtype=DTYPES[dtype])
    moving = program(layer, example, dynamic=True)
    result = []
    for count in rows:
        x = torch.randn(count, depth, dtype=DTYPES[dtype])
        fixed = program(layer, x, dynamic=False)
        ours, theirs = moving(x)[0].double(), fixed(x)[0].double()
        sides: list[tuple[float, float]] = []
        began = time.perf_counter()
        while time.perf_counter() - began < seconds or len(sides) < 5:
            pair = [_seconds(one, x, 0.01) for one in ((fixed, moving) if len(sides) % 2 else (moving, fixed))]
            sides.append((pair[0], pair[1]) if len(sides) % 2 else (pair[1], pair[0]))
        result.append(DynamicRow(count, statistics.median(fixed for fixed, _ in sides),
                                 statistics.median(fixed / moving for fixed, moving in sides),
                                 float((ours - theirs).abs().max() / theirs.abs().max())))  # fmt: skip
    return result


def table(shape: str, dtype: str, threads: int, rows: list[DynamicRow]) -> str:
    head = f"{shape} {dtype}, {threads} threads: time of a program for each number of rows, and its ratio to the time of one program for all numbers"
    return "\n".join([head] + [f"{row.rows:6} rows {row.seconds * 1e6:10.1f} us {row.ratio:7.3f}" for row in rows])
