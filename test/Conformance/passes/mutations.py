"""Mutated .mlir files: tilewright-opt and `tilewright compile` must end with a result or an error, never with a signal.

    python test/Conformance/passes/mutations.py [--files N] [--seed N] [--jobs N] [--bin build/bin] [--keep FOLDER]

Each generated file is a part (between lines of `// -----`) of a .mlir file of the tests or of models/, with one to four
random changes: of a token, a number, a type, a size, an attribute or a line. A file with a graph is run through a random
number of the first stages, and through `tilewright compile`. Any other file is run through those passes of its RUN lines
that have no options, or through the first two stages if it has none. The script prints one line per crash, with the path
of the file. It keeps the file in the folder that --keep specifies, or in a temporary folder. MLIR's parsers crash on
`array<index: ...>` and on iterator types that are not strings, so these are never generated.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
STAGES = ["--tw-stage-graph", "--tw-stage-structured", "--tw-stage-tiled", "--tw-stage-vector", "--tw-stage-cpu"]
FOLDERS = ["Graph", "Kernels", "Codegen", "Plan", "Dialects", "Pipelines", "Verify", "Tools"]
BATCH = 25  # files per process of tilewright-opt
LIMIT = 120  # seconds for a process

TYPES = ["f32", "f64", "f16", "bf16", "i1", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64", "f8E4M3FN", "f8E5M2", "index", "i4", "si32",
         "complex<f32>", "tensor<4xf32>", "vector<4xf32>", "memref<4xf32>", "none", "i128"]  # fmt: skip
NUMBERS = ["0", "1", "2", "3", "4", "7", "8", "16", "64", "1000", "-1", "-2", "2147483647", "2147483648", "4294967296", "9223372036854775807",
           "-9223372036854775808", "1000000007"]  # fmt: skip
TOKEN = re.compile(r'"[^"\n]*"|[%@#^!]?[A-Za-z_$][\w$.]*|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|->|[^\s\w]')
NUMBER = re.compile(r"(?<![\w%@#.])-?\d+(?![\w.])")
DIMENSION = re.compile(r"(?<=[<x])(\d+|\?)(?=x)")
ELEMENT = re.compile(r"\b(?:f32|f64|f16|bf16|ui?\d+|i\d+|index|f8E\w+)\b")
ENTRY = re.compile(r"(?<=[{,])\s*[\w.]+\s*(?:=\s*[^,{}]+)?(?=[,}])")


@dataclass
class Seed:
    name: str
    text: str
    passes: list[str] = field(default_factory=list)

    @property
    def is_graph(self) -> bool:
        return " tw." in self.text and not re.search(r"\b(linalg|tw_tile|tw_plan|tw_hls|scf|memref)\.", self.text)


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")) + "\n"


def seeds() -> list[Seed]:
    """Returns the parts of the tests' files, with the passes that their RUN lines name."""
    found = []
    files = [file for folder in FOLDERS for file in sorted((ROOT / "test" / folder).rglob("*.mlir"))] + sorted((HERE / "models").glob("*.mlir"))
    for file in files:
        text = file.read_text()
        passes = re.findall(r"(?<=\s)--?(?:tw-[\w-]+|pass-pipeline=\S+|canonicalize|cse)(?:=\"[^\"]*\"|='[^']*'|=\S+)?", " ".join(re.findall(r"RUN:(.*)", text)))
        for number, part in enumerate(re.split(r"^// -----.*$", text, flags=re.M)):
            if len(part) < 20_000 and "func" in part and "array<index" not in part:
                found.append(Seed(f"{file.relative_to(ROOT)}#{number}", without_comments(part), [p for p in dict.fromkeys(passes) if "=" not in p]))
    return found


def replace(draw: random.Random, text: str, pattern: re.Pattern, make) -> str:
    """Replaces one match of `pattern` by the result of `make`."""
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = draw.choice(matches)
    return text[: match.start()] + make(match[0]) + text[match.end() :]


def drawn(known: list[Seed], what: str) -> Seed:
    """Returns the Seed (a part of a test file) that the hash of `what` selects. If test files are added, the selected part changes only
    for a few values of `what`."""
    return max(known, key=lambda seed: zlib.crc32(f"{what} {seed.name}".encode()))


def mutate(draw: random.Random, text: str, other: str) -> str:
    """Returns `text` with one to four changes, of kinds that keep about half of all files parsable. Lines of `other` may be inserted."""
    for _ in range(draw.randint(1, 4)):
        kind = draw.randrange(10)
        if kind == 0:
            text = replace(draw, text, TOKEN, lambda token: "")
        elif kind == 1:
            text = replace(draw, text, TOKEN, lambda token: f"{token} {token}")
        elif kind == 2:
            words = TOKEN.findall(text)
            text = replace(draw, text, TOKEN, lambda token: draw.choice(words) if words else token)
        elif kind in (3, 4):
            text = replace(draw, text, NUMBER, lambda number: draw.choice(NUMBERS))
        elif kind == 5:
            text = replace(draw, text, DIMENSION, lambda size: draw.choice(["0", "1", "2", "3", "5", "8", "64", "?", "4294967296"]))
        elif kind == 6:
            element = draw.choice(TYPES)
            if draw.random() < 0.5:  # everywhere, so that types match
                old = draw.choice(ELEMENT.findall(text) or ["f32"])
                text = re.sub(rf"\b{re.escape(old)}\b", element, text)
            else:
                text = replace(draw, text, ELEMENT, lambda old: element)
        elif kind == 7:
            text = replace(draw, text, ENTRY, lambda entry: "")
        elif kind == 8:
            lines = text.splitlines()
            at = draw.randrange(len(lines)) if lines else 0
            chosen = draw.choice([*lines, *other.splitlines()] or [""])
            lines[at : at + draw.randint(0, 1)] = [chosen] if draw.random() < 0.7 else []
            text = "\n".join(lines) + "\n"
        else:
            size, other = draw.choice(DIMENSION.findall(text) or ["4"]), draw.choice(["0", "1", "2", "5", "64", "?"])
            text = re.sub(rf"(?<=[<x]){re.escape(size)}(?=x)", other, text)
    text = re.sub(r"(?<=iterator_types = \[)[^\]]*", lambda types: types[0] if re.fullmatch(r'\s*("\w*"\s*,?\s*)*', types[0]) else '"parallel"', text)
    return text.replace("array<index", "array<i64").replace("// -----", "")


def ended_by_signal(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, errors="replace")
    except subprocess.TimeoutExpired:
        return f"it did not end within {LIMIT} s"
    if done.returncode in (0, 1, 2):
        return None
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(("PLEASE", "Stack dump"))]
    said = [line for line in lines if "crashed" in line or "LLVM ERROR" in line or "tilewright::" in line or "Assertion" in line]
    return f"ended with exit status {done.returncode}: {' | '.join((said or lines)[:3])[:400]}"


class Trial:
    """Runs files with the same passes, in one process if nothing crashes."""

    def __init__(self, bin: Path, keep: Path):
        self.opt, self.tilewright, self.keep = str(bin / "tilewright-opt"), str(bin / "tilewright"), keep

    def write(self, name: str, text: str) -> Path:
        path = self.keep / name
        path.write_text(text)
        return path

    def through_opt(self, passes: list[str], files: list[tuple[str, str]]) -> list[str]:
        """Returns the crashes of tilewright-opt. Runs file by file only if the whole batch crashes or exceeds the time limit."""
        whole = self.write(f"batch-{files[0][0]}", "\n// -----\n".join(text for _, text in files))
        said = ended_by_signal([self.opt, str(whole), "--split-input-file", "--allow-unregistered-dialect=false", *passes, "-o", "/dev/null"])
        whole.unlink()
        if not said:
            return []
        found = []
        for name, text in files:
            path = self.write(name, text)
            said = ended_by_signal([self.opt, str(path), *passes, "-o", "/dev/null"])
            if said:
                found.append(f"{self.opt} {path} {' '.join(passes)}: {said}")
            else:
                path.unlink()
        return found

    def through_compile(self, name: str, text: str) -> list[str]:
        path = self.write(f"c-{name}", text)
        said = ended_by_signal([self.tilewright, "compile", str(path), "--emit=target", "-o", "/dev/null"])
        if said:
            return [f"{self.tilewright} compile {path}: {said}"]
        path.unlink()
        return []


def run(files: int, seed: int, bin: Path, jobs: int, keep: Path, only: Container[int] | None = None) -> Iterator[str]:
    """Yields the crashes, one line each. If `only` is not None, only the generated files with these numbers are run."""
    known, trial = seeds(), Trial(bin, keep)
    groups: dict[tuple, list[tuple[str, str]]] = {}
    compiled = []
    for number in range(files) if only is None else sorted(only):
        draw = random.Random(f"{seed} {number}")
        chosen = drawn(known, f"{seed} {number}")
        text = mutate(draw, chosen.text, drawn(known, f"lines of {seed} {number}").text)
        name = f"{seed}-{number}.mlir"
        passes = STAGES[: draw.randint(1, len(STAGES))] if chosen.is_graph else chosen.passes or STAGES[:2]
        groups.setdefault(tuple(passes), []).append((name, text))
        if chosen.is_graph:
            compiled.append((name, text))
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(trial.through_opt, list(passes), group[i : i + BATCH]) for passes, group in groups.items() for i in range(0, len(group), BATCH)]
        waiting += [pool.submit(trial.through_compile, name, text) for name, text in compiled]
        for task in waiting:
            yield from task.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin")
    parser.add_argument("--keep", type=Path, help="the folder to which files that crash are written")
    arguments = parser.parse_args()
    keep = arguments.keep or Path(tempfile.mkdtemp(prefix="tilewright-mutations-"))
    keep.mkdir(parents=True, exist_ok=True)
    found = 0
    for line in run(arguments.files, arguments.seed, arguments.bin, arguments.jobs, keep):
        print(line, flush=True)
        found += 1
    print(f"{arguments.files} files, {found} crashes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
