"""Estimates the times of kernels on an H200, on a machine without a GPU.

    .venv/bin/python tools/dev/estimate_gpu.py run [--save FILE] -- COMMAND...    the kernels that a command launches, such as
                                                                                 build/bin/tilewright run model.mlir --target=cuda --arch=sm_90a
    .venv/bin/python tools/dev/estimate_gpu.py model NAME [--save FILE]           the kernels of a model of tools/dev/gpu_run/model_list.py
    .venv/bin/python tools/dev/estimate_gpu.py compare BEFORE AFTER               two saved files, for example of two versions of an emitter
    .venv/bin/python tools/dev/estimate_gpu.py check [--fit]                      the errors of the estimate on measured kernels; --fit prints parameters

The command runs on the fake driver (test/FakeCuda), which executes some blocks of each kernel in the PTX interpreter and records their work.
ptxas gives the registers. tools/dev/gpu_timing.py computes the time. Times of kernels are estimates, and an H200 has the last word.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import gpu_timing
import numpy as np
from find_ptxas import find_ptxas

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))  # of the version to estimate
DRIVER = pathlib.Path(os.environ.get("TILEWRIGHT_FAKE_CUDA_LIBRARY", ROOT / "build" / "lib" / "libtilewright_fake_cuda.so"))
MEASURED = ROOT / "test" / "Tuner" / "Inputs" / "gpu" / "h200-kernels.jsonl"
ARCH = "sm_90a"
LAUNCHES, COUNT = "launches.jsonl", {"count": "from here"}  # the file of the fake driver, and a line of this tool


def resources(ptx: pathlib.Path) -> dict[str, tuple[int, int]]:
    """Returns the registers of a thread and the static shared memory in bytes of each kernel."""
    if not (ptxas := find_ptxas()):
        raise SystemExit("estimate_gpu: there is no ptxas in this Python environment. Run tools/setup.sh, which installs it.")
    command = [ptxas, f"-arch={ARCH}", "-v", "-o", "/dev/null", ptx]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"estimate_gpu: ptxas rejects {ptx}:\n{done.stderr}")
    found, name = {}, ""
    for line in (done.stdout + done.stderr).splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            name = match[1]
        if match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            found[name] = (int(match[1]), int(shared[1]) if shared else 0)
    return found


def launches(folder: pathlib.Path) -> list[dict]:
    """Returns a record per kernel and grid, from the files that the fake driver has written. If the file has the line COUNT, only launches after it
    are counted."""
    file = folder / LAUNCHES
    if not file.exists():
        raise SystemExit("estimate_gpu: the command has launched no kernel on the fake driver.")
    records: list[dict] = []
    for line in file.read_text().splitlines():
        entry = json.loads(line)
        if "again" in entry:
            records[entry["again"]]["launches"] += 1
        elif entry == COUNT:
            records = [record | {"launches": 0} for record in records]
        else:
            records.append(entry | {"launches": 1})
    records = [record for record in records if record["launches"] > 0]
    modules = {record["module"]: folder / f"module{record['module']}.ptx" for record in records}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        known = dict(zip(modules, pool.map(resources, modules.values()), strict=True))
    for record in records:
        registers, static = known[record.pop("module")][record["kernel"]]
        record |= {"registers": registers, "shared": record["shared"] + static}
    return records


def profile(command: list[str]) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"LIBCUDA": str(DRIVER), "PTXAS": "off", "CACHE": "0", "FAKE_CUDA": f"capability=9.0,execute=0,profile={folder}",
                    "TARGET": "cuda", "DEVICE": "cuda:0", "ARCH": ARCH}  # fmt: skip
        environment = os.environ | {f"TILEWRIGHT_{name}": value for name, value in settings.items()}
        environment["PYTHONPATH"] = str(BUILD / "python")
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise SystemExit(f"estimate_gpu: the command failed with status {done.returncode}.")
        return launches(pathlib.Path(folder))


def run_model(name: str) -> None:
    """Compiles a model and calls it twice. Only the launches of the second call are counted, because the first one also computes values of parameters."""
    import torch
    from gpu_run.model_list import INFERENCE, TRAINING, Models

    torch.manual_seed(0)
    work = (INFERENCE | TRAINING)[name](Models("cpu", dry=False))
    call = work.call(torch.compile(work.model, backend="tilewright"), "cpu")
    call()
    with (pathlib.Path(os.environ["TILEWRIGHT_FAKE_CUDA"].rpartition("profile=")[2]) / LAUNCHES).open("a") as file:
        print(json.dumps(COUNT), file=file)
    call()


def estimated(records: list[dict]) -> list[dict]:
    good = [record for record in records if "error" not in record]
    timing = gpu_timing.Timing(good)
    parts = timing.parts(gpu_timing.PARAMETERS)
    for i, (record, us) in enumerate(zip(good, timing.predict(gpu_timing.PARAMETERS), strict=True)):
        record["estimate_us"] = float(us)
        record["limit"] = max(parts, key=lambda name: parts[name][i])
    return records


def show(records: list[dict]) -> None:
    total = sum(record.get("estimate_us", 0) * record["launches"] for record in records)
    print(f"{'kernel':52} {'launches':>8} {'us each':>9} {'share':>6}  {'limit':9} {'blocks':>8} {'GB/s':>6}  schedule")
    for record in sorted(records, key=lambda record: -record.get("estimate_us", 0) * record["launches"]):
        if "error" in record:
            print(f"{record['kernel'][:52]:52} {record['launches']:8}  not estimated: {record['error']}")
            continue
        us = record["estimate_us"]
        speed = (record["distinct_read"] + record["distinct_written"]) / us * 1e-3
        share = us * record["launches"] / total
        print(f"{record['kernel'][:52]:52} {record['launches']:8} {us:9.1f} {share:6.1%}  {record['limit'][:9]:9} "
              f"{math.prod(record['grid']):8} {speed:6.0f}  {record['schedule']}")  # fmt: skip
    print(f"all {sum(record['launches'] for record in records)} launches: {total:.0f} us")


def save(records: list[dict], path: str | None) -> None:
    if path:
        pathlib.Path(path).write_text("".join(json.dumps(record) + "\n" for record in records))


def load(path: str | pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def compare(before: list[dict], after: list[dict]) -> None:
    old: dict[tuple, list[dict]] = {}
    for record in estimated(before):  # several modules may have kernels of the same name
        old.setdefault((record["kernel"], *record["grid"]), []).append(record)
    names = {record["kernel"] for record in before}
    for record in estimated(after):
        same = old.get((record["kernel"], *record["grid"]))
        other = same.pop(0) if same else next((o for o in before if o["kernel"] == record["kernel"]), None)
        if other is None or "error" in record or "error" in other:
            print(f"{record['kernel'][:60]:60} {'new' if record['kernel'] not in names else 'not estimated'}")
        else:
            print(f"{record['kernel'][:60]:60} {other['estimate_us']:9.1f} us -> {record['estimate_us']:9.1f} us "
                  f"({other['estimate_us'] / record['estimate_us']:.2f} times as fast)")  # fmt: skip
    for name in sorted(names - {record["kernel"] for record in after}):
        print(f"{name[:60]:60} gone")
    sums = [sum(record.get("estimate_us", 0) * record["launches"] for record in records) for records in (before, after)]
    print(f"all launches: {sums[0]:.0f} us -> {sums[1]:.0f} us")


def check(print_fit: bool) -> None:
    records = load(MEASURED)
    if print_fit:
        print(json.dumps({name: float(f"{value:.4g}") for name, value in gpu_timing.fit(records).items()}))
    for title, ratios in (
        ("present parameters", gpu_timing.Timing(records).predict(gpu_timing.PARAMETERS) / np.array([record["us"] for record in records])),
        ("each model and product with a fit of the others", gpu_timing.left_out(records, "source")),
        ("each kernel with a fit of the others", gpu_timing.left_out(records)),
    ):
        errors = np.abs(ratios - 1)
        print(f"{title}: {len(records)} kernels, median error {np.median(errors):.1%}, at most 40% for {np.mean(errors <= 0.4):.1%}, largest {errors.max():.0%}")
    for i in np.argsort(-errors)[:12]:
        record = records[i]
        print(f"  estimate / measured {ratios[i]:.2f}, measured {record['us']:8.1f} us: {record['source']}: {record['kernel']} {record['schedule']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    run = parts.add_parser("run")
    run.add_argument("command", nargs="+", help="after --")
    model = parts.add_parser("model")
    model.add_argument("name")
    model.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    for each in (run, model):
        each.add_argument("--save", metavar="FILE", help="write the measures and the estimates to a file, as JSON lines")
    comparison = parts.add_parser("compare")
    comparison.add_argument("before")
    comparison.add_argument("after")
    parts.add_parser("check").add_argument("--fit", action="store_true", help="print the parameters of a fit of all kernels")
    flags = parser.parse_args()
    if flags.part == "compare":
        return compare(load(flags.before), load(flags.after))
    if flags.part == "check":
        return check(flags.fit)
    if flags.part == "model" and flags.inside:
        return run_model(flags.name)
    command = flags.command if flags.part == "run" else [sys.executable, __file__, "model", flags.name, "--inside"]
    records = estimated(profile(command))
    show(records)
    save(records, flags.save)


if __name__ == "__main__":
    main()
