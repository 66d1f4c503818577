"""Memory that compilations still hold after torch._dynamo.reset(): python/tilewright/dynamo/after_reset.py."""

import gc
import weakref

import pytest
import torch
import torch._dynamo
from torch._dynamo.guards import CheckFunctionManager
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensorMode

import tilewright
from tilewright.dynamo.after_reset import FAKE_RESULTS, leftovers
from tilewright.dynamo.backend import tilewright as backend


def managers() -> set[int]:
    """Returns the ids of the guard managers that finalizers hold."""
    owners = [getattr(getattr(info.func, "func", None), "__self__", None) for info in weakref.finalize._registry.values()]
    return {id(owner) for owner in owners if isinstance(owner, CheckFunctionManager)}


def train(model, rows: int) -> torch.Tensor:
    result = torch.compile(model, backend="tilewright", dynamic=False)(torch.ones(rows, 8))
    result.sum().backward()
    return result


@pytest.fixture(autouse=True)
def start():
    torch._dynamo.reset()
    for _ in range(2):
        leftovers.drop()  # a reset calls it if something was compiled since the last one


def test_finalizers_of_expired_guards_are_dropped():
    before = len(managers())
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.GELU())
    for rows in range(2, 8):
        train(model, rows)
        torch._dynamo.reset()
    assert len(managers()) > before  # drop() detaches only the finalizers of managers that were already over at the last reset
    leftovers.drop()
    assert len(managers()) == before


def test_finalizers_of_live_guards_are_kept():
    """Guards compare by identity: after an object is freed, another one may have its address."""
    first = torch.nn.Linear(8, 4)
    held = {"model": first}

    def call(x):
        return held["model"](x) + held["scale"].value

    class Scale:
        value = 2.0

    held["scale"] = Scale()
    compiled = torch.compile(call, backend="tilewright", dynamic=False)
    compiled(torch.ones(2, 8))
    living = managers()
    assert living
    for _ in range(3):
        leftovers.drop()
    assert managers() >= living
    x = torch.randn(2, 8)
    torch.testing.assert_close(compiled(x), call(x))
    held["model"], held["scale"] = torch.nn.Linear(8, 4), Scale()
    held["scale"].value = 3.0
    del first
    gc.collect()
    torch.testing.assert_close(compiled(x), call(x))


def test_fake_parameters_with_gradients_are_freed():
    seen = weakref.WeakSet()

    def watching(gm, example_inputs):
        seen.add(TracingContext.get().fake_mode.shape_env)
        return backend(gm, example_inputs)

    watching.reset = backend.reset
    model = torch.nn.Linear(8, 4)
    for rows in range(2, 6):  # gradients exist from the second call on
        torch.compile(model, backend=watching, dynamic=False)(torch.ones(rows, 8)).sum().backward()
        torch._dynamo.reset()
        gc.collect()
    assert model.weight.grad is not None
    assert len(seen) <= 1  # the last one: a finalizer still holds its guards


def test_gradients_of_the_model_are_kept_after_reset():
    model = torch.nn.Linear(8, 4)
    train(model, 2)
    train(model, 3)
    kept = model.weight.grad.clone()
    torch._dynamo.reset()
    assert torch.equal(model.weight.grad, kept)


def test_cache_of_fake_tensor_results_is_bounded(monkeypatch):
    FakeTensorMode.cache_clear()
    model = torch.nn.Linear(8, 4)
    train(model, 2)
    few = FakeTensorMode.cache_info().size
    assert 0 < few <= FAKE_RESULTS
    torch._dynamo.reset()
    assert FakeTensorMode.cache_info().size in (few, 0)  # torch 2.15 clears it itself
    monkeypatch.setattr("tilewright.dynamo.after_reset.FAKE_RESULTS", few - 1)
    train(model, 2)
    torch._dynamo.reset()
    assert FakeTensorMode.cache_info().size == 0


def test_reports_outlive_a_reset():
    torch.compile(torch.nn.Linear(8, 4), backend="tilewright")(torch.ones(2, 8))
    count = len(tilewright.report())
    torch._dynamo.reset()
    report = tilewright.report()
    assert len(report) == count and report[-1].details()[0]["kernels"] == report[-1].kernels() > 0
