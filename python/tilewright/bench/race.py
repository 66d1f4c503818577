"""Runs one new process for each peer, and measures them in alternating rounds (A-B-C-A-B-C). The result is the median of the ratios of all
rounds."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Entry:
    """The result of one peer in a race."""

    peer: str
    failed: str = ""
    first: float = 0.0  # seconds from the construction of the model to its first result, including compilation
    warm: float = 0.0  # like `first`, in a second process that uses the caches of the first one
    backend: float = 0.0  # seconds of `first` in Tilewright's stages
    warm_backend: float = 0.0
    compiles: int = 0  # number of compilations in a sweep
    peak: int = 0  # maximum number of resident bytes until the first result
    rss: int = 0
    seconds: float = 0.0  # median time of a call in seconds
    ratio: float = 0.0  # this peer's time divided by Tilewright's, median over rounds
    low: float = 0.0  # 95% interval of that median
    high: float = 0.0
    error: float = 0.0  # relative RMS error to float64


@dataclass
class Race:
    workload: str
    dtype: str
    threads: int
    flops: int = 0
    rounds: int = 0
    cold: bool = False
    entries: dict[str, Entry] = field(default_factory=dict)

    def as_json(self) -> dict:
        return asdict(self)

    def ratio(self, *peers: str) -> float | None:
        """Returns the smallest ratio of the `peers` that ran, which is the ratio of the fastest peer."""
        ran = [self.entries[p].ratio for p in peers if p in self.entries and not self.entries[p].failed]
        return min(ran) if ran else None


class Process:
    """A process that executes worker.py for one peer on `threads` cores."""

    def __init__(self, peer: str, threads: int, caches: Path):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TORCHINDUCTOR_CACHE_DIR=str(caches / "inductor"),
                           TILEWRIGHT_CACHE_DIR=str(caches / "tilewright"), TRANSFORMERS_VERBOSITY="error",
                           JAX_PLATFORMS="cpu")  # fmt: skip
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self.peer = peer
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tilewright.bench.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None if os.environ.get("TILEWRIGHT_BENCH_VERBOSE") else subprocess.DEVNULL, env=environment, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores))  # fmt: skip

    def ask(self, do: str, **arguments) -> dict:
        assert self.process.stdin is not None and self.process.stdout is not None  # pipes
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            return {"failed": f"the worker process ended with exit status {code}"}
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin is not None  # a pipe
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def interval(values: list[float]) -> tuple[float, float]:
    """Returns the 95% interval of the median, from the order statistics (normal approximation of the binomial)."""
    ordered, count = sorted(values), len(values)
    reach = 0.98 * count**0.5
    return ordered[max(0, int(count / 2 - reach))], ordered[min(count - 1, int(count / 2 + reach))]


def exact_file(workload: str, dtype: str, threads: int, folder: Path) -> Path | None:
    """Returns a file with the first result in float64, computed in a separate process, or None if that fails."""
    path = folder / f"exact-{workload.replace(':', '-')}-{dtype}.pt"
    if not path.exists():
        with Process("exact", threads, folder) as process:
            if process.ask("start", workload=workload, dtype=dtype, peer="exact", threads=threads).get("failed"):
                return None
            process.ask("save", path=str(path))
    return path if path.exists() else None


def run(workload: str, dtype: str, threads: int, peers: list[str], seconds: float = 2.0, warm: bool = False,
        errors: bool = True, processes: dict[str, Process] | None = None, cold: bool = False) -> Race:  # fmt: skip
    """Races `peers` on one workload, and measures each peer for about `seconds` seconds, in at least 7 rounds.

    If `cold` is set, the L2 caches are flushed before each call. `processes` contains existing worker processes to use,
    which are not closed.
    """
    race = Race(workload, dtype, threads, cold=cold)
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        caches = Path(folder)
        exact = exact_file(workload, dtype, threads, caches) if errors else None
        runners: dict[str, Process] = {}
        try:
            for peer in peers:
                entry = race.entries[peer] = Entry(peer)
                process = processes[peer] if processes else Process(peer, threads, caches)
                answer = process.ask("start", workload=workload, dtype=dtype, peer=peer, threads=threads)
                if exact is not None and not answer.get("failed"):
                    answer.update(process.ask("error", path=str(exact)))
                if answer.get("failed"):
                    entry.failed = answer["failed"]
                    if not processes:
                        process.close()
                    continue
                for name in ("first", "peak", "rss", "backend", "error"):
                    setattr(entry, name, answer.get(name, 0))
                race.flops = answer["flops"]
                runners[peer] = process
            _rounds(race, runners, seconds)
            if warm:
                for peer in runners:
                    with Process(peer, threads, caches) as process:
                        answer = process.ask("start", workload=workload, dtype=dtype, peer=peer, threads=threads)
                    race.entries[peer].warm = answer.get("first", 0)
                    race.entries[peer].warm_backend = answer.get("backend", 0)
        finally:
            if not processes:
                for process in runners.values():
                    process.close()
    return race


def _rounds(race: Race, runners: dict[str, Process], seconds: float, least: int = 7) -> None:
    times: dict[str, list[float]] = {peer: [] for peer in runners}
    began = time.perf_counter()
    while runners and (race.rounds < least or time.perf_counter() - began < seconds * len(runners)):
        for peer, process in list(runners.items()):
            answer = process.ask("time", side=0.05, settle=0.02, cold=race.cold)
            if answer.get("failed"):
                race.entries[peer].failed = answer["failed"]
                del runners[peer]
                continue
            times[peer].append(answer["seconds"])
        race.rounds += 1
    ours = next((times[p] for p in times if p.startswith("tilewright") and p in runners), None)
    for peer in runners:
        entry = race.entries[peer]
        entry.seconds = statistics.median(times[peer])
        if ours:
            ratios = [theirs / here for theirs, here in zip(times[peer], ours)]
            entry.ratio = statistics.median(ratios)
            entry.low, entry.high = interval(ratios)


def sweep(workload: str, dtype: str, threads: int, peers: list[str]) -> tuple[Race, dict[str, dict]]:
    """Calls one model with 32 sequence lengths, where the sequence length is marked dynamic.

    Returns the race, whose times are total seconds including compilation, and the answer of each peer's worker.
    """
    race, answers = Race(workload, dtype, threads), {}
    for peer in peers:
        with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder, Process(peer, threads, Path(folder)) as process:
            answers[peer] = process.ask("sweep", workload=workload, dtype=dtype, peer=peer, threads=threads,
                                        lengths=list(range(16, 513, 16)))  # fmt: skip
    ours = answers["tilewright"]
    for peer, answer in answers.items():
        entry = race.entries[peer] = Entry(peer, failed=answer.get("failed", ""))
        if entry.failed:
            continue
        entry.seconds = answer["seconds"]
        if not ours.get("failed"):
            entry.ratio = entry.seconds / ours["seconds"]
    return race, answers
