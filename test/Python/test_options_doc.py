"""docs/reference/options.md and environment.md agree with the declarations in the sources."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_options_doc  # noqa: E402


def test_options_page_is_up_to_date():
    assert write_options_doc.PAGE.read_text() == write_options_doc.page()


def test_the_page_of_variables_is_what_the_tables_give():
    assert write_options_doc.ENVIRONMENT.read_text() == write_options_doc.environment_page()


def test_every_environment_variable_that_the_sources_read_is_on_the_page():
    """Checks the names that C++ and Python have as strings, those that scripts expand, and the string arguments of getenv and os.environ."""
    known = set(re.findall(r"^\| `(\w+)` \|", write_options_doc.ENVIRONMENT.read_text(), re.MULTILINE))
    read = {}
    sources = subprocess.run(["git", "ls-files", "lib", "python", "tools", "include"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    for path in sources:
        if path.endswith((".cpp", ".h", ".py")) and "CheckHeaders" not in path and path != "tools/dev/write_options_doc.py":
            for name in re.findall(r"[\"'](TILEWRIGHT_[A-Z_]+)[\"']", (ROOT / path).read_text()):
                read[name] = path
            for name in re.findall(r"getenv\(\"(\w+)\"\)|os\.environ(?:\.get\(|\[)\"(\w+)\"", (ROOT / path).read_text()):
                read["".join(name)] = path
        elif path.endswith(".sh"):
            for name in re.findall(r"\$\{?(TILEWRIGHT_[A-Z_]+)", (ROOT / path).read_text()):
                read[name] = path
    set_by_themselves = {"PYTHONPATH", "LD_LIBRARY_PATH"}  # extended for a child process, not read
    assert len(read) > 15 and not {name: path for name, path in read.items() if name not in known | set_by_themselves}
