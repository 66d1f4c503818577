"""Processes with time limits. A process that is stopped is killed together with the processes that it has started."""

from __future__ import annotations

import json
import os
import pathlib
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Job:
    name: str
    command: list[str]
    limit: float  # seconds


@dataclass
class Outcome:
    seconds: float
    output: str
    reason: str  # why the job failed; empty if it did not fail
    stopped: bool = False  # true if the deadline stopped the job, and not its own limit


def start(command: list[str], environment: dict, out, errors) -> subprocess.Popen:
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True)


def stop(process: subprocess.Popen) -> None:
    """Kills the process and all processes of its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def tail(path: pathlib.Path, lines: int = 5, most: int = 600) -> str:
    text = path.read_text(errors="replace") if path.exists() else ""
    return " / ".join([line.strip() for line in text.splitlines() if line.strip()][-lines:])[-most:]


def end_of(process: subprocess.Popen, errors: pathlib.Path) -> str:
    """Describes how a failed process ended."""
    code = process.returncode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    return f"the process ended with {how}: {tail(errors)}".rstrip(": ")


def run_jobs(jobs: list[Job], workers: int, deadline: float, environment: dict, folder: pathlib.Path,
             done: Callable[[Job, Outcome], None]) -> None:  # fmt: skip
    """Starts the jobs in the given order, at most `workers` at a time, and calls `done` for each. At the deadline, running
    jobs are killed, and no further jobs are started."""
    folder.mkdir(parents=True, exist_ok=True)
    running: list[tuple[Job, subprocess.Popen, float, pathlib.Path]] = []
    waiting = list(jobs)
    number = 0
    while waiting or running:
        while waiting and len(running) < workers and time.time() < deadline:
            job, number = waiting.pop(0), number + 1
            path = folder / f"job-{os.getpid()}-{number}"
            with path.with_suffix(".out").open("w") as out, path.with_suffix(".err").open("w") as errors:
                running.append((job, start(job.command, environment, out, errors), time.time(), path))
        if time.time() >= deadline:
            waiting.clear()
        for entry in list(running):
            job, process, began, path = entry
            seconds, late = time.time() - began, time.time() >= deadline
            if process.poll() is None and not late and seconds < job.limit:
                continue
            reason = ""
            if process.poll() is None:
                stop(process)
                reason = "stopped at the deadline" if late else f"it did not end within {job.limit:.0f} s"
            elif process.returncode:
                late, reason = False, end_of(process, path.with_suffix(".err"))
            else:
                late = False
            running.remove(entry)
            done(job, Outcome(seconds, path.with_suffix(".out").read_text(errors="replace"), reason, late))
            for suffix in (".out", ".err"):
                path.with_suffix(suffix).unlink()
        time.sleep(0.02)


def _lines(process: subprocess.Popen) -> queue.Queue:
    """Returns a queue of the lines that the process prints; None follows the last line."""
    lines: queue.Queue = queue.Queue()

    def read() -> None:
        for line in process.stdout:
            lines.put(line.decode(errors="replace").rstrip("\n"))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def run_rows(command: Callable[[list[str]], list[str]], keys: list[str], limit: float, deadline: float, environment: dict,
             folder: pathlib.Path, done: Callable[[dict], None]) -> None:  # fmt: skip
    """Measures the keys in one process, and calls `done` for each row.

    The process prints `BEGIN key` before a row and `ROW {...}` after it; `STEP text` states what it does in between. The
    process may stop early with status 0. If it ends with another status, or prints nothing for `limit` seconds after
    BEGIN, the row is recorded as failed, and another process measures the remaining keys.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rest, idle = list(keys), 0  # idle: number of consecutive processes that have begun no row
    while rest and time.time() < deadline:
        errors = folder / f"rows-{os.getpid()}.err"
        with errors.open("w") as file:
            process = start(command(rest), environment, subprocess.PIPE, file)
        lines, begun, step, reason, seen = _lines(process), "", "", "", False
        until = time.time() + limit
        while True:
            try:
                line = lines.get(timeout=max(0.01, min(until, deadline) - time.time()))
            except queue.Empty:
                stop(process)
                if time.time() >= deadline:
                    return
                reason = f"it did not end within {limit:.0f} s"
                break
            if line is None:
                process.wait()
                if process.returncode:
                    reason = end_of(process, errors)
                elif begun:
                    reason = "the process ended before the row was complete"
                stop(process)  # ends the processes that it has started and not ended
                break
            word, _, text = line.partition(" ")
            if word == "BEGIN":
                begun, step, seen, until = text, "", True, time.time() + limit
            elif word == "STEP":
                step = text
            elif word == "ROW":
                row = json.loads(text)
                done(row)
                rest.remove(row["key"])
                begun, until = "", time.time() + limit
        if not reason:
            return
        # If a process fails between two rows, the previous row has destroyed the GPU context. The result of that row is already recorded.
        if begun:
            done({"key": begun, "failed": reason + (f" (during: {step})" if step else "")})
            rest.remove(begun)
        idle = 0 if seen else idle + 1
        if idle == 2:
            raise RuntimeError(f"no process can begin with {rest[0]!r}: {reason}")
