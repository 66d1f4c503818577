#!/usr/bin/env python3
"""Fits the coefficients of lib/Codegen/Common/Math/ExpandMath*.cpp and prints them.

Fits for all bits of f64 (NAME_53) interpolate the function. All other fits are weighted minimax fits by Lawson's iteration on least squares.
Function values come from mpmath, because cancellation near 0 would make float values inexact. In f32 fits, coefficients are rounded one by
one from the lowest degree up, and the remaining ones are fitted again after each rounding.

    python3 tools/dev/fit_polynomials.py [name...]
"""
import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 40


def nodes(lo, hi, count=600):
    k = np.arange(count)
    return (lo + hi) / 2 + (hi - lo) / 2 * np.cos(np.pi * (k + 0.5) / count)


def lawson(basis, target, weight, rounds=400):
    """Minimizes max |weight * (basis @ c - target)|. Returns the best c that was found and its error."""
    scale = np.abs(basis).max(axis=0)
    share = np.ones(len(target)) / len(target)
    best, best_error = None, np.inf
    for _ in range(rounds):
        w = np.sqrt(share) * weight
        c = np.linalg.lstsq(basis / scale * w[:, None], target * w, rcond=None)[0] / scale
        error = np.abs(weight * (basis @ c - target))
        if error.max() < best_error:
            best, best_error = c, error.max()
        share = share * (error + 1e-300)
        share = np.maximum(share / share.sum(), 1e-30)
    return best, best_error


def polynomial(function, weight, lo, hi, degree, single=True):
    """Returns the coefficients, lowest first, of a polynomial p that minimizes weight * (p - function) on [lo, hi]."""
    t = nodes(lo, hi)
    target = np.array([float(function(mp.mpf(x))) for x in t])
    weights = np.array([float(weight(mp.mpf(x))) for x in t])
    basis = np.stack([t**k for k in range(degree + 1)], axis=1)
    if not single:
        return lawson(basis, target, weights)
    done, error = [], 0
    for k in range(degree + 1):
        c, error = lawson(basis[:, k:], target, weights, 120)
        done.append(float(np.float32(c[0])))
        target = target - done[-1] * basis[:, k]
    return done, np.abs(weights * target).max()


def precise(function, weight, lo, hi, degree):
    """Interpolates at Chebyshev's points with 60 digits, for all 53 bits of f64. The error is within two bits of that of the best polynomial."""
    with mp.workdps(60):
        middle, half = (mp.mpf(lo) + hi) / 2, (mp.mpf(hi) - lo) / 2
        points = [middle + half * mp.cos(mp.pi * (k + mp.mpf(0.5)) / (degree + 1)) for k in range(degree + 1)]
        c = list(mp.lu_solve(mp.matrix([[x**k for k in range(degree + 1)] for x in points]), mp.matrix([function(x) for x in points])))
        dense = [middle + half * mp.cos(mp.pi * k / 400) for k in range(401)]
        error = max(abs(weight(x) * (mp.polyval(c[::-1], x) - function(x))) for x in dense if abs(x) > 1e-12)
        return [float(each) for each in c], error


def exp_tail(x):
    return (mp.exp(x) - 1 - x) / x**2


def log_tail(f):
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def scaled_erfc(t):
    """Returns exp(x^2) erfc(x) at x = 3 (1 + t) / (1 - t)."""
    x = 3 * (1 + t) / (1 - t)
    return mp.exp(x**2) * mp.erfc(x)


def level_erfc(t):
    return scaled_erfc(t) * (1 + 6 * (1 + t) / (1 - t))


def show(name, coefficients, error, single):
    digits = ".9g" if single else ".17g"
    print(f"// {name}: error 2^{float(mp.log(error, 2)):.1f}")
    print("{" + ", ".join(format(c, digits) + ("f" if single else "") for c in coefficients) + "}")


root = mp.sqrt(mp.mpf("0.5"))
low, high = float(root - 1), float(2 * root - 1)
half_ln2, quarter_pi = 0.34665, 0.78545
erf_split, erf_end = 1.1, 3.93
tiny = 1e-9

FITS = {
    # e^r = 1 + r + r^2 p(r)
    "exp": lambda: polynomial(exp_tail, lambda r: r**2 / mp.exp(r), -half_ln2, half_ln2, 4),
    "exp_short": lambda: polynomial(exp_tail, lambda r: r**2 / mp.exp(r), -half_ln2, half_ln2, 2),
    "exp_wide": lambda: polynomial(exp_tail, lambda r: r**2 / mp.exp(r), -0.6933, 0.6933, 6),
    "expm1": lambda: polynomial(exp_tail, lambda r: r**2 / abs(mp.expm1(r)), -half_ln2, half_ln2, 4),
    # 2^f = 1 + f p(f)
    "exp2": lambda: polynomial(lambda f: (2**f - 1) / f, lambda f: abs(f) / 2**f, -0.5, 0.5, 5),
    "exp2_short": lambda: polynomial(lambda f: (2**f - 1) / f, lambda f: abs(f) / 2**f, -0.5, 0.5, 3),
    "exp2_wide": lambda: polynomial(lambda f: (2**f - 1) / f, lambda f: abs(f) / 2**f, -1.0, 1.0, 7),
    # log(1 + f) = f - f^2/2 + f^3 p(f)
    "log": lambda: polynomial(log_tail, lambda f: abs(f**3 / mp.log1p(f)), low, high, 7),
    # erf(x) = x + x p(x^2) below the split, 1 - p(x)^4 above
    "erf_small": lambda: polynomial(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1,
                                    lambda u: mp.sqrt(u) / mp.erf(mp.sqrt(u)), tiny, erf_split**2, 6),
    "erf_large": lambda: polynomial(lambda a: mp.root(mp.erfc(a), 4),
                                    lambda a: 4 * mp.erfc(a)**mp.mpf(0.75) / mp.erf(a), erf_split, erf_end, 7),
    # tanh(x) = x + x^3 p(x^2) for |x| below 0.6
    "tanh_small": lambda: polynomial(lambda u: (mp.tanh(mp.sqrt(u)) / mp.sqrt(u) - 1) / u,
                                     lambda u: u * mp.sqrt(u) / mp.tanh(mp.sqrt(u)), 1e-6, 0.6**2, 4),
    # sin(r) = r + r^3 p(r^2), cos(r) = 1 - r^2/2 + r^4 p(r^2)
    "sin": lambda: polynomial(lambda u: (mp.sin(mp.sqrt(u)) / mp.sqrt(u) - 1) / u,
                              lambda u: u * mp.sqrt(u) / mp.sin(mp.sqrt(u)), tiny, quarter_pi**2, 2),
    "cos": lambda: polynomial(lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2, lambda u: u**2 / mp.cos(mp.sqrt(u)),
                              tiny, quarter_pi**2, 2),
    # The following fits are for f64, with a relative error of about 2^-36.
    "exp_f64": lambda: polynomial(lambda r: mp.exp(r), lambda r: 1 / mp.exp(r), -half_ln2, half_ln2, 9, False),
    "log_f64": lambda: polynomial(lambda f: mp.log1p(f) / f, lambda f: abs(f / mp.log1p(f)), low, high, 14, False),
    "atan_f64": lambda: polynomial(lambda u: mp.atan(mp.sqrt(u)) / mp.sqrt(u),
                                   lambda u: mp.sqrt(u) / mp.atan(mp.sqrt(u)), tiny, 1.0, 11, False),
    "sin_f64": lambda: polynomial(lambda u: mp.sin(mp.sqrt(u)) / mp.sqrt(u), lambda u: mp.sqrt(u) / mp.sin(mp.sqrt(u)),
                                  tiny, quarter_pi**2, 5, False),
    "cos_f64": lambda: polynomial(lambda u: mp.cos(mp.sqrt(u)), lambda u: 1 / mp.cos(mp.sqrt(u)), tiny, quarter_pi**2, 5,
                                  False),
    # erfc(x) = exp(-x^2) p(t), t = (x - 2) / (x + 2), x in [0, 10.1]
    "erfc_f64": lambda: polynomial(lambda t: mp.exp((2 * (1 + t) / (1 - t))**2) * mp.erfc(2 * (1 + t) / (1 - t)),
                                   lambda t: 1 / (mp.exp((2 * (1 + t) / (1 - t))**2) * mp.erfc(2 * (1 + t) / (1 - t))),
                                   -1.0, 8.1 / 12.1, 15, False),
    # The following fits have the full precision of f64. They are used in ExpandMath64*.cpp.
    # e^r = 1 + r + r^2 p(r)
    "exp_53": lambda: precise(exp_tail, lambda r: r**2 / mp.exp(r), -half_ln2, half_ln2, 9),
    "expm1_53": lambda: precise(exp_tail, lambda r: r**2 / abs(mp.expm1(r)), -0.5, 0.5, 11),
    # 2^f = 1 + f p(f)
    "exp2_53": lambda: precise(lambda f: mp.expm1(f * mp.ln(2)) / f, lambda f: abs(f) / 2**f, -0.5, 0.5, 11),
    # log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2), (1 + s) / (1 - s) in [sqrt(1/2), sqrt(2)]
    "log_53": lambda: precise(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, lambda z: z / 2, tiny, 0.02944, 6),
    # atan(t) = t + t^3 p(t^2), |t| < 1/2
    "atan_53": lambda: precise(lambda u: (mp.atan(mp.sqrt(u)) / mp.sqrt(u) - 1) / u, lambda u: u * mp.sqrt(u) / mp.atan(mp.sqrt(u)),
                               tiny, 0.25, 13),
    # asin(s) = s + s^3 p(s^2), s in [0, 1/2]
    "asin_53": lambda: precise(lambda u: (mp.asin(mp.sqrt(u)) / mp.sqrt(u) - 1) / u, lambda u: u * mp.sqrt(u) / mp.asin(mp.sqrt(u)),
                               tiny, 0.25, 12),
    # sin(r) = r + r^3 p(r^2), cos(r) = 1 - r^2/2 + r^4 p(r^2)
    "sin_53": lambda: precise(lambda u: (mp.sin(mp.sqrt(u)) / mp.sqrt(u) - 1) / u, lambda u: u * mp.sqrt(u) / mp.sin(mp.sqrt(u)),
                              tiny, quarter_pi**2, 5),
    "cos_53": lambda: precise(lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2, lambda u: u**2 / mp.cos(mp.sqrt(u)),
                              tiny, quarter_pi**2, 5),
    # erf(x) = x + x p(x^2), x in [0, 1]
    "erf_53": lambda: precise(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1, lambda u: mp.sqrt(u) / mp.erf(mp.sqrt(u)), tiny, 1.0, 11),
    # erfc(x) = exp(-x^2) p(t), t = (x - 3) / (x + 3), x in [1, 6]
    "erf_tail_53": lambda: precise(scaled_erfc, lambda t: 1 / scaled_erfc(t), -0.5, 3.0 / 9.0, 15),
    # (1 + 2 x) erfc(x) = exp(-x^2) p(t), x in [0.46, 27.3]; p is nearly constant, so there is little cancellation
    "erfc_53": lambda: precise(level_erfc, lambda t: 1 / level_erfc(t), -2.54 / 3.46, 24.3 / 30.3, 22),
}


def main():
    for name in sys.argv[1:] or FITS:
        coefficients, error = FITS[name]()
        show(name, coefficients, error, not name.endswith(("_f64", "_53")))


if __name__ == "__main__":
    main()
