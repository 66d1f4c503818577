"""tools/test.sh runs the parts that it is asked for, and tools/dev/sum_tests.py records the parts of runs with --full."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
import sum_tests  # noqa: E402


@pytest.fixture
def record(tmp_path, monkeypatch):
    monkeypatch.setattr(sum_tests, "LAST_FULL_RUN", tmp_path / "last-full-run.json")
    return tmp_path / "last-full-run.json"


def summed(monkeypatch, folder, *words):
    monkeypatch.setattr(sys, "argv", ["sum_tests.py", str(folder), *words])
    return sum_tests.main()


def test_parts_of_full_runs_are_recorded_and_printed(record, tmp_path, monkeypatch, capsys):
    results = tmp_path / "results"
    results.mkdir()
    (results / "opinfo.rc").write_text("0")
    assert summed(monkeypatch, results, "--full") == 0
    (results / "opinfo.rc").rename(results / "tidy.rc")
    (results / "tidy.rc").write_text("1")
    assert summed(monkeypatch, results, "--full") == 1
    runs = json.loads(record.read_text())
    assert [(part, run["passed"], run["failed"]) for part, run in runs.items()] == [("opinfo", 1, 0), ("tidy", 0, 1)]
    capsys.readouterr()
    summed(monkeypatch, results)
    printed = capsys.readouterr().out
    assert "  opinfo: " in printed and "  not recorded: pytest, " in printed


def test_every_part_of_full_runs_is_in_the_script():
    script = (ROOT / "tools/test.sh").read_text()
    assert all(f"run {part} " in script for part in sum_tests.FULL_PARTS)


@pytest.mark.parametrize("words, said", [(["--all"], "usage:"), (["--full", "opinfoo"], "there is no part 'opinfoo'")])
def test_wrong_arguments_of_the_script_are_refused(words, said):
    done = subprocess.run(["bash", str(ROOT / "tools/test.sh"), *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and said in done.stderr
