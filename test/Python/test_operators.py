"""The table of ATen operators is the only list of views, and agrees with torch's schemas and with docs/reference/operators.md."""

import ast
import sys
from pathlib import Path

import pytest
import torch
from tilewright import operators
from tilewright.decompositions import families
from tilewright.fx import outputs

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_operators_doc  # noqa: E402

PINNED = torch.__version__.startswith(write_operators_doc.TORCH + ".")
VIEWS = ("view", "views", "alias", "reinterpret")
MAYBE = ("reshape", "conversion", "inference", "unclear")

# According to the schemas of these overloads, the result is a new tensor, although eager may return a view. The comments in lib/Import/ATen
# have the reasons.
SAYS_FRESH = {
    "aten._unsafe_view.default", "aten.atleast_1d.default", "aten.atleast_2d.default", "aten.atleast_3d.default", "aten.lift.default",
}  # fmt: skip
# These imported overloads also have a decomposition, for arguments that the importer refuses, or because the decomposed form is faster.
ALSO_DECOMPOSED = {
    "aten.native_group_norm.default", "aten.index_put.default", "aten.max_unpool2d.default",
}  # fmt: skip
# No graph of dense tensors contains these view operators: operators of sparse and nested tensors, of dual numbers, of autocast, and of
# lists in TorchScript.
OTHERS = ("_nested_", "_sparse_", "_test_", "_autocast_", "_unpack_dual", "_make_dual", "_fw_primal", "coalesce", "slice_inverse")


def overloads() -> dict[str, torch._ops.OpOverload]:
    """Returns the rows' overloads in this version of torch, by name."""
    named = {name: write_operators_doc.overload(name) for name in operators.table()}
    return {name: op for name, op in named.items() if op is not None}


def is_view(op) -> bool:
    """Returns whether the schema states that a result is a view."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns)


def test_every_row_is_an_overload_of_torch():
    if not PINNED:
        pytest.skip(f"other versions than torch {write_operators_doc.TORCH} have other operators")
    known = overloads()
    assert not [name for name, row in operators.table().items() if name.startswith("aten.") and name not in known and row.family != "Synonyms"]


def test_aliasing_agrees_with_the_schemas():
    wrong = {}
    for name, op in overloads().items():
        aliasing = operators.table()[name].aliasing
        if op._schema.is_mutable or aliasing in MAYBE or name in SAYS_FRESH:
            continue
        if is_view(op) != (aliasing in VIEWS):
            wrong[name] = aliasing
    assert not wrong


def test_every_view_of_a_dense_tensor_has_a_row():
    missing = []
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        base, _, kind = rest.partition(".")
        op = getattr(getattr(torch.ops.aten, base, None), kind or "default", None) if space == "aten" else None
        if op is None or not is_view(op) or "Dimname" in str(op._schema) or base.startswith(OTHERS) or base.endswith(("values", "indices")):
            continue
        if str(op) not in operators.table():
            missing.append(str(op))
    assert not missing


def test_lists_of_views_are_those_of_the_schemas():
    for op in outputs.VIEWS | outputs.VIEW_LISTS:
        if not op._schema.is_mutable:
            assert str(op._schema.returns[0].type).startswith("List") == (op in outputs.VIEW_LISTS), op


def test_an_operator_is_imported_or_decomposed_except_those_that_are_decomposed_in_some_cases():
    assert {str(op) for op in families.own()} & operators.of_kind("import") == ALSO_DECOMPOSED


def views_in(node: ast.AST) -> list[str]:
    """Returns the overloads of views among the elements of a set, list or tuple."""
    table = operators.table()
    names = [ast.unparse(e).removeprefix("torch.ops.") for e in node.elts]
    return [name for name in names if name in table and table[name].aliasing in VIEWS]


def test_no_python_file_has_a_list_of_views():
    found = []
    for folder in ("fx", "dynamo", "runtime", "reports"):
        for path in sorted((ROOT / "python/tilewright" / folder).glob("*.py")):
            lists = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, (ast.Set, ast.List, ast.Tuple))]
            found += [f"{path.name}:{node.lineno}: {', '.join(names)}" for node in lists if len(names := views_in(node)) > 1]
    assert not found


def test_the_page_is_current():
    if not PINNED:
        pytest.skip(f"the page is written with torch {write_operators_doc.TORCH}; this is {torch.__version__}")
    assert write_operators_doc.PAGE.read_text() == write_operators_doc.page(), (
        "run: PYTHONPATH=build/python python tools/dev/write_operators_doc.py")  # fmt: skip
