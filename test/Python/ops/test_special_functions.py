"""Tests the special functions of lib/Import/ATen (SpecialFunctions.h) against eager, at boundaries between formulas, poles, infinities and NaN."""

import mpmath as mp
import pytest
import torch

import tilewright
from numbers_rule import check, compiled_strictly

s = torch.special
INF, NAN = float("inf"), float("nan")


def grid(low, high, *more):
    return torch.cat([torch.linspace(low, high, 83), torch.tensor([0.0, -0.0, 1.0, 2.0, 8.0, *more])])


# Entries are name -> (function, arguments). The function is checked for each argument separately, with a bound relative
# to the largest results for this argument.
CASES = {
    **{f"{n}": (getattr(s, n), [grid(-8, 8), grid(-30, 30), grid(6, 20)]) for n in ("i0", "i1", "modified_bessel_i0", "modified_bessel_i1")},
    **{f"{n}": (getattr(s, n), [grid(-8, 8), grid(-300, 300, NAN)]) for n in ("i0e", "i1e")},
    **{f"{n}": (getattr(s, n), [grid(0.5, 2), grid(2, 30), torch.tensor([0.0, 1.0, NAN])])
       for n in ("modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1")},
    **{f"{n}": (getattr(s, n), [torch.linspace(0.2, 9, 61), torch.linspace(5, 70, 83), torch.tensor([0.0, NAN])])
       for n in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")},
    "bessel_j1 of negative ones": (s.bessel_j1, [torch.linspace(-30, -0.5, 61)]), "spherical_bessel_j0": (s.spherical_bessel_j0, [grid(-30, 30, 0.01, INF)]),
    "erfcx": (s.erfcx, [grid(-2, 2), grid(0, 60, INF, NAN), torch.linspace(-5, 0, 31)]),
    "erfinv": (torch.erfinv, [torch.linspace(-1, 1, 97), 1 - torch.logspace(-7, -1, 41), torch.tensor([2.0, -2.0, NAN, 1.0, -1.0, 1e-20])]),
    "ndtri": (s.ndtri, [torch.linspace(0, 1, 97), torch.logspace(-30, -1, 61), torch.tensor([-1.0, 2.0, NAN])]),
    "log_ndtr": (s.log_ndtr, [grid(-5, 5), grid(-40, 10)]),
    "lgamma": (torch.lgamma, [torch.linspace(0.1, 3, 61), grid(1, 400, INF, -INF, NAN), torch.linspace(-20.3, -0.2, 97), torch.tensor([-1.0, -2.0, 0.0])]),
    "digamma": (torch.digamma, [torch.linspace(0.3, 3, 61), grid(1, 400, INF, NAN), torch.linspace(-8.35, -0.3, 29), torch.tensor([-1.0, -2.0, 0.0, -0.0])]),
    **{f"polygamma {n}": (lambda x, n=n: torch.polygamma(n, x), [torch.linspace(0.6, 3, 61), torch.linspace(2, 90, 61), torch.linspace(-4.4, -0.4, 5)])
       for n in range(5)},
    **{f"polynomial {k}": (lambda x, n, k=k: getattr(s, k)(x, n), [torch.linspace(-1.5, 1.5, 61), torch.tensor([-1.0, 0.0, 0.5, 1.0])])
       for k in (p + f"chebyshev_polynomial_{kind}" for p in ("", "shifted_") for kind in "tuvw")},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_special_function_matches_eager(name):
    fn, arguments = CASES[name]
    for x in arguments:
        if name.startswith("polynomial"):
            for n in (0, 1, 2, 5, 9):
                check(fn, x, torch.full_like(x, n))
        else:
            check(fn, x)


EXACT = {  # compared with mpmath, because eager's results in float64 can be inexact: its Bessel functions have seven digits
    "i0": (s.i0, lambda v: mp.besseli(0, v)), "i1e": (s.i1e, lambda v: mp.besseli(1, v) * mp.exp(-v)),
    "bessel_j0": (s.bessel_j0, lambda v: mp.besselj(0, v)), "bessel_j1": (s.bessel_j1, lambda v: mp.besselj(1, v)),
    "bessel_y0": (s.bessel_y0, lambda v: mp.bessely(0, v)), "bessel_y1": (s.bessel_y1, lambda v: mp.bessely(1, v)),
    "modified_bessel_k0": (s.modified_bessel_k0, lambda v: mp.besselk(0, v)), "modified_bessel_k1": (s.modified_bessel_k1, lambda v: mp.besselk(1, v)),
    "erfcx": (s.erfcx, lambda v: mp.exp(v * v) * mp.erfc(v)), "lgamma": (torch.lgamma, mp.loggamma), "digamma": (torch.digamma, mp.digamma),
    "polygamma 1": (lambda x: torch.polygamma(1, x), lambda v: mp.polygamma(1, v)), "polygamma 4": (lambda x: torch.polygamma(4, x), lambda v: mp.polygamma(4, v)),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_special_function_in_float64_matches_mpmath(name):
    fn, exact = EXACT[name]
    x = torch.cat([torch.linspace(0.05, 9, 41, dtype=torch.float64), torch.linspace(9, 20, 41, dtype=torch.float64)])
    with torch.no_grad():
        got = compiled_strictly(fn)(x)
    want = torch.tensor([float(exact(mp.mpf(v.item()))) for v in x], dtype=torch.float64)
    assert ((got - want).abs() <= 1e-12 * want.abs().clamp_min(want.abs().median())).all()


@pytest.mark.parametrize("fn", [torch.lgamma, torch.digamma, torch.erfinv, s.ndtri])
def test_gamma_and_inverse_error_functions_in_f64_match_eager(fn):
    check(fn, torch.linspace(0.1, 0.9, 41, dtype=torch.float64))


def test_special_function_of_integers_matches_eager():
    check(torch.lgamma, torch.arange(1, 30))
    check(s.i0, torch.arange(-5, 6))
    check(torch.erfinv, torch.tensor([True, False]))


def traced_nodes(fn, *arguments) -> int:
    """Returns the number of nodes of the graph that AOTAutograd returns for symbolic sizes. Also checks the results."""
    tilewright.report(clear=True)
    check(fn, *arguments, dynamic=True)
    return max(graph.nodes for graph in tilewright.report())


def test_erfinv_is_not_decomposed_while_traced():
    # If torch decomposed erfinv, it would trace many ops with symbolic sizes, which is slow.
    assert traced_nodes(torch.erfinv, torch.linspace(-0.9, 0.9, 66).reshape(6, 11)) < 10


def test_chebyshev_polynomials_of_broadcast_arguments_match_eager():
    x, n = torch.linspace(-0.9, 0.9, 24).reshape(4, 1, 6), torch.arange(5.0).reshape(5, 1)
    check(s.chebyshev_polynomial_t, x, n)
    check(s.chebyshev_polynomial_u, x, torch.tensor(3.0))
