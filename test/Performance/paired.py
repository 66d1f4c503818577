"""Paired rounds: two programs in turn, the median of their ratios. Single times on a shared machine mean nothing."""

from __future__ import annotations

import statistics
import time


def paired(first, second, seconds: float = 2.0, least: int = 8, side: float = 0.05, settle: float = 0.02):
    """Rounds of both in turn for about `seconds`; returns (seconds of first, seconds of second, ratio), medians each.

    A round calls one program as often as fits into `side` seconds, at least once, and then the other as often, each
    after `settle` seconds of the same that do not count: the threads of torch's OpenMP spin for some 15 ms after their
    last work, on the cores that the next program needs, so that single calls in turn would measure that.
    """

    def timed(program, calls):
        began = time.perf_counter()
        for _ in range(calls):
            program()
        return (time.perf_counter() - began) / calls

    first(), second()
    once = max(timed(first, 1), timed(second, 1), 1e-9)
    calls, before = max(1, int(side / once)), max(1, int(settle / once))
    rounds, began = [], time.perf_counter()
    while len(rounds) < least or time.perf_counter() - began < seconds:
        times = []
        for program in (first, second):
            timed(program, before)
            times.append(timed(program, calls))
        rounds.append(times)
    return (statistics.median(a for a, _ in rounds), statistics.median(b for _, b in rounds),
            statistics.median(a / b for a, b in rounds))


def noise(program, seconds: float = 0.5):
    """The ratio of a program to itself: how far from 1 this machine is just now."""
    return paired(program, program, seconds)[2]
