"""Declares the options of torch.compile(..., options=...), with their defaults, which environment variables
TILEWRIGHT_* override, and checks their values.

Options of one target, such as `arch` of cuda, are declared by the target (include/tilewright/TargetOptions.h)."""

from __future__ import annotations

import difflib
import os
import re
import warnings
from dataclasses import dataclass, field, fields, make_dataclass, replace
from typing import TYPE_CHECKING

import torch
import torch._inductor.config

from . import _tilewright

# The options of Tilewright that correspond to each `mode` of torch.compile.
MODES: dict[str, dict] = {
    "max-autotune": {"tune": "quick"},
    "max-autotune-no-cudagraphs": {"tune": "quick"},
    "reduce-overhead": {"cuda_graph": True},
}


def _option(default, help: str, *, native: bool = True, values: tuple = (), older: str = "", target: str = ""):
    """Declares an option. If `native` is true, the value is passed to the compiler's option with this name.
    `values` contains the allowed values; it is empty if all values are allowed. `older` is a second environment
    variable that sets the option. `target` is the target that declares the option."""
    return field(default=default, metadata={"help": help, "native": native, "values": values, "older": older, "target": target})


@dataclass(frozen=True)
class CommonOptions:
    """The options that do not depend on the target."""

    strict: bool = _option(False, "raises an error that lists all operators that would run in eager, instead of a warning", native=False)
    target: str = _option("cpu", "the target to generate code for: `cpu`, `cuda`, `reference` (slow; computes in f64), or that of a plug-in")
    cpu: str = _option("native", "the CPU to generate code for: `native`, `x86-64-v3`, `x86-64-v4`, `znver5`, `sapphirerapids`, `graniterapids`")
    tf32: bool | None = _option(None, "target `cuda`: computes products and convolutions of f32 on tensor cores, with operands rounded to tf32; if the "
                                      "option is not set, torch's flags decide: `torch.backends.cuda.matmul.fp32_precision`, which "
                                      "`torch.set_float32_matmul_precision` sets (default: f32), and `torch.backends.cudnn.conv.fp32_precision`, which "
                                      "`torch.backends.cudnn.allow_tf32` sets (default: tf32)", native=False)  # fmt: skip
    rounding: str = _option("fused", "`fused` keeps f32 between the ops of a kernel; `eager` rounds each op's result as eager does", values=("fused", "eager"))
    random: str = _option("native", "`native` draws random numbers in compiled code; `eager` calls eager's operators, for equal numbers",
                          native=False, values=("native", "eager"))  # fmt: skip
    record: bool = _option(False, "records the data for the page of `tilewright.report().html(path)`; each graph is compiled twice. On a GPU, "
                                  "also times each kernel for `print(tilewright.report())`, so that calls wait for the GPU", native=False)  # fmt: skip
    nvtx: bool = _option(False, "marks each call of a graph, and each kernel, as a range of NVTX, which NVIDIA's profilers show; "
                                "needs the package `nvidia-nvtx`", native=False)  # fmt: skip
    dump: str = _option("", "a folder into which the IR of every stage is written", older="TILEWRIGHT_DUMP_DIRECTORY")
    schedule_file: str = _option("", "a JSON file that maps a kernel's name or ops to tile sizes, or a transform-dialect script (`.mlir`)")
    cache: bool = _option(True, "keeps compiled code on disk (`TILEWRIGHT_CACHE_DIR`)")
    tune: str = _option("records", "`records` uses the existing records; `quick` and `full` first measure schedules for seconds or minutes, "
                                   "and write records; `strict` raises an error for kernels with a search space and no record; `off` uses no records. "
                                   "`mode=\"max-autotune\"` sets `quick`",
                        values=("records", "quick", "full", "strict", "off"))  # fmt: skip
    records: str = _option("", "the folder of tuning records; empty: the folder `TILEWRIGHT_RECORDS_DIR`, or a folder next to the cache")
    deterministic: bool = _option(False, "uses only tuned schedules that change no bit of any result")
    threads: int = _option(0, "the number of threads to plan for; 0: all processors that the process may use")
    freeze: bool = _option(False, "inference only: releases the memory of parameters after packing them; afterwards, only the compiled model "
                                  "can use them", native=False)  # fmt: skip
    check: str = _option("", "`reference` compares every kernel of every call with plain loops in f64, `eager` compares every operator with torch; both stop at the "
                             "first difference", native=False, values=("", "reference", "eager"))  # fmt: skip

    def own(self, name: str):
        """Returns the value of an option that a target declares."""
        return getattr(self, name)

    def chosen(self) -> dict:
        """Returns the options that differ from the default."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}

    def on(self, device: torch.device) -> CommonOptions:
        """Returns the options for a graph whose tensors are on `device`. A GPU selects the target cuda."""
        if device.type == "cpu":
            if self.tf32 and self.target != "cuda":
                raise ValueError(f"tilewright: options['tf32'] is an option of target 'cuda', not of {self.target!r}; remove this option, move the "
                                 "model to a GPU, or set options['target'] = 'cuda'")  # fmt: skip
            if self.own("cuda_graph") and self.target != "cuda":
                warnings.warn("tilewright: CUDA graphs (options['cuda_graph'], mode='reduce-overhead') require a GPU; the tensors of this graph "
                              "are on the CPU, so it is compiled without CUDA graphs", stacklevel=2)  # fmt: skip
                return replace(self, **{"cuda_graph": False})
            return self
        if self.target not in ("cpu", "cuda"):
            raise ValueError(f"tilewright: options['target'] is {self.target!r}, but the graph's tensors are on {device}; "
                             "remove this option, or move the model to the CPU")  # fmt: skip
        given = self.own("device")
        if given not in ("", str(device)) and (given, str(device)) != ("cuda", "cuda:0"):
            raise ValueError(f"tilewright: options['device'] is {given!r}, but the graph's tensors are on {device}; "
                             "remove this option, or move the model to the CPU, from which tensors are copied to the device")  # fmt: skip
        if self.check == "reference":
            raise ValueError(f"tilewright: options['check'] = 'reference' computes on the CPU, but the graph's tensors are on {device}; "
                             "move the model to the CPU, and set options['target'] = 'cuda'")  # fmt: skip
        return replace(self, **{"target": "cuda", "device": str(device)})

    def _rounds_to_tf32(self, of_torch) -> bool:
        """Returns whether f32 operands may be rounded to tf32. `of_torch`: torch's flags of the operation. They are
        ignored if the option `check` is set, because it compares results with the accuracy of f32."""
        if self.target != "cuda":
            return False
        return of_torch.fp32_precision == "tf32" and not self.check if self.tf32 is None else self.tf32

    def native(self) -> _tilewright.Options:
        result = _tilewright.Options()
        for f in fields(self):
            value = getattr(self, f.name)
            if f.metadata["target"]:
                result.set_own(f.name, ("1" if value else "") if isinstance(value, bool) else value)
            elif f.metadata["native"]:
                setattr(result, f.name, value)
        if self._rounds_to_tf32(torch.backends.cuda.matmul):
            result.set_own("arch", self.own("arch") + "+tf32")
        if self._rounds_to_tf32(torch.backends.cudnn.conv):
            result.set_own("tf32_convolutions", "1")
        result.check = "reference" if self.check == "reference" else ""
        result.tune = "records" if self.tune in ("quick", "full") else self.tune
        return result


def _of_targets() -> list:
    """Returns the options that targets declare, as fields. If several targets declare an option with the same name,
    they share one field."""
    rows: dict[str, tuple] = {}
    for name, target, is_flag, help in _tilewright.target_options():
        if name in rows:
            continue
        default: bool | str = False if is_flag else ""
        rows[name] = (name, type(default).__name__, _option(default, f"target `{target}`: {help}", target=target))
    return list(rows.values())


if TYPE_CHECKING:

    class CompileOptions(CommonOptions):
        """Contains every option. If the environment variable TILEWRIGHT_<NAME> is set, it is the default of the option.
        docs/reference/options.md is generated from these declarations (tools/dev/write_options_doc.py)."""

else:
    CompileOptions = make_dataclass("CompileOptions", _of_targets(), bases=(CommonOptions,), frozen=True)
    CompileOptions.__module__ = __name__


def _convert(name: str, kind: object, value, source: str):
    if kind in ("bool", "bool | None"):
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("0", "1", "false", "true"):
            return value.lower() in ("1", "true")
    elif kind == "int":
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lstrip("-").isdigit():
            return int(value)
    elif isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise ValueError(f"tilewright: {source} must be {kind.removesuffix(' | None')}, not {value!r}")


def _hint(name: str, known) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _check_values(result: CompileOptions) -> None:
    for f in fields(result):
        value = getattr(result, f.name)
        if f.metadata["values"] and value not in f.metadata["values"]:
            allowed = " or ".join(repr(v) for v in f.metadata["values"])
            raise ValueError(f"tilewright: options[{f.name!r}] must be {allowed}, not {value!r}{_hint(value, f.metadata['values'])}")
    targets = _tilewright.target_names()
    device = result.own("device")
    if result.target not in targets:
        raise ValueError(f"tilewright: unknown target {result.target!r}{_hint(result.target, targets)}; "
                         f"the targets are {', '.join(targets)}")  # fmt: skip
    if device and device != "emulated" and not re.fullmatch(r"cuda(:\d+)?", device):
        raise ValueError(f"tilewright: options['device'] must be '', 'cuda', 'cuda:N' with a number N, or 'emulated', not {device!r}"
                         f"{_hint(device, ['cuda', 'emulated'])}")  # fmt: skip
    if device and result.target != "cuda":
        raise ValueError(f"tilewright: options['device'] is an option of target 'cuda', not of {result.target!r}; set options['target'] = 'cuda'")
    if result.own("cuda_graph") and device == "emulated":
        raise ValueError("tilewright: options['cuda_graph'] requires a GPU, but options['device'] is 'emulated'; remove one of these options")
    if result.threads < 0:
        raise ValueError(f"tilewright: options['threads'] must be 0 (all processors) or a number of threads, not {result.threads}")
    if result.tf32 and result.check:
        raise ValueError(f"tilewright: options['check'] = {result.check!r} compares results with the accuracy of f32, but options['tf32'] rounds "
                         "operands to tf32; remove one of these options")  # fmt: skip
    if result.freeze and result.check:
        raise ValueError(f"tilewright: options['freeze'] releases the parameters that options['check'] = {result.check!r} "
                         "reads; remove one of these options")  # fmt: skip


def read_options(options: dict | None, mode: str | None) -> CompileOptions:
    """Checks the arguments of torch.compile and returns the options. Errors list the valid names."""
    if mode in MODES:
        options = MODES[mode] | (options or {})
    elif mode not in (None, "", "default"):
        raise ValueError(f"tilewright: unknown mode {mode!r}{_hint(str(mode), ['default', *MODES])}; "
                         f"the modes are {', '.join(['default', *MODES])}; options= sets single options")  # fmt: skip
    known = {f.name: f for f in fields(CompileOptions)}
    values = {}
    for name, f in known.items():
        for variable in (f.metadata["older"], "TILEWRIGHT_" + name.upper()):
            if text := os.environ.get(variable, ""):
                values[name] = _convert(name, f.type, text, variable)
    for name, value in (options or {}).items():
        if name not in known:
            raise ValueError(f"tilewright: unknown option {name!r}{_hint(name, known)}; the options are {', '.join(known)}")
        values[name] = _convert(name, known[name].type, value, f"options[{name!r}]")
    if "random" not in values and getattr(torch._inductor.config, "fallback_random", False):
        values["random"] = "eager"
    result = CompileOptions(**values)
    _check_values(result)
    return result
