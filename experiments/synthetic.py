"""Drawn tables: the paper's two Gaussian classes, and two moons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]


def draw_synthetic(
    generator: np.random.Generator,
    *,
    n: int = 400,
    d: int = 30,
    noise_intensity: float = 0.2,
    outlier_fraction: float = 0.1,
    non_uniformity: float = 0.5,
) -> tuple[FloatArray, Labels]:
    """Return a table of the paper's synthetic family (section 4.2.2), with its defaults.

    1. Class 0 is drawn from N(-1, S), class 1 from N(1, S), half of the rows each;
       S = diag(1 + non_uniformity u) holds variances, with one u ~ Uniform(0, 1)^d for both.
    2. Every cell gets noise_intensity times a standard normal.
    3. A drawn share of the rows, exactly round(outlier_fraction n) of both classes alike, gets
       10 (U - 1/2) added in every cell, U ~ Uniform(0, 1).

    The paper leaves open how large the classes are, which rows are outliers, and whether an
    outlier keeps its noise; here it does.
    """
    _check("n", n, n >= 2, "at least 2")
    _check("d", d, d >= 1, "at least 1")
    _check_amount("noise_intensity", noise_intensity)
    _check("outlier_fraction", outlier_fraction, 0.0 <= outlier_fraction <= 1.0, "in [0, 1]")
    _check_amount("non_uniformity", non_uniformity)
    y = (np.arange(n) >= n // 2).astype(np.int64)
    variances = 1.0 + non_uniformity * generator.uniform(size=d)
    X = 2.0 * y[:, None] - 1.0 + np.sqrt(variances) * generator.standard_normal((n, d))
    X += noise_intensity * generator.standard_normal((n, d))
    order = generator.permutation(n)
    # Drawn for every row, so that a larger share keeps the outliers of a smaller one.
    moves = 10.0 * (generator.uniform(size=(n, d)) - 0.5)
    outliers = order[: round(outlier_fraction * n)]
    X[outliers] += moves[outliers]
    return X, y


def draw_moons(
    generator: np.random.Generator, *, n: int = 200, noise: float = 0.1
) -> tuple[FloatArray, Labels]:
    """Return two interleaving half circles."""
    _check("n", n, n >= 2, "at least 2")
    _check_amount("noise", noise)
    X, y = make_moons(n, noise=noise, random_state=int(generator.integers(2**32)))
    return X, y.astype(np.int64)


def _check_amount(name: str, value: float) -> None:
    _check(name, value, 0.0 <= value < np.inf, "a finite number of at least 0")


def _check(name: str, value: float, holds: bool, must_be: str) -> None:
    if not holds:
        raise ValueError(f"The option {name!r} of a drawn table must be {must_be}; got {value!r}.")
