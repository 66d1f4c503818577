"""Least squares with bounds, in which large residuals count with less than their square."""

from collections.abc import Callable

import numpy as np


def robust_fit(
    residuals: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    scale: float,
    most_steps: int = 60,
) -> np.ndarray:
    """Returns the x between `least` and `most` that minimizes the sum of sqrt(1 + (r / scale)^2) - 1 over r in residuals(x).

    The method is Levenberg-Marquardt from `start`. Residuals above about `scale` count with less than their square, so that single
    residuals do not determine the result.
    """

    def loss(r: np.ndarray) -> float:
        return float(np.sum(np.sqrt(1 + (r / scale) ** 2) - 1))

    x, damping = start.copy(), 1e-2
    difference = 1e-4  # of x, for derivatives
    r = residuals(x)
    for _ in range(most_steps):
        jacobian = np.stack([(residuals(x + difference * unit) - r) / difference for unit in np.eye(len(x))], axis=1)
        robust = 1 / np.sqrt(1 + (r / scale) ** 2)
        gradient, curvature = jacobian.T @ (robust * r), jacobian.T @ (robust[:, None] * jacobian)
        # A parameter at one of its bounds is not changed if a gradient step would move it beyond the bound.
        free = ~(((x <= least) & (gradient > 0)) | ((x >= most) & (gradient < 0)))
        while damping < 1e6:
            step = np.zeros_like(x)
            inner = curvature[np.ix_(free, free)]
            step[free] = -np.linalg.solve(inner + damping * np.diag(np.diag(inner)), gradient[free])
            moved = np.clip(x + step, least, most)
            tried = residuals(moved)
            if loss(tried) < loss(r):
                break
            damping *= 4
        else:
            return x
        gain = loss(r) - loss(tried)
        x, r, damping = moved, tried, damping / 4
        if gain < 1e-6 * loss(r):
            return x
    return x
