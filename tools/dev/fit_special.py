"""Writes python/tilewright/decompositions/special_series.py: Chebyshev series of functions for which there is no formula.

    python tools/dev/fit_special.py

Each function is sampled with 40 digits at the nodes of its interval. Trailing coefficients below 1e-17 of the largest are dropped.
"""

import pathlib

import mpmath as mp

mp.mp.dps = 40
NODES = 72
OUT = pathlib.Path(__file__).parents[2] / "python" / "tilewright" / "decompositions" / "special_series.py"


def series(function) -> list[float]:
    """Returns the coefficients of the Chebyshev polynomials on [-1, 1]. The first one is already halved."""
    angles = [mp.pi * (mp.mpf(k) + 0.5) / NODES for k in range(NODES)]
    values = [function(mp.cos(a)) for a in angles]
    found = [mp.mpf(2) / NODES * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles)) for j in range(NODES)]
    found[0] /= 2
    largest = max(abs(c) for c in found)
    while abs(found[-1]) < largest * mp.mpf("1e-17"):
        found.pop()
    return [float(c) for c in found]


def between(low, high):
    """Returns the linear map from [-1, 1] to [low, high]."""
    return lambda t: (mp.mpf(high) - low) / 2 * t + (mp.mpf(high) + low) / 2


def beyond(start, power=1):
    """Returns the map from [-1, 1] to the x from `start` on, by (start / x) ** power in [0, 1]."""
    return lambda t: start / mp.power((t + 1) / 2, mp.mpf(1) / power) if t > -1 else mp.inf


def phased(order: int, second: bool):
    """Returns P or Q of sqrt(pi x / 2) (J + iY) = (P + iQ) e^(i (x - (2 order + 1) pi / 4)); Q is multiplied by x."""

    def function(t):
        x = beyond(mp.mpf(8), 2)(t)
        phase = x - (2 * order + 1) * mp.pi / 4
        wave = mp.sqrt(mp.pi * x / 2) * (mp.besselj(order, x) + 1j * mp.bessely(order, x)) * mp.expj(-phase)
        return x * mp.im(wave) if second else mp.re(wave)

    return function


def near(order: int, second: bool):
    """Returns J, or Y without its logarithm and pole, divided by x ** order, as a function of x * x from 0 to 64."""

    def function(t):
        x = mp.sqrt(between(0, 64)(t))
        value = mp.besselj(order, x)
        if second:
            value = mp.bessely(order, x) - 2 / mp.pi * mp.log(x / 2) * value + (2 / (mp.pi * x) if order else 0)
        return value / x**order

    return function


def modified_near(order: int):
    """Returns K without its logarithm and pole, divided by x ** order, as a function of x * x from 0 to 4."""

    def function(t):
        x = mp.sqrt(between(0, 4)(t))
        sign = 1 if order else -1
        value = mp.besselk(order, x) - sign * mp.log(x / 2) * mp.besseli(order, x) - (1 / x if order else 0)
        return value / x**order

    return function


def scaled(function, start, sign):
    """Returns function(x) e^(sign x) sqrt(x) for x from `start` on."""

    def at(t):
        x = beyond(mp.mpf(start))(t)
        return function(x) * mp.exp(sign * x) * mp.sqrt(x)

    return at


def erfcx(t):
    """Returns e^(x x) erfc(x) (1 + 2 x) for x from 0 on, as a function of t = (x - 3.75) / (x + 3.75)."""
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


SERIES = {
    "I0_NEAR": lambda t: mp.besseli(0, between(0, 8)(t)) * mp.exp(-between(0, 8)(t)),
    "I1_NEAR": lambda t: mp.besseli(1, between(0, 8)(t)) * mp.exp(-between(0, 8)(t)) / between(0, 8)(t),
    "I0_FAR": scaled(lambda x: mp.besseli(0, x), 8, -1), "I1_FAR": scaled(lambda x: mp.besseli(1, x), 8, -1),
    "K0_NEAR": modified_near(0), "K1_NEAR": modified_near(1),
    "K0_FAR": scaled(lambda x: mp.besselk(0, x), 2, 1), "K1_FAR": scaled(lambda x: mp.besselk(1, x), 2, 1),
    "J0_NEAR": near(0, False), "J1_NEAR": near(1, False), "Y0_NEAR": near(0, True), "Y1_NEAR": near(1, True),
    "P0_FAR": phased(0, False), "Q0_FAR": phased(0, True), "P1_FAR": phased(1, False), "Q1_FAR": phased(1, True),
    "ERFCX": erfcx,
}  # fmt: skip


def main() -> None:
    text = "The coefficients of Chebyshev series. tools/dev/fit_special.py generates this file, and describes the functions and intervals."
    lines = [f'"""{text}"""', "", "# fmt: off"]
    for name, function in SERIES.items():
        found = series(function)
        rows = [", ".join(repr(c) for c in found[i : i + 5]) for i in range(0, len(found), 5)]
        lines.append(f"{name} = [\n    " + ",\n    ".join(rows) + "]")
        print(name, len(found), f"{abs(found[-1]) / max(abs(c) for c in found):.1e}")
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
