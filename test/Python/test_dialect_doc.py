"""docs/reference/dialects and docs/reference/passes.md agree with the TableGen files and the sources of the passes."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_dialect_doc  # noqa: E402

WRITE = "run: python tools/dev/write_dialect_doc.py"


@pytest.mark.parametrize("name", write_dialect_doc.DIALECTS)
def test_the_page_of_a_dialect_is_current(name):
    assert (write_dialect_doc.FOLDER / f"{name}.md").read_text() == write_dialect_doc.dialect(name), WRITE


def test_the_page_of_passes_is_current():
    assert write_dialect_doc.PASSES.read_text() == write_dialect_doc.passes(), WRITE


def test_every_pass_has_the_comment_of_its_source_file():
    passes = write_dialect_doc.names_of_passes()
    notes = write_dialect_doc.comments()
    assert len(passes) > 50 and not [name for name in passes if "Test" not in notes.get(name, "")]


def test_every_op_and_attribute_of_a_dialect_is_on_its_page():
    for name, file in write_dialect_doc.DIALECTS.items():
        page = write_dialect_doc.dialect(name)
        source = (ROOT / file).read_text()
        ops = [f"{name}.{op}" for op in re.findall(r"^def \w+Op : \w+<\"(\w+)\"", source, re.MULTILINE)]
        attributes = re.findall(r"^def \w+Attr : (?:AttrDef<\w+, |\w+_Attr<)\"(\w+)\"", source, re.MULTILINE)
        assert ops or attributes
        assert not [op for op in ops if f"`{op}`" not in page]
        assert not [attribute for attribute in attributes if f"{attribute}Attr" not in page]
