"""Parameters are packed once, and again when they change. A result is stale only if a write changes
only elements that the fingerprint does not sample, and repack() is not called."""

import copy

import pytest
import torch
from torch import nn

import tilewright
from models import Tied
from numbers_rule import assert_numbers, compiled_strictly, leaves, with_threads


def plain():
    return nn.Sequential(nn.Linear(128, 192), nn.ReLU(), nn.Linear(192, 128)), torch.randn(16, 128)


def convolutions():
    return nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 16, 1)), torch.randn(2, 16, 12, 12)


def tied():
    return Tied(twice=True), torch.randint(0, 192, (16,))


MODELS = {"plain": plain, "convolutions": convolutions, "tied": tied}


def optimizer_step(model):
    with torch.inference_mode(False), torch.enable_grad():
        for p in model.parameters():
            p.grad = torch.randn_like(p)
        torch.optim.SGD(model.parameters(), 0.1).step()
        for p in model.parameters():
            p.grad = None


def data_copy(model):
    for p in model.parameters():
        p.data.copy_(torch.randn_like(p))


def numpy_write(model):
    for p in model.parameters():
        p.detach().numpy()[...] *= -1.5


def load_state_dict(model):
    model.load_state_dict({k: torch.randn_like(v) for k, v in model.state_dict().items()})


def data_add(model):
    for p in model.parameters():
        p.data.add_(0.25)


def swap_parameter(model):
    # If a parameter is registered under two names, the same new parameter replaces it under both names.
    fresh = {}
    for module in model.modules():
        for name, p in list(module.named_parameters(recurse=False)):
            setattr(module, name, fresh.setdefault(id(p), nn.Parameter(torch.randn_like(p))))


def swap_data(model):
    for p in model.parameters():
        p.data = torch.randn_like(p)


def sparse_write(model):
    for p in model.parameters():
        p.data.view(-1)[p.numel() // 3] += 100.0
    tilewright.repack(model)


WRITES = [optimizer_step, data_copy, numpy_write, load_state_dict, data_add, swap_parameter, swap_data, sparse_write]


def assert_fresh(fn, model, x):
    eager = [with_threads(n, lambda: leaves(model(x))) for n in (1, 2)]
    wide = copy.deepcopy(model).double()
    reference = leaves(wide(x.double() if x.is_floating_point() else x))
    assert_numbers(leaves(fn(x)), eager, reference)


@pytest.mark.parametrize("guard", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("write", WRITES, ids=lambda w: w.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_next_call_uses_written_parameters(name, write, guard):
    model, x = MODELS[name]()
    model.eval().requires_grad_(True)
    fn = compiled_strictly(model)
    tilewright.report(clear=True)
    with guard():
        assert_fresh(fn, model, x)
        assert_fresh(fn, model, x)  # with the pack of the first call
        for _ in range(3):
            before = fn(x).clone()
            write(model)
            assert_fresh(fn, model, x)
            assert not torch.equal(before, fn(x)), "the write changed nothing: the test would pass with a stale pack"


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_packed(name, tmp_path, monkeypatch):
    """Checks that weights are packed; otherwise the tests above could not fail."""
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIRECTORY", str(tmp_path))
    model, x = MODELS[name]()
    with torch.no_grad():
        compiled_strictly(model)(x)
    assert "tw.once" in (tmp_path / "3-tiled.mlir").read_text()


def test_write_outside_of_the_fingerprint_needs_repack():
    """A change of one element that the fingerprint does not sample is only detected by repack. Until then the pack is
    used."""
    model, x = plain()
    fn = compiled_strictly(model)
    with torch.no_grad():
        before = fn(x)
        model[0].weight.data.view(-1)[model[0].weight.numel() // 3] += 100.0
        assert torch.equal(fn(x), before)
        tilewright.repack(model)
        assert not torch.equal(fn(x), before)
        assert_fresh(fn, model, x)


def test_repack_of_one_of_two_models_uses_its_writes():
    """repack(model) packs the model's parameters again, even if other models are compiled."""
    model, x = plain()
    other, _ = plain()
    fn, second = compiled_strictly(model), compiled_strictly(other)
    with torch.no_grad():
        assert_fresh(fn, model, x)
        assert_fresh(second, other, x)
        for m in (model, other):
            m[0].weight.data[77, 5] += 50.0
        tilewright.repack(model)
        assert_fresh(fn, model, x)
        tilewright.repack(other)
        assert_fresh(second, other, x)


def test_inference_after_a_training_step_uses_new_parameters():
    """The compiled model is called in inference, before and after a training step."""
    model, x = plain()
    fn = compiled_strictly(model)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for _ in range(3):
        with torch.no_grad():
            assert_fresh(fn, model, x)
        optimizer.zero_grad()
        fn(x).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        assert_fresh(fn, model, x)
