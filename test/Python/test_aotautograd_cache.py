"""Compiled graphs that torch stores between processes: AOTAutogradCache, aot_compile, save_cache_artifacts."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import torch
import torch._functorch.config

import tilewright

pytestmark = pytest.mark.reads_cache

PROGRAM = textwrap.dedent("""
    import json, sys
    import torch, tilewright
    from torch._dynamo.utils import counters

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(16, 32), torch.nn.Linear(32, 8)

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))

    def views(model, x):
        y = model(x)
        return y, y.view(-1)[3:], x.t(), x.shape[0] + 1, x[None].expand(3, -1, -1)

    def checked(model, x):
        m = torch.nn.functional.pad(model(x).t() @ model(x), (0, 8, 0, 8))[:8, :8] + 9 * torch.eye(8)
        return torch.linalg.inv(m), torch.linalg.cholesky(m), torch.nn.functional.one_hot((x[0] > 0).long(), 2)

    def segments(model, x):
        q, r = torch.linalg.qr(model(x).t())
        return r.relu() @ r.t(), q.abs()

    case, options, path = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
    torch.manual_seed(0)
    model, x = Model(), torch.randn(5, 16)
    function = {"segments": segments, "checked": checked, "cond": lambda m, x: torch.cond(x.sum() > 0, lambda x: m(x).sin(), lambda x: m(x), (x,))}
    function = function.get(case, views)
    compiled = torch.compile(function, backend="tilewright", options=options, dynamic=case == "dynamic")
    if case == "training":
        leaves = [*model.parameters(), x.requires_grad_()]
        got, want = ([y, *torch.autograd.grad(y.square().sum(), leaves)] for y in (compiled(model, x)[0], model(x)))
    elif case == "function":
        if path == "-":
            made = torch.compile(model, backend="tilewright", fullgraph=True, options=options, dynamic=True)
            made = made.forward.aot_compile(((x,), {}))
            made.save_compiled_function("function.bin")
        else:
            with open(path, "rb") as file:
                made = torch.compiler.load_compiled_function(file)
        got, want = made(model, x), model(x)
        for some in (got, want):
            some.sum().backward()
        again = torch.randn(9, 16)
        got, want = [got, made(model, again)], [want, model(again)]
    else:
        if case == "artifacts" and path != "-":
            with open(path, "rb") as file:
                torch.compiler.load_cache_artifacts(file.read())
        with torch.no_grad():
            want = function(model, x)  # before freezing
            got = compiled(model, x)
            if case == "dynamic":
                more = torch.randn(9, 16)
                got, want = (*got, *compiled(model, more)), (*want, *function(model, more))
        if case == "artifacts" and path == "-":
            with open("artifacts.bin", "wb") as file:
                file.write(torch.compiler.save_cache_artifacts()[0])
    torch.testing.assert_close(got, want)
    print(json.dumps({
        "restored": [graph.restored for graph in tilewright.report()],
        "graphs": [f"{graph.kind} {graph.segments} {graph.eager_segments}" for graph in tilewright.report()],
        "objects": [detail.get("cache", "").split(":")[0] for graph in tilewright.report() for detail in graph.details()],
        "refusals": [r.target for graph in tilewright.report() for r in graph.refusals],
        **{key: counters["aot_autograd"][f"autograd_cache_{key}"] for key in ("hit", "miss", "bypass", "saved")}}))
""")


@pytest.fixture
def process(tmp_path):
    """Runs one case in a separate process. Both caches are below tmp_path."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(case, options=None, path="-", package=None, caches="caches", **environment):
        package = package or str(pathlib.Path(tilewright.__file__).parent.parent)
        folder = tmp_path / caches
        env = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(folder / "objects"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
               "TORCHINDUCTOR_AUTOGRAD_CACHE": "1", "PYTHONPATH": package, **environment}  # fmt: skip
        command = [sys.executable, "program.py", case, json.dumps(options or {}), path]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("case", ["inference", "dynamic", "training", "segments", "checked"])
def test_second_process_restores_graphs_from_the_cache(process, case):
    first, second = process(case), process(case)
    assert first["hit"] == 0 and first["saved"] >= 1 and not any(first["restored"])
    assert second["hit"] == first["saved"] and second["miss"] == 0 and all(second["restored"])
    assert set(second["objects"]) == {"hit"}
    assert second["graphs"] == first["graphs"] and second["refusals"] == first["refusals"]
    if case == "segments":
        assert first["refusals"] == ["aten.linalg_qr.default"]


def test_other_options_miss_the_cache(process):
    process("inference")
    other = process("inference", {"rounding": "eager"})
    assert other["hit"] == 0 and other["miss"] == 1


@pytest.mark.parametrize("options", [{"cache": False}, {"check": "reference"}, {"freeze": True}])
def test_graph_with_cache_off_check_or_freeze_is_not_cached(process, options):
    for _ in range(2):
        answer = process("inference", options)
        assert answer["hit"] == answer["miss"] == answer["saved"] == 0 and not any(answer["restored"])


def test_graph_that_bypasses_the_cache_is_compiled_again(process):
    first, second = process("cond"), process("cond")
    assert first["bypass"] == second["bypass"] == 1 and second["hit"] == 0


def test_changed_python_file_misses_the_cache(process, tmp_path):
    import shutil

    process("inference")
    shutil.copytree(pathlib.Path(tilewright.__file__).parent, tmp_path / "changed" / "tilewright")
    with open(tmp_path / "changed" / "tilewright" / "decompositions" / "table.py", "a") as file:
        file.write("\n# another decomposition\n")
    answer = process("inference", package=str(tmp_path / "changed"))
    assert answer["hit"] == 0 and answer["miss"] == 1


def test_damaged_entry_is_compiled_again(process, tmp_path):
    process("inference")
    entries = [path for path in (tmp_path / "caches" / "torch" / "aotautograd").rglob("*") if path.is_file()]
    assert entries
    for path in entries:
        path.write_bytes(path.read_bytes()[:-200])
    answer = process("inference")
    assert answer["hit"] == 0 and not any(answer["restored"])


def test_saved_function_is_restored_in_another_process(process, tmp_path):
    """A process with empty caches restores the forward and the backward graph with symbolic sizes from the saved file."""
    process("function")
    answer = process("function", path=str(tmp_path / "function.bin"), caches="other")
    assert answer["restored"] == [True, True] and answer["graphs"] == ["forward 1 0", "backward 1 0"]


def test_saved_artifacts_are_restored_in_another_process(process, tmp_path):
    process("artifacts")
    answer = process("artifacts", path=str(tmp_path / "artifacts.bin"), caches="other")
    assert answer["hit"] == 1 and answer["restored"] == [True]


@pytest.mark.parametrize("options", [{"check": "reference"}, {"freeze": True}])
def test_saving_a_function_with_check_or_freeze_is_refused(options):
    import torch

    module = torch.nn.Linear(4, 4).requires_grad_(False)
    compiled = torch.compile(module, backend="tilewright", fullgraph=True, options=options)
    with pytest.raises(Exception, match=f"a function compiled with options.*{next(iter(options))}.*cannot be saved"):
        compiled.forward.aot_compile(((torch.randn(2, 4),), {}))


def test_build_identity_covers_all_python_files():
    """A changed decomposition invalidates torch's cache entries. In a build tree, its folder is a link."""
    from tilewright.dynamo.aotautograd_cache import own_files

    assert {"export.py", "dynamo/backend.py", "decompositions/attention.py", "bench/tuning_chart.py"} <= {name for name, _ in own_files()}


def test_constants_are_pickled_outside_of_fake_tensor_mode(monkeypatch):
    """A constant on a GPU is copied to the host for pickling, and AOTAutograd compiles in a mode in which copies are
    fake."""
    seen = []
    reduce = torch.Tensor.__reduce_ex__

    def watched(self, protocol):
        seen.append(torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE))
        return reduce(self, protocol)

    monkeypatch.setattr(torch.Tensor, "__reduce_ex__", watched)
    torch._dynamo.reset()
    with torch._functorch.config.patch(force_autograd_cache=True):
        torch.compile(lambda x: x + torch.tensor([1.0, 2.0]), backend="tilewright")(torch.ones(2))
    assert seen and not any(seen)


def test_restored_graph_names_lines_of_the_current_program(tmp_path):
    """torch's cache restores a graph for an equal function in another file. Errors and the report name the lines of the new file."""
    function = """
def function(x, i):
    y = x.sin()[i]
    return torch.fft.fft(y).real + 1
"""
    calls = """
import tilewright
compiled = torch.compile(function, backend="tilewright")
compiled(torch.randn(4, 4), torch.tensor([1]))
try:
    compiled(torch.randn(4, 4), torch.tensor([9]))
except IndexError as error:
    print(error)
print(tilewright.report())
"""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torch"), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "ours"),
                   "TORCHINDUCTOR_AUTOGRAD_CACHE": "1"}  # fmt: skip
    for name, lines in (("one.py", 0), ("other.py", 7), ("one.py", 0)):
        file = tmp_path / name
        file.write_text("import torch\n" + "\n" * lines + function + calls)
        run = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        said = run.stdout
        assert f"index 9 is out of range for a dimension of size 4, in take ({file}:{lines + 4})" in said
        assert f"[{file}:{lines + 5}]" in said  # the transform that runs in eager
        assert ({"one.py", "other.py"} - {name}).pop() not in said + run.stderr
    assert "restored by torch" in said
