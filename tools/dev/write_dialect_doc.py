#!/usr/bin/env python3
"""Writes docs/reference/dialects/*.md and docs/reference/passes.md from the TableGen files of the dialects and passes.

    python tools/dev/write_dialect_doc.py

The text is that of mlir-tblgen (-gen-dialect-doc, -gen-pass-doc). The comment at the beginning of a pass's source file,
which has the IR before and after the pass, is added to the pass.

The pages are written and tested, not generated when the site is built, for two reasons. A reviewer sees in the diff how a
change of an op or a pass changes its documentation, and the pages can be read on GitHub, where no MLIR is installed.
test/Python/test_dialect_doc.py fails if a page is not current.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/reference/dialects"
PASSES = ROOT / "docs/reference/passes.md"
DIALECTS = {"tw": "Graph", "tw_tile": "Tile", "tw_plan": "Plan", "tw_hls": "HLS"}
NOTE = "Written by `tools/dev/write_dialect_doc.py`.\n"
FENCE = "```"


def mlir() -> Path:
    """Returns the folder of the LLVM/MLIR 22 that the build uses, or else that of Debian's packages."""
    cache = ROOT / "build/CMakeCache.txt"
    at = re.search(r"^MLIR_DIR:\w+=(.+)/lib/cmake/mlir$", cache.read_text(), re.MULTILINE) if cache.exists() else None
    return Path(at[1]) if at else Path("/usr/lib/llvm-22")


def tablegen(source: str, *flags: str) -> str:
    command = [mlir() / "bin/mlir-tblgen", *flags, f"-I{ROOT}", f"-I{mlir() / 'include'}", ROOT / source]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fenced(lines: list[str], language: str) -> list[str]:
    """Returns the lines with each block that is indented by four spaces, and is not part of a list, as a fenced block."""
    result: list[str] = []
    block: list[str] = []
    inside = in_list = False
    for line in [*lines, ""]:
        inside ^= line.startswith(FENCE)
        if not inside and line.startswith("    ") and not in_list:
            block.append(line[4:])
            continue
        if block:
            result += [*([""] if result and result[-1] else []), f"{FENCE}{language}", *block, FENCE, *([""] if line else [])]
            block = []
        in_list = bool(re.match(r"\d+\. |- ", line)) or (in_list and line.startswith(" "))
        result.append(line)
    return result[:-1]


# A row of the table of attributes; the lists that follow an op's description; one of them.
ATTRIBUTE = r"<tr><td><code>(\w+)</code></td><td>[\w:]+</td><td>(.*)</td></tr>"
PART = r"#### (Attribute|Operand|Result)s:\n\n((?:\|.*\n)+)\n*"
PARTS = rf"(?:{PART})+"


def part(match: re.Match) -> str:
    """Returns the rows of one of an op's lists, which begin with its kind."""
    return "".join(f"| {match[1].lower()} {row}\n" for row in match[2].splitlines())


def tidy(text: str) -> str:
    """Returns mlir-tblgen's Markdown without the parts that are only of use in C++."""
    text = re.sub(r" \(::tilewright::\w+::\w+\)$", "", text, flags=re.MULTILINE)  # after the name of an op
    text = re.sub(r"^(Traits|Interfaces|Effects): .*\n\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"^Syntax:\n\n```\noperation ::= ", "```text\n", text, flags=re.MULTILINE)
    text = re.sub(r"^Syntax:\n\n```\n", "```text\n", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=\S) (?=\d\. \(\w+_c\d+\))", "\n", text)  # one constraint a line
    text = re.sub(r"<table>\n.*\n((?:<tr>.*\n)+)</table>", lambda table: re.sub(ATTRIBUTE, r"| `\1` | \2 |", table[1]), text)
    text = re.sub(r"^\| (Operand|Result) \|.*\n.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(PARTS, lambda parts: "| kind | name | type |\n|---|---|---|\n" + re.sub(PART, part, parts[0]) + "\n", text)
    text = re.sub(r"^#### (\w+):$", r"**\1**", text, flags=re.MULTILINE)
    text = "\n".join(fenced(text.split("\n"), "mlir"))
    return re.sub(r"\n{3,}", "\n\n", text)


def elementwise(op: str) -> str:
    """Returns the row of an elementwise op in the table of its group."""
    name, summary = re.search(r"#### `(tw\.\w+)`.*\n\n_(.*)_\n", op).groups()
    operands = re.findall(r"^\| `(\w+)` \|", op.split("Results:")[0], re.MULTILINE)
    attributes = re.findall(r"<tr><td><code>(\w+)</code>", op)
    summary = (summary[0].lower() + summary[1:]).replace("|", "\\|")  # mlir-tblgen writes a capital letter
    return f"| `{name}` | {', '.join(f'`{o}`' for o in operands + attributes)} | {summary} |"


def dialect(name: str) -> str:
    folder = DIALECTS[name]
    text = tablegen(f"dialects/{folder}/{folder}Ops.td", "-gen-dialect-doc", f"-dialect={name}")
    text = re.sub(r"^<!--.*-->\n+", "", text).replace("[TOC]\n", "")
    text = re.sub(rf"^# '{name}' Dialect\n\n_(.*)_\n", rf"# The dialect {name}\n\n\1. Source: `dialects/{folder}`.\n", text)
    group = re.search(r"^### Elementwise ops\n(.*?)((?:^#### `tw\..*?)+?)(?=^### )", text, re.MULTILINE | re.DOTALL)
    if group:
        rows = [elementwise(op) for op in re.split(r"(?=^#### `)", group[2], flags=re.MULTILINE) if op]
        table = ["| op | operands and attributes | result for each element |", "|---|---|---|", *rows, "", ""]
        text = text.replace(group[0], f"### Elementwise ops\n{group[1]}" + "\n".join(table))
    return f"{tidy(text).strip()}\n\n{NOTE}"


def sections() -> dict[str, list[str]]:
    """Returns the names of the passes in the sections of Passes.td, in order."""
    found: dict[str, list[str]] = {}
    text = (ROOT / "include/tilewright/Passes.td").read_text()
    for title, name in re.findall(r"^//===-+===//\n// (.+)\n//===|^def \w+ : Pass<\"([\w-]+)\"", text, re.MULTILINE):
        if title:
            found.setdefault(title, [])
        else:
            list(found.values())[-1].append(name)
    return found


def names_of_passes() -> list[str]:
    return [name for names in sections().values() for name in names]


def comments() -> dict[str, str]:
    """Returns the comment at the beginning of each pass's source file."""
    names = dict(re.findall(r"^def (\w+) : Pass<\"([\w-]+)\"", (ROOT / "include/tilewright/Passes.td").read_text(), re.MULTILINE))
    found = {}
    for path in sorted((ROOT / "lib").rglob("*.cpp")):
        text = path.read_text()
        defined = {match.lower() for match in re.findall(r"^#define GEN_PASS_DEF_(\w+)", text, re.MULTILINE)}
        for definition in [d for d in names if d.lower() in defined]:
            lines = []
            for line in text.splitlines()[1:]:
                if not line.startswith("//") or line.startswith("//==="):
                    break
                lines.append(line[2:].removeprefix(" "))
            found[names[definition]] = "\n".join(lines).strip()
    return found


def passes() -> str:
    text = tablegen("include/tilewright/Passes.td", "-gen-pass-doc")
    entries = dict(re.findall(r"^### `-([\w-]+)`\n(.*?)(?=^### `|\Z)", text, re.MULTILINE | re.DOTALL))
    lines = [
        "# Passes", "",
        "`tilewright-opt` runs every pass by its name. `--tw-stage-graph`, `--tw-stage-structured`, `--tw-stage-tiled`, `--tw-stage-vector` and",
        "`--tw-stage-cpu` run the stages of the target `cpu`. [The architecture](../explanation/architecture.md) has the passes of each stage and target,",
        "in order. The text under a pass is the comment at the beginning of its source file: the IR before and after the pass, the conditions, and the",
        "path of its test.", "",
    ]  # fmt: skip
    notes = comments()
    for title, names in sections().items():
        lines += [f"## {title}", ""]
        for name in names:
            summary, options = re.fullmatch(r"\s*_(.*?)_\s*(?:#### Options\s*(```.*```))?\s*", entries[name], re.DOTALL).groups()
            lines += [f"### --{name}", "", f"{summary}.", ""]
            if notes.get(name):
                lines += [f"{FENCE}text", *notes[name].splitlines(), FENCE, ""]
            if options:
                rows = re.findall(r"^-([\w-]+) *: (.*)$", options, re.MULTILINE)
                lines += ["| option | meaning |", "|---|---|", *(f"| `{option}` | {what} |" for option, what in rows), ""]
    return "\n".join([*lines, NOTE])


def pages() -> dict[Path, str]:
    return {**{FOLDER / f"{name}.md": dialect(name) for name in DIALECTS}, PASSES: passes()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text)
