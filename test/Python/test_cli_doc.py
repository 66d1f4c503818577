"""docs/reference/cli.md equals the output of the programs' --help."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_cli_doc  # noqa: E402


def test_the_page_is_what_the_programs_print():
    assert write_cli_doc.PAGE.read_text() == write_cli_doc.page(), "run: PYTHONPATH=build/python python tools/dev/write_cli_doc.py"


def test_every_program_of_the_build_is_on_the_page():
    declared = "\n".join(path.read_text() for path in (ROOT / "tools").glob("*/CMakeLists.txt"))
    programs = re.findall(r"^add_executable\(([\w-]+)", declared, re.MULTILINE)
    assert len(programs) >= 5 and not [name for name in programs if name not in write_cli_doc.PAGE.read_text()]


def test_every_flag_of_a_command_is_in_its_table():
    text = write_cli_doc.said("tilewright", "compile", "--help").split("Generic Options:")[0]
    assert len(re.findall(r"^  -", text, re.MULTILINE)) == "\n".join(write_cli_doc.section("compile")).count("\n| `-")
