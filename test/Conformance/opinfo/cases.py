"""The cases: an entry of torch's op_db with a dtype in a mode; their samples; and the cases of the default run."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass

import numpy
import torch

DTYPES = {
    "f32": torch.float32, "i64": torch.int64, "bool": torch.bool, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32,
    "u64": torch.uint64, "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip
MODES = ("forward", "gradient", "dynamic")
GRADIENT_DTYPES = ("f32", "f64")

# Operators whose results have undefined contents.
CONTENTS_UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}


@dataclass(frozen=True)
class Case:
    entry: str
    dtype: str
    mode: str

    def __str__(self) -> str:
        return f"{self.entry} {self.dtype} {self.mode}"


def call(op, *arguments, **keywords):
    return op(*arguments, **keywords)


def entries() -> dict:
    """Returns name -> OpInfo. Variants of one function are name/variant."""
    from torch.testing._internal import common_methods_invocations as invocations

    invocations.wrapper_set_seed = call  # the harness sets the seed; torch.compile cannot trace the original function
    return {info.name + (f"/{info.variant_test_name}" if info.variant_test_name else ""): info for info in invocations.op_db}


def has(info, dtype: str, mode: str) -> bool:
    """Returns whether torch declares that the entry supports this dtype in this mode."""
    if mode == "gradient":
        return info.supports_autograd and dtype in GRADIENT_DTYPES and DTYPES[dtype] in info.supported_backward_dtypes("cpu")
    return DTYPES[dtype] in info.supported_dtypes("cpu")


def all_cases(names, dtypes, modes) -> list[Case]:
    """Returns the cases in the order in which they are run: those of an entry are adjacent."""
    known = entries()
    return [Case(name, dtype, mode) for name in names for mode in modes for dtype in dtypes if has(known[name], dtype, mode)]


def default_cases(known: Iterable[Case]) -> list[Case]:
    """Returns from `known` one case of every entry in every mode: that of f32 if there is one, else that of the first
    dtype in DTYPES."""
    order = list(DTYPES)
    first: dict[tuple[str, str], Case] = {}
    for case in sorted(known, key=lambda case: order.index(case.dtype)):
        first.setdefault((case.entry, case.mode), case)
    return list(first.values())


def samples(info, case: Case, seed: int = 0) -> list:
    """Returns the entry's samples, which are the same each time. Another seed draws other numbers."""
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    return list(info.sample_inputs("cpu", DTYPES[case.dtype], requires_grad=case.mode == "gradient", set_seed=seed == 0))


def drawn_anew(info, case: Case, index: int):
    """Returns a function of a seed that returns sample `index` with other numbers."""
    return lambda seed: samples(info, case, seed)[index]


def chosen(count: int, limit: int, seed: str) -> list[int]:
    """Returns at most `limit` of `count` samples (0: all), spread evenly from a start that `seed` determines."""
    if limit == 0 or count <= limit:
        return list(range(count))
    start = int(hashlib.sha256(seed.encode()).hexdigest(), 16) % count
    return sorted({(start + i * count // limit) % count for i in range(limit)})
