"""A joint normal of incomplete rows, regularised and fitted by EM.

A row z of class c is normal with mean mu_c and covariance Sigma, and rows without classes are all
of one. The fit maximises the likelihood of the observed cells, each row counted by its weight,
times an inverse-Wishart prior whose `strength` counts pseudo-rows of unit covariance:

    sum_i w_i log p(z_i,observed) - strength / 2 (log det Sigma + trace Sigma^-1).

So rows are expected in standard units, and an infinite strength fills with means. Each round has
two steps (Little and Rubin, Statistical Analysis with Missing Data, section 11.3):

1. E-step. With the precision P = Sigma^-1, the missing cells m of a row are normal given its
   observed cells o, with covariance (P_mm)^-1 and mean mu_m - (P_mm)^-1 P_mo (z_o - mu_o).
2. M-step. Sigma = (S + strength I) / (n + strength), where S sums the outer products of the filled
   rows about their means, and the conditional covariances.

Tables with many columns have `kernimpute.joint.factors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import BoolArray, FloatArray

__all__ = [
    "Conditional",
    "GapGroup",
    "MEAN_ROWS",
    "Normal",
    "class_posterior",
    "drawn_classes",
    "fit_normal",
    "gap_groups",
    "log_likelihood",
    "mixed_fill",
    "movement",
    "normal_of_means",
    "rows_times",
    "with_labels",
]

IntArray = NDArray[np.intp]

BLOCK = 8
"""Rows that are multiplied at a time where bits count: so few that BLAS treats all alike."""
MEAN_ROWS = 5.0
"""Pseudo-rows that shrink the mean of a class to the common mean."""


class GapGroup(NamedTuple):
    """Rows with the same number of gaps; those with the same gaps share a pattern."""

    rows: IntArray  # (n_rows,)
    pattern: IntArray  # (n_rows,): the place of the row's pattern in `gaps`
    gaps: IntArray  # (n_patterns, n_gaps): the columns that are missing


class Conditional(NamedTuple):
    """What the model says of incomplete rows."""

    filled: FloatArray  # (n_rows, n_columns): conditional means at the gaps
    variance: FloatArray  # (n_rows, n_columns): conditional variances, 0 at observed cells
    posterior: FloatArray  # (n_rows, n_classes): probabilities of the classes


def gap_groups(missing: BoolArray) -> list[GapGroup]:
    """Return the rows with gaps, grouped by their number; `missing` is (n_rows, n_columns)."""
    rows = np.flatnonzero(missing.any(axis=1))
    if not rows.size:
        return []
    packed = np.packbits(missing[rows], axis=1)
    keys = packed.view(f"V{packed.shape[1]}").ravel()
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    patterns = missing[rows[first]]
    counts = patterns.sum(axis=1)
    groups = []
    for count in np.unique(counts):
        own = np.flatnonzero(counts == count)
        place = np.full(counts.size, -1)
        place[own] = np.arange(own.size)
        members = np.flatnonzero(place[pattern] >= 0)
        gaps = np.nonzero(patterns[own])[1].reshape(own.size, count)
        groups.append(GapGroup(rows[members], place[pattern[members]], gaps))
    return groups


def rows_times(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return rows @ matrix, in blocks of one shape: a row's bits do not depend on the others."""
    n_rows, n_columns = rows.shape
    n_blocks = -(-n_rows // BLOCK)
    padded = np.zeros((n_blocks * BLOCK, n_columns))
    padded[:n_rows] = rows
    product = padded.reshape(n_blocks, BLOCK, n_columns) @ matrix
    return np.asarray(product.reshape(-1, matrix.shape[1])[:n_rows])


@dataclass(frozen=True)
class Normal:
    """A normal law for each class, with one covariance."""

    means: FloatArray  # (n_classes, n_columns)
    shares: FloatArray  # (n_classes,), sum 1
    covariance: FloatArray  # (n_columns, n_columns)

    def conditional(self, Z: FloatArray, posterior: FloatArray | None = None) -> Conditional:
        """Return fills and variances of rows (n_rows, n_columns), NaN at the gaps.

        A given posterior (n_rows, n_classes) says the classes; None has them from the rows.
        """
        groups = gap_groups(np.isnan(Z))
        expected = _expect(Z, self, groups, posterior)
        variance = np.zeros_like(Z)
        for group, inverse in zip(groups, expected.inverses, strict=True):
            diagonal = np.diagonal(inverse, axis1=1, axis2=2)[group.pattern]
            variance[group.rows[:, None], group.gaps[group.pattern]] = diagonal
        filled = mixed_fill(expected.filled, expected.posterior)
        for of_class, share in zip(expected.filled, expected.posterior.T, strict=True):
            variance += share[:, None] * (of_class - filled) ** 2
        return Conditional(filled, variance, expected.posterior)

    def fill(self, Z: FloatArray, posterior: FloatArray | None = None) -> FloatArray:
        """Return rows (n_rows, n_columns) with their conditional means at the gaps."""
        expected = _expect(Z, self, gap_groups(np.isnan(Z)), posterior)
        return mixed_fill(expected.filled, expected.posterior)

    def draw(
        self,
        Z: FloatArray,
        generator: np.random.Generator,
        posterior: FloatArray | None = None,
    ) -> FloatArray:
        """Return rows (n_rows, n_columns) with a draw of the missing cells given the others."""
        groups = gap_groups(np.isnan(Z))
        expected = _expect(Z, self, groups, posterior)
        chosen = drawn_classes(expected.posterior, generator)
        drawn = np.array(expected.filled)[chosen, np.arange(len(Z))]
        for group, inverse in zip(groups, expected.inverses, strict=True):
            root = np.linalg.cholesky(inverse)[group.pattern]
            noise = generator.standard_normal((*root.shape[:2], 1))
            drawn[group.rows[:, None], group.gaps[group.pattern]] += (root @ noise)[..., 0]
        return drawn


class _Expectation(NamedTuple):
    filled: list[FloatArray]  # for each class, (n_rows, n_columns)
    posterior: FloatArray  # (n_rows, n_classes)
    inverses: list[FloatArray]  # for each group, (n_patterns, n_gaps, n_gaps): covariances


def _expect(
    Z: FloatArray, normal: Normal, groups: list[GapGroup], posterior: FloatArray | None
) -> _Expectation:
    """Return the E-step's conditional means and covariances."""
    missing = np.isnan(Z)
    precision = np.asarray(np.linalg.inv(normal.covariance))
    inverses = [np.linalg.inv(precision[gaps[:, :, None], gaps[:, None, :]]) for *_, gaps in groups]
    filled, distances = [], np.zeros((len(normal.means), len(Z)))
    for mean, distance in zip(normal.means, distances, strict=True):
        deviation = np.where(missing, 0.0, Z - mean)
        slope = rows_times(deviation, precision)
        own = np.where(missing, mean, Z)
        distance += np.einsum("ij,ij->i", deviation, slope)
        for (rows, pattern, gaps), inverse in zip(groups, inverses, strict=True):
            cells = (rows[:, None], gaps[pattern])
            at_gaps = slope[cells]
            step = (inverse[pattern] @ at_gaps[..., None])[..., 0]
            own[cells] -= step
            distance[rows] -= np.einsum("ij,ij->i", at_gaps, step)
        filled.append(own)
    if posterior is None:
        posterior = class_posterior(distances, normal.shares)
    return _Expectation(filled, posterior, inverses)


def class_posterior(distances: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the classes' probabilities (n_rows, n_classes) from squared Mahalanobis distances."""
    scores = np.log(np.maximum(shares, 1e-300)) - 0.5 * distances.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def with_labels(posterior: FloatArray, classes: IntArray | None) -> FloatArray:
    """Return the classes' odds (n_rows, n_classes), certain where a label (-1: none) is known."""
    if classes is None:
        return posterior
    certain = np.eye(posterior.shape[1])[classes]
    return np.where(classes[:, None] >= 0, certain, posterior)


def mixed_fill(filled: list[FloatArray], posterior: FloatArray) -> FloatArray:
    """Return the mean of the classes' fills under their probabilities."""
    if len(filled) == 1:
        return filled[0]
    mixed = np.zeros_like(filled[0])
    for of_class, share in zip(filled, posterior.T, strict=True):
        mixed += share[:, None] * of_class
    return mixed


def drawn_classes(posterior: FloatArray, generator: np.random.Generator) -> IntArray:
    """Return a class for each row, (n_rows,), drawn by its probabilities."""
    ends = np.cumsum(posterior, axis=1)
    above = generator.random((len(ends), 1)) * ends[:, -1:] > ends[:, :-1]
    return np.asarray(above.sum(axis=1))


def fit_normal(
    Z: FloatArray,
    strength: float,
    *,
    weights: FloatArray | None = None,
    classes: IntArray | None = None,
    start: Normal | None = None,
    tol: float = 1e-3,
    max_iter: int = 30,
) -> Normal:
    """Return the normal law of incomplete rows in standard units, by EM.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Rows with NaN at the gaps.
    strength : float
        Pseudo-rows of unit covariance, in (0, inf).
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows; None weights every row 1.
    classes : ndarray of int of shape (n_rows,) or None
        Codes 0, 1, … of the classes, -1 where a row has no label; None has one class.
    start : Normal or None
        Where EM starts; None is unit covariance about mean 0.
    tol, max_iter : float and int
        EM stops when a round moves the filled cells by at most `tol` in the root mean square, or
        after `max_iter` rounds.
    """
    n_rows, n_columns = Z.shape
    missing = np.isnan(Z)
    groups = gap_groups(missing)
    weights = np.ones(n_rows) if weights is None else weights
    if start is None:
        start = normal_of_means(
            n_columns, 1 if classes is None else int(classes.max(initial=0)) + 1
        )
    normal, before = start, None
    for _ in range(max_iter):
        # 1. E-step.
        expected = _expect(Z, normal, groups, None)
        posterior = with_labels(expected.posterior, classes)
        # 2. M-step.
        normal = _maximise(expected, posterior, groups, weights, strength)
        now = mixed_fill(expected.filled, posterior)[missing]
        if before is not None and movement(now, before) <= tol:
            break
        before = now
    return normal


def normal_of_means(n_columns: int, n_classes: int = 1) -> Normal:
    """Return the normal that fills rows in standard units with their means."""
    shares = np.full(n_classes, 1.0 / n_classes)
    return Normal(np.zeros((n_classes, n_columns)), shares, np.eye(n_columns))


def movement(now: FloatArray, before: FloatArray) -> float:
    """Return the root mean square of what filled cells moved by."""
    return float(np.sqrt(np.mean((now - before) ** 2))) if now.size else 0.0


def _maximise(
    expected: _Expectation,
    posterior: FloatArray,
    groups: list[GapGroup],
    weights: FloatArray,
    strength: float,
) -> Normal:
    """Return the M-step's means and covariance."""
    n_classes, n_columns = posterior.shape[1], expected.filled[0].shape[1]
    counts = posterior * weights[:, None]
    totals, total = counts.sum(axis=0), float(weights.sum())
    sums = np.array([count @ own for count, own in zip(counts.T, expected.filled, strict=True)])
    common = sums.sum(axis=0) / total
    pseudo = MEAN_ROWS if n_classes > 1 else 0.0
    means = (sums + pseudo * common) / (totals + pseudo)[:, None]
    scatter = _conditional_scatter(groups, expected.inverses, weights, n_columns)
    for mean, count, own in zip(means, counts.T, expected.filled, strict=True):
        deviation = own - mean
        scatter += (deviation * count[:, None]).T @ deviation
    scatter += pseudo * (means - common).T @ (means - common)
    covariance = (scatter + strength * np.eye(n_columns)) / (total + strength)
    return Normal(means, totals / total, 0.5 * (covariance + covariance.T))


def _conditional_scatter(
    groups: list[GapGroup], inverses: list[FloatArray], weights: FloatArray, n_columns: int
) -> FloatArray:
    """Return the weighted sum of the rows' conditional covariances."""
    total = np.zeros(n_columns**2)
    for (rows, pattern, gaps), inverse in zip(groups, inverses, strict=True):
        weight = np.bincount(pattern, weights[rows], len(gaps))
        places = gaps[:, :, None] * n_columns + gaps[:, None, :]
        terms = weight[:, None, None] * inverse
        total += np.bincount(places.ravel(), terms.ravel(), n_columns**2)
    return total.reshape(n_columns, n_columns)


def log_likelihood(Z: FloatArray, normal: Normal) -> FloatArray:
    """Return the log-likelihood of the observed cells of each row, shape (n_rows,)."""
    values = np.zeros(len(Z))
    for i, row in enumerate(Z):
        known = ~np.isnan(row)
        covariance = normal.covariance[np.ix_(known, known)]
        offsets = row[known] - normal.means[:, known]
        solved = np.linalg.solve(covariance, offsets.T)
        distances = (offsets.T * solved).sum(axis=0)
        densities = normal.shares * np.exp(-0.5 * (distances - distances.min()))
        constant = known.sum() * np.log(2.0 * np.pi) + np.linalg.slogdet(covariance)[1]
        values[i] = np.log(densities.sum()) - 0.5 * (distances.min() + constant)
    return values
