#!/usr/bin/env python3
"""Writes docs/reference/options.md and environment.md from the declarations of the options and of the environment variables.

    PYTHONPATH=build/python python tools/dev/write_options_doc.py

test/Python/test_options_doc.py fails if a page differs, or if the sources read an environment variable that is in no table here.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/options.md"
ENVIRONMENT = ROOT / "docs/reference/environment.md"

# Environment variables for users that have no equivalent option of torch.compile.
VARIABLES = {
    "TILEWRIGHT_CACHE_DIR": "folder of compiled code and of the machine's rates; default `$XDG_CACHE_HOME/tilewright`, or `~/.cache/tilewright`",
    "TILEWRIGHT_RECORDS_DIR": "folder of tuning records; default: next to the cache",
    "TILEWRIGHT_PLUGINS": "libraries with further targets, separated by colons ([add a target](../contributing/add-a-target.md))",
    "TILEWRIGHT_PYTHON": "the Python interpreter that `tilewright bench` runs; default: the `python3` in `PATH`",
    "TILEWRIGHT_PTXAS": "the `ptxas` to use; with `off`, the NVIDIA driver compiles PTX",
    "TILEWRIGHT_LIBCUDA": "the NVIDIA driver's library; default `libcuda.so.1`",
    "TILEWRIGHT_LIBNVTX": "the library of NVTX for the option `nvtx`; default: that of the package `nvidia-nvtx`, or one that the dynamic linker finds",
    "TILEWRIGHT_PERF_MAP": "`1`: writes `/tmp/perf-<pid>.map`, so that `perf` shows kernels by name",
    "TILEWRIGHT_DEBUGGER": "`1`: registers compiled code with gdb, so that gdb shows kernels by name",
}
# Environment variables that other projects define and that Tilewright also reads.
OTHERS = {
    "OMP_NUM_THREADS": "number of threads of a call, if neither an option nor a flag sets it; default: the number of CPUs that the process may use",
    "XDG_CACHE_HOME": "folder of caches, used only if it is an absolute path; `TILEWRIGHT_CACHE_DIR` has precedence",
    "CUDA_LAUNCH_BLOCKING": "target `cuda`: if not empty and not `0`, the host waits for each launch, so that an error names its kernel",
    "TORCH_LOGS": "`tilewright`: torch prints a report of each graph that is compiled",
    "TORCH_TRACE": "folder in which torch stores these reports as artifacts, for tlparse",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "`0`: torch does not cache graphs that Tilewright compiled ([decision 0021](../decisions/0021-aotautograd-cache.md))",
}
# Environment variables for developers of Tilewright.
DEVELOPMENT = {
    "TILEWRIGHT_VERIFY": "`1`: runs MLIR's verifier after every pass and `--tw-verify-stage` after every stage, and compiles without the cache",
    "TILEWRIGHT_GUARD_PAGES": "`1`: runs kernels on copies of their buffers, each followed by a page without access rights",
    "TILEWRIGHT_EMULATE_AMX": "`1`: lowers AMX ops to vector code, for tests without AMX; `bf16`: the same, with bf16 and int8 tiles only",
    "TILEWRIGHT_SAVE_LAUNCHES": "a folder into which the emulated device writes each launch, for `ptx-check`",
    "TILEWRIGHT_PLANT_CRASH": "`<stage>:<kind>`: makes the compiler crash, for tests ([debug](../how-to/debug.md))",
    "TILEWRIGHT_TUNE_FAULT": "makes a worker process of the tuner fail, for tests",
    "TILEWRIGHT_TUNE_TIMES": "if set, the tuner computes times from the schedule instead of measuring, for tests",
    "TILEWRIGHT_BENCH_VERBOSE": "`1`: `tilewright bench` prints the output of its processes",
    "TILEWRIGHT_MATH_REPORT": "`1`: `tilewright_math_tests` prints the largest error of each function ([debug](../how-to/debug.md))",
    "TILEWRIGHT_GPU_TESTS_DEVICE": "the device on which `tools/dev/gpu-run.sh tests` runs the tests; default `cuda`",
    "TILEWRIGHT_FAKE_CUDA": "the configuration of the fake driver (`test/FakeCuda/Fake.h`)",
    "TILEWRIGHT_FAKE_CUDA_LIBRARY": "the path of the fake driver; default: `build/lib/libtilewright_fake_cuda.so`",
    "TILEWRIGHT_TEST_FULL": "`1`: the tests run all cases, as `tools/test.sh --full` does",
    "TILEWRIGHT_BUILD": "the build folder that scripts in `tools/dev` and the tests use",
}


def default_of(value) -> str:
    return "" if value == "" else f"`{value}`"


def table(head: str, variables: dict) -> list[str]:
    return [f"| {head} | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in sorted(variables.items()))]


def option_variables() -> dict:
    """Returns the variables that set an option of torch.compile, each with the option."""
    from tilewright.options import CompileOptions

    found = {}
    for f in fields(CompileOptions):
        found[f"TILEWRIGHT_{f.name.upper()}"] = f"`{f.name}`"
        if f.metadata["older"]:
            found[f.metadata["older"]] = f"`{f.name}`; an older name"
    return found


def page() -> str:
    from tilewright.options import MODES, CompileOptions

    modes = [f"| `{mode}` | {', '.join(f'`{name}={value!r}`' for name, value in chosen.items())} |" for mode, chosen in MODES.items()]
    rows = [f"| `{f.name}` | {f.type.removesuffix(' | None')} | {default_of(f.default)} | {f.metadata['help']} |" for f in fields(CompileOptions)]
    lines = [
        "# Options of torch.compile", "",
        "`torch.compile(model, backend=\"tilewright\", options={...})`. The environment variable `TILEWRIGHT_<NAME>` sets the default of an option",
        "([environment variables](environment.md)). The [program `tilewright`](cli.md) has flags with the names of many of these options. An unknown option",
        "and a value of a wrong type raise a `ValueError` that lists the valid options or types.", "",
        "| option | type | default | meaning |", "|---|---|---|---|", *rows, "",
        "The argument `mode` of `torch.compile` sets these options. Other options can be specified in addition to it:", "",
        "| mode | options |", "|---|---|", *modes, "",
        "Written by `tools/dev/write_options_doc.py`.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def environment_page() -> str:
    options = option_variables()
    lines = [
        "# Environment variables", "",
        "## Options of torch.compile", "",
        "Each variable sets the default of an [option](options.md); the argument `options=` has precedence. An empty variable is ignored. `1` and",
        "`true` are true.", "",
        "| variable | option |", "|---|---|", *(f"| `{name}` | {option} |" for name, option in options.items()), "",
        "The [program `tilewright`](cli.md) also reads `TILEWRIGHT_CPU`.", "",
        "## Other variables of Tilewright", "", *table("variable", VARIABLES), "",
        "## Variables of other programs", "", *table("variable", OTHERS), "",
        "## Variables for work on Tilewright", "", *table("variable", DEVELOPMENT), "",
        "Written by `tools/dev/write_options_doc.py`.", "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
    ENVIRONMENT.write_text(environment_page())
