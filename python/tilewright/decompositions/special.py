"""Special functions of one variable and Chebyshev polynomials, computed in float64 and rounded once.

Some functions are computed with two Chebyshev series (special_series.py), one for arguments near 0 and one for larger
arguments. Other functions are computed from exp, log and erf.
"""

from __future__ import annotations

import functools
import math

import torch

from . import special_series as table

aten = torch.ops.aten


def rounded(function):
    """Wraps a `function` of float64 tensors with torch's dtype rules: integers become the default dtype."""

    @functools.wraps(function)
    def whole(*arguments):
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        dtype = functools.reduce(torch.promote_types, (t.dtype for t in tensors if t.dim() or len(tensors) == 1), torch.bool)
        if any(t.dtype.is_complex for t in tensors):
            return NotImplemented
        dtype = dtype if dtype.is_floating_point else torch.result_type(*arguments) if len(arguments) > 1 else torch.get_default_dtype()
        dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
        result = function(*(a.to(torch.float64) if isinstance(a, torch.Tensor) else a for a in arguments))
        return result if result is NotImplemented else result.to(dtype)

    return whole


def chebyshev(t, coefficients):
    """Returns the value of a Chebyshev series at t, by Clenshaw's algorithm."""
    ahead, next_ = torch.zeros_like(t), torch.zeros_like(t)
    twice = t * 2
    for c in reversed(coefficients[1:]):
        ahead, next_ = twice * ahead - next_ + c, ahead
    return t * ahead - next_ + coefficients[0]


def _bessel_i(order: int, scaled: bool):
    near, far = (table.I0_NEAR, table.I0_FAR) if order == 0 else (table.I1_NEAR, table.I1_FAR)

    def function(x):
        a = x.abs()
        inner = chebyshev(a.clamp_max(8) / 4 - 1, near) * (x.clamp(-8, 8) if order else 1.0)
        outer = chebyshev(16 / a.clamp_min(8) - 1, far) / a.clamp_min(8).sqrt()
        value = torch.where(a <= 8, inner, torch.where(x < 0, -outer, outer) if order else outer)
        return torch.where(torch.isnan(x), x, value if scaled else value * torch.exp(a))

    return rounded(function)


def _bessel_k(order: int, scaled: bool):
    near, far = (table.K0_NEAR, table.K0_FAR) if order == 0 else (table.K1_NEAR, table.K1_FAR)
    near_i = table.I0_NEAR if order == 0 else table.I1_NEAR

    def function(x):
        s = x.clamp(0, 2)
        grown = chebyshev(s / 4 - 1, near_i) * torch.exp(s) * (s if order else 1.0)
        sign = 1.0 if order else -1.0
        inner = chebyshev(s * s / 2 - 1, near) * (s if order else 1.0) + sign * torch.log(s / 2) * grown
        inner = inner + 1 / s if order else inner
        inner = torch.where(s == 0, math.inf, inner)
        far_x = x.clamp_min(2)
        outer = chebyshev(4 / far_x - 1, far) / far_x.sqrt()
        value = torch.where(x <= 2, inner * torch.exp(s) if scaled else inner, outer if scaled else outer * torch.exp(-far_x))
        return torch.where((x < 0) | torch.isnan(x), math.nan, value)

    return rounded(function)


def _waves(order: int, x):
    """Returns the factors P and Q, the phase and the amplitude from which Bessel functions of both kinds are computed for x > 8."""
    p, q = (table.P0_FAR, table.Q0_FAR) if order == 0 else (table.P1_FAR, table.Q1_FAR)
    t = 128 / (x * x) - 1
    return chebyshev(t, p), chebyshev(t, q) / x, x - (2 * order + 1) * math.pi / 4, torch.sqrt(2 / (math.pi * x))


def _bessel_j(order: int):
    near = table.J0_NEAR if order == 0 else table.J1_NEAR

    def function(x):
        a = x.abs()
        s = a.clamp_max(8)
        inner = chebyshev(s * s / 32 - 1, near) * (s if order else 1.0)
        p, q, phase, size = _waves(order, a.clamp_min(8))
        outer = torch.where(torch.isinf(a), 0.0, size * (p * torch.cos(phase) - q * torch.sin(phase)))
        value = torch.where(a <= 8, inner, outer)
        value = torch.where(x < 0, -value, value) if order else value
        return torch.where(torch.isnan(x), x, value)

    return rounded(function)


def _bessel_y(order: int):
    near, near_j = (table.Y0_NEAR, table.J0_NEAR) if order == 0 else (table.Y1_NEAR, table.J1_NEAR)

    def function(x):
        s = x.clamp(0, 8)
        t = s * s / 32 - 1
        first = chebyshev(t, near_j) * (s if order else 1.0)
        inner = chebyshev(t, near) * (s if order else 1.0) + 2 / math.pi * torch.log(s / 2) * first
        inner = inner - 2 / (math.pi * s) if order else inner
        inner = torch.where(s == 0, -math.inf, inner)
        p, q, phase, size = _waves(order, x.clamp_min(8))
        outer = torch.where(torch.isinf(x), 0.0, size * (p * torch.sin(phase) + q * torch.cos(phase)))
        return torch.where((x < 0) | torch.isnan(x), math.nan, torch.where(x <= 8, inner, outer))

    return rounded(function)


def _spherical_j0(x):
    square = x * x
    near = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    return torch.where(torch.isinf(x), 0.0, torch.where(x.abs() < 0.05, near, torch.sin(x) / x))


def _erfcx(x):
    a = x.abs()
    t = torch.where(torch.isinf(a), 1.0, (a - 3.75) / (a + 3.75))
    positive = chebyshev(t, table.ERFCX) / (1 + 2 * a)
    return torch.where(x < 0, 2 * torch.exp(x * x) - positive, positive)


def _inverse_erfc(z):
    """Returns the x with erfc(x) = z for z in (0, 1]: Winitzki's approximation, refined by three Halley steps."""
    logarithm = torch.log(z) + torch.log1p(1 - z)
    part = 2 / (math.pi * 0.147) + logarithm / 2
    x = torch.sqrt(torch.sqrt(part * part - logarithm / 0.147) - part)
    for _ in range(3):
        # (erfc(x) - z) / erfc'(x). The factor exp(-x^2) of both terms is canceled, because it would underflow.
        wrong = (_erfcx(x) - z * torch.exp(x * x)) * (-math.sqrt(math.pi) / 2)
        x = x - wrong / (1 + x * wrong)
    return x


def _erfinv(y):
    a = y.abs()
    small = a < 0.5
    x = _inverse_erfc(torch.where(small, 0.5, 1 - a).clamp_min(1e-300))
    # For a < 0.5, 1 - a is not exact. Therefore Halley's method is applied to erf(x) - a.
    near = a * (0.886226925452758 + 0.2320136665346546 * a * a)
    for _ in range(4):
        wrong = (torch.erf(near) - a) * torch.exp(near * near) * (math.sqrt(math.pi) / 2)
        near = near - wrong / (1 + near * wrong)
    x = torch.where(small, near, torch.where(a == 1, math.inf, x))
    return torch.where(a <= 1, torch.where(y < 0, -x, x), math.nan)


def _ndtri(p):
    half = torch.minimum(p, 1 - p) * 2
    x = _inverse_erfc(half.clamp(1e-300, 1.0)) * math.sqrt(2)
    x = torch.where(half == 0, math.inf, x)
    return torch.where((p >= 0) & (p <= 1), torch.where(p < 0.5, -x, x), math.nan)


SHIFT = 8  # smaller arguments are increased by this number, because Stirling's series is only precise for large arguments
STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]


def _horner(t, coefficients):
    value = torch.full_like(t, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * t + c
    return value


def _lgamma_positive(x):
    product = torch.ones_like(x)
    for k in range(SHIFT):
        product = product * (x + k)
    low = x < SHIFT
    y = torch.where(low, x + SHIFT, x)
    series = (y - 0.5) * torch.log(y) - y + 0.5 * math.log(2 * math.pi) + _horner(1 / (y * y), STIRLING) / y
    return torch.where(torch.isinf(x), math.inf, series - torch.where(low, torch.log(torch.where(low, product, 1.0)), 0.0))


def _away(x):
    """Returns the signed distance of x to the nearest integer, from which sin(pi x) is computed without cancellation."""
    return x - torch.round(x)


def _lgamma(x):
    negative = x < 0.5
    value = _lgamma_positive(torch.where(negative, 1 - x, x))
    mirrored = torch.log(math.pi / torch.sin(math.pi * _away(x)).abs()) - value
    pole = (x <= 0) & (x == torch.floor(x))
    return torch.where(pole | torch.isinf(x), math.inf, torch.where(negative, mirrored, value))


def _digamma(x):
    negative = x < 0.5
    y = torch.where(negative, 1 - x, x)
    passed = torch.zeros_like(y)
    for k in range(SHIFT):
        passed = passed + 1 / (y + k)
    low = y < SHIFT
    y = torch.where(low, y + SHIFT, y)
    square = 1 / (y * y)
    series = torch.log(y) - 0.5 / y - square * _horner(square, [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12])
    value = series - torch.where(low, passed, 0.0)
    value = torch.where(negative, value - math.pi / torch.tan(math.pi * _away(x)), value)
    pole = (x < 0) & (x == torch.floor(x))
    zero = torch.where(torch.signbit(x), math.inf, -math.inf)
    value = torch.where(x == 0, zero, torch.where(pole | (x == -math.inf), math.nan, value))
    return torch.where(x == math.inf, math.inf, value)


BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]


def _zeta(s: int, q):
    """Returns the sum of (q + k) ** -s over k >= 0 for positive q: the sum of the first ten terms, and the remainder by the Euler-Maclaurin
    formula."""
    total = torch.zeros_like(q)
    for k in range(10):
        total = total + (q + k) ** -float(s)
    a = q + 10
    power = a ** -float(s)
    total = total + power * a / (s - 1) + power / 2
    factor = float(s)
    for j, b in enumerate(BERNOULLI, 1):
        power = power / a
        total = total + power * (b * factor / math.factorial(2 * j))
        power = power / a
        factor *= (s + 2 * j - 1) * (s + 2 * j)
    return torch.where(torch.isinf(q), 0.0, total)


def _cotangent_derivative(n: int, x):
    """Returns the n-th derivative of pi cot(pi x), which is a polynomial in the cotangent."""
    polynomial = [0.0, 1.0]
    for _ in range(n):  # c' = -pi (1 + c c)
        slope = [k * c for k, c in enumerate(polynomial)][1:]
        polynomial = [-(a + b) for a, b in zip(slope + [0.0, 0.0], [0.0, 0.0] + slope)]
    return _horner(1 / torch.tan(math.pi * _away(x)), polynomial) * math.pi ** (n + 1)


def _polygamma(n, x):
    if not isinstance(n, int) or not 0 <= n <= 12:
        return NotImplemented
    if n == 0:
        return _digamma(x)
    negative = x < 0.5
    sign = 1.0 if n % 2 else -1.0
    value = _zeta(n + 1, torch.where(negative, 1 - x, x)) * (sign * math.factorial(n))
    mirrored = (value if n % 2 == 0 else -value) - _cotangent_derivative(n, x)
    pole = (x <= 0) & (x == torch.floor(x))
    return torch.where(pole, sign * math.inf, torch.where(negative, mirrored, value))


def _half_or_whole(x, count, kind: str):
    """Returns Chebyshev polynomials of the first to fourth kind, computed from arccos(x), or from arcosh(|x|) if |x| > 1."""
    n = torch.trunc(count) if isinstance(count, torch.Tensor) else torch.full_like(x, float(int(count)))
    x, n = torch.broadcast_tensors(x, n)
    inner = x.clamp(-1, 1)
    angle, outer = torch.acos(inner), torch.acosh(x.abs().clamp_min(1))
    odd = torch.where(torch.remainder(n, 2) == 1, -1.0, 1.0)
    low, ends = x < 0, x.abs() == 1
    side = torch.where(low, odd, 1.0)  # (sign x) ** n

    def ratio(f, multiple, divisor, at_end):
        return torch.where(ends, at_end, f(multiple) / f(divisor))

    if kind == "t":
        value = torch.where(x.abs() <= 1, torch.cos(n * angle), side * torch.cosh(n * outer))
    elif kind == "u":
        trigonometric, hyperbolic = (ratio(f, (n + 1) * a, a, n + 1) for f, a in ((torch.sin, angle), (torch.sinh, outer)))
        value = torch.where(ends, side * (n + 1), torch.where(x.abs() < 1, trigonometric, side * hyperbolic))
    else:
        # W(x) is (-1) ** n V(-x).
        mirrored = kind == "w"
        y = -inner if mirrored else inner
        angle = torch.acos(y)
        trigonometric = torch.where(y == -1, 1.0, torch.cos((n + 0.5) * angle) / torch.cos(angle / 2))
        grown, slow = torch.sinh((n + 0.5) * outer) / torch.sinh(outer / 2), torch.cosh((n + 0.5) * outer) / torch.cosh(outer / 2)
        high = (x > 0) != mirrored
        value = torch.where(x.abs() < 1, trigonometric, torch.where(high, slow, odd * torch.where(ends, 2 * n + 1, grown)))
        value = value * odd if mirrored else value
    value = torch.where(n < 0, 0.0, value)
    return torch.where(torch.isnan(x) & (n > 0), math.nan, torch.where(n == 0, 1.0, value))


def _polynomials() -> dict:
    made = {}
    for kind in "tuvw":
        plain = rounded(lambda x, n, kind=kind: _half_or_whole(x, n, kind))
        shifted = rounded(lambda x, n, kind=kind: _half_or_whole(2 * x - 1, n, kind))
        for name, function in ((f"special_chebyshev_polynomial_{kind}", plain), (f"special_shifted_chebyshev_polynomial_{kind}", shifted)):
            made[getattr(aten, name).default] = made[getattr(aten, name).n_scalar] = function
    return made


TABLE = {
    aten.i0.default: _bessel_i(0, False), aten.special_i0e.default: _bessel_i(0, True), aten.special_i1.default: _bessel_i(1, False),
    aten.special_i1e.default: _bessel_i(1, True), aten.special_modified_bessel_i0.default: _bessel_i(0, False),
    aten.special_modified_bessel_i1.default: _bessel_i(1, False), aten.special_modified_bessel_k0.default: _bessel_k(0, False),
    aten.special_modified_bessel_k1.default: _bessel_k(1, False), aten.special_scaled_modified_bessel_k0.default: _bessel_k(0, True),
    aten.special_scaled_modified_bessel_k1.default: _bessel_k(1, True), aten.special_bessel_j0.default: _bessel_j(0),
    aten.special_bessel_j1.default: _bessel_j(1), aten.special_bessel_y0.default: _bessel_y(0), aten.special_bessel_y1.default: _bessel_y(1),
    aten.special_spherical_bessel_j0.default: rounded(_spherical_j0), aten.special_erfcx.default: rounded(_erfcx),
    aten.erfinv.default: rounded(_erfinv), aten.special_ndtri.default: rounded(_ndtri), aten.lgamma.default: rounded(_lgamma),
    aten.digamma.default: rounded(_digamma), aten.polygamma.default: rounded(_polygamma), **_polynomials(),
}  # fmt: skip
