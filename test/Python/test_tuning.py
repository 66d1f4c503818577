"""Tests of options={"tune": ...} (docs/tuning.md): records are written and used, and never change a bit of a result in
deterministic mode."""

import copy
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import browser
import pytest
import torch
from numbers_rule import assert_numbers, leaves, widen, with_threads

import tilewright
import tilewright.runtime.tuning
from tilewright.bench import tuning_chart

PROGRAM = Path(tilewright.__file__).parents[2] / "bin" / "tilewright"


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Schedules are compiled, run and checked, but their times are fabricated, so that load on the machine has no
    effect."""
    monkeypatch.setenv("TILEWRIGHT_TUNE_TIMES", "made-up")


def _mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(96, 192), torch.nn.GELU(), torch.nn.Linear(192, 96), torch.nn.LayerNorm(96)).eval()


def _run(model, *inputs, mode=None, **options):
    torch._dynamo.reset()
    tilewright.report(clear=True)
    options = None if mode else {"strict": True, "cache": False, **options}
    with torch.no_grad():
        return torch.compile(model, backend="tilewright", mode=mode, options=options)(*inputs)


@pytest.mark.parametrize("how", [{"tune": "quick"}, {"mode": "max-autotune"}])
def test_tuning_writes_records_that_the_next_compile_uses(tmp_path, monkeypatch, how):
    monkeypatch.setenv("TILEWRIGHT_RECORDS_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
    model, x = _mlp(), torch.randn(64, 96)
    result = _run(model, x, **how)
    records = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert len(records) >= 2
    assert torch.equal(result, _run(model, x, **how))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == records, "nothing is measured again"
    with torch.no_grad():
        _check_numbers(result, model, [x], copy.deepcopy(model).double())


def test_symbolic_sizes_are_tuned_at_the_traced_sizes(tmp_path, monkeypatch):
    import tilewright.runtime.compiled

    seen = []
    original = tilewright.runtime.compiled.tune
    monkeypatch.setattr(tilewright.runtime.compiled, "tune", lambda graph, options, sizes: (seen.append(sizes), original(graph, options, sizes)))
    model, x = _mlp(), torch.randn(24, 96)
    torch._dynamo.mark_dynamic(x, 0)
    result = _run(model, x, tune="quick", records=str(tmp_path))
    assert seen == [[24]] and list(tmp_path.glob("*.json"))
    with torch.no_grad():
        _check_numbers(result, model, [x], copy.deepcopy(model).double())


def test_each_size_runs_the_schedule_of_its_class(tmp_path):
    """The sizes are on both sides of every boundary between classes. Results are bit-identical if the order of sums
    must not change."""
    model = _mlp()
    sizes = [2, 16, 17, 100, 128, 129, 200]
    inputs = [torch.randn(size, 96) for size in sizes]

    def results(**options):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="tilewright", dynamic=True, options={"strict": True, "cache": False, **options})
        with torch.no_grad():
            torch._dynamo.mark_dynamic(inputs[0], 0, min=2, max=4096)
            return [compiled(x) for x in inputs]

    plain = results(tune="off")
    tuned = results(tune="quick", records=str(tmp_path / "any"))
    for x, ours in zip(inputs, tuned):
        with torch.no_grad():
            _check_numbers(ours, model, [x], copy.deepcopy(model).double())
    for theirs, ours in zip(plain, results(tune="quick", records=str(tmp_path / "same"), deterministic=True)):
        assert torch.equal(theirs, ours)
    operations = [json.loads(path.read_text())["operations"] for path in (tmp_path / "any").glob("*.json")]
    for text in ("sizes to 16", "sizes 17 to 128", "sizes from 129"):
        assert any(text in operation for operation in operations), text


def test_deterministic_tuning_does_not_change_results(tmp_path):
    model, x = _mlp(), torch.randn(64, 96)
    plain = _run(model, x, tune="off")
    for run in range(3):
        assert torch.equal(plain, _run(model, x, tune="quick", records=str(tmp_path / str(run)), deterministic=True))


CASES = {
    "product": (lambda a, b: a @ b, [(100, 130), (130, 70)], torch.float32),
    "long product": (lambda a, b: torch.relu(a @ b), [(37, 700), (700, 96)], torch.float32),
    "bf16 product": (lambda a, b: a @ b, [(100, 130), (130, 70)], torch.bfloat16),
    "softmax": (lambda a: a.softmax(-1), [(37, 515)], torch.float32),
    "layer norm": (lambda a: torch.nn.functional.layer_norm(a, a.shape[-1:]), [(37, 515)], torch.float32),
    "short layer norm": (lambda a: torch.nn.functional.layer_norm(a, a.shape[-1:]), [(4000, 96)], torch.float32),
    "sums of squares": (lambda a: (a * a).sum(-1), [(4000, 100)], torch.float32),
    "sum of columns": (lambda a: a.sum(0), [(515, 70)], torch.float32),
    "gelu": (lambda a: torch.nn.functional.gelu(a) + 1, [(37, 515)], torch.float32),
    "convolution": (lambda a, w: torch.nn.functional.conv2d(a, w, padding=1), [(2, 16, 14, 14), (48, 16, 3, 3)], torch.float32),
    "attention": (torch.nn.functional.scaled_dot_product_attention, [(1, 2, 100, 32)] * 3, torch.float32),
}


@pytest.mark.parametrize("case", CASES)
def test_deterministic_schedules_give_equal_results(tmp_path, case):
    """Deterministic mode relies on this property. The results of all other schedules satisfy the numbers rule."""
    function, sizes, dtype = CASES[case]
    torch.manual_seed(1)
    inputs = [torch.randn(size).to(dtype) for size in sizes]
    plain = _run(function, *inputs, tune="off", dump=str(tmp_path))

    def draw(count, *flags):
        command = [str(PROGRAM), "tune", str(tmp_path / "0-imported.mlir"), f"--draw={count}", *flags]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    same = draw(20, "--deterministic")
    assert same
    for number, line in enumerate(same):
        (tmp_path / f"{number}.json").write_text(line)
        assert torch.equal(plain, _run(function, *inputs, tune="off", schedule_file=str(tmp_path / f"{number}.json"))), line
    for number, line in enumerate(draw(4, "--seed=3")):
        (tmp_path / f"other{number}.json").write_text(line)
        _check_numbers(_run(function, *inputs, tune="off", schedule_file=str(tmp_path / f"other{number}.json")), function, inputs, function)


def _check_numbers(ours, function, inputs, exact):
    eager = [leaves(with_threads(count, function, *inputs)) for count in (1, 2)]
    assert_numbers(leaves(ours), eager, leaves(exact(*[widen(value) for value in inputs])))


@pytest.mark.parametrize("options, text", [
    ({"tune": "quik"}, r"'records' or 'quick' or 'full' or 'strict' or 'off', not 'quik' \(did you mean 'quick'\?\)"),
    ({"tune": "quick", "target": "reference"}, "target 'reference' has no schedules that can be measured"),
    ({"tune": "quick", "target": "cuda", "device": "emulated"}, "target 'cuda' on the emulated device has no schedules that can be measured"),
    ({"records": "/nowhere/at/all"}, "there is no folder of tuning records '/nowhere/at/all'"),
])  # fmt: skip
def test_invalid_tuning_options_are_refused(options, text):
    with pytest.raises(Exception, match=text):
        _run(lambda x: x * 2, torch.ones(3), **options)


def test_strict_names_the_kernel_without_a_record(tmp_path):
    with pytest.raises(Exception, match=r"no tuning record for kernel \w+_\d+ \(.*, key [0-9a-f]+\)"):
        _run(_mlp(), torch.randn(64, 96), tune="strict", records=str(tmp_path))


def test_commands_of_the_tuning_page_run(tmp_path):
    """Runs the model and the commands of docs/tuning.md, and checks the documented knobs."""
    text = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text()
    blocks = dict(reversed(re.findall(r"```(mlir|sh|text)\n(.*?)```", text, re.S)))  # the first of each kind
    (tmp_path / "mlp.mlir").write_text(blocks["mlir"])
    for number, command in enumerate(blocks["sh"].splitlines()):
        done = subprocess.run(command.replace("tilewright", str(PROGRAM), 1).split(), cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if number == 0:
            for line in blocks["text"].splitlines():
                assert re.search(".*".join(re.escape(part) for part in line.split("{{.*}}")), done.stdout), line
    assert (tmp_path / "mlp.so").exists() and "<svg" in (tmp_path / "tuning.html").read_text()


def test_tuning_report_is_written_as_png_for_each_target(tmp_path):
    """With --report=FILE.png, the Python package draws a chart of a tuning or of designs."""
    pytest.importorskip("matplotlib")
    environment = dict(os.environ, TILEWRIGHT_PYTHON=sys.executable)
    model = Path(__file__).parents[1] / "Tuner" / "Inputs" / "mlp.mlir"
    for target in ("cpu", "cuda", "hls"):
        chart = tmp_path / f"{target}.png"
        subprocess.run([PROGRAM, "tune", model, f"--target={target}", "--trials=3", f"--records={tmp_path / 'records'}", f"--report={chart}"],
                       env=environment, check=True, timeout=300, capture_output=True)  # fmt: skip
        assert chart.read_bytes().startswith(b"\x89PNG") and chart.stat().st_size > 4000


def _tuning(kernels: list[dict], sizes=(), others=()) -> dict:
    """A tuning as `tilewright tune --report=FILE.json` writes it."""
    return {"model": "model.pt2", "seconds": 1.0, "ratio": 1.0, "low": 1.0, "high": 1.0, "untunedNanoseconds": 0, "verdict": "nothing was changed",
            "sizes": list(sizes), "otherSizes": list(others), "kernels": kernels}  # fmt: skip


def _kernel(name: str, **ratios: float) -> dict:
    """A kernel whose schedules are named after their ratios."""
    seen = [{"schedule": schedule, "ratio": ratio, "low": ratio - 0.001, "high": ratio + 0.001} for schedule, ratio in ratios.items()]
    return {"name": name, "operations": "layer_norm+" * 6 + "layer_norm", "share": 0.5, "chosen": "a", "verdict": "it has one schedule", "seen": seen}


def _labels(figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_chart_of_a_tuning_has_every_class_of_sizes():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = tuning_chart._schedules(plt, _tuning([_kernel("k0")], sizes=[8], others=[_tuning([_kernel("k0", a=0.9)], sizes=[64])]))
    assert [label.split(" (")[0] for label in _labels(figure)] == ["sizes 8", "k0", "sizes 64", "k0", "a"]
    assert _labels(figure)[1] == "k0 (layer_norm x7), 50% of the model: it has one schedule"
    assert not figure.axes[0].texts and len(figure.axes[0].containers) == 1
    plt.close(figure)


def test_chart_without_a_measurement_says_why():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = tuning_chart._schedules(plt, _tuning([_kernel("k0")]))
    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing was measured: nothing was changed"]
    assert "it has one schedule" in _labels(figure)[0]
    plt.close(figure)


def test_outlier_of_a_chart_is_an_arrow_and_the_axis_fits_the_others():
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = tuning_chart._schedules(plt, _tuning([_kernel("k0", a=0.97, b=1.0, c=1.02, slow=7.5)]))
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["7.50"] and "arrow" in axes.get_xlabel()
    assert axes.get_xlim()[0] < 0.97 and 1.02 < axes.get_xlim()[1] < 1.1
    assert len(axes.containers) == 3
    plt.close(figure)


def test_long_labels_of_a_chart_are_inside_the_image(tmp_path):
    """The outermost columns and rows of pixels are white."""
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    tuning_chart.draw(_tuning([_kernel("a_very_long_name_of_a_kernel" * 6, **{"tile0=1 " * 20: 0.9})]), str(tmp_path / "chart.png"))
    pixels = imread(tmp_path / "chart.png")
    assert all((edge == 1).all() for edge in (pixels[:, 0], pixels[:, -1], pixels[0], pixels[-1])) and (pixels < 1).any()


def test_tune_counts_repeated_operations_on_its_page_and_in_its_table(tmp_path):
    """A layer norm is lowered to seven ops. The numbers in JSON contain all of them."""
    tilewright.export(torch.nn.LayerNorm(64).eval(), (torch.randn(16, 64),), str(tmp_path / "norm.pt2"))
    outputs = {}
    for suffix in ("html", "json"):
        command = [PROGRAM, "tune", tmp_path / "norm.pt2", "--trials=3", "--again", f"--records={tmp_path / 'records'}", f"--report={tmp_path / 'report'}.{suffix}"]
        outputs[suffix] = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True).stdout
    page, numbers = (tmp_path / "report.html").read_text(), json.loads((tmp_path / "report.json").read_text())
    (kernel,) = numbers["kernels"]
    count = kernel["operations"].count("layer_norm")
    assert count > 1 and f"layer_norm x{count}" in page and f"(layer_norm x{count})" in outputs["html"]
    assert "layer_norm+layer_norm" not in page + outputs["html"]


@pytest.mark.skipif(not browser.PROGRAM, reason=browser.MISSING)
def test_every_text_of_the_tuning_page_is_inside_its_drawing(tmp_path):
    """Opens the tuning page of a model in a browser, and checks that no text exceeds the drawing that contains it."""
    model, page = Path(__file__).parents[1] / "Tuner" / "Inputs" / "mlp.mlir", tmp_path / "page.html"
    subprocess.run([PROGRAM, "tune", model, "--trials=16", f"--records={tmp_path / 'records'}", f"--report={page}"],
                   check=True, timeout=300, capture_output=True)  # fmt: skip
    with browser.Browser() as view:
        view.open(page)
        assert view.value("document.querySelectorAll('svg text').length") > 8
        assert view.value("""[...document.querySelectorAll('svg')].flatMap((drawing) => [...drawing.querySelectorAll('text')].filter((text) => {
            const box = text.getBBox(), all = drawing.viewBox.baseVal;
            return box.x < 0 || box.y < 0 || box.x + box.width > all.width || box.y + box.height > all.height;
        }).map((text) => text.textContent))""") == []  # fmt: skip
        assert view.value("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("worker, reason", [("", "the program of the worker is not specified"), ("/nowhere/python", "cannot start the worker"), ("/bin/false", "the worker ended by itself")])
def test_without_a_worker_the_graph_is_compiled_untuned(tmp_path, monkeypatch, worker, reason):
    """If Python is embedded, no interpreter may be found, or the program that is started may not be a worker."""
    monkeypatch.setattr(tilewright.runtime.tuning, "_interpreter", lambda: worker)
    model, x = _mlp(), torch.randn(64, 96)
    with pytest.warns(UserWarning, match=f"do not work here: .*{reason}"):
        result = _run(model, x, tune="quick", records=str(tmp_path))
    assert torch.equal(result, _run(model, x, tune="off")) and not list(tmp_path.glob("*.json"))


def test_worker_that_does_not_end_is_killed_and_reported(tmp_path, monkeypatch):
    worker = tmp_path / "worker"
    worker.write_text("#!/bin/sh\nexec sleep 1000 < /dev/null > /dev/null 2>&1\n")
    worker.chmod(0o755)
    monkeypatch.setattr(tilewright.runtime.tuning, "_interpreter", lambda: str(worker))
    with pytest.warns(UserWarning, match="the worker closed its output, did not end within 2 seconds and was killed"):
        _run(_mlp(), torch.randn(64, 96), tune="quick", records=str(tmp_path))


@pytest.mark.parametrize("executable", ["", "/usr/bin/some-game", None])
def test_interpreter_is_found_if_python_is_embedded(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    found = tilewright.runtime.tuning._interpreter()
    assert Path(found).name.startswith("python") and os.access(found, os.X_OK)


def _files(tmp_path):
    model = tmp_path / "model.mlir"
    model.write_text("""
        func.func @main(%n: index {tw.symbol = "rows", tw.min = 2 : i64, tw.max = 64 : i64},
                        %x: tensor<?x128xf32, affine_map<()[s0] -> (s0, 128)>> {tw.name = "x"},
                        %w: tensor<128x256xf32> {tw.name = "w", tw.static})
            -> (tensor<?x256xf32, affine_map<()[s0] -> (s0, 256)>> {tw.name = "y"}) {
          %h = tw.matmul %x, %w : (tensor<?x128xf32, affine_map<()[s0] -> (s0, 128)>>, tensor<128x256xf32>)
            -> tensor<?x256xf32, affine_map<()[s0] -> (s0, 256)>>
          return %h : tensor<?x256xf32, affine_map<()[s0] -> (s0, 256)>>
        }""")
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}

    def run(*arguments, status=0):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    return model, f"--records={tmp_path / 'records'}", run


def test_records_are_used_after_calibration(tmp_path):
    model, records, run = _files(tmp_path)
    run("tune", model, records)
    run("compile", model, records, "--tune=strict", "--emit=tiled")  # strict: it fails for a kernel without a record
    run("calibrate")
    run("compile", model, records, "--tune=strict", "--emit=tiled")
    said = run("compile", model, records, "--threads=1", "--emit=tiled")
    assert said.count("tuning records in") == 1 and "it was measured with" in said and "the number of threads here is 1" in said


def test_sizes_outside_of_the_range_of_the_model_are_refused(tmp_path):
    model, records, run = _files(tmp_path)
    assert "--sizes: 65 is no value of rows, which is 2 to 64 in the model" in run("tune", model, records, "--sizes=65", status=1)
    assert "--sizes: 1 is no value of rows" in run("tune", model, records, "--sizes=1", status=1)
    assert "--sizes has 2 values, but the model has 1 symbolic sizes" in run("tune", model, records, "--sizes=8,8", status=1)


def test_next_tuning_removes_folders_of_a_killed_one(tmp_path):
    model, records, run = _files(tmp_path)
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([PROGRAM, "tune", model, records], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if left := list(tmp_path.glob("tilewright-tune-*/*")):
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert left
    for folder in tmp_path.glob("tilewright-tune-*"):
        os.utime(folder, (0, 0))
    run("tune", model, records)
    assert not list(tmp_path.glob("tilewright-tune-*"))
