"""Discriminant analysis on tables with gaps: a Gaussian a class, fitted to the observed cells.

Source: Little and Rubin, "Statistical Analysis with Missing Data", on the multivariate normal
model; EM is that of Dempster, Laird and Rubin, 1977. A row is judged by the density of its
observed cells o alone,

    P(class k | x[o]) proportional to prior_k N(x[o]; mean_k[o], S_k[o, o]),

so that nothing is filled. Without gaps and prior this is linear (shared covariance) or quadratic
(one a class) discriminant analysis.

**Fit.** With gaps at random the estimate maximises

    sum over i of log N(x_i[o_i]; mean_k[o_i], S[o_i, o_i])
        - prior_rows / 2 (log det S + tr(S^-1 D)),

D the diagonal of the columns' observed variances within groups. The second term counts as
`prior_rows` more rows whose columns do not correlate: it keeps S positive definite where columns
outnumber rows or where pairs of columns are never observed together.

Each round of EM is, for all rows at once, with ``G_i`` the inverse of ``S[o_i, o_i]``, zeros
elsewhere, and ``z_i = G_i (x_i - mean_k)``:

1. Expected deviations of the rows from their means: ``r_i = S z_i``; their covariances:
   ``S - S G_i S``.
2. The means move by the groups' averages of ``r_i``.
3. S is the average of ``r_i r_i' + S - S G_i S`` about the new means, with the prior's rows.

Neither step needs a conditional covariance by itself, only the sum of all ``G_i``. Rows with the
same gaps share an inverse; the patterns of gaps are taken in blocks of bounded size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from experiments.methods.candidates import Candidate, candidate
from experiments.naming import Option
from experiments.problem import Problem

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

PRIOR_ROWS = 10.0
TOL = 1e-4
"""Rise of the objective per row in a round, below which EM ends."""
MAX_ITER = 500
BLOCK_CELLS = 1 << 21
"""Numbers that the inverses of one block of patterns take at the most."""


class GaussianClassifier:
    """Classify rows with gaps by class-conditional Gaussians."""

    def __init__(
        self, X: FloatArray, y: NDArray[np.int64], covariance: str, prior_rows: float = PRIOR_ROWS
    ) -> None:
        self.classes_, groups = np.unique(y, return_inverse=True)
        self.log_priors = np.log(np.bincount(groups) / groups.size)
        if covariance == "shared":
            fit = fit_gaussian(X, groups, prior_rows)
            self.means, self.covariances = fit.means, [fit.covariance] * len(self.classes_)
        else:
            # Variances of the whole table, because a class may have almost no cells in a column.
            variances = spread(X, groups)
            parts = [X[groups == group] for group in range(self.classes_.size)]
            fits = [
                fit_gaussian(own, np.zeros(len(own), dtype=np.intp), prior_rows, variances)
                for own in parts
            ]
            self.means = np.concatenate([fit.means for fit in fits])
            self.covariances = [fit.covariance for fit in fits]

    def predict_log_proba(self, X: FloatArray) -> FloatArray:
        """Return the logarithms of the classes' probabilities."""
        pairs = zip(self.means, self.covariances, strict=True)
        densities = np.stack([log_density(X, mean, S) for mean, S in pairs], axis=1)
        return log_softmax(densities + self.log_priors, axis=1)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the classes."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        """Return the most probable classes."""
        return self.classes_[self.predict_log_proba(X).argmax(axis=1)]

    def decision_function(self, X: FloatArray) -> FloatArray:
        """Return the log-odds of the second of two classes, or every class's log-probability."""
        log_proba = self.predict_log_proba(X)
        return log_proba[:, 1] - log_proba[:, 0] if self.classes_.size == 2 else log_proba


def candidates(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield class-conditional Gaussians with one covariance, then with one for each class."""
    for covariance in ("shared", "class"):
        model = GaussianClassifier(problem.train.X, problem.train.y, covariance)
        yield candidate(problem, model, {"covariance": covariance})


@dataclass(frozen=True)
class GaussianFit:
    """What EM ends with."""

    means: FloatArray  # (n_groups, n_features)
    covariance: FloatArray  # The covariance that the groups share, positive definite
    # The penalised log-likelihood at the start and after each round; it never falls
    objectives: tuple[float, ...]


def fit_gaussian(
    X: FloatArray,
    groups: IntArray,
    prior_rows: float = PRIOR_ROWS,
    variances: FloatArray | None = None,
    tol: float = TOL,
) -> GaussianFit:
    """Fit a mean a group and a common covariance to the observed cells by EM."""
    variances = spread(X, groups) if variances is None else variances
    scale = np.sqrt(variances)
    observed = ~np.isnan(X)
    # In units of the columns' deviations the prior is a multiple of the identity.
    unit = np.where(observed, X, 0.0) / scale
    blocks = tuple(pattern_blocks(observed))
    membership = np.eye(int(groups.max()) + 1)[groups]
    means, covariance = _group_means(unit, observed, membership), np.eye(X.shape[1])
    units_of_objective = -observed.sum(axis=0) @ np.log(scale) - prior_rows * np.log(scale).sum()
    objectives: list[float] = []
    for round_ in range(MAX_ITER + 1):
        z, precisions, log_likelihood = _expectations(unit - means[groups], covariance, blocks)
        penalty = _penalty(covariance, prior_rows)
        objectives.append(float(log_likelihood - penalty + units_of_objective))
        if round_ == MAX_ITER or (round_ and objectives[-1] - objectives[-2] <= tol * len(X)):
            break
        means, covariance = _maximised(
            z @ covariance, precisions, means, covariance, membership, prior_rows
        )
    return GaussianFit(means * scale, covariance * np.outer(scale, scale), tuple(objectives))


def spread(X: FloatArray, groups: IntArray) -> FloatArray:
    """Return the variances of the columns' observed cells about the observed group means."""
    observed = ~np.isnan(X)
    values = np.where(observed, X, 0.0)
    membership = np.eye(int(groups.max()) + 1)[groups]
    centred = np.where(observed, values - _group_means(values, observed, membership)[groups], 0.0)
    variances = np.square(centred).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    # What equal cells leave by rounding is no spread.
    rounding = np.square(4.0 * np.finfo(float).eps * np.abs(values).max(axis=0))
    varies = variances > rounding
    usual = float(variances[varies].mean()) if varies.any() else 1.0
    return np.where(varies, variances, usual)


def _expectations(
    deviations: FloatArray, covariance: FloatArray, blocks: tuple[Patterns, ...]
) -> tuple[FloatArray, FloatArray, float]:
    """Return every ``z_i``, (n_samples, d); the sum of all ``G_i``, (d, d); the log-likelihood."""
    z = np.empty(deviations.shape)
    precisions_sum = np.zeros(covariance.shape)
    log_likelihood = 0.0
    for block in blocks:
        precisions, log_dets = observed_precisions(covariance, block.masks)
        # The zeros of G_i leave out what stands at the gaps.
        rows = deviations[block.rows]
        z[block.rows] = (rows[:, None, :] @ precisions[block.pattern])[:, 0]
        precisions_sum += np.tensordot(block.counts, precisions, axes=1)
        constants = log_dets + block.masks.sum(axis=1) * math.log(2.0 * math.pi)
        log_likelihood -= 0.5 * float(block.counts @ constants + (z[block.rows] * rows).sum())
    return z, precisions_sum, log_likelihood


def _maximised(
    expected: FloatArray,
    precisions_sum: FloatArray,
    means: FloatArray,
    covariance: FloatArray,
    membership: FloatArray,
    prior_rows: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the means and the covariance after steps 2 and 3, from the expected deviations."""
    n_samples, n_features = expected.shape
    sizes = membership.sum(axis=0)
    moves = (membership.T @ expected) / sizes[:, None]
    about_new_means = expected - membership @ moves
    scatter = about_new_means.T @ about_new_means
    scatter += n_samples * covariance - covariance @ precisions_sum @ covariance
    scatter += prior_rows * np.eye(n_features)
    scatter /= n_samples + prior_rows
    return means + moves, 0.5 * (scatter + scatter.T)


def _penalty(covariance: FloatArray, prior_rows: float) -> float:
    """Return ``prior_rows / 2 (log det S + tr S^-1)``, for columns in units of their deviation."""
    eigenvalues = np.linalg.eigvalsh(covariance)
    if eigenvalues[0] <= 0.0:
        raise np.linalg.LinAlgError("The covariance is singular.")
    return 0.5 * prior_rows * float((np.log(eigenvalues) + 1.0 / eigenvalues).sum())


def _group_means(values: FloatArray, observed: BoolArray, membership: FloatArray) -> FloatArray:
    """Return the groups' observed column means; of all rows where a group has none, else 0."""
    totals, counts = membership.T @ values, membership.T @ observed
    overall = totals.sum(axis=0) / np.maximum(counts.sum(axis=0), 1.0)
    return np.where(counts > 0.0, totals / np.maximum(counts, 1.0), overall)


@dataclass(frozen=True)
class Patterns:
    """Some of the gap patterns, and the rows that have them."""

    masks: BoolArray  # True where observed
    counts: FloatArray  # Rows of each pattern
    rows: IntArray  # Which rows of the table
    pattern: IntArray  # Which pattern each of them has


def pattern_blocks(observed: BoolArray) -> Iterator[Patterns]:
    """Yield the gap patterns in blocks of bounded size, with their rows."""
    masks, pattern, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    pattern = pattern.reshape(-1)
    size = max(1, BLOCK_CELLS // observed.shape[1] ** 2)
    for start in range(0, masks.shape[0], size):
        rows = np.flatnonzero((pattern >= start) & (pattern < start + size))
        yield Patterns(
            masks=masks[start : start + size],
            counts=counts[start : start + size].astype(float),
            rows=rows,
            pattern=pattern[rows] - start,
        )


def observed_precisions(covariance: FloatArray, masks: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverses and the log-determinants of the observed blocks of a covariance."""
    both = masks[:, :, None] & masks[:, None, :]
    # The identity stands at the gaps: it changes neither the block's inverse nor its determinant.
    blocks = np.where(both, covariance, 0.0) + (~masks)[:, None, :] * np.eye(masks.shape[1])
    diagonals = np.diagonal(np.linalg.cholesky(blocks), axis1=1, axis2=2)
    return np.where(both, np.linalg.inv(blocks), 0.0), 2.0 * np.log(diagonals).sum(axis=1)


def log_density(X: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the log-density of each row's observed cells under a Gaussian, (n_rows,)."""
    observed = ~np.isnan(X)
    deviations = np.where(observed, X - mean, 0.0)
    density = np.empty(X.shape[0])
    for block in pattern_blocks(observed):
        precisions, log_dets = observed_precisions(covariance, block.masks)
        constant = log_dets + block.masks.sum(axis=1) * math.log(2.0 * math.pi)
        rows = deviations[block.rows]
        squares = np.einsum("ip,ipq,iq->i", rows, precisions[block.pattern], rows)
        density[block.rows] = -0.5 * (constant[block.pattern] + squares)
    return density


def conditional_gaussians(
    X: FloatArray, mean: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the Gaussian conditioned on each row's observed cells.

    The means, (n_rows, n_features); the covariances of the gap patterns, zero at observed cells;
    and the pattern of each row.
    """
    observed = ~np.isnan(X)
    means = X.copy()
    covariances = []
    pattern = np.empty(X.shape[0], dtype=np.intp)
    n_patterns = 0
    for block in pattern_blocks(observed):
        precisions, _ = observed_precisions(covariance, block.masks)
        seen = observed[block.rows]
        deviations = np.where(seen, X[block.rows] - mean, 0.0)
        z = (deviations[:, None, :] @ precisions[block.pattern])[:, 0]
        means[block.rows] = np.where(seen, X[block.rows], mean + z @ covariance)
        gaps = ~block.masks
        residual = covariance - covariance @ precisions @ covariance
        # Zero but for rounding at observed cells.
        covariances.append(np.where(gaps[:, :, None] & gaps[:, None, :], residual, 0.0))
        pattern[block.rows] = n_patterns + block.pattern
        n_patterns += block.masks.shape[0]
    return means, np.concatenate(covariances), pattern
