#!/usr/bin/env python3
"""Writes docs/reference/options.md from the declarations of the options and of the environment variables.

    PYTHONPATH=build/python python tools/dev/write_options_doc.py

test/Python/test_options_doc.py fails if the page differs, or if the sources read an environment variable that is in neither table here.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/options.md"

# Environment variables that set no option of torch.compile, for users.
VARIABLES = {
    "TILEWRIGHT_CACHE_DIR": "folder of compiled code; default `~/.cache/tilewright`",
    "TILEWRIGHT_RECORDS_DIR": "folder of tuning records; default: beside the cache",
    "TILEWRIGHT_PLUGINS": "libraries with further targets, separated by colons ([add a target](../contributing/add-a-target.md))",
    "TILEWRIGHT_PYTHON": "the Python that `tilewright bench` runs; default: the `python3` of `PATH`",
    "TILEWRIGHT_PTXAS": "the `ptxas` to use, or `off`: the NVIDIA driver compiles PTX",
    "TILEWRIGHT_LIBCUDA": "the NVIDIA driver's library; default `libcuda.so.1`",
    "TILEWRIGHT_PERF_MAP": "`1`: writes `/tmp/perf-<pid>.map`, so that `perf` shows kernels by name",
    "TILEWRIGHT_DEBUGGER": "`1`: registers compiled code with gdb",
}
# For work on Tilewright itself.
DEVELOPMENT = {
    "TILEWRIGHT_VERIFY": "`1`: runs MLIR's verifier after every pass",
    "TILEWRIGHT_GUARD_PAGES": "`1`: runs kernels on copies of their buffers that end at pages without access",
    "TILEWRIGHT_EMULATE_AMX": "`1`: lowers AMX ops to vectors, on machines without AMX",
    "TILEWRIGHT_SAVE_LAUNCHES": "a folder into which the emulated device writes each launch, for `ptx-check`",
    "TILEWRIGHT_PLANT_CRASH": "`<stage>:<kind>`: lets the compiler crash ([debug](../how-to/debug.md))",
    "TILEWRIGHT_TUNE_FAULT": "lets a worker of the tuner fail, for tests",
    "TILEWRIGHT_TUNE_TIMES": "set: the tuner uses made-up times that follow from the schedule, for tests",
    "TILEWRIGHT_BENCH_VERBOSE": "`1`: `tilewright bench` prints what its processes print",
    "TILEWRIGHT_BUILD": "the build folder that scripts in `tools/dev` and the tests use",
}


def default_of(value) -> str:
    return "" if value == "" else f"`{value}`"


def table(head: str, variables: dict) -> list[str]:
    return [f"| {head} | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in sorted(variables.items()))]


def page() -> str:
    from tilewright.options import CompileOptions

    rows = [f"| `{f.name}` | {f.type} | {default_of(f.default)} | {f.metadata['help']} |" for f in fields(CompileOptions)]
    lines = [
        "# Options and environment variables", "",
        "## Options of torch.compile", "",
        "`torch.compile(model, backend=\"tilewright\", options={...})`. The environment variable `TILEWRIGHT_<NAME>` sets the default of an option. Flags of the",
        "program `tilewright` have the same names and meanings; `tilewright <command> --help` lists them.", "",
        "| option | type | default | meaning |", "|---|---|---|---|", *rows, "",
        "## Environment variables", "", *table("variable", VARIABLES), "",
        "## Environment variables for work on Tilewright", "", *table("variable", DEVELOPMENT), "",
        "Written by `tools/dev/write_options_doc.py`.", "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
