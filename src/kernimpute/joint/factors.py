"""The joint normal of a table with many columns: low rank plus diagonal, fitted by EM.

A row of class c is z = mu_c + W u + e with factors u ~ N(0, I) and noise e_j ~ N(0, d_j), so its
covariance is W W' + diag(d). Priors worth `strength` pseudo-rows hold W_j at 0 and d_j at 1: an
infinite strength fills with means, as it does for `kernimpute.joint.gaussian`. Each round:

1. E-step. The factors of a row are normal given its observed cells o, with covariance
   V = (I + W_o' D_o^-1 W_o)^-1 and mean u = V W_o' D_o^-1 (z_o - mu_o).
2. M-step, column by column over the rows that observe it: W_j by ridge regression on the factors,
   d_j from what it leaves, and the means from what the factors leave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kernimpute.core.arrays import FloatArray
from kernimpute.joint.gaussian import (
    MEAN_ROWS,
    Conditional,
    class_posterior,
    drawn_classes,
    mixed_fill,
    movement,
    rows_times,
    with_labels,
)

__all__ = ["Factors", "factors_of_means", "fit_factors", "principal_factors"]

IntArray = NDArray[np.intp]

MOST_FACTORS, ROWS_A_FACTOR = 40, 4
"""Factors at the most, and rows that each takes."""


@dataclass(frozen=True)
class Factors:
    """A normal law of low rank plus diagonal for each class, with one covariance."""

    means: FloatArray  # (n_classes, n_columns)
    shares: FloatArray  # (n_classes,), sum 1
    loadings: FloatArray  # (n_columns, n_factors): W
    noise: FloatArray  # (n_columns,): d

    def conditional(self, Z: FloatArray, posterior: FloatArray | None = None) -> Conditional:
        """Return fills and variances of rows (n_rows, n_columns), NaN at the gaps.

        A given posterior (n_rows, n_classes) says the classes; None has them from the rows.
        """
        missing = np.isnan(Z)
        factors, spread, posterior = self._factors(Z, posterior)
        fills = self._fills(Z, factors)
        filled = mixed_fill(fills, posterior)
        variance = np.einsum("jr,nrs,js->nj", self.loadings, spread, self.loadings, optimize=True)
        variance += self.noise
        for of_class, share in zip(fills, posterior.T, strict=True):
            variance += share[:, None] * (of_class - filled) ** 2
        return Conditional(filled, np.where(missing, variance, 0.0), posterior)

    def fill(self, Z: FloatArray, posterior: FloatArray | None = None) -> FloatArray:
        """Return rows (n_rows, n_columns) with their conditional means at the gaps."""
        factors, _, posterior = self._factors(Z, posterior)
        return mixed_fill(self._fills(Z, factors), posterior)

    def draw(
        self,
        Z: FloatArray,
        generator: np.random.Generator,
        posterior: FloatArray | None = None,
    ) -> FloatArray:
        """Return rows (n_rows, n_columns) with a draw of the missing cells given the others."""
        factors, spread, posterior = self._factors(Z, posterior)
        chosen = drawn_classes(posterior, generator)
        own = np.array(factors)[chosen, np.arange(len(Z))]
        noise = generator.standard_normal((*own.shape, 1))
        own += (np.linalg.cholesky(spread) @ noise)[..., 0]
        drawn = self.means[chosen] + own @ self.loadings.T
        drawn += generator.standard_normal(Z.shape) * np.sqrt(self.noise)
        return np.where(np.isnan(Z), drawn, Z)

    def _fills(self, Z: FloatArray, factors: list[FloatArray]) -> list[FloatArray]:
        """Return the rows filled for each class, given the means of their factors."""
        loadings = np.ascontiguousarray(self.loadings.T)
        fills = []
        for mean, own in zip(self.means, factors, strict=True):
            fills.append(np.where(np.isnan(Z), mean + rows_times(own, loadings), Z))
        return fills

    def _factors(
        self, Z: FloatArray, posterior: FloatArray | None
    ) -> tuple[list[FloatArray], FloatArray, FloatArray]:
        """Return the factors' means for each class, their covariances, and the classes' odds."""
        observed = ~np.isnan(Z)
        n_factors = self.loadings.shape[1]
        scaled = self.loadings / self.noise[:, None]
        # (n_columns, n_factors^2): what each observed cell adds to the factors' precision.
        products = (scaled[:, :, None] * self.loadings[:, None, :]).reshape(len(scaled), -1)
        precision = rows_times(observed.astype(float), products)
        precision = precision.reshape(-1, n_factors, n_factors) + np.eye(n_factors)
        spread = np.asarray(np.linalg.inv(precision))
        factors, distances = [], np.zeros((len(self.means), len(Z)))
        for mean, distance in zip(self.means, distances, strict=True):
            deviation = np.where(observed, Z - mean, 0.0)
            pull = rows_times(deviation, scaled)
            own = (spread @ pull[..., None])[..., 0]
            distance += (deviation**2 / self.noise).sum(axis=1)
            distance -= np.einsum("ij,ij->i", pull, own)
            factors.append(own)
        if posterior is None:
            posterior = class_posterior(distances, self.shares)
        return factors, spread, posterior


def fit_factors(
    Z: FloatArray,
    strength: float,
    *,
    weights: FloatArray | None = None,
    classes: IntArray | None = None,
    start: Factors,
    tol: float = 1e-3,
    max_iter: int = 30,
) -> Factors:
    """Return the law of incomplete rows in standard units, by EM; parameters as `fit_normal`'s."""
    n_rows, n_columns = Z.shape
    weights = np.ones(n_rows) if weights is None else weights
    observed = ~np.isnan(Z)
    known = np.where(observed, Z, 0.0)
    counts = observed * weights[:, None]
    totals = counts.sum(axis=0)
    n_classes = len(start.means)
    factors, before = start, None
    for _ in range(max_iter):
        # 1. E-step.
        means, spread, posterior = factors._factors(Z, None)
        posterior = with_labels(posterior, classes)
        now = mixed_fill(factors._fills(Z, means), posterior)
        if before is not None and movement(now, before) <= tol:
            break
        before = now
        # 2. M-step. The deviations and factors are those under the classes' odds.
        own = mixed_fill(means, posterior)
        deviation = np.where(observed, known - posterior @ factors.means, 0.0)
        squares = (spread + own[:, :, None] * own[:, None, :]).reshape(n_rows, -1)
        n_factors = own.shape[1]
        gram = (counts.T @ squares).reshape(n_columns, n_factors, n_factors)
        gram += strength * np.eye(n_factors)
        slope = (counts * deviation).T @ own
        loadings = np.asarray(np.linalg.solve(gram, slope[..., None])[..., 0])
        left = (counts * deviation**2).sum(axis=0) - (loadings * slope).sum(axis=1)
        noise = (np.maximum(left, 0.0) + strength) / (totals + strength)
        unexplained = counts * (known - own @ loadings.T)
        common = unexplained.sum(axis=0) / np.maximum(totals, 1e-300)
        pseudo = MEAN_ROWS if n_classes > 1 else 0.0
        sums = posterior.T @ unexplained + pseudo * common
        sizes = posterior.T @ counts + pseudo
        mean = sums / np.maximum(sizes, 1e-300)
        shares = weights @ posterior / weights.sum()
        factors = Factors(mean, shares, loadings, noise)
    return factors


def factors_of_means(n_columns: int, n_classes: int = 1) -> Factors:
    """Return the law without factors, which fills rows in standard units with their means."""
    means, shares = np.zeros((n_classes, n_columns)), np.full(n_classes, 1.0 / n_classes)
    return Factors(means, shares, np.zeros((n_columns, 1)), np.ones(n_columns))


def principal_factors(Z: FloatArray, n_classes: int) -> Factors:
    """Return the principal components of rows filled with means, where EM may start."""
    known = np.nan_to_num(Z)
    n_rows, n_columns = known.shape
    n_factors = max(1, min(MOST_FACTORS, n_rows // ROWS_A_FACTOR, n_columns - 1))
    # The smaller of the two Gram matrices has the same eigenvalues.
    gram = known @ known.T if n_rows < n_columns else known.T @ known
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=(size - n_factors, size - 1))
    loadings = vectors * np.sqrt(np.maximum(values, 0.0) / n_rows)
    if n_rows < n_columns:
        loadings = known.T @ vectors / np.sqrt(n_rows)
    noise = np.maximum(1.0 - (loadings**2).sum(axis=1), 0.1)
    shares = np.full(n_classes, 1.0 / n_classes)
    return Factors(np.zeros((n_classes, n_columns)), shares, loadings, noise)
