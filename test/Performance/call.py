"""Measures the cost of a call of an almost empty graph, on the native side and through torch.compile.

    python test/Performance/call.py
"""

from __future__ import annotations

import statistics
import time

import torch

import tilewright.dynamo.backend


def main():
    torch.set_num_threads(1)
    caught = []

    def keep(graph, inputs, **options):
        caught.append((tilewright.dynamo.backend.tilewright(graph, inputs, **options)))
        return caught[-1]

    x = torch.zeros(16)
    with torch.no_grad():
        compiled = torch.compile(lambda value: value + 1, backend=keep, fullgraph=True)
        compiled(x)
        inner = caught[0]

        def median(program, count=20000):
            times = []
            for _ in range(count):
                start = time.perf_counter_ns()
                program()
                times.append(time.perf_counter_ns() - start)
            return statistics.median(times) / 1e3

        print(f"eager                              {median(lambda: x + 1):7.2f} us")
        print(f"torch.compile, guards included     {median(lambda: compiled(x)):7.2f} us")
        print(f"what the backend returned          {median(lambda: inner(x)):7.2f} us")


if __name__ == "__main__":
    main()
