"""check="reference" and check="eager": correct models pass, and injected errors are found at their location."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import tilewright
from tilewright.dynamo import check
from models import MODELS
from tilewright.dynamo.backend import tilewright as backend
from tilewright.dynamo.check import difference

HERE = pathlib.Path(__file__)
BROKEN = pathlib.Path(tilewright.__file__).parents[2] / "lib" / "tilewright_broken_target.so"


def compiled(fn, check, **options):
    return torch.compile(fn, backend=backend, fullgraph=True, options={"strict": True, "check": check, **options})


def two_layers(x, w, v):
    hidden = F.gelu(x @ w + 0.5)
    return (hidden @ v).softmax(-1) + 1


LINE_OF_MODEL = two_layers.__code__.co_firstlineno


def inputs(dtype=torch.float32):
    torch.manual_seed(0)
    return [t.to(dtype) for t in (torch.randn(40, 33), torch.randn(33, 64), torch.randn(64, 35))]


# -- reference ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", MODELS)
def test_correct_model_passes_the_reference_check(name, dtype):
    model, arguments = MODELS[name]()
    model = model.eval().to(dtype)
    with torch.no_grad():
        compiled(model, "reference")(*[x.to(dtype) if x.is_floating_point() else x for x in arguments])


def test_reference_check_does_not_change_results():
    with torch.no_grad():
        want = compiled(two_layers, "")(*inputs())
        torch._dynamo.reset()
        assert torch.equal(compiled(two_layers, "reference")(*inputs()), want)


def test_gradients_and_dynamic_sizes_pass_the_reference_check():
    x, w, v = [t.requires_grad_() for t in inputs()]
    fn = torch.compile(two_layers, backend=backend, dynamic=True, options={"check": "reference"})
    for rows in (40, 17, 3):
        fn(x[:rows], w, v).square().sum().backward()


def run_broken(what, ops, dtype="float32", target="broken"):
    """Runs two_layers in a separate process with a broken target. Returns its output."""
    environment = dict(os.environ, TILEWRIGHT_PLUGINS=str(BROKEN), TILEWRIGHT_TEST_BREAK=what, TILEWRIGHT_TEST_BREAK_OPS=ops,
                       TILEWRIGHT_CHECK="reference", TILEWRIGHT_TARGET=target)  # fmt: skip
    code = f"""
import torch, test_check as t
with torch.no_grad():
    t.compiled(t.two_layers, "reference")(*t.inputs(torch.{dtype}))
print("clean")
"""
    paths = [str(HERE.parent), str(pathlib.Path(tilewright.__file__).parents[1])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), f"the process crashed: {done.returncode}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def unbroken():
    """Returns the output of a process whose target breaks nothing."""
    if not BROKEN.exists():
        pytest.fail(f"{BROKEN} was not built")
    return run_broken("nothing", "")


def test_correct_plug_in_target_passes_the_reference_check(unbroken):
    assert unbroken.strip().endswith("clean"), unbroken


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("ops,line", [("add+gelu", "hidden = "), ("softmax+add", "softmax")])
def test_reference_check_names_ops_and_line_of_a_wrong_kernel(unbroken, ops, line, dtype):
    said = run_broken("sign", ops, dtype)
    lines = HERE.read_text().splitlines()[LINE_OF_MODEL:]
    number = next(i for i, text in enumerate(lines, LINE_OF_MODEL + 1) if line in text)
    assert re.search(r"check=reference: kernel \w+_\d+ \(", said), said
    assert f"{ops}, " in said and f"test_check.py:{number}" in said, said
    assert "broken gives" in said and "reference" in said and "RMS error" in said, said


def test_reference_check_names_index_of_a_wrong_element(unbroken):
    said = run_broken("element", "add+gelu")
    assert "(matmul+add+gelu, " in said and "element [3, 3]" in said, said


@pytest.mark.parametrize("kind", ["reference", "eager"])
def test_checks_compute_without_tf32(kind):
    """Convolutions use tf32 by default, whose error is larger than the checks allow."""
    options = {"target": "cuda", "device": "emulated", "arch": "sm_90a", "check": kind}
    x, w = torch.randn(2, 32, 9, 9), torch.randn(24, 32, 3, 3)
    convolve = torch.compile(lambda x, w: F.relu(F.conv2d(x, w, padding=1)), backend=backend, options=options)
    torch.testing.assert_close(convolve(x, w), F.relu(F.conv2d(x, w, padding=1)), rtol=1e-4, atol=1e-4)
    with pytest.raises(Exception, match=r"compares results with the accuracy of f32, but options\['tf32'\] rounds operands to tf32; remove one"):
        torch.compile(torch.matmul, backend=backend, options=options | {"tf32": True})(torch.ones(4, 4), torch.ones(4, 4))


def test_unknown_check_value_is_refused():
    with pytest.raises(Exception, match=r"options\['check'\] must be .*'reference'.*'eager'"):
        compiled(two_layers, "both")(*inputs())


# -- eager ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["bert", "llama"])
def test_correct_model_passes_the_eager_check(name, dtype):
    model, arguments = MODELS[name]()
    with torch.no_grad():
        compiled(model.eval().to(dtype), "eager")(*arguments)


def test_training_with_dynamic_sizes_passes_the_eager_check():
    x, w, v = [t.requires_grad_() for t in inputs()]
    fn = torch.compile(two_layers, backend=backend, dynamic=True, options={"check": "eager"})
    for rows in (40, 17, 3):
        fn(x[:rows], w, v).square().sum().backward()


class SwappedGraph:
    """A tilewright graph whose importer swaps ops."""

    swaps = {}

    def __init__(self):
        self.graph = self.real()

    def node(self, target, *rest):
        return self.graph.node(self.swaps.get(target, target), *rest)

    def __getattr__(self, name):
        return getattr(self.graph, name)


@pytest.mark.parametrize("wrong,right,fn", [
    ("aten.cos.default", "aten.sin.default", lambda x: (torch.sin(x) + 1).relu()),
    ("aten.minimum.default", "aten.maximum.default", lambda x: torch.maximum(x, x.flip(0)) * 2),
    ("aten.ge.Scalar", "aten.gt.Scalar", lambda x: torch.where(x.round() > 0, x, x * 2)),
    ("aten.sub.Tensor", "aten.add.Tensor", lambda x: torch.softmax(x + 2 * x.exp(), -1)),
])  # fmt: skip
def test_eager_check_names_the_node_of_a_wrong_importer_row(monkeypatch, wrong, right, fn):
    from tilewright import _tilewright
    from tilewright.dynamo.check import CheckError

    x = torch.randn(9, 17)
    with torch.no_grad():
        compiled(fn, "eager")(x)
        torch._dynamo.reset()
        monkeypatch.setattr(SwappedGraph, "real", _tilewright.Graph, raising=False)
        monkeypatch.setattr(SwappedGraph, "swaps", {right: wrong})
        monkeypatch.setattr(_tilewright, "Graph", SwappedGraph)
        with pytest.raises(CheckError, match=rf"node \w+ \({right}, .*test_check\.py:\d+\)"):
            compiled(fn, "eager")(x)


def test_eager_check_finds_a_wrong_view(monkeypatch):
    """In a compiled graph, torch creates a view of an argument. If the node is compiled separately, Tilewright imports
    the view."""
    from tilewright import _tilewright
    from tilewright.dynamo.check import CheckError

    class Wrong(SwappedGraph):
        real = _tilewright.Graph

        def node(self, target, args, *rest):
            return self.graph.node(target, [args[0], [0, 1, 2]] if target == "aten.permute.default" else args, *rest)

    monkeypatch.setattr(_tilewright, "Graph", Wrong)
    with torch.no_grad(), pytest.raises(CheckError, match=r"aten\.permute\.default"):
        compiled(lambda x: x.permute(1, 0, 2) + 1, "eager")(torch.randn(3, 3, 3))


def test_eager_check_reports_only_differences_beyond_its_bound():
    want = torch.randn(2000)
    exact = want.double()
    assert difference(want.clone(), want, exact) == ""
    assert difference(want * (1 + 1e-7), want, exact) == ""
    assert "RMS error" in difference(want * (1 + 1e-5), want, exact)
    assert "element [7]" in difference(want.index_fill(0, torch.tensor([7]), float("nan")), want, exact)
    assert "1 of 3" in difference(torch.tensor([1, 2, 4]), torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3]))
    assert "torch.float64" in difference(exact, want, exact)


def test_eager_check_states_why_a_node_is_unchecked(monkeypatch):
    seen = []

    class Kept(check.EagerCheck):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            seen.append(self)

    monkeypatch.setattr(check, "EagerCheck", Kept)
    with torch.no_grad():
        compiled(lambda x: nn.functional.dropout(x, 0.5) * 2, "eager")(torch.randn(5, 5))
    (kept,) = seen
    assert kept.checked >= 1 and any("random" in reason for reason in kept.unchecked.values())
