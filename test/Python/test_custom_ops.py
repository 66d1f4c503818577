"""Operators of torch.library: called in eager between segments, or compiled as what the user says that they are made of."""

import pytest
import torch

import tilewright
from tilewright import decompositions


@pytest.fixture
def library(monkeypatch):
    """mylib::scale, with a fake implementation and a gradient; what is registered is forgotten afterwards."""
    monkeypatch.setattr(decompositions, "_registered", {})

    @torch.library.custom_op("tilewright_test::scale", mutates_args=())
    def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor + 1

    @scale.register_fake
    def _(x, factor):
        return torch.empty_like(x)

    def backward(ctx, grad):
        return torch.ops.tilewright_test.scale(grad, ctx.factor) - 1, None

    scale.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]))
    tilewright.report(clear=True)
    yield torch.ops.tilewright_test.scale


def refused():
    return {r.target for graph in tilewright.report() for r in graph.refusals}


def results(fn, x):
    y = fn(x)
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    return y.detach(), gradient


def model(x):
    return torch.ops.tilewright_test.scale(x.sin(), 3.0).relu()


def test_calls_into_torch_without_a_decomposition(library):
    x = torch.randn(4, 7, requires_grad=True)
    torch.testing.assert_close(results(torch.compile(model, backend="tilewright", fullgraph=True), x), results(model, x))
    assert refused() == {"tilewright_test.scale.default"}
    assert all(graph.segments >= 1 for graph in tilewright.report())


@pytest.mark.parametrize("overload", [False, True])
def test_decomposition_makes_it_native(library, overload):
    @tilewright.register_decomposition(library.default if overload else library)
    def scale(x, factor):
        return x * factor + 1

    x = torch.randn(4, 7, requires_grad=True)
    compiled = torch.compile(model, backend="tilewright", fullgraph=True, options={"strict": True})
    torch.testing.assert_close(results(compiled, x), results(model, x))
    assert [graph.kind for graph in tilewright.report()] == ["forward", "backward"] and not refused()


def test_another_decomposition_is_another_key(library):
    before = decompositions.registered_digest()
    tilewright.register_decomposition(library, lambda x, factor: x * factor + 1)
    first = decompositions.registered_digest()
    tilewright.register_decomposition(library, lambda x, factor: x * factor + 2)
    assert len({before, first, decompositions.registered_digest()}) == 3


def test_what_cannot_be_registered():
    with pytest.raises(TypeError, match="an operator such as torch.ops.mylib.scale, not for <built-in"):
        tilewright.register_decomposition(torch.sin, lambda x: x)
    with pytest.raises(ValueError, match=r"aten\.add has the overloads .*; give one of them"):
        tilewright.register_decomposition(torch.ops.aten.add, lambda x, y: x)
    with pytest.raises(TypeError, match="is a function of its arguments, not 3"):
        tilewright.register_decomposition(torch.ops.aten.sin.default, 3)
