"""The Beta distribution, for whole arrays: where its mass lies, and its quantiles.

The regularised incomplete beta function by its continued fraction, evaluated with the method of Lentz (Numerical
Recipes, 3rd edition, section 6.4).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ROUNDS = 300
PRECISE = 1e-12
TINY = 1e-300
HALVINGS = 45
"""A quantile is right to 2 to the power of minus this."""


def cdf(x: float | Floats, a: Floats, b: Floats) -> Floats:
    """The mass of Beta(a, b) below `x`; `a` and `b` above 0, `x` in [0, 1], shapes as numpy broadcasts them."""
    x, a, b = (np.array(part, dtype=np.float64) for part in np.broadcast_arrays(x, a, b))
    # The fraction converges fast below the mean; above it, the mirror image does.
    mirrored = x > (a + 1) / (a + b + 2)
    point, left, right = np.where(mirrored, 1 - x, x), np.where(mirrored, b, a), np.where(mirrored, a, b)
    inside = (point > 0) & (point < 1)
    safe = np.where(inside, point, 0.5)
    front = np.exp(left * np.log(safe) + right * np.log1p(-safe) - _log_beta(left, right)) / left
    mass = np.where(inside, front * _fraction(safe, left, right), point)
    found: Floats = np.where(mirrored, 1 - mass, mass)
    return found


def mass_below(x: float, a: float, b: float) -> float:
    """The same for one distribution."""
    return float(cdf(x, np.array([a]), np.array([b]))[0])


def quantile(share: float, a: Floats, b: Floats) -> Floats:
    """Below this lies `share` of the mass of Beta(a, b), by halving."""
    low, high = np.zeros(np.shape(a)), np.ones(np.shape(a))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = cdf(middle, a, b) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found: Floats = (low + high) / 2
    return found


def _log_beta(a: Floats, b: Floats) -> Floats:
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    logs = [math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other) for one, other in pairs]
    return np.array(logs).reshape(a.shape)


def _fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    c = np.ones_like(x)
    d = 1 / _away(1 - (a + b) * x / (a + 1))
    found = d.copy()
    for m in range(1, ROUNDS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            step = c * d
            found = found * step
        if bool(np.all(np.abs(step - 1) < PRECISE)):
            break
    return found


def _away(value: Floats) -> Floats:
    """Never 0, which would be divided by."""
    return np.where(np.abs(value) < TINY, TINY, value)
