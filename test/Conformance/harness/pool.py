"""Worker processes. If one crashes, hangs or uses too much memory, only its sample is lost, and a new worker
continues with the next."""

from __future__ import annotations

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verdict import Outcome, short

START = 300  # seconds until a worker is ready
SAMPLES = 2000  # torch keeps memory of each compile
STARTED = Outcome("crash", "")  # state of a sample until the worker reports another one
IN_EAGER = Outcome("eager", "")  # state while only eager runs: if the worker ends then, no compiler is at fault


class Gone(Exception):
    """Raised if the worker ended or was stopped: the state and the reason."""

    def __init__(self, state: str, reason: str):
        super().__init__(reason)
        self.state, self.reason = state, reason


class Worker:
    def __init__(self, script: Path):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)  # fmt: skip
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.buffer = b""
        self.ran = 0
        self.read(START)

    def ask(self, **fields) -> None:
        self.process.stdin.write((json.dumps(fields) + "\n").encode())
        self.process.stdin.flush()

    def read(self, limit: float) -> dict:
        """Returns the next line, within `limit` seconds."""
        until = time.monotonic() + limit
        while b"\n" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                self.close()
                raise Gone("hang", f"no result after {limit:.0f} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise Gone(*self.ended())
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ended(self) -> tuple[str, str]:
        status = self.process.wait()
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - 4000))
        text = self.errors.read().decode(errors="replace")
        if "bad_alloc" in text or "MemoryError" in text or "out of memory" in text.lower():
            return "memory", "out of memory"
        name = signal.Signals(-status).name if status < 0 else f"exit {status}"
        lines = [line for line in text.splitlines() if "ssertion" in line or "UNREACHABLE" in line or "LLVM ERROR" in line]
        return "crash", f"{name} {short(lines[-1]) if lines else ''}".strip()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Pool:
    """Runs cases on `count` workers that run `script`.

    `ask(case)` returns the request for a case. The pool adds the entry `after` to the request: the worker begins with
    the sample after this number. `hang` is the time limit of a sample in seconds. For each case, `tell(case, results, reason)` is
    called with the results {sample: Outcome}, from one thread at a time. A worker is replaced after `samples` samples.
    """

    def __init__(self, script: Path, ask: Callable[[object], dict], count: int, seconds: float, hang: float, samples: int = SAMPLES):
        self.script, self.ask, self.count, self.hang, self.samples = script, ask, count, hang, samples
        self.until = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.left: queue.SimpleQueue = queue.SimpleQueue()

    def run(self, cases: list, tell: Callable[[object, dict, str], None]) -> int:
        """Runs the cases. Returns the number of cases that were not started before the time limit."""
        for case in cases:
            self.left.put(case)
        with ThreadPoolExecutor(self.count) as threads:
            for done in [threads.submit(self.work, tell) for _ in range(min(self.count, len(cases)))]:
                done.result()
        return self.left.qsize()

    def work(self, tell) -> None:
        worker = None
        while time.monotonic() < self.until:
            try:
                case = self.left.get_nowait()
            except queue.Empty:
                break
            results: dict[int, Outcome] = {}
            reason, after = None, -1
            while reason is None:
                if worker is None or worker.ran >= self.samples:
                    if worker is not None:
                        worker.close()
                    worker = Worker(self.script)
                try:
                    reason = self.run_case(worker, case, after, results)
                except Gone as gone:
                    worker = None
                    started = [i for i, outcome in results.items() if outcome is STARTED or outcome is IN_EAGER]
                    in_eager = bool(started) and results[started[0]] is IN_EAGER
                    if not started:  # the worker ended before its first sample, and a new worker would do the same
                        reason = ""
                    after = started[0] if started else -1
                    results[after] = Outcome("eager" if in_eager else gone.state, gone.reason, gone.reason)
            with self.lock:
                tell(case, results, reason)
        if worker is not None:
            worker.close()

    def run_case(self, worker: Worker, case, after: int, results: dict) -> str:
        worker.ask(**self.ask(case), after=after)
        while True:
            line = worker.read(self.hang)
            if "done" in line:
                return line["reason"]
            if "start" in line:
                results[line["start"]] = STARTED
            elif "eager" in line:
                results[line["eager"]] = IN_EAGER
            else:
                worker.ran += 1
                index = line.pop("sample")
                results[index] = Outcome(**line)
