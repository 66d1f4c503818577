"""One operation with changed element types: a target and the target reference agree or refuse the operation, and never crash.

    python test/Conformance/passes/element_types.py [--only NAME] [--target cuda] [--jobs N] [--bin build/bin] [--share K/N]

The operations of dialects/Graph are taken from the graphs in the .mlir files of the tests, with their attributes and static sizes, one example for each
combination of attribute names, number of operands and ranks. Each variant changes the element type of one operand or result, or of all operands and
results that have the same type, to one of TYPES. A crash, a result that differs between the targets, or a message about an internal error is a
finding. The script prints a line for each finding, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutations import ROOT, seeds

TYPES = ["f32", "f64", "f16", "bf16", "f8E4M3FN", "i1", "i8", "ui8", "i32", "ui32", "i64", "complex<f32>"]
LINE = re.compile(r'^\s*%\S+(?:, %\S+)* = "(tw\.\w+)"\(([^()]*)\)(.*) : (\([^()]*\)) -> (.*)$')
TENSOR = re.compile(r"tensor<(?:\d+x)*([^<>]+(?:<\w+>)?)>")
RANDOM = {"tw.random", "tw.random_bits", "tw.shuffle"}
UNRELATED = {"tw.attention_gradient"}  # random inputs are not the results of one attention, and the result is then unspecified
WRONG = ("internal error", "is not a valid", "is invalid", "cannot be translated", "does not verify", "please report")
INVALID_IR = re.compile(r": stage \w+: .*'(?!tw[._])\w+\.\w+' op ")  # the verifier's message about an op of a lower dialect
LIMIT = 600  # seconds for a run; the PTX interpreter is slow


def generic(opt: str, text: str) -> str:
    done = subprocess.run([opt, "-", "--mlir-print-op-generic", "--mlir-print-local-scope"], input=text, capture_output=True, text=True)
    return done.stdout


def examples(opt: str, only: str) -> dict[tuple, tuple[str, str, str, list[str], list[str]]]:
    """Returns the examples: the name, the text between operands and types, and the types of operands and results."""
    found: dict[tuple, tuple] = {}
    for seed in seeds():
        if not seed.is_graph:
            continue
        for line in generic(opt, seed.text).splitlines():
            match = LINE.match(line)
            if not match or "?" in line or "^bb" in line or (only and match[1] != f"tw.{only}") or match[1] in RANDOM:
                continue
            operands = re.findall(r"tensor<[^<>]*(?:<\w+>[^<>]*)?>|index", match[4])
            results = re.findall(r"tensor<[^<>]*(?:<\w+>[^<>]*)?>|index", match[5])
            if not operands or "index" in operands + results or len(match[3]) > 2000:
                continue
            key = (match[1], tuple(re.findall(r"(\w+) =", match[3])), len(operands), tuple(t.count("x") for t in operands + results))
            found.setdefault(key, (match[1], match[3], operands, results))
    return found


def variants(operands: list[str], results: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    types = operands + results
    elements = [TENSOR.fullmatch(t)[1] if TENSOR.fullmatch(t) else "" for t in types]
    seen = set()
    for new in TYPES:
        for changed in [{i} for i in range(len(types))] + [{i for i, e in enumerate(elements) if e == old} for old in set(elements)]:
            made = tuple(t[: t.rindex(e)] + new + ">" if i in changed and e else t for i, (t, e) in enumerate(zip(types, elements)))
            if made not in seen:
                seen.add(made)
                yield list(made[: len(operands)]), list(made[len(operands) :])


def module(name: str, attributes: str, operands: list[str], results: list[str]) -> str:
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(operands))
    names = ", ".join(f"%a{i}" for i in range(len(operands)))
    returned = ", ".join(f"%r#{i}" for i in range(len(results))) if len(results) > 1 else "%r"
    bound = f"%r:{len(results)}" if len(results) > 1 else "%r"
    types = ", ".join(results)
    return (f'func.func @main({arguments}) -> ({types}) {{\n  {bound} = "{name}"({names}){attributes} : ({", ".join(operands)}) -> ({types})\n'
            f"  return {returned} : {types}\n}}\n")  # fmt: skip


def call(program: str, path: Path, target: str) -> tuple[int, str]:
    device = ["--device=emulated"] if target == "cuda" else []
    try:
        done = subprocess.run(
            [program, "run", str(path), f"--target={target}", *device],
            env=dict(os.environ, TILEWRIGHT_VERIFY="1"),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return -1, f"it did not end within {LIMIT} s"
    return done.returncode, done.stdout + done.stderr


def numbers(text: str) -> list[float]:
    return [float(value) for value in re.findall(r"(?:sum|magnitude) (\S+)", text)]


def differ(a: list[float], b: list[float], types: list[str]) -> bool:
    coarse = any("f8" in t for t in types)
    near = 0.2 if coarse else 2e-2 if any("f16" in t for t in types) else 1e-3
    size = max([abs(v) for v in a + b if v == v and abs(v) != float("inf")], default=0)
    return len(a) != len(b) or any(not (x == y or x != x and y != y or abs(x - y) <= near * size) for x, y in zip(a, b))


def trial(program: str, target: str, path: Path, text: str, types: list[str]) -> str:
    """Returns what is wrong with this variant, or an empty string."""
    path.write_text(text)
    said = {}
    for name in (target, "reference"):
        code, output = call(program, path, name)
        said[name] = code, output
        if code not in (0, 1, 2):
            return f"{name} ended with exit status {code}: {output.strip().splitlines()[-1][:200] if output.strip() else ''}"
        if "is not valid MLIR" not in output:
            for line in output.splitlines():
                if any(word in line for word in WRONG) or INVALID_IR.search(line):
                    return f"{name}: {line[:200]}"
        if code and name == target and "is not valid MLIR" in output:
            path.unlink()
            return ""
    (code, ours), (other, theirs) = said[target], said["reference"]
    if code == 0 and other == 0 and not any(f'"{name}"' in text for name in UNRELATED) and differ(numbers(ours), numbers(theirs), types):
        return f"{target} {numbers(ours)}, reference {numbers(theirs)}"
    path.unlink()
    return ""


def run(bin: Path, jobs: int, folder: Path, only: str = "", part: int = 0, parts: int = 1, target: str = "cpu") -> Iterator[tuple[int, str]]:
    """Yields the number of finished variants and a finding or an empty string, for each variant whose hash is `part` modulo `parts`. The files with
    findings remain in `folder`."""
    program, work = str(bin / "tilewright"), []
    for name, attributes, operands, results in examples(str(bin / "tilewright-opt"), only).values():
        for changed in variants(operands, results):
            text = module(name, attributes, *changed)
            if zlib.crc32(text.encode()) % parts == part:
                work.append((folder / f"{name.removeprefix('tw.')}-{len(work)}.mlir", text, changed[0] + changed[1]))
    with ThreadPoolExecutor(jobs) as pool:
        for number, ((path, _, _), wrong) in enumerate(zip(work, pool.map(lambda job: trial(program, target, *job), work)), 1):
            yield number, f"{path}: {wrong}" if wrong else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the name of an operation without `tw.`")
    parser.add_argument("--target", default="cpu", choices=["cpu", "cuda"], help="cuda runs on the PTX interpreter")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin")
    parser.add_argument("--share", default="0/1", help="K/N: the variants whose hash is K modulo N")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.share.split("/"))
    number = found = 0
    folder = Path(tempfile.mkdtemp(prefix="tilewright-element-types-"))
    for number, wrong in run(arguments.bin, arguments.jobs, folder, arguments.only, part, parts, arguments.target):
        if wrong:
            found += 1
            print(wrong, flush=True)
    print(f"{number} variants, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
