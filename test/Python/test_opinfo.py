"""Tests of the harness in test/Conformance/opinfo: errors that it must detect, and crashes that it must survive."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

conformance = Path(__file__).parent.parent / "Conformance"
sys.path[:0] = [str(conformance / "opinfo"), str(conformance / "harness"), str(conformance.parents[1] / "tools/dev")]

import pool  # noqa: E402
import sample as harness  # noqa: E402
import states  # noqa: E402
import table  # noqa: E402
from cases import Case, chosen, default_cases  # noqa: E402
from shares import share  # noqa: E402
from verdict import Outcome, Wrong, check_distribution, check_numbers  # noqa: E402
import write_operators_doc  # noqa: E402

CASE = Case("planted", "f32", "forward")


def planted(right, wrong, *arguments, mode="forward"):
    """Returns the outcome for the operator `right` if the compiled code is `wrong`."""

    def other(gm, example):
        return lambda *a: [r for r in (wrong(*a) if isinstance(wrong(*a), tuple) else (wrong(*a),))]

    info = SimpleNamespace(op=right, name="planted")
    made = SimpleNamespace(input=arguments[0], args=arguments[1:], kwargs={}, output_process_fn_grad=None)
    before, harness.backend = harness.backend, other
    try:
        return harness.judge(info, Case("planted", "f32", mode), made)
    finally:
        harness.backend = before


X = torch.randn(40, 30)
WRONG = {
    "numbers": (lambda x: x.exp(), lambda x: x.exp() * (1 + 1e-5)), "strides": (lambda x: x.t() * 2, lambda x: (x.t() * 2).contiguous()),
    "dtype": (lambda x: x * 2, lambda x: (x * 2).double()), "shape": (lambda x: x * 2, lambda x: (x * 2)[:, :29]),
    "NaN": (lambda x: x * 2, lambda x: torch.where(x == x[0, 0], float("nan"), x * 2)), "integers": (lambda x: (x * 9).int(), lambda x: (x * 9).int() + 1),
    "aliasing": (lambda x: x.view(1200), lambda x: x.clone().view(1200)), "distribution": (lambda x: torch.rand_like(x), lambda x: torch.rand_like(x) ** 2),
    "infinities": (lambda x: x / 0, lambda x: -(x / 0)),
}  # fmt: skip


@pytest.mark.parametrize("kind", [k for k in WRONG if k != "aliasing"])
def test_judge_names_each_kind_of_wrong_result(kind):
    outcome = planted(*WRONG[kind], X)
    assert (outcome.state, outcome.reason) == ("wrong", kind), outcome.detail


@pytest.mark.parametrize("kind", WRONG)
def test_judge_accepts_correct_results(kind):
    right = WRONG[kind][0]
    assert planted(right, right, X).state in ("native", "fallback")


def test_missing_alias_of_a_result_is_wrong():
    info, made = SimpleNamespace(op=lambda x: x.view(1200), name="planted"), SimpleNamespace(input=X, args=(), kwargs={})
    want = harness.call(info.op, info, made, False)
    got = harness.call(lambda x: x.clone().view(1200), info, made, False)
    with pytest.raises(Wrong, match="share memory with"):
        harness.compare(info, CASE, made, got, [want, want], want, [])


def test_check_numbers_allows_twice_the_error_of_eager():
    exact = torch.rand(2000, dtype=torch.float64) + 1
    eager = (exact * (1 + 1e-6)).float()
    check_numbers((exact * (1 + 1.9e-6)).float(), [eager, eager], exact, 0.0, "")
    with pytest.raises(Wrong):
        check_numbers((exact * (1 + 2.2e-6)).float(), [eager, eager], exact, 0.0, "")
    with pytest.raises(Wrong):
        check_numbers(exact * (1 + 3e-12), [exact, exact], exact, 0.0, "")


def test_check_distribution_accepts_correlated_elements():
    draws = [torch.bernoulli(torch.full((6, 1), 0.5)).expand(6, 500) for _ in range(4)]
    check_distribution(draws[0].flip(0), draws, "")
    with pytest.raises(Wrong):
        check_distribution(torch.full((6, 500), 7.0), draws, "")


def test_check_distribution_ignores_roundings_of_a_value_that_many_elements_have():
    """Dropped elements of alpha_dropout have a value whose computation has several roundings."""
    def draw(value):
        return torch.where(torch.rand(4096) < 0.5, torch.randn(4096), torch.tensor(value)).bfloat16()

    torch.manual_seed(0)
    draws = [draw(-0.8) for _ in range(4)]
    check_distribution(draw(-0.8 * (1 + 2.0**-8)), draws, "")
    with pytest.raises(Wrong):
        check_distribution(draw(-0.8 * (1 + 2.0**-4)), draws, "")
    for value, other in ((torch.full((4096,), 1.0), torch.full((4096,), 2.0)), (torch.poisson(torch.full((4096,), 3.0)), torch.poisson(torch.full((4096,), 4.0)))):
        with pytest.raises(Wrong):
            check_distribution(other, [value, value.flip(0), value.roll(1)], "")


def test_states_of_cases_are_ordered_and_parsed():
    native, slow = Outcome("native"), Outcome("fallback", ops=["aten.b", "aten.a"])
    wrong, crash = Outcome("wrong", "strides"), Outcome("crash", "SIGSEGV")
    assert str(states.state_of([native, slow])) == "fallback: aten.a | aten.b"
    assert str(states.state_of([native, Outcome("eager"), Outcome("torch", "no")])) == "native"
    assert str(states.state_of([slow, wrong, native])) == "wrong: strides"
    assert states.state_of([wrong, crash]).word == "crash"
    for outcomes in ([native], [slow], [wrong], [crash]):
        state = states.state_of(outcomes)
        assert states.State.parse(str(state)) == state and not states.worse(state, state)
    assert states.worse(states.state_of([wrong]), states.state_of([native]))
    assert states.worse(states.state_of([slow]), states.state_of([native]))
    assert states.worse(states.state_of([crash]), states.state_of([wrong]))
    assert states.worse(states.state_of([Outcome("wrong", "dtype")]), states.state_of([wrong]))
    assert not states.worse(states.state_of([native]), states.state_of([slow]))
    assert states.better(states.state_of([native]), states.state_of([slow]))


def test_table_is_read_as_it_was_written(tmp_path, monkeypatch):
    known = {Case("add", "f32", "forward"): states.State("native"), Case("add", "i64", "forward"): states.State("native"),
              Case("fft", "f32", "gradient"): states.State("fallback", frozenset({"complex"}))}  # fmt: skip
    monkeypatch.setattr(table, "PATH", tmp_path / "table.json")
    table.write(known)
    assert table.read() == known and len(table.PATH.read_text().splitlines()) == 4


def test_default_cases_cover_every_entry_and_mode():
    known = [Case("add", d, m) for d in ("i64", "f32", "bool") for m in ("forward", "dynamic")] + [Case("add", "f32", "gradient"), Case("all", "bool", "forward")]
    assert set(default_cases(known)) == {Case("add", "f32", m) for m in ("forward", "dynamic", "gradient")} | {Case("all", "bool", "forward")}
    names = [f"entry{i}" for i in range(700)]
    assert 40 < len(share(names, 10)) < 105 and share(names, 10) == share(names, 10)
    for count in (1, 7, 1000):
        picked = chosen(count, 5, "seed")
        assert len(picked) == min(count, 5) and all(0 <= p < count for p in picked)
    assert chosen(9, 0, "") == list(range(9))


STUB = """
import json, os, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    for index in range(asked["after"] + 1, 4):
        print(json.dumps({"start": index}), flush=True)
        if asked["entry"] == "crash" and index == 1:
            os.kill(os.getpid(), 11)
        if asked["entry"] == "hang" and index == 2:
            time.sleep(60)
        if asked["entry"] == "greedy" and index == 0:
            sys.stderr.write("terminate called: std::bad_alloc\\n")
            os.abort()
        print(json.dumps({"sample": index, "state": "native", "reason": "", "detail": "", "ops": []}), flush=True)
    print(json.dumps({"done": True, "count": 4, "reason": ""}), flush=True)
"""


def test_pool_survives_crashing_and_hanging_workers(tmp_path):
    script = tmp_path / "stub.py"
    script.write_text(STUB)
    found = {}
    cases = [Case(name, "f32", "forward") for name in ("crash", "fine", "hang", "greedy", "after")]
    workers = pool.Pool(script, lambda case: {"entry": case.entry}, 2, 60, 2)
    left = workers.run(cases, lambda case, results, _: found.update({case.entry: [o.state for _, o in sorted(results.items())]}))
    assert left == 0
    assert found["fine"] == found["after"] == ["native"] * 4
    assert found["crash"] == ["native", "crash", "native", "native"]
    assert found["hang"] == ["native", "native", "hang", "native"]
    assert found["greedy"] == ["memory", "native", "native", "native"]


def test_every_case_of_the_table_exists():
    from cases import DTYPES, MODES, entries

    if not torch.__version__.startswith(write_operators_doc.TORCH + "."):
        pytest.skip(f"the table has the entries of torch {write_operators_doc.TORCH}; this is {torch.__version__}")
    known = entries()
    assert all(case.entry in known and case.dtype in DTYPES and case.mode in MODES for case in table.read())
