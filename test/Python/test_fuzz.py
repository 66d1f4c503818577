"""Tests of the fuzzer in test/Conformance/fuzz: seeds determine graphs, and errors are found and reduced."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

conformance = Path(__file__).parent.parent / "Conformance"
sys.path[:0] = [str(conformance / "fuzz"), str(conformance / "harness")]

import judge as judging  # noqa: E402
import entries  # noqa: E402
import planted  # noqa: E402
import ledger  # noqa: E402
import tally  # noqa: E402
from operations import OPS  # noqa: E402
from generate import generate  # noqa: E402
from noise import Noisy  # noqa: E402
from program import Input, Node, Program  # noqa: E402
from reduce import reduced  # noqa: E402
from script import script  # noqa: E402
from verdict import Outcome, Wrong  # noqa: E402


def node(op, result, text, exact=False, dtype="float32"):
    return Node(op, [result], text, [exact], [dtype])


def graph(*nodes, outputs, mode="inference", inputs=("v0",), numbers="uniform"):
    made = [Input(name, "float32", [33, 17], [17, 1], 0, numbers, gradient=mode == "gradient") for name in inputs]
    return Program(7, mode, 1, made, list(nodes), list(outputs))


def test_fuzzer_has_more_than_300_distinct_ops():
    assert len({op.name for op in OPS}) == len(OPS) > 300


@pytest.mark.parametrize("seed", range(12))
def test_seed_determines_the_graph_and_its_results(seed):
    first, second = generate(seed), generate(seed)
    assert first.to_json() == second.to_json() == Program.from_json(first.to_json()).to_json()
    results = judging.call(first).tensors
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(results, judging.call(second).tensors))
    assert max(t.nan_to_num(0, 0, 0).abs().max().item() for t in results if t.is_floating_point() and t.numel()) < 1e19  # integers vary


def test_resumed_run_covers_every_missing_graph():
    """Regression: a chunk of graphs was considered done if its first graph was done. After the failures of a run had been
    removed from its results, the resumed run skipped 19 of 20,000 graphs."""
    found = dict.fromkeys([*range(100, 125), 125, 127, 149])
    assert tally.missing(found, 100, 50, 10) == [(126, 1), (128, 10), (138, 10), (148, 1)]
    assert tally.missing(found, 100, 25, 10) == []


def test_ledger_counts_each_graph_once(capsys):
    first = {7: Outcome("native", "noise", ops=["op abs", "op add", "mode inference"]),
             8: Outcome("native", "", ops=["op abs", "mode gradient"]),
             9: Outcome("wrong", "numbers", ops=["op abs", "mode dynamic"])}  # fmt: skip
    later = {9: Outcome("fallback", "resized", ops=["<function f at 0x7f1>", "op abs", "mode dynamic"]), 11: Outcome("native", "", ops=["op sub"])}
    found = ledger.merged(ledger.merged(ledger.empty(), first, "one"), later, "two")
    assert found["states"] == {"fallback: <function f>": "9", "native": "7-8 11"} and found["runs"] == {"one": 3, "two": 2}
    assert found["ops"] == {"abs": 3, "add": 1, "sub": 1} and found["words"]["noise"] == 1 == found["words"]["mode dynamic"]
    assert ledger.seeds_of("7-8 11") == [7, 8, 11]
    tally.show(found)
    assert "graphs, nodes                                            4, 5" in capsys.readouterr().out
    assert ledger.merged({**found, "generator": "another"}, later, "three")["states"] == ledger.merged(ledger.empty(), later, "three")["states"]


def test_another_draw_has_other_inputs():
    program = generate(3)
    first = program.tensors()
    program.draw = 1
    second = program.tensors()
    assert any(not torch.equal(first[name], second[name]) for name in first)


def wrong(program: Program, make) -> str:
    """Returns the kind of failure with a backend that applies `make` to eager's results."""

    def backend(gm, example):
        return lambda *arguments: make(gm.forward(*arguments))

    outcome = judging.judge(program, backend)
    return outcome.reason if outcome.state == "wrong" else outcome.state


WRONG = {
    "numbers": lambda r: [x * (1 + 2e-6) for x in r], "strides": lambda r: [x.t().contiguous().t() for x in r], "dtype": lambda r: [x.double() for x in r],
    "shape": lambda r: [x[:-1] for x in r], "NaN": lambda r: [torch.where(x > 0, x, float("nan")) for x in r],
    "numbers, far": lambda r: [x + 1 for x in r], "aliasing": lambda r: [r[0], r[0].view(33, 17)],
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_judge_names_each_kind_of_wrong_result(kind):
    program = graph(node("sin", "v1", "torch.sin(v0)"), node("exp", "v2", "torch.exp(v0)"), outputs=["v1", "v2"] if kind == "aliasing" else ["v1"])
    assert wrong(program, WRONG[kind]) == kind
    assert wrong(program, lambda r: list(r)) in ("native", "fallback")


def test_noise_of_equal_elements_is_equal():
    """Graph 213478: normalized multiples of 1/4 have few different values, and equal values have equal rounding errors."""
    program = graph(node("mul", "v1", "v0 * 0.1"), outputs=["v1"], numbers="dyadic")
    exact, noisy = judging.call(program, wide=True).tensors[0], [judging.call(program, wide=True, noisy=seed).tensors[0] for seed in range(4)]
    distinct = [len((run - exact)[exact != 0].unique()) for run in noisy]
    assert distinct[1] == distinct[3] == len(exact[exact != 0].unique()) < 40 < distinct[0]
    assert not torch.equal(noisy[1], noisy[3])
    u = (noisy[1] / exact - 1)[exact != 0].unique() / torch.finfo(torch.float32).eps
    assert u.abs().max() <= 1 and u.min() < -0.3 and u.max() > 0.3


def test_noise_has_the_size_of_rounding_errors():
    """x + y - x unavoidably loses digits, and the noise shows this error. For exact numbers, there is no noise."""
    program = graph(node("add", "v1", "v0 + 1000.0"), node("sub", "v2", "v1 - 1000.0"), outputs=["v2"])
    exact, noisy = judging.call(program, wide=True).tensors[0], judging.call(program, wide=True, noisy=0).tensors[0]
    assert 1e-6 < (exact - noisy).abs().mean() < 1e-3
    whole = copy.deepcopy(program)
    for n in whole.nodes:
        n.exact = [True]
    assert torch.equal(exact, Noisy(whole, 0)(whole.tensors(wide=True))[0])
    with pytest.raises(Wrong):
        judging.check_with_noise(exact.float() * 1.1, [exact.float()], [noisy], exact, "", Wrong("numbers", ""))


def test_planted_bug_is_found_and_reduced(monkeypatch, tmp_path):
    from tilewright.decompositions import scatters
    from tilewright.decompositions.table import of_torch
    from tilewright.dynamo import aotautograd_decompositions

    def forget_tables():
        of_torch.cache_clear()
        aotautograd_decompositions._of_torch.cache_clear()

    monkeypatch.setattr(scatters, "TABLE", dict(scatters.TABLE))  # the bug adds a decomposition
    planted.plant("order")
    forget_tables()
    try:
        program = graph(
            node("sin", "v2", "torch.sin(v0)"), node("add", "v3", "v2 + v1"), node("kthvalue", "v4", "torch.kthvalue(v3, 3, -1)[0]"),
            node("mul", "v5", "v3 * 0.5"), node("softmax", "v6", "torch.softmax(v5, -1)"), node("exp", "v7", "torch.exp(v4)"),
            outputs=["v5", "v6", "v7"], inputs=("v0", "v1"))  # fmt: skip
        small, outcome = reduced(program, judging.judge, tell=lambda *a, **k: None)
    finally:
        forget_tables()
    assert outcome.state == "wrong" and outcome.reason.startswith("numbers")
    assert [n.op for n in small.nodes] == ["kthvalue"] and len(small.inputs) == 1
    assert max(small.inputs[0].shape) <= 17
    file = tmp_path / "small.py"
    file.write_text(script(small, outcome))
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0 and "RMS error" in ran.stdout, ran.stderr


def test_patch_of_planted_bugs_applies():
    """Checks that the patch that plants the bugs still applies after code has moved."""
    root = conformance.parent.parent
    if not (root / ".git").exists():
        pytest.skip("this is not a checkout")
    checked = subprocess.run(["git", "apply", "--check", str(conformance / "fuzz/planted/bugs.patch")], cwd=root, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_unknown_planted_bug_is_refused():
    with pytest.raises(ValueError, match="unknown bug"):
        planted.plant("nothing")
    text = (conformance / "fuzz" / "planted" / "bugs.patch").read_text()
    assert all(f'planted("{name}")' in text for name in planted.COMPILED)


@pytest.mark.parametrize(("line", "state"), [("eager", "eager"), ("start", "crash")])
def test_crash_is_attributed_to_eager_or_to_the_compiler(tmp_path, line, state):
    from pool import Pool

    worker = tmp_path / "worker.py"
    worker.write_text(f"""
import json, os, sys
for answer in ({{"ready": True}}, {{"{line}": 0}}):
    print(json.dumps(answer), flush=True)
    if "ready" in answer:
        asked = json.loads(sys.stdin.readline())
        if asked["after"] == 0:
            print(json.dumps({{"done": True, "reason": ""}}), flush=True)
            sys.stdin.readline()
os.abort()
""")
    outcomes = {}
    Pool(worker, lambda case: {"entry": case}, 1, 60, 30).run(["0"], lambda case, results, reason: outcomes.update(results))
    assert {index: outcome.state for index, outcome in outcomes.items()} == {0: state} and "SIGABRT" in outcomes[0].reason


def test_gradient_of_f64_scalar_operand_has_noise_of_f32():
    """Graph 402568: the gradient of an f64 number that is added to f32 is a sum in f32, which was exact in eager's
    order."""
    program = graph(Node("add", ["v1"], "torch.add(v0, v2)", [False], ["float32"]), outputs=["v1"], mode="gradient", inputs=("v0",))
    program.inputs.append(Input("v2", "float64", [], [], gradient=True))
    exact, noisy = judging.call(program, wide=True), judging.call(program, wide=True, noisy=0)
    at = exact.names().index("gradient 1")
    assert 1e-9 < (noisy.tensors[at] / exact.tensors[at] - 1).abs() < 2e-7
    judging.judge(program)


def test_exact_trigamma_is_more_accurate_than_torch():
    x = torch.rand(100, dtype=torch.float64) + 0.5
    with judging.ExactTrigamma():
        better = torch.special.polygamma(1, x)
    more = x + 1000  # the series is exact there; the recurrence leads back down
    far = 1 / more + 1 / (2 * more**2) + 1 / (6 * more**3) - 1 / (30 * more**5)
    for step in reversed(range(1000)):
        far = far + 1 / (x + step) ** 2
    assert (better / far - 1).abs().max() < 2e-14 < (torch.special.polygamma(1, x) / far - 1).abs().max()


@pytest.mark.parametrize("text, shapes", [
    ("F.batch_norm(v0, v1, v1.abs() + 0.5, v1, v1)", ([2, 2], [2])),
    ("F.scaled_dot_product_attention(v0, v1, v1)", ([1, 1, 4], [1, 4, 4])),
])  # fmt: skip
def test_wrong_results_of_eager_are_not_judged_wrong(text, shapes):
    """Graphs 417946 and 413119: eager's gradient of batch_norm with an expanded weight reads beyond its end, and
    eager's attention returns 0 for a few NaN scores."""
    attention = "attention" in text
    inputs = [Input("v0", "float32", shapes[0], [4, 4, 1] if attention else [2, 1], 0, "special" if attention else "uniform", gradient=not attention),
              Input("v1", "float32", shapes[1], [16, 4, 1] if attention else [0])]  # fmt: skip
    program = Program(7 if attention else 417946, "inference" if attention else "gradient", 1, inputs, [node("some", "v2", text)], ["v2"])
    assert judging.judge(program).state in ("native", "fallback")


@pytest.mark.skipif(not entries.PROGRAM.exists(), reason="tilewright was not imported from a build tree")
@pytest.mark.parametrize("through", entries.THROUGH)
def test_judge_finds_a_wrong_result_of_each_file_format(through, monkeypatch):
    if through == "onnx":
        pytest.importorskip("onnxscript")
        pytest.importorskip("onnxruntime")
    program = graph(node("relu", "v1", "F.relu(v0)"), node("matmul", "v2", "v1.t() @ v1"), node("part", "v3", "v1[1:, ::2]"), outputs=["v2", "v3", "v1"])
    assert judging.judge_file(program, through).state == "native"
    of_file = entries.FromFile.of_file
    monkeypatch.setattr(entries.FromFile, "of_file", lambda *arguments: [r + 0.01 for r in of_file(*arguments)])
    assert judging.judge_file(program, through).state in ("wrong", "torch")  # onnxruntime's results are changed as well


def test_graph_that_a_file_cannot_contain_is_refused():
    written = graph(node("relu_", "v1", "F.relu_(v0)"), outputs=["v1"])
    assert judging.judge_file(written, "pt2").state == "refused"
    transform = graph(node("fft", "v1", "torch.fft.fft(v0).real"), outputs=["v1"])
    found = judging.judge_file(transform, "pt2")
    assert found.state == "refused" and "_fft" in found.detail
