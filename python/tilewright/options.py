"""The options of torch.compile(..., options=...), their defaults from TILEWRIGHT_* and what is refused."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, fields

from . import _tilewright

MODES = {
    "reduce-overhead": "it is a CUDA-graph mode; Tilewright has nothing to reduce on the CPU",
    "max-autotune": "tuning is not part of torch.compile yet",
    "max-autotune-no-cudagraphs": "tuning is not part of torch.compile yet",
}


@dataclass(frozen=True)
class CompileOptions:
    """Every option, with its environment variable TILEWRIGHT_<NAME> as default."""

    strict: bool = False  # refuse graphs with ops that would run in eager
    target: str = "cpu"
    cpu: str = "native"
    rounding: str = "fused"  # or "eager": round between fused ops as eager does
    dump_directory: str = ""  # every stage's IR goes there
    schedule_file: str = ""
    cache_directory: str = ""
    threads: int = 0

    def native(self) -> _tilewright.Options:
        result = _tilewright.Options()
        for f in fields(self):
            if f.name != "strict":
                setattr(result, f.name, getattr(self, f.name))
        return result


def _convert(name: str, kind: str, value, source: str):
    if kind == "bool":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("0", "1", "false", "true", ""):
            return value.lower() in ("1", "true")
    elif kind == "int":
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lstrip("-").isdigit():
            return int(value)
    elif isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise ValueError(f"tilewright: {source} must be {kind}, not {value!r}")


def read_options(options: dict | None, mode: str | None) -> CompileOptions:
    """Checks the arguments of torch.compile; errors name what exists."""
    if mode not in (None, "", "default"):
        why = MODES.get(mode, "no such mode")
        raise ValueError(f"tilewright: mode={mode!r} is not supported: {why}. Leave mode out and use options=")
    known = {f.name: f for f in fields(CompileOptions)}
    values = {}
    for name, f in known.items():
        text = os.environ.get("TILEWRIGHT_" + name.upper())
        if text is not None:
            values[name] = _convert(name, f.type, text, "TILEWRIGHT_" + name.upper())
    for name, value in (options or {}).items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"tilewright: unknown option {name!r}{hint}; the options are {', '.join(known)}")
        values[name] = _convert(name, known[name].type, value, f"options[{name!r}]")
    result = CompileOptions(**values)
    if result.rounding not in ("fused", "eager"):
        raise ValueError(f"tilewright: options['rounding'] is 'fused' or 'eager', not {result.rounding!r}")
    return result
