"""Tests products, convolutions and attention of f16 numbers from 2^-24 to 65504 and beyond, at sizes around every tile size."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, compiled_strictly

half = torch.float16
# rows, columns, depth: tile - 1, tile, tile + 1 of tiles of 8, 16, 32 and 48; blocks of k; a long sum
SIZES = [(7, 15, 31), (8, 16, 32), (9, 17, 33), (15, 47, 127), (16, 48, 128), (33, 49, 129), (64, 64, 1000), (130, 40, 5000)]


def spread(*shape, low=-24, high=15):
    """Returns numbers of every exponent from 2^low to 2^high; a tenth of them is zero."""
    x = torch.exp2(torch.randint(low, high + 1, shape).float()) * (1 + torch.randint(0, 1024, shape) / 1024)
    return (x * torch.randn(shape).sign() * (torch.rand(shape) > 0.1)).clamp(-65504, 65504).to(half)


@pytest.mark.parametrize("m,n,k", SIZES)
def test_products_of_denormals_match_eager(m, n, k):
    """Multiplies denormal numbers (below 2^-14) by large ones: denormals must not be flushed to zero."""
    tiny, large = spread(m, k, low=-24, high=-16), spread(k, n, low=10, high=15)
    assert tiny.abs().max() < 2**-14
    check(torch.matmul, tiny, large)
    check(F.linear, large.t().contiguous(), tiny.contiguous(), torch.zeros(m, dtype=half))


@pytest.mark.parametrize("m,n,k", SIZES)
def test_products_of_all_exponents_match_eager(m, n, k):
    check(torch.matmul, spread(m, k), spread(k, n, low=-24, high=-8))
    check(torch.matmul, torch.randn(m, k).to(half), torch.randn(k, n).to(half))


@pytest.mark.parametrize("m,n,k", SIZES)
def test_products_whose_terms_cancel_match_eager(m, n, k):
    """Large terms cancel except for a small remainder: products must be exact and the accumulators f32."""
    a, b = torch.randn(m, k).to(half), torch.randn(k, n).to(half)
    noise = torch.randn(k, n).to(half) / 1024
    check(lambda a, b, c: torch.cat([a, -a], 1) @ torch.cat([b, b + c], 0), a, b, noise)


def test_products_of_integers_are_exact():
    a, b = torch.randint(-15, 16, (33, 130)).to(half), torch.randint(-15, 16, (130, 65)).to(half)
    exact = a.double() @ b.double()
    assert exact.abs().max() < 65504
    with torch.no_grad():
        assert torch.equal(compiled_strictly(torch.matmul)(a, b), exact.to(half))


@pytest.mark.parametrize("m,n,k", [(16, 32, 64), (33, 65, 130), (3, 5, 7)])
def test_infinities_and_nan_of_product_are_those_of_float64(m, n, k):
    """The reference is float64: if K is odd, eager's f16 tiles also return NaN in columns next to a column with an
    infinity or a NaN."""
    for value in (float("inf"), -float("inf"), float("nan")):
        a, b = torch.randn(m, k).to(half), torch.randn(k, n).to(half)
        a[1, 2], b[k - 1, n - 1], b[3, 3], b[2, 0] = value, value, value, 0
        b[2, 1] = 2.0  # a mantissa of zero bits
        exact = a.double() @ b.double()
        with torch.no_grad():
            got = compiled_strictly(torch.matmul)(a, b)
        assert torch.equal(got.isnan(), exact.isnan())
        assert torch.equal(got == float("inf"), exact == float("inf"))
        assert torch.equal(got == -float("inf"), exact == -float("inf"))


def test_results_beyond_the_range_are_infinite():
    a, b = torch.full((17, 40), 65504.0, dtype=half), torch.full((40, 33), 65504.0, dtype=half)
    check(torch.matmul, a, b)
    check(torch.matmul, a, -b)


@pytest.mark.parametrize("channels,filters", [(3, 16), (31, 33), (64, 64), (100, 40)])
def test_convolutions_of_all_exponents_match_eager(channels, filters):
    x, b = spread(2, channels, 9, 17), torch.zeros(filters, dtype=half)
    for window, stride, padding in ((3, 1, 1), (1, 1, 0), (1, 2, 0), (5, 2, 2)):
        w = spread(filters, channels, window, window, low=-24, high=-10)
        check(lambda x, w, b: F.conv2d(x, w, b, stride, padding), x, w, b)


@pytest.mark.parametrize("rows,keys,width", [(15, 17, 31), (16, 32, 64), (65, 600, 33)])
def test_attention_with_large_scores_matches_eager(rows, keys, width):
    """Scores differ a lot, so some weights are below f16's smallest number."""
    q, k, v = (torch.randn(1, 2, n, width).to(half) for n in (rows, keys, keys))
    check(F.scaled_dot_product_attention, q * 8, k, v)
    check(F.scaled_dot_product_attention, q, k, v * 1000)
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.001), q * 100, k * 100, v)


def test_f64_to_f16_cast_rounds_through_f32():
    """As in torch, f64 is cast to f16 through f32. digamma is computed in f64 and rounded once."""
    x = torch.cat([torch.randn(500, dtype=torch.float64) * 3, torch.exp2(torch.randint(-26, 18, (500,)).double()) * (1 + 2.0**-11 + 2.0**-30)])
    assert torch.equal(compiled_strictly(lambda x: x.to(half))(x), x.to(half))
    check(torch.special.digamma, (torch.rand(777) + 0.5).to(half))
