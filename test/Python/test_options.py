"""Options by their public names: their effects, and the errors if one cannot be applied."""

import contextlib
import json
import re

import pytest
import torch
from torch import nn

import tilewright
from tilewright.dynamo.backend import tilewright as backend


def run(fn, *arguments, **options):
    torch._dynamo.reset()
    tilewright.report(clear=True)
    with torch.no_grad():
        return torch.compile(fn, backend=backend, fullgraph=True, options=options)(*arguments)


# -- dump --------------------------------------------------------------------


def test_dump_writes_every_stage(tmp_path):
    run(lambda x: x * 2, torch.ones(3), dump=str(tmp_path / "stages"))
    names = sorted(p.name for p in (tmp_path / "stages").iterdir())
    assert [n.split("-")[1] for n in names] == [f"{s}.mlir" for s in ("imported", "graph", "structured", "tiled", "vector", "target")]


def test_dump_writes_each_graph_to_its_own_folder(tmp_path):
    torch._dynamo.reset()
    x = torch.randn(3, requires_grad=True)
    torch.compile(lambda x: torch.tanh(x).sum(), backend=backend, options={"dump": str(tmp_path)})(x).backward()
    first, second = (tmp_path / "0-imported.mlir").read_text(), (tmp_path / "graph-1" / "0-imported.mlir").read_text()
    assert "tw.tanh" in first and "tw.tanh" not in second


@pytest.mark.parametrize("variable", ["TILEWRIGHT_DUMP", "TILEWRIGHT_DUMP_DIRECTORY"])
def test_dump_folder_is_read_from_the_environment(tmp_path, monkeypatch, variable):
    monkeypatch.setenv(variable, str(tmp_path / "stages"))
    run(lambda x: x * 2, torch.ones(3))
    assert (tmp_path / "stages" / "0-imported.mlir").exists()


def test_dump_folder_that_cannot_be_created_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="cannot make the dump directory '.*file/stages'"):
        run(lambda x: x * 2, torch.ones(3), dump=str(tmp_path / "file" / "stages"))


# -- threads, target, mode ------------------------------------------------------


@pytest.mark.parametrize("options, text", [
    ({"threads": -1}, r"options\['threads'\] must be 0 \(all processors\) or a number of threads, not -1"),
    ({"target": "cpus"}, r"unknown target 'cpus' \(did you mean 'cpu'\?\); the targets are"),
    ({"rounding": "eagre"}, r"'fused' or 'eager', not 'eagre' \(did you mean 'eager'\?\)"),
    ({"cpu": "pentium"}, "pentium"),
    ({"dumps": "x"}, r"unknown option 'dumps' \(did you mean 'dump'\?\)"),
    ({"cache": "perhaps"}, r"options\['cache'\] must be bool"),
])  # fmt: skip
def test_invalid_option_value_is_refused(options, text):
    with pytest.raises(Exception, match=text):
        run(lambda x: x * 2, torch.ones(3), **options)


def test_unknown_mode_error_suggests_a_mode():
    with pytest.raises(Exception, match=r"unknown mode 'max-autotun' \(did you mean 'max-autotune'\?\)"):
        torch.compile(lambda x: x * 2, backend=backend, mode="max-autotun")(torch.ones(3))


@pytest.mark.reads_cache
def test_empty_environment_variables_are_treated_as_unset(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "")
    monkeypatch.setenv("TILEWRIGHT_TARGET", "")
    run(lambda x: x * 2, torch.ones(3))
    assert not tilewright.report()[-1].details()[0]["cache"].startswith("off")


# -- rounding --------------------------------------------------------------------


def chain(x, y, w):
    z = (x * y + w) * x - y
    z = torch.relu(z) + torch.where(x > 0, z * w, x)
    return torch.maximum(z * 3 - w, x / 7 + y)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_eager_rounding_of_elementwise_chain_equals_eager(dtype):
    x, y, w = (torch.randn(37, 131, dtype=torch.float32).to(dtype) for _ in range(3))
    want = chain(x, y, w)
    assert torch.equal(run(chain, x, y, w, rounding="eager"), want)
    assert tilewright.report()[-1].kernels() == 1
    # By default, intermediate values are not rounded, so the result differs from eager's, and is closer to the exact
    # result.
    fused = run(chain, x, y, w)
    exact = chain(x.double(), y.double(), w.double())
    assert not torch.equal(fused, want)
    assert (fused.double() - exact).square().mean() < (want.double() - exact).square().mean()


def test_eager_rounding_after_matmul_equals_eager():
    x, w, b = torch.randn(8, 16).bfloat16(), torch.randn(16, 48).bfloat16(), torch.randn(48).bfloat16()
    # Every product and sum of small integers is exact, so that only the tested roundings remain.
    x, w = (x * 4).round(), (w * 4).round()

    def fn(x, w, b):
        return (x @ w) * b + b

    assert torch.equal(run(fn, x, w, b, rounding="eager"), fn(x, w, b))


# -- schedule_file ---------------------------------------------------------------


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU()).eval(), torch.randn(32, 64)


def test_tile_sizes_of_the_schedule_file_are_used(model, tmp_path):
    layer, x = model
    (tmp_path / "s.json").write_text(json.dumps({"matmul*": {"tiles": [4, 5]}}))
    with pytest.raises(Exception, match=r"size 1 is not a multiple of"):
        run(layer, x, schedule_file=str(tmp_path / "s.json"))
    want = run(layer, x, dump=str(tmp_path / "default"))
    text = (tmp_path / "default" / "3-tiled.mlir").read_text()
    tiles = text.split('tw.ops = "matmul+add+relu"')[2].split("tiles = [")[1].split("]")[0].split(", ")
    (tmp_path / "s.json").write_text(json.dumps({"matmul*": {"tiles": [4, int(tiles[1])]}}))
    got = run(layer, x, schedule_file=str(tmp_path / "s.json"), dump=str(tmp_path / "mine"))
    assert f"tiles = [4, {tiles[1]}]" in (tmp_path / "mine" / "3-tiled.mlir").read_text()
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("how", [lambda p: p.unlink(), lambda p: p.write_text("{")], ids=["removed", "damaged"])
def test_changed_schedule_file_invalidates_the_caches(model, tmp_path, how):
    """Code that was compiled with one schedule file is not reused if the file's contents change."""
    layer, x = model
    path = tmp_path / "s.json"
    for text in ('{"matmul+*": {"tiles": [4, 48]}}', '{"matmul+*": {"tiles": [4, 24]}}', '{"nothing*": {"tiles": [1]}}'):
        path.write_text(text)
        with contextlib.suppress(Exception):
            run(layer, x, schedule_file=str(path))
    run(layer, x)
    how(path)
    with pytest.raises(Exception, match="schedule file"):
        run(layer, x, schedule_file=str(path))


SCRIPT = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @rows(%kernel: !transform.any_op {transform.readonly}) attributes {tw.kernels = "NAME"} {
    %last = transform.structured.match attributes {tw.op = "add+relu"} in %kernel : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %last tile_sizes [8, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product = transform.structured.match ops{["tw_tile.matmul"]} in %kernel : (!transform.any_op) -> !transform.any_op
    %inner, %same = transform.structured.fuse_into_containing_op %product into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


def test_tile_sizes_of_the_schedule_script_are_used(model, tmp_path):
    """Each task computes eight rows. The results equal those of the default schedule."""
    layer, x = model
    (tmp_path / "s.mlir").write_text(SCRIPT.replace("NAME", "matmul*"))
    got = run(layer, x, schedule_file=str(tmp_path / "s.mlir"), dump=str(tmp_path / "mine"))
    text = (tmp_path / "mine" / "3-tiled.mlir").read_text()
    assert 'tw.schedule = #tw_cpu.script<"rows">' in text and re.search(r"scf.forall \(%\w+\) in \(4\)", text)
    torch.testing.assert_close(got, run(layer, x))
    run(layer, x, schedule_file=str(tmp_path / "s.mlir"), check="reference")


@pytest.mark.parametrize("text, message", [
    (None, "there is no such file"),
    ("module {", "is not MLIR of the transform dialect"),
    (SCRIPT.replace("tw.kernels", "kernels"), "has no transform.named_sequence with attributes"),
    (SCRIPT.replace("NAME", "kernel_7"), r"names 'kernel_7', but the graph's kernels are matmul_add_relu_0 \(matmul"),
    (SCRIPT.replace("NAME", "matmul*").replace("tw_tile.matmul", "tw_tile.scan"), r"leaves tw_tile.matmul outside of the scf.forall of matmul_add_relu_0 \(matmul"),
    (SCRIPT.replace("NAME", "matmul*").replace("add+relu", "add+gelu"), r"failed at @rows on matmul_add_relu_0 \(matmul"),
])  # fmt: skip
def test_invalid_schedule_script_is_refused(model, tmp_path, text, message):
    if text is not None:
        (tmp_path / "s.mlir").write_text(text)
    with pytest.raises(Exception, match=r"(?s)schedule script '.*s\.mlir'.*" + message):
        run(*model, schedule_file=str(tmp_path / "s.mlir"))


@pytest.mark.parametrize("text, message", [
    (None, "cannot be read: No such file"),
    ("{", "is not JSON"),
    ('{"kernel_7": {"tiles": [1]}}', r"names 'kernel_7', but the graph's kernels are matmul_add_relu_0 \(matmul"),
    ('{"matmul_add_relu_0": {"tile": [1]}}', "is not of the form"),
])  # fmt: skip
def test_invalid_schedule_file_is_refused(model, tmp_path, text, message):
    if text is not None:
        (tmp_path / "s.json").write_text(text)
    with pytest.raises(Exception, match=r"schedule file '.*s\.json'.*" + message):
        run(*model, schedule_file=str(tmp_path / "s.json"))
