"""Operators of torch.library: called in eager between segments, or compiled as the user's decomposition or lowering."""

import pytest
import torch

import tilewright
from tilewright.decompositions import lowerings, table
from tilewright.dynamo import aotautograd_cache


def define_scale():
    @torch.library.custom_op("tilewright_test::scale", mutates_args=())
    def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor + 1

    @scale.register_fake
    def _(x, factor):
        return torch.empty_like(x)

    def backward(ctx, grad):
        return torch.ops.tilewright_test.scale(grad, ctx.factor) - 1, None

    scale.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]))
    return scale


@pytest.fixture
def library(monkeypatch):
    """Defines mylib::scale, with a fake implementation and a gradient. Registrations are removed afterwards."""
    monkeypatch.setattr(table, "registered", {})
    define_scale()
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


def test_custom_op_without_decomposition_runs_in_eager(library):
    x = torch.randn(4, 7, requires_grad=True)
    torch.testing.assert_close(results(torch.compile(model, backend="tilewright", fullgraph=True), x), results(model, x))
    assert refused() == {"tilewright_test.scale.default"}
    assert all(graph.segments >= 1 for graph in tilewright.report())


@pytest.mark.parametrize("overload", [False, True])
def test_custom_op_with_decomposition_is_native(library, overload):
    @tilewright.register_decomposition(library.default if overload else library)
    def scale(x, factor):
        return x * factor + 1

    x = torch.randn(4, 7, requires_grad=True)
    compiled = torch.compile(model, backend="tilewright", fullgraph=True, options={"strict": True})
    torch.testing.assert_close(results(compiled, x), results(model, x))
    assert [graph.kind for graph in tilewright.report()] == ["forward", "backward"] and not refused()


def test_decomposition_changes_the_cache_key(library):
    before = aotautograd_cache.registered_digest()
    tilewright.register_decomposition(library, lambda x, factor: x * factor + 1)
    first = aotautograd_cache.registered_digest()
    tilewright.register_decomposition(library, lambda x, factor: x * factor + 2)
    assert len({before, first, aotautograd_cache.registered_digest()}) == 3


def test_invalid_registration_of_a_decomposition_is_refused():
    with pytest.raises(TypeError, match="an operator such as torch.ops.mylib.scale, not for <built-in"):
        tilewright.register_decomposition(torch.sin, lambda x: x)
    with pytest.raises(ValueError, match=r"aten\.add has the overloads .*; give one of them"):
        tilewright.register_decomposition(torch.ops.aten.add, lambda x, y: x)
    with pytest.raises(TypeError, match="is a function of its arguments, not 3"):
        tilewright.register_decomposition(torch.ops.aten.sin.default, 3)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("decomposition", [lambda x: x.t(), lambda x: x.t().t().t()], ids=["view", "views"])
def test_decomposition_that_returns_a_view_does_not_alias_the_argument(monkeypatch, decomposition, requires_grad):
    monkeypatch.setattr(table, "registered", {})

    @torch.library.custom_op("tilewright_test::transposed", mutates_args=())
    def transposed(x: torch.Tensor) -> torch.Tensor:
        return x.t().clone()

    transposed.register_fake(lambda x: torch.empty_like(x.t()))
    transposed.register_autograd(lambda ctx, grad: grad.t())
    tilewright.register_decomposition(transposed)(decomposition)
    x = torch.randn(4, 7, requires_grad=requires_grad)
    result = torch.compile(lambda x: torch.ops.tilewright_test.transposed(x), backend="tilewright", fullgraph=True)(x)
    assert torch.equal(result, x.t()) and result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


# -- lowerings ---------------------------------------------------------------


@pytest.fixture
def lowered(library, monkeypatch):
    """Registers lowerings until the test ends."""
    monkeypatch.setattr(lowerings, "registered", {})
    return lambda function: tilewright.register_lowering(library, function)


@pytest.mark.parametrize("how", ["decomposition", "lowering"])
def test_operator_that_is_defined_again_keeps_its_registration(lowered, library, how):
    """If an operator is defined again (for example, by a notebook cell that is run twice), torch creates new objects
    for it, and frees the old objects at some later time. The registration must apply to the new objects."""
    if how == "lowering":
        lowered(scale_and_one)
    else:
        tilewright.register_decomposition(library, lambda x, factor: x * factor + 1)
    define_scale()
    del torch.ops.tilewright_test.scale  # as if the first definition were collected after the second
    assert torch.ops.tilewright_test.scale is not library
    compiled = torch.compile(model, backend="tilewright", fullgraph=True, options={"strict": True})
    x = torch.randn(4, 7)
    torch.testing.assert_close(compiled(x), model(x))
    assert not refused()


def scale_and_one(x, factor, *, results):
    return f"""
        func.func @scale(%x: {x}) -> {results[0]} {{
          %factor = tw.constant dense<{factor:e}> : tensor<f32>
          %one = tw.constant dense<1.0> : tensor<f32>
          %y = tw.mul %x, %factor : ({x}, tensor<f32>) -> {results[0]}
          %z = tw.add %y, %one : ({results[0]}, tensor<f32>) -> {results[0]}
          return %z : {results[0]}
        }}"""


@pytest.mark.parametrize("dynamic", [False, True])
def test_custom_op_with_lowering_is_native(lowered, dynamic):
    lowered(scale_and_one)
    compiled = torch.compile(model, backend="tilewright", fullgraph=True, dynamic=dynamic, options={"strict": True})
    for size in (7, 5):
        x = torch.randn(4, size, requires_grad=True)
        torch.testing.assert_close(results(compiled, x), results(model, x))
    assert {graph.kind for graph in tilewright.report()} == {"forward", "backward"} and not refused()


def test_lowering_receives_tensors_in_argument_order(monkeypatch):
    monkeypatch.setattr(lowerings, "registered", {})

    @torch.library.custom_op("tilewright_test::weighted", mutates_args=())
    def weighted(parts: list[torch.Tensor], weight: torch.Tensor, bias: torch.Tensor | None = None) -> list[torch.Tensor]:
        return [parts[0] * weight - parts[1], parts[1].sum(-1)]

    weighted.register_fake(lambda parts, weight, bias=None: [torch.empty_like(parts[0]), parts[0].new_empty(parts[0].shape[:-1])])

    @tilewright.register_lowering(weighted)
    def lowering(parts, weight, *, bias=None, results):
        assert bias is None
        return f"""
            func.func @weighted(%a: {parts[0]}, %b: {parts[1]}, %w: {weight}) -> ({results[0]}, {results[1]}) {{
              %m = tw.mul %a, %w : ({parts[0]}, {weight}) -> {results[0]}
              %d = tw.sub %m, %b : ({results[0]}, {parts[1]}) -> {results[0]}
              %s = tw.reduce sum %b {{dims = array<i64: 1>}} : {parts[1]} -> {results[1]}
              return %d, %s : {results[0]}, {results[1]}
            }}"""

    a, b, w = torch.randn(3, 9), torch.randn(3, 9), torch.randn(9)
    compiled = torch.compile(lambda *t: torch.ops.tilewright_test.weighted(list(t[:2]), t[2]), backend="tilewright", options={"strict": True})
    torch.testing.assert_close(compiled(a, b, w), weighted([a, b], w))


BAD = {
    "no MLIR: line 2, column": lambda x, factor, results: f"\n  func.func @f(%x: {x} -> {x} {{ return %x : {x} }}",
    "not one func.func of one block": lambda x, factor, results: "",
    "takes .* where its tensors are": lambda x, factor, results: "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }",
    "returns .* where its results are": lambda x, factor, results: f"func.func @f(%x: {x}) {{ return }}",
    "has arith.negf; only ops of the dialect tw are supported": lambda x, factor, results: f"func.func @f(%x: {x}) -> {x} {{ %y = arith.negf %x : {x} return %y : {x} }}",
    "raised KeyError: 'missing'": lambda x, factor, results: {}["missing"],
    "returned int, not the text": lambda x, factor, results: 3,
}  # fmt: skip


@pytest.mark.parametrize("said", BAD)
def test_invalid_lowering_raises_lowering_error(lowered, said):
    lowered(BAD[said])
    with pytest.raises(Exception, match=said) as caught:
        torch.compile(model, backend="tilewright", fullgraph=True)(torch.randn(4, 7))
    cause = getattr(caught.value, "inner_exception", caught.value)
    assert isinstance(cause, tilewright.LoweringError) and "tilewright_test.scale.default" in str(cause) and "test_custom_ops.py" in str(cause)


def test_lowering_changes_the_cache_key(lowered):
    before = aotautograd_cache.registered_digest()
    lowered(scale_and_one)
    assert aotautograd_cache.registered_digest() != before
    with pytest.raises(TypeError, match="a lowering is registered for an operator"):
        tilewright.register_lowering(torch.sin, scale_and_one)
    with pytest.raises(TypeError, match="is a function of its arguments, not 'text'"):
        lowered("text")
