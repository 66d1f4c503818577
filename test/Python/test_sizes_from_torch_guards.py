"""Sizes that torch's guards make equal: python/tilewright/fx/sizes.py."""

from math import prod

import pytest
import sympy
import torch
import torch.nn.functional as F
from torch import nn
from torch._guards import TracingContext
from torch.utils._sympy.functions import FloorDiv, Max

import tilewright
from tilewright.dynamo.backend import tilewright as backend
from tilewright.fx.sizes import _Equalities, expression, stride_expression


def rotary(x):
    count = x.shape[-1]
    angles = torch.outer(torch.arange(x.shape[1]), 1.0 / 10000 ** (torch.arange(0, count, 2) / count))
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()], -1).flatten(-2)


class UNet(nn.Module):
    def __init__(self, levels: int):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(3 if i == 0 else 8, 8, 3, padding=1) for i in range(levels))
        self.join = nn.ModuleList(nn.Conv2d(16, 8, 3, padding=1) for _ in range(levels - 1))

    def forward(self, x):
        kept = []
        for level, layer in enumerate(self.down):
            x = F.relu(layer(F.max_pool2d(x, 2) if level else x))
            kept.append(x)
        for layer, across in zip(self.join, reversed(kept[:-1]), strict=True):
            x = F.relu(layer(torch.cat([F.interpolate(x, scale_factor=2), across], 1)) + across)
        return x


def same(model, *inputs, training: bool) -> None:
    """Compares the model, compiled for symbolic sizes without any op in eager, with eager."""
    compiled = torch.compile(model, backend="tilewright", dynamic=True, options={"strict": True})
    for x in inputs:
        results = []
        for call in (compiled, model):
            leaf = x.clone().requires_grad_(training)
            y = call(leaf)
            results.append((y.detach(), torch.autograd.grad(y.square().sum(), leaf)[0] if training else None))
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("training", [False, True])
def test_rotary_embedding_with_symbolic_sizes_matches_eager(training):
    same(rotary, torch.randn(2, 6, 8), torch.randn(3, 5, 16), training=training)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("levels", [2, 3])
def test_unet_with_symbolic_sizes_matches_eager(levels, training):
    same(UNet(levels), torch.randn(2, 3, 16, 24), torch.randn(2, 3, 32, 16), training=training)


def product(sizes) -> sympy.Expr:
    return sympy.expand(prod(sympy.sympify(size) for size in sizes))


def read(function, *inputs) -> list:
    """Returns, for each tensor of the graph of `function` with symbolic sizes, its sizes and strides as the importer
    reads them."""
    found = []

    def look(gm, example_inputs):
        def inner(graph, arguments):
            for node in graph.graph.nodes:
                if isinstance(value := node.meta.get("val"), torch.Tensor):
                    found.append(([expression(s) for s in value.shape], [stride_expression(s) for s in value.stride()]))
            return graph.forward

        from torch._dynamo.backends.common import aot_autograd

        return aot_autograd(fw_compiler=inner)(gm, example_inputs)

    with torch.no_grad():
        torch.compile(function, backend=look, dynamic=True)(*inputs)
    return found


def test_size_that_a_guard_makes_constant_is_read_as_a_number():
    assert read(lambda x: x[::2] * torch.ones(4, 1), torch.randn(7, 6))[-1][0][0] == 4

    def pairs(x):
        torch._check(x.shape[0] // 2 == 3)
        return x[: x.shape[0] // 2 * 2].reshape(x.shape[0] // 2, -1) * 2

    sizes, strides = read(pairs, torch.randn(7, 4))[-1]
    assert sizes[0] == 3 and strides[1] == 1


def test_sizes_that_a_guard_makes_equal_have_one_expression():
    def join(x):
        return torch.cat([F.interpolate(F.max_pool2d(x, 2), scale_factor=2), x], 1)

    tensors = read(join, torch.randn(2, 3, 8, 8))
    assert len({sizes[2] for sizes, _ in tensors if len(sizes) == 4}) == 2  # a half and the whole
    sizes, strides = tensors[-1]
    assert [product([stride]) for stride in strides] == [product(sizes[1:]), product(sizes[2:]), product(sizes[3:]), 1]


def test_equations_of_guards_are_solved():
    """Equations in the form of torch's guards, and their consequences."""
    s, t = sympy.Symbol("s0", integer=True), sympy.Symbol("s1", integer=True)
    p = sympy.Symbol("s2", integer=True, positive=True)
    half, quarter, above = FloorDiv(s, 2), FloorDiv(s, 4), FloorDiv(s + 1, 2)

    def solved(*equations):
        return _Equalities(list(equations)).read

    read = solved(sympy.Eq(2 * quarter, half), sympy.Eq(4 * quarter, s))
    assert read(s * half * t) == read(s * 2 * quarter * t) == 8 * quarter**2 * t
    assert read(2 * half - s) == 0 and read(quarter) == quarter
    read = solved(sympy.Eq(above, 4))
    assert read(above * t + above) == 4 * t + 4 and read(s) == s
    read = solved(sympy.Eq(above, half))
    assert read(above - half) == 0
    read = solved(sympy.Eq(s * t, 12), sympy.Eq(s, t + 6), sympy.Eq(FloorDiv(t, 3), half))  # a graph may contain only one of these symbols
    assert read(s * t) == s * t and read(s) == s and read(t) == t and read(half) == half
    read = solved(sympy.Eq(FloorDiv(half, 2), half - 3))
    assert read(FloorDiv(half, 2)) == half - 3 and read(half) == half
    eights = FloorDiv(quarter + 7, 8)  # a part of an image that was made a multiple of eight
    read = solved(sympy.Eq(8 * eights, quarter))
    assert read(quarter * t) == 8 * eights * t and read(eights) == eights and read(read(quarter)) == read(quarter)
    windows = FloorDiv(FloorDiv(p, 4), FloorDiv(p, 16))
    read = solved(sympy.Eq(windows**2, 16))
    assert read(windows * t) == 4 * t
    assert solved(sympy.Eq(windows**2, 15))(windows) == windows and solved(sympy.Eq(half**2, 16))(half) == half  # which may be less than 0
    assert solved(sympy.Ne(half, 4))(half) == half
    read = _Equalities([sympy.Eq(t, quarter)], symbols=frozenset((s, t))).read  # the graph has both symbols
    assert read(quarter * p) == t * p and read(t) == t
    read = solved(sympy.Eq(3 * half, 2 * t))  # not solved, because the solution would have fractions
    assert read(half) == half and read(t) == t
    stride = Max(1, s + t)  # torch's stride, together with a size that a guard compares it with
    symbols = frozenset((s, t, p))
    read = _Equalities([sympy.Eq(stride * Max(1, t + p), s + t)], symbols=symbols).read
    assert read(s) == s and read(t) == t
    assert _Equalities([sympy.Eq(stride, p)], symbols=symbols).read(stride) == p


def test_padding_by_symbols_is_native():
    """Guards compare strides, which are products of Max(1, size), with sizes that are sums of symbols."""
    def pad(x, widths):
        return F.pad(x, widths, "replicate")

    compiled = torch.compile(pad, backend="tilewright", options={"strict": True}, dynamic=True)
    for widths in ((8, -1, -1, -3), (-2, -1, -1, -3), (2, 1, 3, -1)):
        x = torch.randn(2, 6, 5, 5)
        torch.testing.assert_close(compiled(x, widths), pad(x, widths))


def test_sizes_that_violate_a_guard_are_compiled_again():
    """A guard's equation is used only for calls that fulfil the guard."""
    def halves(x, y):
        return x[::2] + y[1::2]

    compiled = torch.compile(halves, backend="tilewright", dynamic=True)
    for rows in ((6, 6), (7, 8), (9, 10), (3, 3), (2, 3)):
        x, y = torch.randn(rows[0], 5), torch.randn(rows[1], 5)
        torch.testing.assert_close(compiled(x, y), halves(x, y))


@pytest.mark.parametrize("training", [False, True])
def test_symbol_that_torch_has_replaced_matches_eager(training):
    """s1 is s0 + 6 and is not a symbol of the graph."""

    def function(x, y):
        z = F.pad(x, (3, 3)) * y
        return (z.sin() @ y.mT).softmax(-1) + x.shape[1] // 2

    compiled = torch.compile(function, backend="tilewright", dynamic=True, options={"strict": True})
    for rows, columns in ((5, 9), (7, 12)):
        x, y = torch.randn(rows, columns, requires_grad=training), torch.randn(rows, columns + 6)
        torch.testing.assert_close(compiled(x, y), function(x, y))
        if training:
            torch.testing.assert_close(*(torch.autograd.grad(f(x, y).square().sum(), x)[0] for f in (compiled, function)), rtol=1e-4, atol=1e-5)


def test_guard_added_in_the_backend_is_used():
    seen = []

    def look(gm, example_inputs):
        env = TracingContext.get().fake_mode.shape_env
        size = example_inputs[0] if isinstance(example_inputs[0], torch.SymInt) else example_inputs[0].shape[0]
        seen.append((expression(size // 2 * 2), expression(size), len(env.guards)))
        if size // 2 * 2 == size:
            seen.append((expression(size // 2 * 2), expression(size), len(env.guards)))
        return backend(gm, example_inputs)

    look.reset = backend.reset
    torch.compile(lambda x: x * 2, backend=look, dynamic=True)(torch.ones(8, 3))
    (one, two, before), (three, four, after) = seen
    assert before < after and one != two and three == four


def test_rotary_embedding_with_symbolic_sizes_has_no_refusals():
    tilewright.report(clear=True)
    torch.compile(rotary, backend="tilewright", dynamic=True)(torch.randn(2, 6, 8))
    assert not any(graph.refusals for graph in tilewright.report())
