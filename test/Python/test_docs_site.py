"""The documentation site builds without warnings, and the code of the README and of the tutorials runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_decisions_index  # noqa: E402


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


def run(command, folder: Path) -> str:
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}", "TILEWRIGHT_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_site_builds_without_warnings(tmp_path):
    pytest.importorskip("furo")
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", tmp_path / "doctrees", ROOT / "docs", tmp_path / "site"],
                          capture_output=True, text=True, timeout=600)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/tutorials/first-model.html").exists()


def test_index_of_decisions_is_up_to_date():
    assert (write_decisions_index.FOLDER / "index.md").read_text() == write_decisions_index.text()


def test_code_of_the_readme_runs(tmp_path):
    programs, commands = blocks(ROOT / "README.md", "python"), blocks(ROOT / "README.md", "sh")
    assert len(programs) == 2 and (ROOT / "README.md").read_text().count("\n") <= 150
    for program in programs:
        run([sys.executable, "-c", program], tmp_path)
    commands = [block for block in commands if block.startswith("tilewright ")]
    assert len(commands) == 2
    for block in commands:
        run(["bash", "-ec", block], tmp_path)


@pytest.mark.parametrize("name", ["first-model"])
def test_code_of_the_tutorial_runs(name, tmp_path):
    run([sys.executable, "-c", "\n".join(blocks(ROOT / f"docs/tutorials/{name}.md", "python"))], tmp_path)
