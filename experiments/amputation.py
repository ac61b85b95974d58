"""What decides which cells go missing: nothing, other columns, or the cell's own value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments.problem import Mechanism

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

SLOPE = 2.0
"""Slope of the logistic function under MAR and MNAR.

A cell whose score lies a standard deviation above the mean is drawn with 7 times the weight of
one that lies as far below, a cell two deviations above with 55 times.
"""


@dataclass(frozen=True, eq=False)
class Amputation:
    """A drawn mechanism, the same for every set of rows that it is applied to.

    The weight of a cell is logistic(SLOPE score), the scores being Z @ coefficients for the
    standardised rows Z, in which gaps count as the mean.
    """

    # Mean and standard deviation of the training rows' known cells; deviation 1 for a constant
    # column
    center: FloatArray
    deviation: FloatArray
    # How each column's value enters the score of each column's cell. Zeros under MCAR; a
    # combination of the deciding columns for every other column under MAR; a sign on the diagonal
    # under MNAR.
    coefficients: FloatArray
    can_lose: BoolArray  # Which columns lose cells; all but the deciding ones

    def mask(self, X: FloatArray, missing_rate: float, generator: np.random.Generator) -> BoolArray:
        """Return the mask of observed cells after amputation.

        Exactly round(N d m) cells are missing afterwards, the table's own gaps among them. The
        rest is drawn among the known cells of the columns that lose any, without replacement,
        with the cells' weights: by exponential races, in which a cell of weight w arrives at
        a time drawn from Exponential(w) and the first to arrive are removed.
        """
        known = ~np.isnan(X)
        own_gaps = int(X.size - known.sum())
        candidates = np.flatnonzero(known & self.can_lose)
        n_removed = round(X.size * missing_rate) - own_gaps
        if not 0 <= n_removed <= candidates.size:
            least, most = own_gaps / X.size, (own_gaps + candidates.size) / X.size
            raise ValueError(
                f"The missing rate of these rows must be between {least:.3f}, their own gaps, and "
                f"{most:.3f}, with all that the mechanism can remove; got {missing_rate!r}."
            )
        standardised = np.where(known, (X - self.center) / self.deviation, 0.0)
        weights = expit(SLOPE * (standardised @ self.coefficients))
        arrivals = generator.exponential(size=X.shape) / weights
        first = candidates[np.argsort(arrivals.flat[candidates], kind="stable")[:n_removed]]
        observed = known.copy()
        observed.flat[first] = False
        return observed


def draw_amputation(
    mechanism: Mechanism, X_train: FloatArray, generator: np.random.Generator
) -> Amputation:
    """Return a mechanism with its drawn coefficients."""
    n_features = X_train.shape[1]
    center, deviation = _moments(X_train)
    coefficients = np.zeros((n_features, n_features))
    can_lose = np.full(n_features, mechanism != "inherent")
    if mechanism == "mar":
        if n_features < 2:
            raise ValueError("The columns of a table under 'mar' must be at least 2; got 1.")
        order = generator.permutation(n_features)
        deciding = order[: max(1, n_features // 3)]
        drawn = generator.standard_normal((deciding.size, n_features))
        known = ~np.isnan(X_train)
        standardised = np.where(known, (X_train - center) / deviation, 0.0)[:, deciding]
        spread = np.std(standardised @ drawn, axis=0)
        coefficients[deciding] = drawn / np.where(spread > 0.0, spread, 1.0)
        can_lose[deciding] = False
    if mechanism == "mnar":
        np.fill_diagonal(coefficients, generator.choice([-1.0, 1.0], size=n_features))
    return Amputation(center, deviation, coefficients, can_lose)


def _moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column's known cells; 0 and 1 for none."""
    known = ~np.isnan(X)
    counts = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, X, 0.0).sum(axis=0) / counts
    squares = np.where(known, X - center, 0.0) ** 2
    deviation = np.sqrt(squares.sum(axis=0) / counts)
    return center, np.where(deviation > 0.0, deviation, 1.0)
