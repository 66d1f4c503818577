#!/usr/bin/env python3
"""Writes docs/reference/operators.md: the treatment of each overload in torch.compile and in plain files of torch.export.

    PYTHONPATH=build/python python tools/dev/write_operators_doc.py

The rows are those of the table of ATen operators (lib/Import/ATen/Table.h), the keys of Tilewright's and torch's decompositions, and
torch's core operators. torch's operators depend on its version, so the page is written with the version that tools/setup.sh installs
(TORCH).
test/Python/test_operators.py fails if the page is not current.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import torch
from tilewright import operators
from tilewright.decompositions import families
from tilewright.decompositions.table import decompositions
from tilewright.fx import pair_rules, pairs  # noqa: F401 -- pair_rules fills pairs.RULES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/operators.md"
TORCH = "2.13"

INTRODUCTION = f"""# Operators

This page lists for each operator of torch whether it is imported, decomposed, or run in eager. `torch.compile` and `tilewright.export` pass the
*imported* operators to the compiler. Before that, they decompose other operators into imported ones. An operator that is neither imported nor
decomposed runs in eager with `torch.compile`, and is an error of `tilewright.export`. A plain file, written with `torch.export.save`, also contains
composite operators, which are imported as well. The table of imported operators is `lib/Import/ATen/Table.h`. If the importer refuses a case of an
operator, the operator runs in eager, and [the report](../how-to/explain.md) has the reason.

Rows that depend on torch are those of torch {TORCH}. Overloads that write into an argument are listed only if they are core operators, because torch
replaces them by functional operators.

| with torch.compile | meaning |
|---|---|
| imported | is compiled |
| imported, some cases decomposed by Tilewright | is compiled; some cases are replaced by other operators first, in `python/tilewright/decompositions` |
| decomposed by Tilewright | is replaced by other operators, in `python/tilewright/decompositions`; cases that the decomposition does not support run in eager |
| decomposed by torch | is replaced by other operators before torch passes the graph to Tilewright, or by one of torch's decompositions |
| rewritten as pairs | complex numbers become pairs of real numbers ([decision 0046](../decisions/0046-complex-numbers.md)) |
| eager | runs in eager, between compiled segments of the graph |
| ...; imported from plain files | as above with `torch.compile`; a plain file contains the operator itself, which is compiled |

| result | where eager stores it |
|---|---|
| new | in separate memory |
| view | in the memory of the first operand |
| views | a list of views of the first operand |
| alias | a view with the same sizes and strides |
| other dtype | a view whose bytes are read as other values |
| view or copy | a view if the strides of the operand permit the new shape |
| operand or copy | the operand itself if it already has the wanted dtype, device and strides |
| operand in inference | in inference the operand itself, in training a new tensor |
| unclear | possibly in the memory of any operand |
"""
RESULTS = {"fresh": "new", "view": "view", "views": "views", "alias": "alias", "reinterpret": "other dtype", "reshape": "view or copy",
           "conversion": "operand or copy", "inference": "operand in inference", "unclear": "unclear"}  # fmt: skip

WRITES = "writes into its argument: torch replaces it by a functional operator, if there is one"
# The treatment of core operators that have no importer and no decomposition. The keys are patterns of names; the first match applies.
REASONS = {
    r"sym_\w+": "a size, which is known without executing the operator",
    r"_fft_.*": "eager: Fourier transforms have no implementation",
    r"nonzero": "eager: the size of its result depends on the contents of a tensor",
    r"_local_scalar_dense": "eager: its result is a number on the host that depends on the contents of a tensor",
    r"randperm": "eager: it draws torch's own sequence of random numbers",
    r".*": "eager",
}


def core() -> set:
    """Returns torch's core operators."""
    found = set()
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        op = getattr(getattr(torch.ops.aten, base, None), overload or "default", None) if space == "aten" else None
        if op is not None and torch.Tag.core in op.tags:
            found.add(op)
    return found


def overload(name: str):
    """Returns torch's overload of this name, or None."""
    space, op, kind = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), op, None), kind, None)


def is_composite(op) -> bool:
    """Returns True if torch replaces an operator by others before a backend gets the graph."""
    keys = torch._C.DispatchKey
    has_kernel = torch._C._dispatch_has_kernel(op.name())
    return has_kernel and (keys.Autograd in op.py_kernels or op.has_kernel_for_dispatch_key(keys.CompositeImplicitAutograd))


def is_shown(op) -> bool:
    """Returns True if an overload of a table is on the page. Overloads of other namespaces are not, because they depend on torch's build."""
    return isinstance(op, torch._ops.OpOverload) and op.namespace in ("aten", "prims") and not op._schema.is_mutable


class Treatments:
    """The treatment of an overload by torch.compile."""

    def __init__(self):
        self.own = {str(op) for op in families.own()}
        self.torch = {str(op) for op in decompositions() if is_shown(op)} - self.own
        self.pairs = {str(op) for op in pairs.RULES if is_shown(op)}

    def of(self, name: str) -> str:
        row, op = operators.table().get(name), overload(name)
        if row is not None and row.kind == "import":
            return "imported, some cases decomposed by Tilewright" if name in self.own else "imported"
        treatment = ("decomposed by Tilewright" if name in self.own
                else "decomposed by torch" if name in self.torch or (op is not None and is_composite(op))
                else "rewritten as pairs" if name in self.pairs
                else "eager")  # fmt: skip
        if row is None or row.kind != "composite":
            return treatment
        return "imported" if treatment == "eager" else treatment + "; imported from plain files"


def table(head: str, rows: list[tuple[str, ...]]) -> list[str]:
    """Returns the lines of a table. Rows that differ only in the overload of the first cell's operator are one row."""
    joined: dict[tuple, list[str]] = {}
    for name, *rest in sorted(rows):
        joined.setdefault((name.rpartition(".")[0], *rest), []).append(f"`{name}`")
    columns = head.count("|") + 1
    return [f"| {head} |", "|---" * columns + "|", *(f"| {' | '.join([', '.join(names), *rest])} |" for (_, *rest), names in joined.items()), ""]


def files() -> dict[str, ModuleType]:
    """Returns the files of decompositions, by name."""
    return {name: module for name, module in sorted(vars(families).items()) if isinstance(module, ModuleType) and hasattr(module, "TABLE")}


def summary(module: ModuleType) -> str:
    """Returns the first sentence of a module's docstring."""
    return re.split(r"(?<=\.)\s", module.__doc__.replace("\n", " "), maxsplit=1)[0].strip()


def reason(name: str) -> str:
    op, (_, base, _) = overload(name), name.split(".")
    if op._schema.is_mutable:
        return WRITES
    return next(why for pattern, why in REASONS.items() if re.fullmatch(pattern, base))


def page() -> str:
    treatments, lines = Treatments(), [INTRODUCTION]
    by_family: dict[str, list[tuple[str, ...]]] = {}
    for name, row in operators.table().items():
        op = overload(name)
        if name.startswith("aten.") and (op is None or not is_shown(op)):
            continue  # a synonym of an operator may lack some of its overloads
        by_family.setdefault(row.family, []).append((name, treatments.of(name), RESULTS[row.aliasing]))
    listed = set(operators.table())
    for title, rows in by_family.items():
        lines += [f"## {title}", "", *table("overload | with torch.compile | result", rows)]
    lines += ["## Decomposed by Tilewright", "", "Operators that are not in the tables above, by file of `python/tilewright/decompositions`.", ""]
    for name, module in files().items():
        rows = {str(op) for op in module.TABLE} - listed
        listed |= rows
        if rows:
            lines += [f"### {name}", "", summary(module), "", *table("overload", [(row,) for row in rows])]
    rest = treatments.torch - listed
    listed |= rest
    lines += ["## Decomposed by torch", "", *table("overload", [(name,) for name in rest])]
    numbers = treatments.pairs - listed
    lines += ["## Complex numbers", "", "Operators that are only rewritten as pairs.", "", *table("overload", [(name,) for name in numbers])]
    rest = {str(op) for op in core()} - listed - numbers
    lines += ["## Other core operators", "", "Operators of torch's core set that are in no table above.", ""]
    lines += table("overload | with torch.compile", [(name, reason(name)) for name in rest])
    return "\n".join([*lines, "Written by `tools/dev/write_operators_doc.py`.", ""])


if __name__ == "__main__":
    if not torch.__version__.startswith(TORCH + "."):
        raise SystemExit(f"write_operators_doc.py: the page is written with torch {TORCH}, not {torch.__version__}")
    PAGE.write_text(page())
