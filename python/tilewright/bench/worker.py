"""A worker process, which runs workloads with one peer. It reads commands as lines of JSON from standard input.

    {"do": "start", "workload": "bert", "dtype": "f32", "peer": "eager", "threads": 2}   -> first, peak, rss, ...
    {"do": "time", "side": 0.05, "settle": 0.02, "cold": false}                          -> seconds per call
    {"do": "save", "path": "..."}    {"do": "error", "path": "..."}                      -> RMS error relative to the saved results
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time


def _memory() -> dict[str, int]:
    """Returns the peak and the current resident bytes of this process."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return {"peak": int(fields["VmHWM"].split()[0]) << 10, "rss": int(fields["VmRSS"].split()[0]) << 10}


class Worker:
    """The current program, its first result and its measured times."""

    cold_buffer = None  # buffer that is written between calls with cold caches

    def start(self, workload: str, dtype: str, peer: str, threads: int) -> dict:
        import torch

        from .peers import PEERS
        from .workloads import first_tensor, make

        torch.set_num_threads(threads)
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        work = make(workload, dtype)
        began = time.perf_counter()
        self.program = PEERS[peer](work)
        self.result = first_tensor(self.program())
        first = time.perf_counter() - began
        answer: dict = {"first": first, **_memory(), "flops": work.flops}
        self.once = self._seconds(1)
        if peer.startswith("tilewright"):
            from ..reports.report import report

            if (breaks := torch._dynamo.utils.counters["graph_break"]) and not work.optimizer:
                raise RuntimeError(f"the workload has graph breaks, so its time is not comparable: {'; '.join(breaks)}")
            details = [detail for graph in report(clear=True) for detail in graph.details()]
            answer["backend"] = sum(ms for detail in details for _, ms in detail.get("stage_milliseconds", [])) / 1e3
            answer["cache"] = [detail.get("cache", "") for detail in details]
        return answer

    def _seconds(self, calls: int) -> float:
        began = time.perf_counter()
        for _ in range(calls):
            self.program()
        return (time.perf_counter() - began) / calls

    def _cold_seconds(self, calls: int) -> float:
        """Returns the median of the seconds of `calls` calls.

        Before each call, all threads write a buffer of four times the L2 cache per thread, so that weights and inputs
        are not in the L2 caches.
        """
        import torch

        if self.cold_buffer is None:
            cache = os.sysconf("SC_LEVEL2_CACHE_SIZE") if "SC_LEVEL2_CACHE_SIZE" in os.sysconf_names else 0
            self.cold_buffer = torch.zeros(max(cache, 2 << 20) * torch.get_num_threads())
        times = []
        for _ in range(calls):
            self.cold_buffer.add_(1.0)
            began = time.perf_counter()
            self.program()
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    def time(self, side: float, settle: float, cold: bool = False) -> dict:
        """Measures calls for about `side` seconds, after about `settle` seconds of calls that are not measured.

        The unmeasured calls are needed because OpenMP threads of the previous peer spin for about 15 ms after their
        last work, on the same cores.
        """
        self._seconds(max(1, int(settle / self.once)))
        if cold:
            return {"seconds": self._cold_seconds(max(3, int(side / self.once / 2)))}
        seconds = self._seconds(max(1, int(side / self.once)))
        self.once = max(1e-9, min(self.once, seconds))
        return {"seconds": seconds}

    def sweep(self, workload: str, dtype: str, peer: str, threads: int, lengths: list[int]) -> dict:
        """Calls one model, whose sequence length is dynamic, with all `lengths`. Returns the seconds of the first and of the second pass
        over the lengths, and the number of graphs that Dynamo compiled."""
        import torch

        from .peers import PEERS
        from .workloads import make

        torch.set_num_threads(threads)
        work = make(workload, dtype)
        name, tokens = next(iter(work.inputs.items()))
        inputs = {length: torch.randint(0, int(tokens.max()) + 1, (1, length)) for length in lengths}
        work.dynamic, work.inputs = {name: 1}, {name: inputs[lengths[0]]}
        passes = []
        program = None
        for _ in range(2):
            began = time.perf_counter()
            for value in inputs.values():
                work.inputs[name] = value
                program = program or PEERS[peer](work)
                program()
            passes.append(time.perf_counter() - began)
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        return {"seconds": passes[0], "again": passes[1], "graphs": graphs}

    def save(self, path: str) -> dict:
        import torch

        torch.save(self.result.detach(), path)
        return {}

    def error(self, path: str) -> dict:
        import torch

        exact = torch.load(path)
        result = self.result.detach().double()
        if result.shape != exact.shape:
            return {"error": float("nan")}
        return {"error": (result - exact).square().mean().sqrt().item() / max(exact.square().mean().sqrt().item(), 1e-300)}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # redirect the output of libraries to standard error, because standard output contains the answers
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # the race continues without this peer and reports the reason
            answer = {"failed": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
