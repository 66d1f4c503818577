"""Paired rounds: two programs in turn, the median of their ratios. Single times on a shared machine mean nothing."""

from __future__ import annotations

import statistics
import time


def paired(first, second, seconds: float = 2.0, least: int = 8):
    """Calls both in turn for about `seconds`; returns (seconds of first, seconds of second, ratio), medians each."""
    first(), second()
    rounds, began = [], time.perf_counter()
    while len(rounds) < least or time.perf_counter() - began < seconds:
        a = time.perf_counter()
        first()
        b = time.perf_counter()
        second()
        c = time.perf_counter()
        rounds.append((b - a, c - b))
    return (statistics.median(a for a, _ in rounds), statistics.median(b for _, b in rounds),
            statistics.median(a / b for a, b in rounds))


def noise(program, seconds: float = 0.5):
    """The ratio of a program to itself: how far from 1 this machine is just now."""
    return paired(program, program, seconds)[2]
