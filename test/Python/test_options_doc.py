"""docs/reference/options.md agrees with the declarations in the sources."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_options_doc  # noqa: E402


def test_options_page_is_up_to_date():
    assert write_options_doc.PAGE.read_text() == write_options_doc.page()


def test_every_environment_variable_is_documented():
    from dataclasses import fields

    from tilewright.options import CompileOptions

    known = {*write_options_doc.VARIABLES, *write_options_doc.DEVELOPMENT}
    for option in fields(CompileOptions):
        known |= {f"TILEWRIGHT_{option.name.upper()}", option.metadata["older"]}
    read = {}
    sources = subprocess.run(["git", "ls-files", "lib", "python", "tools", "include"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    for path in sources:
        if path.endswith((".cpp", ".h", ".py")) and "CheckHeaders" not in path and path != "tools/dev/write_options_doc.py":
            for name in re.findall(r"[\"'](TILEWRIGHT_[A-Z_]+)[\"']", (ROOT / path).read_text()):
                read[name] = path
    assert len(read) > 15 and not {name: path for name, path in read.items() if name not in known}
