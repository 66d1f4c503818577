"""Tests of complex numbers as pairs (python/tilewright/fx/pairs.py): native ops, and ops that stay complex, with views
around them."""

import warnings

import pytest
import torch
import torch.nn.functional as F

import tilewright
from numbers_rule import compiled_strictly, leaves


def z(*sizes, seed=0, dtype=torch.complex64):
    return torch.randn(*sizes, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def rotary(x, angles):
    """Applies rotary positions in the form of Llama's own code."""
    rotated = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * angles[:, None]
    return torch.view_as_real(rotated).flatten(3).type_as(x)


def made_here(x):
    steps = torch.outer(torch.arange(x.shape[1]).float(), 1 / 10000 ** (torch.arange(0, x.shape[3], 2) / x.shape[3]))
    return rotary(x, torch.polar(torch.ones_like(steps), steps))


X = torch.randn(2, 7, 3, 8, generator=torch.Generator().manual_seed(0))
NATIVE = {
    "rotary": (rotary, (X, z(7, 4))), "rotary of bf16": (rotary, (X.bfloat16(), z(7, 4))), "rotary and its angles": (made_here, (X,)),
    "arithmetic": (lambda a, b: ((a * b + a - b.conj()) * (2 + 1j) / 3, a.real * b, -a - 1j, 2 - a), (z(4, 5), z(5, seed=1))),
    "of real numbers": (lambda a: (a * 2j, torch.complex(a, a * 2) + a, a + 1j), (X,)),
    "sizes and angles": (lambda a, b: ((a * b).abs(), a.angle(), torch.sgn(b), (a == 0).float()), (z(4, 5), z(5, seed=1))),
    "products": (lambda a, b: (a @ b, a.mT @ a.conj()), (z(4, 5), z(5, 6, seed=1))),
    "shapes": (lambda a: (a.t().reshape(2, -1)[:, 1:], torch.cat([a, a.conj()], 0), a.split(2, 1)[1].exp(), a.flip(0), a[:, None].expand(4, 3, 6) * 2,
                          a.roll(1, 0), a.unbind(0)[1], a[..., -1], a.permute(1, 0) + 0, a.repeat(2, 1)), (z(4, 6),)),
    "of no dimensions": (lambda a: (a.sum(), a.mean(), a.sum([]), a.sum(0), a * a, a.real, a.flip(0), a.transpose(0, -1) + 1, a.squeeze(0) + 1), (z(1)[0],)), "sums": (lambda a: (a.sum(0), a.mean(), a.mean(-1, keepdim=True), a.sum()), (z(4, 6),)),
    "pads": (lambda a: F.pad(a, (1, 2)), (z(4, 6),)), "choices": (lambda a: torch.where(a.real > 0, a, a * 0), (z(4, 6),)),
    "wider": (lambda a, b: (a.to(torch.complex128) * a, a * b), (z(4, 6), z(1, dtype=torch.complex128)[0])),
    "a constant": (lambda a: a * torch.tensor([1j, 2.0, 3]), (torch.randn(4, 3),)), "rows": (lambda a, i: a[i] * 2, (z(4, 3), torch.tensor([1, 2]))),
    "an argument that is a conjugate": (lambda a: a * 2 + 1j, (z(4, 6).conj(),)), "an argument": (lambda a: (a, a + 1), (z(4, 6),)),
    "indices": (lambda a, i: (a.gather(0, i), a.new_zeros(3) + a[0, :3], a.index_put((i[0],), a[1]), a.new_full((2,), 1j)), (z(4, 3), torch.tensor([[1, 2, 0], [3, 3, 3]]))),
    "diagonals": (lambda a, b: ((s := a @ a.mT).diagonal(1) * 2, s[None].diagonal(-1, 2, 1) + 1, s.diagonal_scatter(b), a.unfold(1, 3, 2) * 2), (z(4, 6), z(4, seed=1))),
    "copied": (lambda a, x: (torch.zeros_like(a).copy_(x), torch.zeros_like(a).copy_(a[0])), (z(4, 3), torch.randn(4, 3))),
    "written parts": (lambda a, b: (a.select_scatter(b[0], 0, 2), a.slice_scatter(b[:2], 0, 1, 3)), (z(4, 3), z(4, 3, seed=1))),
    "real ones of complex ones": (lambda a: (torch.zeros_like(a, dtype=torch.float64), a.new_ones(3, dtype=torch.float32), a.new_full((2,), 3, dtype=torch.int64)), (z(4, 6),)),
    "filled": (lambda a: (torch.zeros_like(a) + a, torch.full((2,), 1 - 2j) * a[0, :2], torch.ones(2, dtype=torch.complex64) + a[0, :2]), (z(4, 6),)),
}  # fmt: skip


def close(got, want):
    for a, b in zip(leaves(got), leaves(want), strict=True):
        assert a.dtype == b.dtype and a.stride() == b.stride()
        torch.testing.assert_close(a.resolve_conj(), b.resolve_conj())


@pytest.mark.parametrize("name", NATIVE)
def test_complex_op_is_native_and_matches_eager(name):
    function, arguments = NATIVE[name]
    torch._dynamo.reset()
    compiled = compiled_strictly(function)
    for _ in range(2):
        close(compiled(*arguments), function(*arguments))


@pytest.mark.parametrize("name", [n for n in NATIVE if n not in ("rotary", "rotary of bf16")])  # a head's size that is a symbol and half another
def test_complex_op_with_symbolic_sizes_matches_eager(name):
    function, arguments = NATIVE[name]
    torch._dynamo.reset()
    close(compiled_strictly(function, dynamic=True)(*arguments), function(*arguments))


@pytest.mark.parametrize("name", ["rotary", "rotary of bf16", "rotary and its angles", "arithmetic", "products", "shapes", "sums", "pads", "choices"])
def test_complex_op_gradient_matches_eager(name):
    function, arguments = NATIVE[name]
    torch._dynamo.reset()

    def gradients(fn):
        inputs = [a.clone().detach().requires_grad_() for a in arguments]
        out = [torch.view_as_real(v.resolve_conj()) if v.is_complex() else v for v in leaves(fn(*inputs))]
        sum((v.float() * torch.linspace(0.5, 1.5, v.numel()).reshape(v.shape)).sum() for v in out).backward()
        return [i.grad for i in inputs]

    for got, want in zip(gradients(compiled_strictly(function)), gradients(function), strict=True):
        torch.testing.assert_close(got, want)


def test_complex_rotary_embedding_of_dynamic_length_matches_eager():
    torch._dynamo.reset()
    compiled = compiled_strictly(rotary)
    for length in (7, 9, 33):
        x, angles = torch.randn(2, length, 3, 8), z(length, 4)
        torch._dynamo.mark_dynamic(x, 1)
        torch._dynamo.mark_dynamic(angles, 0)
        close(compiled(x, angles), rotary(x, angles))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 1


ALIASES = {
    "parts of an argument": lambda a: (a[1:], a[0, 1:], a.real, a.imag, a.t(), a + 0), "an argument's pairs": lambda a: (torch.view_as_real(a)[..., 0], a),
    "parts of a result": lambda a: (b := a * 2, b[1:], b.real), "a part alone": lambda a: (a * 2)[1:, ::2], "of real numbers": lambda a: torch.view_as_complex(torch.view_as_real(a)[:, 1:]),
    "at symbols": lambda a: (a.narrow(1, 1, 2), a[: a.shape[0] // 2], a[None].expand(3, -1, -1), a.unflatten(1, (2, -1))),
    "transposed": lambda a: (a.t() * 2)[1:], "a diagonal": lambda a: (lambda b: (b.diagonal(), b))(torch.zeros_like((a @ a.mT).t())),
    "of a permuted argument": lambda a: torch.where(torch.zeros_like(b := a.reshape(2, 6, 2).permute(1, 2, 0)).sum().abs() > 6, 0, b),
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ALIASES)
def test_complex_results_alias_storage_as_in_eager(name, dynamic):
    torch._dynamo.reset()
    a = z(4, 6)
    compiled = compiled_strictly(ALIASES[name], dynamic=dynamic)
    for _ in range(2):
        got, want = leaves(compiled(a)), leaves(ALIASES[name](a))
        close(got, want)
        ours, theirs = ([t.untyped_storage().data_ptr() for t in (a, *results)] for results in (got, want))
        assert [ours.index(m) for m in ours] == [theirs.index(m) for m in theirs]
        assert [t.storage_offset() for t in got] == [t.storage_offset() for t in want]


def test_in_place_write_to_complex_argument_matches_eager():
    torch._dynamo.reset()
    compiled = compiled_strictly(lambda a, b: a.mul_(b) + 1)
    a, b = z(4, 6), z(6, seed=1)
    mine = a.clone()
    close(compiled(mine, b), a * b + 1)
    torch.testing.assert_close(mine, a * b)


def test_fourier_transforms_run_in_eager_between_compiled_segments():
    """The ops between the transforms stay complex, too, in eager's strides; those before and after them are compiled."""

    def function(x, w):
        return torch.fft.irfft(torch.fft.rfft(x * 2) * w).relu()

    torch._dynamo.reset()
    tilewright.report(clear=True)
    x, w = torch.randn(3, 16), z(9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(torch.compile(function, backend="tilewright", fullgraph=True)(x, w), function(x, w))
    (report,) = tilewright.report()
    assert "aten._fft_r2c.default" in [r.target for r in report.refusals] and report.segments == 2 and report.eager_segments == 1
