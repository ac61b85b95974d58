"""A joint normal of incomplete rows, regularised and fitted by EM; low rank where it is wide.

A row z of class c is normal with mean mu_c and covariance Sigma. A `Normal` maximises the weighted
likelihood of the observed cells times an inverse-Wishart prior of `strength` pseudo-rows of unit
covariance, for which rows are expected in standard units:

    sum_i w_i log p(z_i,observed) - strength / 2 (log det Sigma + trace Sigma^-1).

With the precision P = Sigma^-1, the missing cells m of a row are normal given its observed cells o,
with covariance (P_mm)^-1 and mean mu_m - (P_mm)^-1 P_mo (z_o - mu_o) (Little and Rubin, Statistical
Analysis with Missing Data, section 11.3). The M-step is Sigma = (S + strength I) / (n + strength),
where S sums the outer products of the filled rows about their means and those covariances.

For a wide table, `Factors` has z = mu_c + W u + e with factors u ~ N(0, I) and noise e_j ~ N(0,
d_j), so Sigma = W W' + diag(d), and priors that hold W_j at 0 and d_j at 1. The M-step goes column
by column over the rows that observe it: W_j by ridge regression on the factors, d_j from what it
leaves, and the means from what the factors leave.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import BoolArray, FloatArray

IntArray = NDArray[np.intp]

BLOCK = 8
"""Rows that are multiplied at a time where bits count: so few that BLAS treats all alike."""
MEAN_ROWS = 5.0
"""Pseudo-rows that shrink the mean of a class to the common mean."""
MOST_FACTORS, ROWS_A_FACTOR = 40, 4
"""Factors at the most, and rows that each takes."""


class GapGroup(NamedTuple):
    """Rows with the same number of gaps; those with the same gaps share a pattern."""

    rows: IntArray  # (n_rows,)
    pattern: IntArray  # (n_rows,): the place of the row's pattern in `gaps`
    gaps: IntArray  # (n_patterns, n_gaps): the columns that are missing

    @property
    def cells(self) -> tuple[IntArray, IntArray]:
        """Index of the missing cells, (n_rows, n_gaps)."""
        return self.rows[:, None], self.gaps[self.pattern]


Expected = tuple[list[FloatArray], FloatArray, Any]
"""The fills by each class, the classes' probabilities, and what else the law knows of rows."""


class Conditional(NamedTuple):
    """What the model says of incomplete rows."""

    filled: FloatArray  # (n_rows, n_columns): conditional means at the gaps
    variance: FloatArray  # (n_rows, n_columns): conditional variances, 0 at observed cells
    posterior: FloatArray  # (n_rows, n_classes): probabilities of the classes


def gap_groups(missing: BoolArray) -> list[GapGroup]:
    """Return the rows with gaps, grouped by their number; `missing` is (n_rows, n_columns)."""
    packed = np.ascontiguousarray(np.packbits(missing, axis=1))
    keys = packed.view(f"V{packed.shape[1]}").ravel()
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    patterns = missing[first]
    counts = patterns.sum(axis=1)
    groups = []
    for count in np.unique(counts[counts > 0]):
        own = np.flatnonzero(counts == count)
        rows = np.flatnonzero(counts[pattern] == count)
        gaps = np.nonzero(patterns[own])[1].reshape(own.size, count)
        groups.append(GapGroup(rows, np.searchsorted(own, pattern[rows]), gaps))
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
class Law(ABC):
    """A normal law for each class, all with one covariance; rows are (n_rows, n_columns)."""

    means: FloatArray  # (n_classes, n_columns)
    shares: FloatArray  # (n_classes,), sum 1

    @abstractmethod
    def expect(self, Z: FloatArray, posterior: FloatArray | None = None) -> Expected:
        """Return what is expected; a posterior (n_rows, n_classes) says the classes if given."""

    @abstractmethod
    def variances(self, Z: FloatArray, details: Any) -> FloatArray:
        """Return the conditional variances of the gaps within a class, 0 at observed cells."""

    @abstractmethod
    def fitted(
        self,
        Z: FloatArray,
        strength: float,
        weights: FloatArray,
        classes: IntArray | None = None,
        tol: float = 1e-3,
        max_iter: int = 30,
    ) -> Self:
        """Return the law of rows, by EM from this one until a round moves cells by `tol` (RMS).

        `classes` has the codes 0, 1, … of the rows' classes, -1 where there is no label.
        """

    @abstractmethod
    def draw(self, Z: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Return rows with a draw of the missing cells given the others."""

    def fill(self, Z: FloatArray, posterior: FloatArray | None = None) -> FloatArray:
        """Return rows with their conditional means at the gaps."""
        fills, posterior, _ = self.expect(Z, posterior)
        return mixed_fill(fills, posterior)

    def conditional(self, Z: FloatArray) -> Conditional:
        """Return fills, variances and probabilities of the classes of rows."""
        fills, posterior, details = self.expect(Z)
        filled, variance = mixed_fill(fills, posterior), self.variances(Z, details)
        for of_class, share in zip(fills, posterior.T, strict=True):
            variance += share[:, None] * (of_class - filled) ** 2
        return Conditional(filled, variance, posterior)


@dataclass(frozen=True)
class Normal(Law):
    """A law with any covariance."""

    covariance: FloatArray  # (n_columns, n_columns)

    def expect(self, Z: FloatArray, posterior: FloatArray | None = None) -> Expected:
        """Return what `Law.expect` does, and the covariances of each group's patterns of gaps."""
        missing = np.isnan(Z)
        precision = np.asarray(np.linalg.inv(self.covariance))
        groups = [
            (group, np.linalg.inv(precision[group.gaps[:, :, None], group.gaps[:, None, :]]))
            for group in gap_groups(missing)
        ]
        fills, distances = [], np.zeros((len(self.means), len(Z)))
        for mean, distance in zip(self.means, distances, strict=True):
            deviation = np.where(missing, 0.0, Z - mean)
            slope = rows_times(deviation, precision)
            own = np.where(missing, mean, Z)
            distance += np.einsum("ij,ij->i", deviation, slope)
            for group, inverse in groups:
                at_gaps = slope[group.cells]
                step = (inverse[group.pattern] @ at_gaps[..., None])[..., 0]
                own[group.cells] -= step
                distance[group.rows] -= np.einsum("ij,ij->i", at_gaps, step)
            fills.append(own)
        if posterior is None:
            posterior = class_posterior(distances, self.shares)
        return fills, posterior, groups

    def variances(self, Z: FloatArray, details: list[tuple[GapGroup, FloatArray]]) -> FloatArray:
        """Return the conditional variances of the gaps, 0 at observed cells."""
        variance = np.zeros_like(Z)
        for group, inverse in details:
            variance[group.cells] = np.diagonal(inverse, axis1=1, axis2=2)[group.pattern]
        return variance

    def draw(self, Z: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Return rows with a draw of the missing cells given the others."""
        fills, posterior, groups = self.expect(Z)
        drawn = np.array(fills)[drawn_classes(posterior, generator), np.arange(len(Z))]
        for group, inverse in groups:
            root = np.linalg.cholesky(inverse)[group.pattern]
            noise = generator.standard_normal((*root.shape[:2], 1))
            drawn[group.cells] += (root @ noise)[..., 0]
        return drawn

    def fitted(
        self,
        Z: FloatArray,
        strength: float,
        weights: FloatArray,
        classes: IntArray | None = None,
        tol: float = 1e-3,
        max_iter: int = 30,
    ) -> Normal:
        """Return the fit that starts from this law."""
        missing = np.isnan(Z)
        normal, before = self, None
        for _ in range(max_iter):
            # 1. E-step.
            fills, posterior, groups = normal.expect(Z)
            posterior = with_labels(posterior, classes)
            # 2. M-step.
            normal = _maximise(fills, posterior, groups, weights, strength)
            now = mixed_fill(fills, posterior)[missing]
            if before is not None and _movement(now, before) <= tol:
                break
            before = now
        return normal


@dataclass(frozen=True)
class Factors(Law):
    """A law whose covariance is low rank plus diagonal."""

    loadings: FloatArray  # (n_columns, n_factors): W
    noise: FloatArray  # (n_columns,): d

    def expect(self, Z: FloatArray, posterior: FloatArray | None = None) -> Expected:
        """Return what `Law.expect` does, and the factors' means for each class and covariances."""
        observed = ~np.isnan(Z)
        n_factors = self.loadings.shape[1]
        scaled = self.loadings / self.noise[:, None]
        # (n_columns, n_factors^2): what each observed cell adds to the factors' precision.
        products = (scaled[:, :, None] * self.loadings[:, None, :]).reshape(len(scaled), -1)
        precision = rows_times(observed.astype(float), products)
        precision = precision.reshape(-1, n_factors, n_factors) + np.eye(n_factors)
        spread = np.asarray(np.linalg.inv(precision))
        loadings = np.ascontiguousarray(self.loadings.T)
        fills, factors, distances = [], [], np.zeros((len(self.means), len(Z)))
        for mean, distance in zip(self.means, distances, strict=True):
            deviation = np.where(observed, Z - mean, 0.0)
            pull = rows_times(deviation, scaled)
            own = (spread @ pull[..., None])[..., 0]
            distance += (deviation**2 / self.noise).sum(axis=1)
            distance -= np.einsum("ij,ij->i", pull, own)
            fills.append(np.where(observed, Z, mean + rows_times(own, loadings)))
            factors.append(own)
        if posterior is None:
            posterior = class_posterior(distances, self.shares)
        return fills, posterior, (factors, spread)

    def variances(self, Z: FloatArray, details: tuple[list[FloatArray], FloatArray]) -> FloatArray:
        """Return the conditional variances of the gaps, 0 at observed cells."""
        W = self.loadings
        variance = np.einsum("jr,nrs,js->nj", W, details[1], W, optimize=True) + self.noise
        return np.where(np.isnan(Z), variance, 0.0)

    def draw(self, Z: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Return rows with a draw of the missing cells given the others."""
        _, posterior, (factors, spread) = self.expect(Z)
        chosen = drawn_classes(posterior, generator)
        own = np.array(factors)[chosen, np.arange(len(Z))]
        noise = generator.standard_normal((*own.shape, 1))
        own += (np.linalg.cholesky(spread) @ noise)[..., 0]
        drawn = self.means[chosen] + own @ self.loadings.T
        drawn += generator.standard_normal(Z.shape) * np.sqrt(self.noise)
        return np.where(np.isnan(Z), drawn, Z)

    def fitted(
        self,
        Z: FloatArray,
        strength: float,
        weights: FloatArray,
        classes: IntArray | None = None,
        tol: float = 1e-3,
        max_iter: int = 30,
    ) -> Factors:
        """Return the fit that starts from this law."""
        n_rows, n_columns = Z.shape
        observed = ~np.isnan(Z)
        known = np.where(observed, Z, 0.0)
        counts = observed * weights[:, None]
        totals = counts.sum(axis=0)
        law, before = self, None
        pseudo = MEAN_ROWS if len(self.means) > 1 else 0.0
        for _ in range(max_iter):
            # 1. E-step.
            fills, posterior, (factors, spread) = law.expect(Z)
            posterior = with_labels(posterior, classes)
            now = mixed_fill(fills, posterior)
            if before is not None and _movement(now, before) <= tol:
                break
            before = now
            # 2. M-step. The deviations and factors are those under the classes' odds.
            own = mixed_fill(factors, posterior)
            deviation = np.where(observed, known - posterior @ law.means, 0.0)
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
            sums = posterior.T @ unexplained + pseudo * common
            sizes = posterior.T @ counts + pseudo
            mean = sums / np.maximum(sizes, 1e-300)
            law = Factors(mean, weights @ posterior / weights.sum(), loadings, noise)
        return law


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
    terms = (share[:, None] * own for own, share in zip(filled, posterior.T, strict=True))
    return sum(terms, np.zeros_like(filled[0]))


def drawn_classes(posterior: FloatArray, generator: np.random.Generator) -> IntArray:
    """Return a class for each row, (n_rows,), drawn by its probabilities."""
    ends = np.cumsum(posterior, axis=1)
    above = generator.random((len(ends), 1)) * ends[:, -1:] > ends[:, :-1]
    return np.asarray(above.sum(axis=1))


def _maximise(
    fills: list[FloatArray],
    posterior: FloatArray,
    groups: list[tuple[GapGroup, FloatArray]],
    weights: FloatArray,
    strength: float,
) -> Normal:
    """Return the M-step's means and covariance."""
    n_columns = fills[0].shape[1]
    counts = posterior * weights[:, None]
    totals, total = counts.sum(axis=0), float(weights.sum())
    sums = np.array([count @ own for count, own in zip(counts.T, fills, strict=True)])
    common = sums.sum(axis=0) / total
    pseudo = MEAN_ROWS if len(fills) > 1 else 0.0
    means = (sums + pseudo * common) / (totals + pseudo)[:, None]
    # The weighted sum of the rows' conditional covariances.
    flat = np.zeros(n_columns**2)
    for (rows, pattern, gaps), inverse in groups:
        weight = np.bincount(pattern, weights[rows], len(gaps))
        places = gaps[:, :, None] * n_columns + gaps[:, None, :]
        terms = weight[:, None, None] * inverse
        flat += np.bincount(places.ravel(), terms.ravel(), n_columns**2)
    scatter = flat.reshape(n_columns, n_columns)
    for mean, count, own in zip(means, counts.T, fills, strict=True):
        deviation = own - mean
        scatter += (deviation * count[:, None]).T @ deviation
    scatter += pseudo * (means - common).T @ (means - common)
    covariance = (scatter + strength * np.eye(n_columns)) / (total + strength)
    return Normal(means, totals / total, 0.5 * (covariance + covariance.T))


def normal_of_means(n_columns: int, n_classes: int = 1) -> Normal:
    """Return the normal that fills rows in standard units with their means."""
    means, shares = np.zeros((n_classes, n_columns)), np.full(n_classes, 1.0 / n_classes)
    return Normal(means, shares, np.eye(n_columns))


def factors_of_means(n_columns: int, n_classes: int = 1) -> Factors:
    """Return the law without factors, which fills rows in standard units with their means."""
    means, shares = np.zeros((n_classes, n_columns)), np.full(n_classes, 1.0 / n_classes)
    return Factors(means, shares, np.zeros((n_columns, 1)), np.ones(n_columns))


def principal_factors(Z: FloatArray, n_classes: int) -> Factors:
    """Return the principal components of rows filled with means, where EM may start."""
    n_rows, n_columns = Z.shape
    n_factors = max(1, min(MOST_FACTORS, n_rows // ROWS_A_FACTOR, n_columns - 1))
    _, sizes, right = np.linalg.svd(np.nan_to_num(Z) / np.sqrt(n_rows), full_matrices=False)
    loadings = (right[:n_factors].T * sizes[:n_factors])[:, ::-1]
    noise = np.maximum(1.0 - (loadings**2).sum(axis=1), 0.1)
    return replace(factors_of_means(n_columns, n_classes), loadings=loadings, noise=noise)


def _movement(now: FloatArray, before: FloatArray) -> float:
    """Return the root mean square of what filled cells moved by."""
    return float(np.sqrt(np.mean((now - before) ** 2))) if now.size else 0.0
