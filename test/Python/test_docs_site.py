"""The documentation site builds without warnings, its code runs, and the names that it contains agree with the sources.

The code of the README and of the tutorials is run by `blocks()` and `follow()`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_decisions_index  # noqa: E402
import write_dialect_doc  # noqa: E402


def blocks(path: Path, language: str = r"\w+") -> list[str]:
    """Returns the text of the page's code blocks in that language, or (language, text) of all its code blocks."""
    found = re.findall(rf"^```({language})\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    return found if language == r"\w+" else [text for _, text in found]


def run(command, folder: Path) -> str:
    tools = [str(BUILD / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(tools), "TILEWRIGHT_CACHE_DIR": str(folder / "cache")}
    environment |= {"BUILD": str(BUILD), "DOCS": str(ROOT / "docs")}
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


PART = "-- end of a part"


def compare(text: str, printed: str, expected: str | None) -> None:
    """Fails if `text` printed something other than `expected`, in which `...` stands for any text of a line."""
    if expected is not None:
        pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
        assert re.fullmatch(pattern, printed.strip()), f"{text}\nprinted:\n{printed}"


def run_parts(parts: list[tuple[str, str | None]], folder: Path) -> None:
    """Runs one program in Python. Each part prints the expected output."""
    printed = run([sys.executable, "-c", "\n".join(f"{text}\nprint({PART!r}, flush=True)" for text, _ in parts)], folder)
    for (text, expected), said in zip(parts, printed.split(PART + "\n"), strict=False):
        compare(text, said, expected)


def follow(path: Path, folder: Path) -> None:
    """Follows the steps of a tutorial in order.

    Python blocks with only `output` blocks between them are one program. A block whose first line is a comment with a file's name is written to that
    file. A `sh` block is run. Each program and `sh` block must print the `output` block that follows it, if there is one.
    """
    steps, parts = blocks(path), []
    for (language, text), after in zip(steps, [*steps[1:], ("", "")], strict=True):
        expected = after[1] if after[0] == "output" else None
        if language == "python":
            parts.append((text, expected))
        elif language != "output":
            if parts:
                run_parts(parts, folder)
                parts = []
            if language == "sh":
                compare(text, run(["bash", "-ec", text], folder), expected)
            elif name := re.match(r"(?:/\*|//|#) ([\w-]+\.\w+)(?: \*/)?\n", text):
                (folder / name[1]).write_text(text)
    if parts:
        run_parts(parts, folder)


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


# Maps each tutorial to the programs that it needs.
TUTORIALS = {
    "first-model": [],
    "train": [],
    "deploy-from-c": ["cc"],
    "write-a-pass": ["clang++-22", "ninja", "FileCheck-22"],
    "write-a-target": ["clang++-22", "ninja"],
}


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_run(name, tmp_path):
    for tool in TUTORIALS[name]:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    if "ninja" in TUTORIALS[name] and not (BUILD / "CMakeCache.txt").exists():
        pytest.skip(f"{BUILD} is not a build folder, from which a package can be installed")
    follow(ROOT / f"docs/tutorials/{name}.md", tmp_path)


def test_every_tutorial_is_run():
    assert {path.stem for path in (ROOT / "docs/tutorials").glob("*.md")} == set(TUTORIALS)


def test_quoted_code_of_the_target_is_that_of_the_example():
    quoted = blocks(ROOT / "docs/tutorials/write-a-target.md", "cpp")
    text = (ROOT / "docs/examples/guest-target/GuestTarget.cpp").read_text()
    assert len(quoted) >= 6 and not [code for code in quoted if code not in text]


def test_the_header_in_the_reference_of_the_c_interface_is_what_compile_writes(tmp_path):
    shutil.copy(ROOT / "docs/examples/ahead-of-time/classify.mlir", tmp_path)
    run(["tilewright", "compile", "classify.mlir", "-o", "classify.so"], tmp_path)
    page = ROOT / "docs/reference/c-abi.md"
    assert blocks(page, "c") == [(tmp_path / "classify.h").read_text()]
    functions = re.findall(r"^\w.*?\b(classify_\w+)\(.*\);$", blocks(page, "c")[0], re.MULTILINE)
    table = page.read_text().split("## Tensors")[0]
    assert len(functions) == 12 and not [name for name in functions if f"`{name}(" not in table]


def test_every_public_name_of_the_package_is_in_its_reference():
    import tilewright

    page = (ROOT / "docs/reference/python.md").read_text()
    documented = set(re.findall(r"^\.\. (?:auto|py:)\w+:: tilewright\.(\w+)$", page, re.MULTILINE))
    assert documented == set(tilewright.__all__)
    assert not [name for name in documented if not getattr(tilewright, name).__doc__ and f"py:exception:: tilewright.{name}" not in page]


def test_the_documentation_of_a_report_names_all_of_its_public_members():
    import tilewright

    members = {name for name in vars(type(tilewright.report())) if not name.startswith("_")} - {"model"}
    assert {"html", "to_json"} <= members and not [name for name in members if f"report.{name}(" not in tilewright.report.__doc__]


def passes_of(pipeline: str) -> list[str]:
    """Returns Tilewright's passes of a pipeline of tilewright-opt, in order."""
    done = subprocess.run([BUILD / "bin/tilewright-opt", "-", pipeline, "--dump-pass-pipeline"], input="", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return re.findall(r"\b(tw-[\w-]+)", done.stderr + done.stdout)


def test_the_diagrams_of_the_architecture_agree_with_the_pipelines():
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    declared = set(write_dialect_doc.names_of_passes())
    assert not set(re.findall(r"\btw-(?!stage-)[\w-]+", page)) - declared
    diagrams = blocks(ROOT / "docs/explanation/architecture.md", "text")
    shared, cpu = (next(text for text in diagrams if word in text) for word in ("tw-lower-graph", "tw-resolve-layouts"))
    for diagram, stages in ((shared, ["graph", "structured"]), (cpu, ["tiled", "vector", "target"])):
        parts = re.split(r"^ (graph|structured|tiled|vector|target|LLVM)\b", diagram, flags=re.MULTILINE)
        drawn = {name: re.findall(r"\b(tw-[\w-]+)", text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
        for stage in stages:
            real = passes_of(f"--tw-stage-{'cpu' if stage == 'target' else stage}")
            assert real and [name for name in drawn[stage] if name in real] == real, stage
