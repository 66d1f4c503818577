"""Tests of the object cache: a second process compiles nothing. Damaged entries are compiled again, and the report
states the reason."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import warnings

import pytest
import torch

import tilewright
from tilewright.dynamo.backend import tilewright as backend

pytestmark = pytest.mark.reads_cache

PROGRAM = textwrap.dedent("""
    import json, sys, warnings
    import torch, tilewright
    from tilewright.dynamo.backend import tilewright as backend

    torch.manual_seed(0)
    x, w = torch.randn(5, 32), torch.randn(32, 48)
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        fn = torch.compile(lambda x, w: torch.relu(x @ w).sum(-1), backend=backend, options=json.loads(sys.argv[1]))
        y = fn(x, w)
        fn(x, w)
    (details,) = tilewright.report()[-1].details()
    details["stages"] = [name for name, _ in details["stage_milliseconds"]]
    details["bits"] = y.view(torch.int32).tolist()
    details["warnings"] = [str(w.message) for w in caught if "tilewright" in str(w.message)]
    print(json.dumps(details))
""")


@pytest.fixture
def process(tmp_path):
    """Compiles one graph in a separate process, with the cache in tmp_path / "cache"."""

    def run(options=None, lines_above=0):
        source = tmp_path / "program.py"
        source.write_text("#\n" * lines_above + PROGRAM)
        package = str(pathlib.Path(tilewright.__file__).parent.parent)
        env = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": package}
        done = subprocess.run([sys.executable, source, json.dumps(options or {})], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def here(monkeypatch, tmp_path):
    """Compiles one graph in this process, with the cache in tmp_path / "cache"."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    x, w = torch.randn(5, 32), torch.randn(32, 48)

    def run(options=None):
        tilewright.report(clear=True)
        torch._dynamo.reset()
        with warnings.catch_warnings(record=True) as caught, torch.no_grad():
            warnings.simplefilter("always")
            y = torch.compile(lambda x, w: torch.relu(x @ w).sum(-1), backend=backend, options=options or {})(x, w)
        (details,) = tilewright.report()[-1].details()
        details["stages"] = [name for name, _ in details["stage_milliseconds"]]
        details["bits"] = y.view(torch.int32).tolist()
        details["warnings"] = [str(w.message) for w in caught if "tilewright" in str(w.message)]
        return details

    return run


def entries(folder):
    return [p for p in folder.glob("??/*") if p.is_file()]


def test_second_process_compiles_nothing(process, tmp_path):
    first, second = process(), process(lines_above=7)
    assert first["cache"].startswith("miss: there is no entry") and "codegen" in first["stages"]
    assert second["cache"].startswith("hit: ") and second["stages"] == ["key", "cache", "load"]
    assert second["bits"] == first["bits"]
    assert second["cached_kernels"] == first["distinct_kernels"] > 0 and first["cached_kernels"] == 0
    assert len(entries(tmp_path / "cache")) == 1
    # Line numbers are not part of the key; they are those of the current source.
    lines = [[int(d.pop("where").rsplit(":", 1)[1]) for d in details["decisions"]] for details in (first, second)]
    assert lines[0] and lines[1] == [line + 7 for line in lines[0]]
    assert second["decisions"] == first["decisions"]


@pytest.mark.parametrize("damage", ["truncated", "altered", "foreign"])
def test_damaged_entry_is_quarantined_and_compiled_again(here, tmp_path, damage):
    first = here()
    (entry,) = entries(tmp_path / "cache")
    whole = entry.read_bytes()
    middle = len(whole) // 2
    entry.write_bytes({"truncated": whole[:middle], "altered": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
                       "foreign": b"something else"}[damage])  # fmt: skip
    again = here()
    assert again["cache"].startswith("miss: its entry was") and again["bits"] == first["bits"]
    assert len(again["warnings"]) == 1 and "compiled again" in again["warnings"][0] and "quarantine" in again["warnings"][0]
    assert len(list((tmp_path / "cache" / "quarantine").iterdir())) == 1
    assert here()["cache"].startswith("hit: ")


@pytest.mark.parametrize("change", [{"threads": 1}, {"cpu": "x86-64-v3"}, {"rounding": "eager"}])
def test_changed_option_misses_the_cache(here, change):
    if change == {"threads": 1} and len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one thread is all there is")
    assert here()["cache"].startswith("miss: ")
    assert here(change)["cache"].startswith("miss: there is no entry")
    assert here(change)["cache"].startswith("hit: ") and here()["cache"].startswith("hit: ")


@pytest.mark.parametrize("how", ["option", "environment", "dump"])
def test_cache_is_off_by_option_environment_variable_or_dump(here, tmp_path, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
    options = {"option": {"cache": False}, "environment": {}, "dump": {"dump": str(tmp_path / "dump")}}[how]
    for _ in range(2):
        details = here(options)
        assert details["cache"].startswith("off: ") and "codegen" in details["stages"]
    assert not entries(tmp_path / "cache")


def test_cache_folder_that_cannot_be_written_warns_once(here, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    bad = str(tmp_path / "file" / "cache")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", bad)
    details = here()
    assert details["cache"].startswith("miss: the cache folder " + bad)
    (text,) = details["warnings"]
    assert bad in text and "set TILEWRIGHT_CACHE_DIR" in text
    assert here()["warnings"] == []


def test_printed_report_states_cache_miss_and_hit(here):
    here()
    assert "cache: miss: there is no entry" in str(tilewright.report())
    here()
    assert "cache: hit: " in str(tilewright.report())
