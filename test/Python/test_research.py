"""Every block of commands of docs/research.md prints the block of output that follows it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import tilewright

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(tilewright.__file__).parents[2]


def test_commands_of_the_research_page_print_its_output(tmp_path):
    if not (BUILD / "CMakeCache.txt").exists():
        pytest.skip("tilewright was not imported from a build tree")
    cached = dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))
    tools = [BUILD / "bin", pathlib.Path(sys.executable).parent, *(pathlib.Path(cached[t]).parent for t in ("CMAKE_COMMAND", "CMAKE_MAKE_PROGRAM", "CMAKE_CXX_COMPILER"))]
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")  # the sources are not reachable from there
    environment = {**os.environ, "PATH": os.pathsep.join([*map(str, tools), os.environ["PATH"]]), "BUILD": str(BUILD), "DOCS": str(tmp_path / "docs")}
    text = (ROOT / "docs" / "research.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```\n(?:\n```output\n(.*?)```)?", text, re.DOTALL)
    assert len(blocks) == text.count("```sh\n") and sum(bool(expected) for _, expected in blocks) == text.count("```output\n") >= 7
    for commands, expected in blocks:
        done = subprocess.run(["bash", "-c", commands], cwd=tmp_path, env=environment, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.stdout.strip() == expected.strip(), f"{commands}\n{done.stdout}"
