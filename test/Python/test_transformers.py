"""Tests of the harness in test/Conformance/transformers: errors that it must detect, and the rules by which models
get their arguments."""

import sys
from pathlib import Path

import pytest
import torch

conformance = Path(__file__).parent.parent / "Conformance"
sys.path[:0] = [str(conformance / name) for name in ("transformers", "models", "harness")]

import bars  # noqa: E402
import expected  # noqa: E402
import trial  # noqa: E402
from architectures import architectures  # noqa: E402
from modes import MODES, Case, all_cases  # noqa: E402
from settings import SUBJECT  # noqa: E402
from exact import in_float64  # noqa: E402
from results import named_tensors  # noqa: E402
from shares import share  # noqa: E402
from states import State, verdict  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from verdict import Outcome  # noqa: E402

KNOWN = architectures()


def planted(change):
    """Returns a backend that applies `change` to the large results of a graph. `change` also gets the kind of the graph: inference,
    forward or backward."""

    def compiler(kind):
        def compile(gm, example):
            def run(arguments):
                made = list(gm(*arguments))
                arguments.clear()
                return [change(kind, i, r) if isinstance(r, torch.Tensor) and r.is_floating_point() and r.numel() > 100 else r
                        for i, r in enumerate(made)]  # fmt: skip

            run._boxed_call = True
            return run

        return compile

    return aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
                        inference_compiler=compiler("inference"))  # fmt: skip


def outcome(monkeypatch, name, mode, change, sample=0):
    monkeypatch.setattr(trial, "backend", planted(change))
    monkeypatch.setattr(trial, "DRAWS", 2)
    monkeypatch.setattr(trial, "torch_fails_alike", lambda *arguments: False)
    return trial.judge(Case(name, mode), KNOWN[name], sample)


WRONG = {
    "numbers": lambda kind, i, r: r * (1 + 1e-5),
    "NaN": lambda kind, i, r: torch.where(r == r.flatten()[0], float("nan"), r),
    "strides": lambda kind, i, r: r.transpose(-1, -2).contiguous().transpose(-1, -2) if r.dim() > 1 else r,
}


@pytest.mark.parametrize("kind", WRONG)
def test_judge_names_each_kind_of_wrong_result(monkeypatch, kind):
    found = outcome(monkeypatch, "bert", "inference", WRONG[kind])
    assert (found.state, found.reason) == ("wrong", kind), found


def test_judge_finds_a_wrong_gradient(monkeypatch):
    found = outcome(monkeypatch, "bert", "training", lambda kind, i, r: r * 1.001 if kind == "backward" else r)
    assert (found.state, found.reason) == ("wrong", "numbers") and "gradient" in found.detail, found


def test_judge_finds_a_wrong_key_value_cache(monkeypatch):
    """The first result of GPT-2's graph is the logits. The other results are stored for the next token."""
    found = outcome(monkeypatch, "gpt2", "generate", lambda kind, i, r: r if i == 0 else r * 1.001)
    assert (found.state, found.reason) == ("wrong", "numbers"), found


@pytest.mark.parametrize("mode", MODES)
def test_judge_accepts_correct_results_in_each_mode(monkeypatch, mode):
    found = outcome(monkeypatch, "gpt2", mode, lambda kind, i, r: r)
    assert found.state == "native" and found.facts["graphs"] > 0, found


def test_error_of_the_backend_is_reported(monkeypatch):
    def broken(gm, example):
        raise ValueError("no")

    monkeypatch.setattr(trial, "backend", broken)
    found = trial.judge(Case("bert", "inference"), KNOWN["bert"])
    assert (found.state, found.reason) == ("error", "ValueError: no")


def test_model_without_a_compiled_graph_is_an_error(monkeypatch):
    monkeypatch.setattr(trial.Trial, "compiled", lambda self, using: trial.counters.clear() or self.model.forward)
    assert trial.judge(Case("bert", "inference"), KNOWN["bert"]).state == "error"


def test_in_float64_replaces_narrower_float_dtypes():
    with in_float64():
        x = torch.ones(3)
        assert x.float().dtype == x.to(torch.float32).dtype == torch.softmax(x, 0, dtype=torch.float32).dtype == torch.float64
        assert torch.zeros(2, dtype=torch.bfloat16).dtype == torch.float64 and x.to(torch.int32).dtype == torch.int32
    assert torch.ones(3).dtype == torch.float32


def test_arguments_are_drawn_by_their_names():
    model = KNOWN["t5"].build()
    given = KNOWN["t5"].draw(model, "training", 0)
    assert set(given) == {"input_ids", "attention_mask", "decoder_input_ids", "labels"}
    assert torch.equal(given["labels"], given["decoder_input_ids"])
    assert not torch.equal(given["input_ids"], KNOWN["t5"].draw(model, "training", 1)["input_ids"])
    assert "decoder_input_ids" not in KNOWN["t5"].draw(model, "generate", 0)


def test_nested_results_are_named_by_their_path():
    made = named_tensors({"a": torch.ones(2), "b": [torch.ones(1), (torch.zeros(3), None)]})
    assert list(made) == ["a", "b.0", "b.1.0"]


def test_table_is_read_as_it_was_written(tmp_path):
    fallback = Outcome("fallback", ops=["aten.x"], facts={"graphs": 2, "breaks": {"why": 3}})
    found = {Case("bert", "inference"): expected.row([fallback]), Case("bert", "training"): expected.row([Outcome("native")])}
    path = tmp_path / "table.json"
    expected.write(path, found)
    assert expected.rows(path) == found and expected.states(path)[Case("bert", "inference")] == State("fallback", frozenset({"aten.x"}))
    assert found[Case("bert", "inference")] == {"state": "fallback: aten.x", "graphs": 2, "breaks": 3}


def test_share_fails_if_a_case_is_worse_than_the_table():
    case = Case("bert", "inference")
    assert verdict("", {case: [Outcome("wrong", "numbers")]}, {case: State("native")}, False) == 1
    assert verdict("", {case: [Outcome("native")]}, {case: State("native")}, False) == 0


def test_the_table_has_every_architecture():
    known, planned = set(expected.rows(SUBJECT.table)), set(all_cases(KNOWN, KNOWN))
    assert known <= planned
    assert {case for case in planned if case.mode != "generate"} <= known
    assert 4 <= len(share(sorted(KNOWN), SUBJECT.parts)) <= 10


def test_the_bars_count_architectures():
    results = {Case("a", "inference"): [Outcome("native")], Case("a", "training"): [Outcome("fallback", ops=["x"])],
               Case("b", "inference"): [Outcome("native")]}  # fmt: skip
    rows = dict(bars.rows(results))
    assert rows["architectures: right in all modes"] == "100% (2 of 2)"
    assert rows["architectures: native in all modes"] == "50% (1 of 2)"


def test_only_almost_equal_pool_elements_excuse_a_jump():
    """In the tenth draw of the model `bit`, a pool has two almost equal elements. In the third draw, no pool has such
    elements, so an error of the same size is a real error."""
    one, name = trial.Trial(KNOWN["bit"], "training"), "gradient bit.embedder.convolution.weight"
    before = [parameter.detach().clone() for parameter in one.wide.parameters()]
    assert trial.jumps(one, one.arguments(10), name, 0.0019)
    assert not trial.jumps(one, one.arguments(3), name, 0.0019)
    assert not trial.jumps(one, one.arguments(10), name, 1.0)
    assert all(torch.equal(a, b) for a, b in zip(before, one.wide.parameters(), strict=True))


class OfDraws:
    """A trial with one result per draw. `errors` has the error of the compiled model in each draw; eager's is 1e-7."""

    def __init__(self, errors):
        self.errors = errors
        self.start = torch.linspace(1, 2, 2000)

    def arguments(self, seed):
        return {"draw": seed - 1}

    def exact(self, arguments):
        return {"y": self.start.double()}

    def eager(self, arguments):
        return {"y": self.start + 1e-7}

    def call(self, model, forward, arguments):
        return {"y": self.start + self.errors[arguments["draw"]]}

    model = None


@pytest.mark.parametrize(("large", "jumping", "accepted"), [
    ((), (), True),
    ((2, 7, 8, 11), (2, 7, 8, 11), True),
    ((2, 7, 8, 11), (2, 7, 8), False),
    ((1, 2, 7, 8, 11), (1, 2, 7, 8, 11), False),
])  # fmt: skip
def test_draws_are_excluded_only_if_each_of_them_jumps(monkeypatch, large, jumping, accepted):
    one = OfDraws([1e-4 if i in large else 1e-7 for i in range(trial.DRAWS)])
    monkeypatch.setattr(trial, "jumps", lambda one, arguments, name, error: arguments["draw"] in jumping)
    if accepted:
        trial.check_draws(one, None, ["y"])
        return
    with pytest.raises(trial.Wrong, match="of 8 draws|of 9 draws"):
        trial.check_draws(one, None, ["y"])
