"""tools/dev/gpu-run.sh measures and tests a machine with a GPU. These tests run its parts with tiny sizes on the fake
driver, and its processes with small programs that crash or hang."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

import tilewright
from test_cuda_driver import FAKE

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
from gpu_run import children, drawn_models, pytest_rows, summary, table_format  # noqa: E402
from gpu_run.results import Results, read  # noqa: E402
from gpu_run.setting import Setting  # noqa: E402

needs_driver = pytest.mark.skipif(not FAKE.exists(), reason=f"{FAKE} is not built")
FILES = {"tests.jsonl", "models.jsonl", "tables.jsonl", "products.jsonl", "kernels.jsonl", "tuned.jsonl", "summary.md", "machine.txt"}


def gpu_run(tmp_path, *arguments, minutes=4.0, **environment):
    package = pathlib.Path(tilewright.__file__).parent.parent
    command = [ROOT / "tools/dev/gpu-run.sh", *arguments, "--dry", f"--minutes={minutes}", f"--out={tmp_path / 'out'}", f"--work={tmp_path / 'work'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400,
                          env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(package), **environment})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(FILES) <= 8 and {path.name for path in (tmp_path / "out").iterdir()} <= FILES
    return done.stdout


def rows_of(tmp_path, part):
    return {row["key"]: row for row in read(tmp_path / "out" / f"{part}.jsonl") if row.get("kind") != "first"}


@needs_driver
def test_model_row_has_times_of_all_engines_and_the_kernels_of_a_call(tmp_path):
    pytest.importorskip("transformers")
    out = gpu_run(tmp_path, "models", "--only", "bert-b1")
    assert "models: complete" in out
    row = rows_of(tmp_path, "models")["bert-b1"]
    assert row["ms"].keys() == {"eager", "inductor", "inductor-graph", "tilewright", "tilewright-graph"} and row["ratio"] > 0
    assert row["first_s"].keys() == {"tilewright", "tilewright-graph"} and not row.get("errors")
    assert row["eager_segments"] == 0
    (product,) = [kernel for kernel in row["kernels"] if "gelu" in kernel["operators"]]
    # With the fake driver, each kernel takes 1 ms.
    assert product["us"] == pytest.approx(1000, rel=0.01) and product["launches"] == 1 and product["tflops"] > 0
    assert product["schedule"].startswith("wgmma") and re.search(r"modeling_bert.py:\d+$", product["line"])
    text = (tmp_path / "out" / "summary.md").read_text()
    assert product["name"] in text and "| 16 inference models | " in text

    # A second call of gpu_run finds the row in the results and starts no process.
    written = (tmp_path / "out" / "models.jsonl").read_text().count("\n")
    again = gpu_run(tmp_path, "models", "--only", "bert-b1")
    assert "models: complete" in again and "first call" not in again.partition("##")[0]
    assert (tmp_path / "out" / "models.jsonl").read_text().count("\n") == written


@needs_driver
def test_tuned_row_has_the_times_of_both_autotuners(tmp_path):
    pytest.importorskip("transformers")
    assert "tuned: complete" in gpu_run(tmp_path, "tuned", "--only", "bert-b1")
    row = rows_of(tmp_path, "tuned")["bert-b1"]
    assert row["ms"].keys() == {"inductor-tuned", "inductor-tuned-no-graph", "tilewright-tuned", "tilewright-tuned-graph"} and not row.get("errors")
    assert row["kernels"] and row["ratio"] > 0 and list((tmp_path / "work" / "records").glob("*.json"))


@needs_driver
def test_kernel_that_faults_fails_its_row_and_the_rest_is_measured(tmp_path):
    (tmp_path / "times").write_text("1000 fault wgmma, threads 256, block 64x64x64, consumers 1, stages 2\n")
    only = "products: bf16 64 x*,host*"
    out = gpu_run(tmp_path, "kernels", "--only", only, TILEWRIGHT_FAKE_CUDA=f"capability=9.0,execute=0,times={tmp_path / 'times'}")
    assert "kernels: complete" in out
    rows = rows_of(tmp_path, "kernels")
    failed = {key: row for key, row in rows.items() if row.get("failed")}
    assert len(rows) == 2 and len(failed) == 1, rows
    (row,) = failed.values()
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in row["errors"]["tilewright"]
    assert all(row["ratio"] > 0 and row["low"] <= row["ratio"] <= row["high"] for key, row in rows.items() if key not in failed)


@needs_driver
def test_run_stops_in_time_and_says_what_is_left(tmp_path):
    start = time.monotonic()
    out = gpu_run(tmp_path, "kernels", minutes=0.2)  # 6 of 12 seconds are for the summary
    assert time.monotonic() - start < 60 and re.search(r"kernels: \d+ rows are left for another call", out)


@needs_driver
def test_recorded_tables_have_the_form_of_the_cost_model(tmp_path):
    schedule = "wgmma, threads 256, block 64x{}x64, consumers 1, stages 2"
    times = {8: 90e3, 16: 80e3, 32: 40e3, 64: 60e3}
    (tmp_path / "times").write_text("".join(f"{time} good {schedule.format(n)}\n" for n, time in times.items()))
    out = gpu_run(tmp_path, "tables", "--only", "bf16-64x64x64", TILEWRIGHT_FAKE_CUDA=f"capability=9.0,execute=0,times={tmp_path / 'times'}")
    assert "tables: complete" in out
    (line,) = read(tmp_path / "out" / "products.jsonl")
    found = {knobs["n"]: milliseconds for knobs, milliseconds in line["schedules"]}
    assert {n: ms * 1e6 for n, ms in found.items()} == pytest.approx(times, rel=1e-3)
    assert line["kernel"] == "bf16-64x64x64" and line["default_ms"] == line["schedules"][0][1] and line["peer_ms"] > 0
    model = FAKE.parent.parent / "bin" / "gpu-model"
    read_back = json.loads(subprocess.run([model, f"--tables={tmp_path / 'out' / 'products.jsonl'}"], input="", capture_output=True, text=True, check=True).stdout)
    assert read_back["kernels"] == ["bf16-64x64x64"] and sorted(read_back["measured"][0]) == pytest.approx(sorted(times.values()), rel=1e-3)


@needs_driver
def test_tests_run_on_the_device_and_their_outcomes_are_rows(tmp_path):
    only = "test_cuda_row_clusters.py::test_cluster_has_as_many_blocks"
    out = gpu_run(tmp_path, "tests", "--only", only)
    rows = rows_of(tmp_path, "tests")
    assert rows and {row["outcome"] for row in rows.values()} <= {"passed", "does not apply"}, rows
    assert "passed" in {row["outcome"] for row in rows.values()}
    assert f"tests: {len(rows)} tests, 0 faults" in out
    assert "tests: " in gpu_run(tmp_path, "tests", "--only", only) and rows_of(tmp_path, "tests") == rows


WORKER = """
import json, os, signal, sys, time
for key in json.loads(sys.argv[1]):
    print("BEGIN", key, flush=True)
    if key == "crash":
        print("STEP inductor", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if key == "hang":
        time.sleep(1000)
    if key == "exit":
        sys.exit("a library is missing")
    print("ROW", json.dumps({"key": key, "pid": os.getpid()}), flush=True)
    if key == "lost":
        os._exit(3)
"""


def test_rows_that_crash_or_hang_are_recorded_and_the_rest_is_measured(tmp_path):
    rows = {}
    children.run_rows(lambda rest: [sys.executable, "-c", WORKER, json.dumps(rest)], ["a", "crash", "b", "hang", "c", "lost", "exit", "d"], 3.0,
                      time.time() + 60, dict(os.environ), tmp_path, lambda row: rows.update({row["key"]: row}))  # fmt: skip
    assert {key for key, row in rows.items() if not row.get("failed")} == {"a", "b", "c", "lost", "d"}
    assert rows["crash"]["failed"] == "the process ended with signal SIGSEGV (during: inductor)"
    assert rows["hang"]["failed"] == "it did not end within 3 s"
    assert rows["exit"]["failed"] == "the process ended with exit status 1: a library is missing"
    assert len({rows[key]["pid"] for key in "abcd"}) == 4


def test_processes_that_cannot_begin_are_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="no process can begin with 'a': the process ended with exit status 1: no torch"):
        children.run_rows(lambda rest: [sys.executable, "-c", "import sys; sys.exit('no torch')"], ["a", "b"], 3.0, time.time() + 60, dict(os.environ),
                          tmp_path, lambda row: None)  # fmt: skip


def test_jobs_end_with_their_limits_and_at_the_deadline(tmp_path):
    def job(name, code, limit=60.0):
        return children.Job(name, [sys.executable, "-c", code], limit)

    outcomes = {}
    sleep = "import time; time.sleep(1000)"
    jobs = [job("good", "print('RESULT 1')"), job("bad", "raise ValueError('wrong')"), job("slow", sleep, 1.0), job("long", sleep), job("waits", sleep)]
    start = time.time()
    children.run_jobs(jobs, 2, start + 5, dict(os.environ), tmp_path, lambda job, outcome: outcomes.update({job.name: outcome}))
    assert time.time() - start < 20 and not list(tmp_path.iterdir())
    assert outcomes["good"].output == "RESULT 1\n" and not outcomes["good"].reason
    assert outcomes["bad"].reason.endswith("ValueError: wrong") and not outcomes["bad"].stopped
    assert outcomes["slow"].reason == "it did not end within 1 s"
    assert outcomes["long"].stopped


def test_results_continue_after_a_machine_has_vanished(tmp_path):
    setting = Setting(tmp_path / "out", tmp_path / "work")
    results = Results(setting, "models")
    results.add({"key": "a", "ratio": float("nan")})
    results.add({"kind": "first", "key": "b", "engine": "tilewright", "seconds": 2.0})
    results.close()
    with (tmp_path / "out" / "models.jsonl").open("a") as file:
        file.write('{"key": "b", "rat')  # the machine vanished
    # The run on another machine has only the folder of results that was copied from the first machine.
    later = Results(Setting(tmp_path / "next", tmp_path / "other", earlier=[tmp_path / "out"]), "models")
    assert later.missing(["a", "b"]) == ["b"] and later.rows["a"]["ratio"] == "nan" and later.first["b", "tilewright"]["seconds"] == 2.0
    later.add({"key": "b"})
    later.close()
    assert [row["key"] for row in read(tmp_path / "next" / "models.jsonl")] == ["b", "a", "b"]


def test_drawn_models_are_those_of_the_seed():
    assert drawn_models.draw_names() == drawn_models.DRAWN and len(set(drawn_models.DRAWN)) == 8


def test_summary_has_the_geometric_mean_and_the_least_ratio(tmp_path):
    rows = [{"key": "bert-b1", "ms": {"inductor": 3.0, "tilewright": 2.0}, "ratio": 1.5, "first_s": {"inductor": 20.0, "tilewright": 5.0}},
            {"key": "vit-b32", "ms": {"inductor": 3.0, "tilewright": 5.0}, "ratio": 0.6, "first_s": {"inductor": 20.0, "tilewright": 10.0}},
            {"key": "t5-b16", "failed": "it did not end within 150 s"}]  # fmt: skip
    (tmp_path / "models.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = summary.write(tmp_path)
    assert "| 16 inference models | 0.949 / 0.600 (2 of 16) | 2.828 / 2.000 (2 of 16) |" in text and "it did not end within 150 s" in text


@pytest.mark.parametrize("text, outcome", [
    ("E  FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tests/build/bin/ptx-check'", "does not apply"),
    ('E  NotImplementedError: "add_kernel" not implemented for \'Float8_e4m3fn\'', "does not apply"),
    ("E  Failed: DID NOT RAISE <class 'RuntimeError'>, expected 'ptx-check has findings'", "does not apply"),
    ("E  AssertionError: result 0: RMS error 4.1e-05, 3.0 times the allowed 1.3e-05", "fault"),
    ("E  RuntimeError: kernel add_0 failed on cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS", "fault"), ("worker 'gw3' crashed while running 'test_cuda.py'", "fault"),
])  # fmt: skip
def test_faults_are_distinguished_from_tests_that_do_not_apply(text, outcome):
    assert pytest_rows.judged(text)[0] == outcome


def test_points_of_a_space_satisfy_its_constraints():
    knobs = [{"name": "m", "values": [64, 128], "initial": 128}, {"name": "n", "values": [8, 16, 32], "initial": 32}, {"name": "cluster", "values": [1, 2], "initial": 1}]
    constraints = [{"kind": "product at most", "factor": 2, "limit": 4096, "knobs": [0, 1], "sizes": []},
                   {"kind": "together", "value": 2, "knobs": [2, 1], "sizes": [0, 16]}]  # fmt: skip
    # The default schedule is a point of the space, although 2 * 128 * 32 exceeds the limit of the first constraint.
    assert table_format.points({"knobs": knobs, "constraints": constraints}) == [[64, 8, 1], [64, 8, 2], [64, 16, 1], [64, 32, 1], [128, 8, 1], [128, 8, 2],
                                                                                 [128, 16, 1], [128, 32, 1]]  # fmt: skip


def test_program_and_package_of_an_unpacked_wheel_are_used(tmp_path):
    (tmp_path / "wheel" / "tilewright-0.1.0.data" / "scripts").mkdir(parents=True)
    (tmp_path / "wheel" / "tilewright-0.1.0.data" / "scripts" / "tilewright").touch()
    setting = Setting(tmp_path / "out", tmp_path / "work", package=tmp_path / "wheel")
    environment = setting.environment()
    assert setting.program() == tmp_path / "wheel" / "tilewright-0.1.0.data" / "scripts" / "tilewright"
    assert environment["PYTHONPATH"].split(":")[0] == str(tmp_path / "wheel")
    assert environment["LD_LIBRARY_PATH"].split(":")[0] == str(tmp_path / "wheel" / "tilewright")
    assert "TILEWRIGHT_LIBCUDA" not in environment and environment["TORCHINDUCTOR_CACHE_DIR"].startswith(str(tmp_path / "work"))


def test_missing_wheel_is_an_error_with_instructions(tmp_path):
    done = subprocess.run([ROOT / "tools/dev/gpu-run.sh", "models", "--minutes", "1", "--out", tmp_path, "--wheel", tmp_path / "none.whl"],
                          capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})  # fmt: skip
    assert done.returncode == 2 and "build one with tools/build-wheel.sh" in done.stderr, done
