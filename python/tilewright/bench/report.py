"""Formats races, goals and the machine as text."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from .. import _tilewright
from .goals import GOALS, Goal, Verdict, geometric_mean, judge
from .race import Process, Race, run, sweep

RACE_HEADER = (f"{'workload':18} {'dtype':5} T {'peer':18} {'ms':>10} {'ratio':>7} {'95% interval':>15} {'first s':>8} "
               f"{'warm s':>7} {'peak MB':>8} {'error':>9}")  # fmt: skip


def describe_machine() -> dict:
    """Returns the CPU, the number of cores, the version of torch, AMX support and the operating system."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "torch": torch.__version__, "amx": _tilewright.has_amx(),
            "system": platform.platform(terse=True)}  # fmt: skip


def machine_line(machine: dict) -> str:
    return f"{machine['cpu']}, {machine['cores']} cores, {'with' if machine['amx'] else 'without'} AMX, torch {machine['torch']}"


def race_lines(race: Race) -> str:
    lines = []
    for entry in race.entries.values():
        head = f"{race.workload:18} {race.dtype:5} {race.threads} {entry.peer:18} "
        if entry.failed:
            lines.append(head + f"not measured: {entry.failed}")
            continue
        lines.append(head + f"{entry.seconds * 1e3:10.3f} {entry.ratio:7.3f} [{entry.low:6.3f}, {entry.high:6.3f}] {entry.first:8.2f} "
                     f"{entry.warm:7.2f} {entry.peak >> 20:8} {entry.error:9.2e}")  # fmt: skip
    return "\n".join(lines)


def _verdict_line(verdict: Verdict) -> str:
    worst = f"; worst {verdict.worst:.2f} (required {verdict.worst_bar:.2f}, {verdict.worst_name})" if verdict.worst_bar else (
        f" ({verdict.worst_name})" if verdict.worst_name else "")
    roof = f"; {verdict.roof:.1%} of the roof: {', '.join(verdict.short)}" if verdict.roof else ""
    return f"{'reached' if verdict.held else 'MISSED '} {verdict.value:6.2f} (required {verdict.bar:.2f}) against {verdict.against}{worst}{roof}"


def run_goals(words: list[str], peers: list[str], threads: int, seconds: float, machine: dict) -> tuple[list[Race], list[Verdict]]:
    """Runs the goals whose title contains one of `words`, or all goals if `words` is empty. Prints each result when it is available."""
    races: dict[tuple[str, str], Race] = {}
    verdicts: list[Verdict] = []
    for goal in GOALS:
        if words and not any(word.lower() in goal.title.lower() for word in words):
            continue
        wanted = [peer for peer in goal.peers() if peer.startswith("tilewright") or peer in peers]
        print(f"\n== {goal.title} ({goal.dtype}, {threads} threads)", flush=True)
        missing = [peer for peer in goal.peers() if peer not in wanted]
        if missing:
            print("not measured: " + ", ".join(missing))
        if goal.measure == "sweep":
            measured = [_sweep(goal, wanted, threads)]
        else:
            measured = _races(goal, wanted, threads, seconds, races)
        found = judge(goal, measured, machine["amx"])
        for verdict in found:
            if verdict.short:
                shares = [roof["share"] for roof in _roofs(verdict.short, goal.dtype, threads)]
                verdict.roof = min(shares) if goal.each else geometric_mean(shares)
        found += _alone(goal, measured, machine, threads)
        for verdict in found:
            print(_verdict_line(verdict), flush=True)
        verdicts += found
    print(f"\n{sum(v.held for v in verdicts)} of {len(verdicts)} required ratios reached")
    for verdict in verdicts:
        if not verdict.held:
            print(f"missed: {verdict.goal}: {_verdict_line(verdict)}")
    return list(races.values()), verdicts


def _alone(goal: Goal, races: list[Race], machine: dict, threads: int) -> list[Verdict]:
    """Returns the verdicts of the bars that compare Tilewright with no peer."""
    ours = races[0].entries["tilewright"]
    if ours.failed:
        return []
    if goal.measure == "backend":
        print(f"backend {ours.backend:.3f} s, warm {ours.warm_backend:.3f} s; first call {ours.first:.2f} s, warm {ours.warm:.2f} s")
        return [Verdict(goal.title, "1.2 s", 1.2 / max(ours.backend, 1e-9), 1.0),
                Verdict(goal.title, "0.1 s, warm", 0.1 / max(ours.warm_backend, 1e-9), 1.0)]  # fmt: skip
    if goal.measure == "native":
        return [Verdict(goal.title, "3 us", 3e-6 / max(ours.seconds, 1e-12), 1.0)]
    if goal.measure == "sweep":
        return [Verdict(goal.title, "one compile", 1 / max(ours.compiles, 1), 1.0)]
    if goal.dtype == "f32" and goal.workloads[0].startswith("gemm:") and not machine["amx"]:
        shares = {roof["workload"]: _share_of_peak(roof) for roof in _roofs(goal.workloads, goal.dtype, 1)}
        worst = min(shares, key=shares.__getitem__)
        return [Verdict(goal.title, "FMA peak, one core", geometric_mean(list(shares.values())), 0.9, shares[worst], 0.0, worst)]
    return []


def _share_of_peak(roof: dict) -> float:
    return sum(row["flops"] for row in roof["kernels"]) / sum(row["seconds"] for row in roof["kernels"]) / roof["peaks"]["f32"]


def _roofs(names: tuple[str, ...], dtype: str, threads: int) -> list[dict]:
    """Runs `tilewright bench --per-kernel` for these workloads in a separate process and returns its results."""
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        answer = Path(folder) / "roofs.json"
        run_again = [sys.executable, "-m", "tilewright.bench", *names, "--dtype", dtype, "--threads", str(threads)]
        process = subprocess.run([*run_again, "--per-kernel", "--json", str(answer)], capture_output=True, text=True,
                                 env=dict(os.environ, OMP_NUM_THREADS=str(threads)))  # fmt: skip
        if process.returncode:
            raise RuntimeError(f"{' '.join(run_again[1:])} --per-kernel ended with {process.returncode}:\n{process.stderr[-2000:]}")
        return json.loads(answer.read_text())["roofs"]


def _races(goal: Goal, peers: list[str], threads: int, seconds: float, known: dict) -> list[Race]:
    """Returns the races of a goal's workloads. Reuses races in `known` that ran with at least these peers."""
    result = []
    shared: dict[str, Process] = {}
    folder = None
    if len(goal.workloads) > 6:  # many small workloads: one process per peer runs all of them
        folder = tempfile.TemporaryDirectory(prefix="tilewright-bench-")
        shared = {peer: Process(peer, threads, Path(folder.name)) for peer in peers}
    try:
        for workload in goal.workloads:
            race = known.get((workload, goal.dtype))
            warm = goal.measure == "backend"
            if race is None or not set(peers) <= set(race.entries) or (warm and not race.entries["tilewright"].warm):
                race = run(workload, goal.dtype, threads, peers, seconds if not shared else seconds / 2, warm,
                           errors=not shared, processes=shared)  # fmt: skip
                if (workload, goal.dtype) not in known:
                    known[workload, goal.dtype] = race
                print(race_lines(race), flush=True)
            result.append(race)
    finally:
        for process in shared.values():
            process.close()
        if folder:
            folder.cleanup()
    return result


def _sweep(goal: Goal, peers: list[str], threads: int) -> Race:
    race, answers = sweep(goal.workloads[0], goal.dtype, threads, peers)
    for peer, entry in race.entries.items():
        if entry.failed:
            print(f"{peer}: not measured: {entry.failed}")
        else:
            entry.compiles = answers[peer]["graphs"]
            print(f"{peer}: {entry.seconds:.2f} s, {entry.compiles} compilations; the second pass took {answers[peer]['again']:.2f} s")
    return race
