#!/usr/bin/env python3
"""Writes docs/reference/cli.md from the output of the programs' --help.

    PYTHONPATH=build/python python tools/dev/write_cli_doc.py

test/Python/test_cli_doc.py fails if the page differs. `TILEWRIGHT_BUILD` names another build folder instead of build/.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
PAGE = ROOT / "docs/reference/cli.md"
# For each command, the pages with examples of its use.
GUIDES = {
    "bench": "[Performance](../performance.md)",
    "cache": "[Debug a compiled model](../how-to/debug.md)",
    "calibrate": "[Decision 0017](../decisions/0017-cost-model.md)",
    "compile": "[Compile ahead of time](../how-to/ahead-of-time.md), [Save, edit and compile IR](../how-to/work-on-ir.md)",
    "explain": "[Inspect how a model was compiled](../how-to/explain.md)",
    "inspect": "[Compile ahead of time](../how-to/ahead-of-time.md)",
    "run": "[Compile ahead of time](../how-to/ahead-of-time.md), [Debug a compiled model](../how-to/debug.md)",
    "tune": "[Tuning](../tuning.md)",
}
# The text about programs whose --help is not included, because it lists every flag of LLVM and MLIR.
LINKED = """## Other programs

- `tilewright-opt` runs [passes](passes.md) and stages by name on IR of any stage. It takes the flags of `mlir-opt`.
- `tilewright-reduce` removes functions and ops from IR as long as a test program finds that the remaining IR still causes the problem. It takes the
  flags of `mlir-reduce`.
- `tilewright-lsp-server` implements the language server protocol for IR of any stage.
- `gpu-model --tables=FILE` predicts the times of recorded schedules of GPU products; `tools/dev/fit_wgmma.py` fits the model with it ([decision
  0030](../decisions/0030-wgmma.md)).
- `hls-estimate DESIGNS.json...` estimates cycles and resources of [hls designs](../targets/hls.md) that are described as JSON, and prints one line of
  JSON for each.

Guide to the first three programs: [Save, edit and compile IR](../how-to/work-on-ir.md).
"""


def said(*command: str) -> str:
    environment = {**os.environ, "COLUMNS": "120", "TILEWRIGHT_PYTHON": sys.executable}
    done = subprocess.run([str(BUILD / "bin" / command[0]), *command[1:]], env=environment, capture_output=True, text=True)
    text = done.stdout
    if done.returncode or not text:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
    return text


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def section(command: str) -> list[str]:
    text = said("tilewright", command, "--help")
    lines = [f"## tilewright {command}", ""]
    if usage := re.search(r"OVERVIEW: (.*)\n\nUSAGE: (.*)\n", text):  # the format of LLVM's command line
        flags = re.findall(r"^  (-\S+(?: <\w+>)?) +- (.*)$", text.split("Generic Options:")[0], re.MULTILINE)
        lines += [usage[1], "", f"```text\ntilewright {usage[2]}\n```", "", "| flag | meaning |", "|---|---|"]
        lines += [f"| `{flag}` | {cell(what)} |" for flag, what in flags]
    else:
        lines += ["```text", *text.strip().splitlines(), "```"]
    return [*lines, "", *([f"Guides: {GUIDES[command]}.", ""] if command in GUIDES else [])]


def page() -> str:
    overview = said("tilewright", "--help")
    commands = re.findall(r"^  (\w+) +(.+)$", overview, re.MULTILINE)
    lines = [
        "# Programs", "",
        "`build/bin` of a build has all programs of this page except `python -m tilewright`, which is part of the Python package. A",
        "[wheel](../how-to/wheel.md) has `tilewright` and the Python package. The tables and texts are what the programs print with `--help`.",
        "`tilewright --version` prints the version.", "",
        "| command | what it does |", "|---|---|", *(f"| [`tilewright {name}`](#tilewright-{name}) | {cell(what)} |" for name, what in commands), "",
    ]  # fmt: skip
    for name, _ in commands:
        lines += section(name)
    lines += ["## ptx-check", "", "```text", *said("ptx-check", "--help").strip().splitlines(), "```", "", "Guide: [ptx-check](../targets/ptx-check.md).", ""]
    command = [sys.executable, "-m", "tilewright", "explain", "--help"]
    explain = subprocess.run(command, env={**os.environ, "COLUMNS": "120"}, check=True, capture_output=True, text=True)
    lines += ["## python -m tilewright explain", "", "Runs a program and reports what torch.compile and Tilewright compiled.", ""]
    lines += ["```text", *explain.stdout.strip().splitlines(), "```", "", "Guide: [Debug a compiled model](../how-to/debug.md).", ""]
    return "\n".join([*lines, LINKED, "Written by `tools/dev/write_cli_doc.py`.", ""])


if __name__ == "__main__":
    PAGE.write_text(page())
