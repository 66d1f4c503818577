"""Inputs that eager refuses: a compiled call must raise an error of the same type, or of the type that aot_eager raises.

    python test/Conformance/opinfo/errors.py [--only REGEX | --share] [--from errors,modules,dtypes]

`errors` are the error inputs of op_db, `modules` those of module_db, and `dtypes` the samples of op_db in dtypes for
which eager has no kernel. Prints one line per input for which a compiled program returns a result or raises another error, and a last line with
the counts. Inputs for which aot_eager also returns a result are attributed to torch: it removes or changes the
refused operation before any backend is called.
"""

from __future__ import annotations

import argparse
import collections
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness")]
import built  # noqa: E402, F401
import torch  # noqa: E402
from shares import share  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

BACKENDS = ("tilewright", "aot_eager")


@dataclass
class Refused:
    """A call that torch's tests expect eager to refuse."""

    name: str
    function: object
    arguments: tuple
    keywords: dict


def of_operators(only: re.Pattern) -> Iterator[Refused]:
    for info in op_db:
        if info.error_inputs_func is None or not only.search(info.full_name):
            continue
        try:
            given = list(info.error_inputs("cpu"))
        except Exception:  # some entries create their inputs on a device that this machine does not have
            continue
        for number, each in enumerate(given):
            sample = each.sample_input
            yield Refused(f"{info.full_name} {number}", info.op, (sample.input, *sample.args), sample.kwargs)


def of_modules(only: re.Pattern) -> Iterator[Refused]:
    from torch.testing._internal.common_modules import ErrorModuleInput, ModuleErrorEnum

    for info in module_db:
        if info.module_error_inputs_func is None or not only.search(info.name):
            continue
        inputs = info.module_error_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)
        for number, each in enumerate(inputs):
            assert isinstance(each, ErrorModuleInput)
            if each.error_on != ModuleErrorEnum.FORWARD_ERROR:
                continue  # the constructor raises the error, so nothing is compiled
            made = each.module_error_input
            module = info.module_cls(*made.constructor_input.args, **made.constructor_input.kwargs)
            yield Refused(f"{info.name} {number}", module, made.forward_input.args, made.forward_input.kwargs)


DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32",
          torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}  # fmt: skip
SAMPLES = 3  # maximum number of samples per entry and dtype
PARTS = 60  # the share contains one of this many entries


def of_dtypes(only: re.Pattern) -> Iterator[Refused]:
    """Yields samples whose tensors of the entry's first dtype are converted to a dtype that the entry does not
    support."""
    for info in op_db:
        if not only.search(info.full_name):
            continue
        had = info.supported_dtypes("cpu")
        first = next((dtype for dtype in DTYPES if dtype in had), None)
        if first is None:
            continue
        try:
            samples = [sample for sample, _ in zip(info.sample_inputs("cpu", first), range(SAMPLES))]
        except Exception:
            continue
        for dtype in DTYPES:
            if dtype in had:
                continue

            def cast(value, dtype=dtype):
                return value.to(dtype) if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.dtype == first else value

            for number, sample in enumerate(samples):
                arguments, keywords = torch.utils._pytree.tree_map(cast, ((sample.input, *sample.args), sample.kwargs))
                yield Refused(f"{info.full_name} {DTYPES[dtype]} {number}", info.op, arguments, keywords)


def ending(function, case: Refused) -> type | None:
    """Returns the type of the error that a call raises, or None if it returns."""

    def copied(value):
        return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) and value.layout == torch.strided else value

    arguments, keywords = torch.utils._pytree.tree_map(copied, (case.arguments, case.keywords))
    try:
        function(*arguments, **keywords)
    except Exception as error:
        return type(error)
    return None


def judge(case: Refused) -> str:
    """Returns '' if the compiled call raises an error of a permitted type, 'answered' if eager returns a result, 'torch' if aot_eager
    returns a result, and otherwise a description of the difference."""
    eager = ending(case.function, case)
    if eager is None:
        return "answered"
    ends = {}
    for backend in BACKENDS:
        torch._dynamo.reset()
        ends[backend] = ending(torch.compile(lambda *a, **k: case.function(*a, **k), backend=backend), case)
        if backend == "tilewright" and ends[backend] is not None and issubclass(ends[backend], eager):
            return ""
    ours, theirs = ends["tilewright"], ends["aot_eager"]
    if theirs is None:
        return "torch"
    if ours is None:
        return f"answered; eager raises {eager.__name__}, aot_eager {theirs.__name__}"
    return "" if issubclass(ours, theirs) else f"{ours.__name__}; eager raises {eager.__name__}, aot_eager {theirs.__name__}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run only entries in whose name this regular expression is found")
    parser.add_argument("--share", action="store_true", help=f"run only the share: one of every {PARTS} entries")
    parser.add_argument("--from", dest="sources", default="errors,modules", help="sources of inputs, separated by commas: errors, modules, dtypes")
    arguments = parser.parse_args()
    names = [info.full_name for info in op_db] + [info.name for info in module_db]
    only = re.compile(f"^({'|'.join(map(re.escape, share(names, PARTS)))})$" if arguments.share else arguments.only)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)  # torch logs the location of each refusal
    sources = {"errors": of_operators, "modules": of_modules, "dtypes": of_dtypes}
    counts = collections.Counter()
    for case in (found for of in arguments.sources.split(",") for found in sources[of](only)):
        said = judge(case)
        counts[said if said in ("answered", "torch", "") else "bad"] += 1
        if said not in ("", "answered", "torch"):
            print(f"{case.name}: {said}", flush=True)
    bad, refused = counts["bad"], counts[""]
    print(f"{refused + bad} refused inputs, {bad} findings; aot_eager returns a result for {counts['torch']} other inputs, "
          f"eager for {counts['answered']}")  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
