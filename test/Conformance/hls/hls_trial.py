"""Checks one design: compiles it with two compilers, runs it on its data with sanitizers and on threads, and lints
it."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch_models
from hls_lint import lint

here = Path(__file__).resolve().parent
DESIGNS = here / "designs"
PROGRAM = here.parents[2] / "build" / "bin" / "tilewright"
# With these flags, the compilers do not warn about the vendor's pragmas and about the labels of loops.
STRICT = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-label", "-I.", "-Icheck"]
SOURCES = ["kernel.cpp", "test_bench.cpp"]
LIMIT = 300


@dataclasses.dataclass
class Result:
    name: str
    failures: list[str] = dataclasses.field(default_factory=list)
    report: dict = dataclasses.field(default_factory=dict)
    error: str = ""


def clang() -> str:
    return shutil.which("clang++-22") or "clang++"


def said(done: subprocess.CompletedProcess) -> str:
    lines = (done.stdout + done.stderr).strip().splitlines()
    return " | ".join(lines[:6])


def run(words, folder, **more: str) -> subprocess.CompletedProcess:
    environment = os.environ | more | {"ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=0", "UBSAN_OPTIONS": "halt_on_error=1", "TILEWRIGHT_VERIFY": "1"}
    try:
        return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True, timeout=LIMIT, env=environment)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"it did not end within {LIMIT} s")


def generate(model: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess:
    return run([PROGRAM, "compile", model, "--target=hls", *flags, "-o", folder], folder.parent)


def shallower(folder: Path, program: str) -> list[str]:
    """Checks that queues have the least sufficient depth: with one element less in any of them, the tasks deadlock."""
    text = (folder / "check" / "dataflow_check.cpp").read_text()
    failures = []
    for depth, name in re.findall(r"hls::stream<[^;]*, (\d+)> (\w+)\(", text):
        if depth == "2":  # the least depth that is printed
            continue
        ran = run([f"./{program}"], folder, TILEWRIGHT_SHALLOWER=name)
        if ran.returncode != 3 or "deadlock:" not in ran.stderr:
            failures.append(f"depth: queue {name} has {depth} elements, but one less is enough: exit {ran.returncode}")
    return failures


def damaged(folder: Path) -> list[str]:
    """Checks, for a design whose weights are ports, that each file of inputs and weights is read: if a bit of each byte
    of a file is flipped, the test bench fails."""
    files = sorted((folder / "data").glob("input_*.bin"))
    if len(files) < 2 or not (folder / "run_g_").exists():
        return []
    failures = []
    for file in files:
        good = file.read_bytes()
        file.write_bytes(bytes(byte ^ 0x40 for byte in good))
        ran = run(["./run_g_"], folder)
        file.write_bytes(good)
        if ran.returncode != 1 or not ran.stdout.endswith("FAIL\n"):
            failures.append(f"damage: {file.name} is damaged, and the test bench ends with {ran.returncode}: {said(ran)}")
    return failures


def integers_of_cpu(model: Path, folder: Path) -> list[str]:
    """Checks, for a model whose name ends in _inner, that integer results in data/ equal those of the target cpu for the
    same seeded input, bit for bit."""
    if not model.stem.endswith("_inner"):
        return []
    ran = run([PROGRAM, "run", model, "--seed=0", "--output", folder / "cpu"], folder)
    if ran.returncode != 0:
        return [f"cpu: exit {ran.returncode}: {said(ran)}"]
    results = {path.stem: np.load(path) for path in (folder / "cpu").glob("*.npy")}
    integers = {number: result for number, result in results.items() if result.dtype.kind in "iu"}
    if not integers:
        return ["cpu: no result is an integer"]
    return [
        f"cpu: result {number} differs in {np.count_nonzero(data != result.ravel())} of {result.size} elements"
        for number, result in sorted(integers.items())
        if ((data := np.fromfile(folder / "data" / f"output_{number}.bin", result.dtype)) != result.ravel()).any()
    ]


def lint_folder(folder: Path) -> list[str]:
    weights = folder / "weights.h"
    return lint((folder / "kernel.cpp").read_text(), weights.read_text() if weights.exists() else "")


def check(name: str, folder: Path) -> Result:
    """Runs every check of a design in `folder`."""
    result = Result(name)
    result.report = json.loads((folder / "report.json").read_text())
    builds = {
        "g++": ["g++", *STRICT, *SOURCES, "-pthread"],
        "clang, sanitizers": [clang(), *STRICT, *SOURCES, "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-pthread"],
        "threads": ["g++", *STRICT, "-DTILEWRIGHT_THREADS", *SOURCES, "check/dataflow_check.cpp", "-pthread"],
    }
    if vendor := vendor_headers(result.report):
        # The vendor's headers replace Tilewright's headers, except for hls_stream.h.
        (folder / "vendor").mkdir()
        shutil.copy(folder / "check" / "hls_stream.h", folder / "vendor")
        builds["vendor's headers"] = ["g++", "-std=c++17", "-O1", "-w", "-I.", "-Ivendor", "-isystem", vendor, *SOURCES, "-pthread"]
    for what, words in builds.items():
        program = "run_" + re.sub(r"\W+", "_", what)
        built = run([*words, "-o", program], folder)
        if built.returncode != 0:
            result.failures.append(f"{what}: does not compile: {said(built)}")
            continue
        ran = run([f"./{program}"], folder)
        if ran.returncode != 0 or not ran.stdout.endswith("PASS\n"):
            result.failures.append(f"{what}: exit {ran.returncode}: {said(ran)}")
        elif match := re.search(r"error (\S+),", ran.stdout):
            result.error = match[1]
        if what == "threads" and ran.returncode == 0:
            result.failures += shallower(folder, program)
    result.failures += off(result.report)
    result.failures += [f"lint: {complaint}" for complaint in lint_folder(folder)]
    return result


def flags_of(model: Path) -> tuple[str, ...]:
    """Returns the flags in a design's first line: // flags: --fixed 16,6"""
    first = model.read_text().splitlines()[0]
    return tuple(first.removeprefix("// flags:").split()) if first.startswith("// flags:") else ()


def vendor_headers(report: dict) -> Path | None:
    """For a fixed-point design, returns the folder of the vendor's ap_int.h and ap_fixed.h, which hls4ml contains.
    Returns None for other designs, and if hls4ml is not installed."""
    found = importlib.util.find_spec("hls4ml") if "fixed" in report else None
    return Path(found.origin).parent / "templates" / "vivado" / "ap_types" if found else None


def off(report: dict) -> list[str]:
    """Checks that the results of a fixed-point design differ from those of the float model at most by the bound that
    range analysis has proved."""
    fixed = report.get("fixed") or {"errors": [], "proved": []}
    if len(fixed["errors"]) != len(fixed["proved"]):
        return [f"fixed: {len(fixed['errors'])} results compared, {len(fixed['proved'])} proved"]
    return [f"fixed: the error is {error['largest']}, but the proved bound is {most}"
            for error, most in zip(fixed["errors"], fixed["proved"]) if not error["largest"] <= most]  # fmt: skip


def trial(name: str, *flags: str, keep: Path | None = None) -> Result:
    """Checks a design of the folder designs/ or of torch_models.py, by its name."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, model = keep or Path(scratch) / name, DESIGNS / f"{name}.mlir"
        if name not in torch_models.NAMES:
            flags += flags_of(model)
        else:
            own = torch_models.FLAGS.get(name, [])
            flags = tuple(own) if "--budget" in own else (*flags, *own)
            model = Path(scratch) / f"{name}.pt2"
            exported = run([sys.executable, "-W", "ignore", torch_models.__file__, name, model], scratch)
            if exported.returncode != 0:
                return Result(name, [f"export: {said(exported)}"])
        made = generate(model, folder, *flags)
        if made.returncode != 0:
            return Result(name, [f"compile: {said(made)}"])
        result = check(name, folder)
        if name in torch_models.NAMES:
            result.failures += damaged(folder) + integers_of_cpu(model, folder)
        return result


def all_names() -> list[str]:
    return sorted([*(path.stem for path in DESIGNS.glob("*.mlir")), *torch_models.NAMES])
