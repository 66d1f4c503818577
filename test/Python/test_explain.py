"""tilewright.report(), python -m tilewright explain, torch's logs, and the files that are written after a failed
compilation."""

import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
import torch

import tilewright
from tilewright.dynamo.backend import tilewright as backend

PROGRAM = textwrap.dedent("""
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x):
            y = self.linear(x).relu()
            print("between")
            q, r = torch.linalg.qr(y)
            return q.sum() + r.sum()

    model = torch.compile(Net(), backend="BACKEND")
    with torch.no_grad():
        model(torch.randn(4, 8))
        model(torch.randn(5, 8))
""")


def run(tmp_path, *arguments, backend="tilewright", **environment):
    (tmp_path / "program.py").write_text(PROGRAM.replace("BACKEND", backend))
    package = str(pathlib.Path(tilewright.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": package, **environment}
    done = subprocess.run([sys.executable, *arguments], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def test_explain_reports_graph_breaks_recompiles_and_fallbacks(tmp_path):
    text = run(tmp_path, "-m", "tilewright", "explain", "program.py").stdout
    assert re.search(r"^forward \(program\.py:9\): traced again once$", text, re.M)
    assert re.search(r"because: 0/0: tensor 'x' size mismatch at index 0\. expected 4, actual 5", text)
    assert re.search(r"eager: aten\.linalg_qr\.default.*\[program\.py:12\]", text)
    assert re.search(r"^graph breaks\n  program\.py:11: .*print", text, re.M)
    assert re.search(r"compiled in [\d.]+ ms: key [\d.]+,", text)


def test_explain_prints_functions_totals_and_breaks_as_json(tmp_path):
    said = run(tmp_path, "-m", "tilewright", "explain", "--json", "program.py").stdout
    report = json.loads(said[said.index("{") :])
    first, resumed = report["functions"]
    assert first["name"] == "forward" and resumed["name"] == "torch_dynamo_resume_in_forward_at_11"
    assert [c["compile_id"] for c in first["compiles"]] == ["0/0", "0/1"] and "size mismatch" in first["compiles"][1]["reason"]
    assert report["totals"]["compiles"] == 4 and report["totals"]["ops in eager"] == 2
    assert report["breaks"][0]["line"] == 11
    program = first["compiles"][0]["graphs"][0]["programs"][0]
    assert program["kernels"] >= 1 and program["stage_milliseconds"]


def test_explain_with_force_replaces_the_backend(tmp_path):
    assert "nothing was compiled" in run(tmp_path, "-m", "tilewright", "explain", "program.py", backend="eager").stdout
    assert "compile 0/0" in run(tmp_path, "-m", "tilewright", "explain", "--force", "program.py", backend="eager").stdout


class LeftToEager(torch.nn.Module):
    """A recurrent layer, which Dynamo passes to no backend."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.LSTM(4, 4)

    def forward(self, x):
        return self.layer(x)[0]


def breaks_in_a_loop(x):
    for _ in range(2):
        x = x + len(x.nonzero())
    return x


def test_report_names_functions_left_to_eager():
    torch._dynamo.reset()
    tilewright.report(clear=True)  # of graphs before the reset, whose numbers are used again
    model, other = LeftToEager(), torch.nn.Linear(4, 4)
    torch.compile(model, backend="tilewright")(torch.randn(3, 4))
    torch.compile(breaks_in_a_loop, backend="tilewright")(torch.randn(3))
    report = str(tilewright.report(model))
    line = LeftToEager.forward.__code__.co_firstlineno
    where = rf"  forward \({__file__}:{line}\): at {__file__}:{line + 1}: "
    assert re.search(rf"^functions that torch\.compile leaves to eager as a whole\n{where}.*RNN, GRU, or LSTM.*allow_rnn=True", report, re.M)
    assert "breaks_in_a_loop" not in report
    (left,) = json.loads(tilewright.report(breaks_in_a_loop).to_json())["left"]
    assert left["function"]["name"] == "breaks_in_a_loop" and "nonzero" in left["reason"] and "loop" in left["reason"]
    assert {"forward", "breaks_in_a_loop"} <= {one.function.name for one in tilewright.report().explanation().left}
    assert str(tilewright.report(other)) == "nothing was compiled yet"


def test_torch_logs_and_trace_contain_the_report(tmp_path):
    done = run(tmp_path, "program.py", TORCH_LOGS="tilewright", TORCH_TRACE=str(tmp_path / "trace"))
    assert re.search(r"tilewright/reports/report\.py.*\(inference\): \d+ nodes, 1 compiled", done.stderr)
    (trace,) = (tmp_path / "trace").iterdir()
    assert '"name": "tilewright_inference", "encoding": "json"' in trace.read_text()


def test_report_of_one_model_has_only_its_graphs():
    tilewright.report(clear=True)
    models = [torch.nn.Sequential(torch.nn.Linear(4, n)) for n in (2, 3)]
    compiled = [torch.compile(model, backend=backend) for model in models]
    plain = torch.compile(lambda x: x.sin() * 2, backend=backend)
    for function in (*compiled, plain):
        function(torch.randn(3, 4))
    everything = tilewright.report()
    assert len(everything) == 3
    for model, function in zip(models, compiled):
        assert len(tilewright.report(model)) == len(tilewright.report(function)) == 1
    assert tilewright.report(compiled[0])[0] is everything[0] and tilewright.report(compiled[1])[0] is everything[1]
    assert tilewright.report(plain)[0] is everything[2]
    assert "lambda at test_explain.py" in str(tilewright.report(plain)) and "compile " in str(tilewright.report(plain))


def test_report_does_not_keep_compiled_code_alive():
    """The memory of a program that compiles repeatedly does not grow by the code that it has dropped."""
    tilewright.report(clear=True)
    model = torch.nn.Linear(4, 4)
    with torch.no_grad():
        torch.compile(model, backend=backend)(torch.ones(2, 4))
    (graph,) = tilewright.report()
    assert len(graph.calls) == 1 and graph.kernels() >= 1
    torch._dynamo.reset()
    gc.collect()
    assert graph.calls == [] and graph.kernels() >= 1 and "compiled in" in str(graph)


@pytest.mark.parametrize("dynamic", [False, True])
def test_failed_compile_writes_a_reproducer_script(tmp_path, monkeypatch, dynamic):
    """The script fails like the program did; after the cause is fixed, it runs."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    schedules = tmp_path / "schedules.json"
    schedules.write_text("{ this is no JSON")
    constant = torch.tensor([[1.0], [2.0]])
    options = {"schedule_file": str(schedules)}
    fn = torch.compile(lambda x, w: (x @ w).relu() * 2 + constant, backend=backend, options=options, dynamic=dynamic)
    with pytest.raises(Exception, match="the IR, and a script that reproduces this error, are in") as caught:
        fn(torch.randn(2, 3), torch.randn(3, 5).t().contiguous().t())
    folder = pathlib.Path(re.search(r"are in (\S+)", str(caught.value))[1])
    assert folder.parent == tmp_path and "func.func @main" in (folder / "graph.mlir").read_text()
    assert "schedules.json" in (folder / "error.txt").read_text()
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(tilewright.__file__).parent.parent)}
    again = subprocess.run([sys.executable, folder / "reproduce.py"], env=env, capture_output=True, text=True)
    assert again.returncode != 0 and "a script that reproduces this error" in again.stderr
    schedules.write_text("{}")
    mended = subprocess.run([sys.executable, folder / "reproduce.py"], env=env, capture_output=True, text=True)
    assert mended.returncode == 0, mended.stderr


def test_explain_page_has_graphs_and_lines_of_the_program(tmp_path):
    """The page contains both graphs of the program, with its lines."""
    run(tmp_path, "-m", "tilewright", "explain", "--html", "page.html", "program.py")
    page = (tmp_path / "page.html").read_text()
    records = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])["records"]
    assert len(records) >= 2 and all(record["kernels"] for record in records)
    texts = {line["text"].strip() for record in records for file in record["sources"] for line in file["lines"]}
    assert "y = self.linear(x).relu()" in texts


def test_explain_page_has_eager_operators_and_graph_breaks_of_the_program(tmp_path):
    run(tmp_path, "-m", "tilewright", "explain", "--html", "page.html", "program.py")
    data = json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)[1])
    program = data["program"]
    assert {one["operator"] for one in program["eager"]} == {"aten.linalg_qr.default"}
    assert all(one["where"].endswith("program.py:12") and one["text"] == "q, r = torch.linalg.qr(y)" and one["reason"] for one in program["eager"])
    (broken,) = (one for one in program["breaks"] if one["where"].endswith("program.py:11"))
    assert broken["text"] == 'print("between")' and "print" in broken["reason"]
    compiles = [one for function in program["functions"] for one in function["compiles"]]
    assert any("size mismatch" in one["reason"] for one in compiles)
    numbers = [number for one in compiles for graph in one["graphs"] for number in graph["records"]]
    assert sorted(numbers) == list(range(len(data["records"])))


def test_explain_writes_no_page_if_every_graph_runs_in_eager(tmp_path):
    (tmp_path / "eager.py").write_text("import torch\ntorch.compile(lambda x: torch.linalg.qr(x)[0], backend='tilewright')(torch.randn(4, 4))\n")
    done = run(tmp_path, "-m", "tilewright", "explain", "--html", "page.html", "eager.py")
    assert "'page.html' was not written: no graph was compiled" in done.stderr and not (tmp_path / "page.html").exists()


def test_report_page_requires_the_record_option(tmp_path):
    model = torch.compile(torch.nn.Linear(4, 4), backend="tilewright")
    with torch.no_grad():
        model(torch.randn(2, 4))
    with pytest.raises(ValueError, match="options={\"record\": True}"):
        tilewright.report(model).html(tmp_path / "page.html")
    torch._dynamo.reset()
    model = torch.compile(torch.nn.Linear(4, 4), backend="tilewright", options={"record": True})
    with torch.no_grad():
        model(torch.randn(2, 4))
    tilewright.report(model).html(tmp_path / "page.html")
    assert "Content-Security-Policy" in (tmp_path / "page.html").read_text()
