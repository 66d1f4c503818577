"""A model of the time of a kernel on an H200, from the measures of some of its blocks that the PTX interpreter records (ptx::Profile).

The time is T0 + (sum of t^p)^(1/p) over these lower bounds t:

    path      the critical path of a block, times the number of waves of blocks
    issue...  the work of a unit of a multiprocessor (UNITS), for all blocks of the multiprocessor with the most blocks
    fill      the bytes of bulk copies into the shared memory of this multiprocessor
    outside   the bytes of boxes outside of their tensors, for this multiprocessor
    launch    a constant for each block
    dram      the distinct bytes of the whole grid, if they do not fit into the L2 cache or the cache was flushed before the launch
    cached    the distinct bytes of the whole grid, if they fit
    l2        the bytes of the whole grid between the L2 cache and the multiprocessors
    partial   writes of parts of a sector of 32 bytes

Each bound has one factor or rate. A factor would be 1 if the rates and latencies in lib/PtxInterpreter/Timing.cpp were exact and a norm
were the true sum of the bounds. `tensor` and `fill` are about 0.5, because `path` contains products and copies, too. `partial` is 3.2; one
kernel determines it. The factors are fitted to measured kernels (test/Tuner/Inputs/gpu/h200-kernels.jsonl). docs/targets/cuda.md has the
errors and the limits of the model.
"""

from __future__ import annotations

import math

import numpy as np
from robust_fit import robust_fit

MULTIPROCESSORS, GIGAHERTZ = 132, 1.9
REGISTERS, SHARED_BYTES, WARPS = 65536, 233472, 64  # of a multiprocessor
CACHED_BYTES = 40e6  # a kernel with fewer bytes finds them in the L2 cache, unless the cache was flushed
UNITS = ("issue", "integer", "single", "special", "doubles", "tensor", "shared_wavefronts", "lines")

# name: (initial value, least, most). The rates are in TB/s, T0 and T1 in microseconds.
RANGES = {
    "T0": (1.5, 0.3, 5), "T1": (1, 0.1, 5), "path": (1, 0.6, 2), **dict.fromkeys(UNITS, (1, 0.3, 2.5)), "fill": (1, 0.1, 4),
    "outside": (1, 0.1, 4), "launch": (1, 0.1, 4), "partial": (1, 0.05, 4), "dram": (3.9, 2.5, 4.8), "cached": (6, 2.5, 12), "l2": (10, 4, 18),
    "p": (2.5, 1, 8),
}  # fmt: skip
NAMES = tuple(RANGES)
START, LEAST, MOST = (np.log([RANGES[name][i] for name in NAMES]) for i in range(3))

PARAMETERS = {
    "T0": 1.791, "T1": 2.502, "path": 0.9036, "issue": 1.026, "integer": 1.226, "single": 0.9001, "special": 1.33, "doubles": 1,
    "tensor": 0.5022, "shared_wavefronts": 0.832, "lines": 1.171, "fill": 0.4152, "outside": 1.178, "launch": 1.288, "partial": 3.236,
    "dram": 3.031, "cached": 4.674, "l2": 18, "p": 2.42,
}  # fmt: skip


def resident_blocks(record: dict) -> int:
    """Returns the number of blocks of the kernel that run at the same time on a multiprocessor."""
    warps = -(-math.prod(record["block"]) // 32)
    registers = max(24, -(-record["registers"] // 8) * 8) * 32 * warps
    return max(1, min(32, WARPS // warps, REGISTERS // registers, SHARED_BYTES // (record["shared"] + 1024)))


def bounds(record: dict) -> dict[str, float]:
    """Returns the lower bounds of the time in microseconds for factors of 1, and for rates of 1 TB/s."""
    blocks = math.prod(record["grid"])
    most = math.ceil(blocks / MULTIPROCESSORS)  # blocks of the multiprocessor with the most blocks
    waves = math.ceil(blocks / (MULTIPROCESSORS * resident_blocks(record)))
    cycle = 1e-3 / GIGAHERTZ
    found = {unit: record[unit] * most * cycle for unit in UNITS}
    found["path"] = record["path"] * waves * cycle
    found["fill"] = record["bulk"] / 64 * most * cycle  # 64 bytes per cycle
    found["outside"] = record["outside"] / 128 * 10 * most * cycle  # about 10 cycles for a row of 128 bytes
    found["launch"] = 100 * most * cycle
    found["partial"] = record["partial"] * blocks * 32 * 1e-6 / 5.5
    distinct = record["distinct_read"] + record["distinct_written"]
    cached = distinct < CACHED_BYTES and not record.get("flushed")
    found["dram"], found["cached"] = (0.0, distinct * 1e-6) if cached else (distinct * 1e-6, 0.0)
    found["l2"] = blocks * (record["read"] + record["written"]) * 1e-6
    return found


RATES = ("dram", "cached", "l2")
BOUNDS = tuple(name for name in NAMES if name not in ("T0", "T1", "p"))


class Timing:
    """The bounds of some kernels, as arrays."""

    def __init__(self, records: list[dict]):
        found = [bounds(record) for record in records]
        self.bounds = {name: np.array([each[name] for each in found]) for name in BOUNDS}
        self.flushed = np.array([bool(record.get("flushed")) for record in records])

    def parts(self, parameters: dict[str, float]) -> dict[str, np.ndarray]:
        return {name: value / parameters[name] if name in RATES else value * parameters[name] for name, value in self.bounds.items()}

    def predict(self, parameters: dict[str, float]) -> np.ndarray:
        """Returns the times in microseconds. T1 is added for kernels that were measured alone with events, after a flush of the caches."""
        p = parameters["p"]
        return parameters["T0"] + parameters["T1"] * self.flushed + sum(part**p for part in self.parts(parameters).values()) ** (1 / p)


def fit(records: list[dict], start: dict[str, float] | None = None, most_steps: int = 60) -> dict[str, float]:
    """Returns the parameters that predict the measured times `us` of the records best. All parameters are weakly attracted to their initial values."""
    timing, measured = Timing(records), np.log([record["us"] for record in records])

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.log(timing.predict(dict(zip(NAMES, np.exp(x), strict=True)))) - measured, 0.3 * (x - START)])

    first = START if start is None else np.log([start[name] for name in NAMES])
    found = robust_fit(residuals, first, LEAST, MOST, scale=0.1, most_steps=most_steps)
    return dict(zip(NAMES, map(float, np.exp(found)), strict=True))


def left_out(records: list[dict], key: str | None = None) -> np.ndarray:
    """Returns predicted / measured for each record, with the parameters of a fit to all other records, or to all records with another value of `key`."""
    whole = fit(records)
    groups = [i if key is None else record[key] for i, record in enumerate(records)]
    ratios = np.zeros(len(records))
    for group in dict.fromkeys(groups):
        others = fit([record for record, of in zip(records, groups, strict=True) if of != group], start=whole, most_steps=20)
        for i, record in enumerate(records):
            if groups[i] == group:
                ratios[i] = float(Timing([record]).predict(others)[0]) / record["us"]
    return ratios
