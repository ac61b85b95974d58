"""One Gaussian, or one mean a group with a common covariance, from rows with gaps.

The observed cells of row i, of group k, have the density ``N(mean_k, S)`` restricted to them
(marginalised over the rest), so that with gaps at random the estimate maximises

    sum over i of log N(x_i[o_i]; mean_k[o_i], S[o_i, o_i])
        - prior_rows / 2 (log det S + tr(S^-1 D)),

D the diagonal of the columns' observed variances within groups. The second term counts as
`prior_rows` more rows, whose columns do not correlate: it keeps S positive definite where columns
outnumber rows or pairs of columns are never observed together, and 0 is maximum likelihood.

Each round of EM (Dempster, Laird and Rubin, 1977) is, for all rows at once, with ``G_i`` the
inverse of ``S[o_i, o_i]``, zeros elsewhere, and ``z_i = G_i (x_i - mean_k)``:

1. Expected deviations of the rows from their means: ``r_i = S z_i``; their covariances:
   ``S - S G_i S``.
2. The means move by the groups' averages of ``r_i``.
3. S is the average of ``r_i r_i' + S - S G_i S`` about the new means, with the prior's rows.

Neither step needs a conditional covariance by itself, only the sum of all ``G_i``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from experiments.baselines._gaussian_conditionals import (
    Patterns,
    observed_precisions,
    pattern_blocks,
)
from kernimpute.convergence import Status, StopRule
from kernimpute.missing import observed_cells
from kernimpute.parameters import refusal

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

EM_CONSTRAINTS: dict[str, list[Any]] = {
    "prior_rows": [Interval(Real, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}
"""Constraints of the parameters that estimators hand on to EM."""


@dataclass(frozen=True)
class GaussianFit:
    """What EM ends with."""

    means: FloatArray  # The mean of each group
    covariance: FloatArray  # The covariance that the groups share, positive definite
    # The penalised log-likelihood at the start and after each round; it never falls
    objectives: tuple[float, ...]
    status: Status  # How the rounds ended

    @property
    def n_iter(self) -> int:
        """Return the number of rounds."""
        return len(self.objectives) - 1


def fit_gaussian(
    X: FloatArray,
    groups: IntArray,
    *,
    prior_rows: float,
    stop: StopRule,
    owner: str,
    variances: FloatArray | None = None,
) -> GaussianFit:
    """Fit means and a common covariance to the observed cells; see the module."""
    variances = spread(X, groups) if variances is None else variances
    scale = np.sqrt(variances)
    observed = observed_cells(X)
    # Columns in units of their deviation: the prior is a multiple of the identity there, and
    # rounding is the same in every unit of measurement.
    unit = np.where(observed, X, 0.0) / scale
    blocks = tuple(pattern_blocks(observed))
    membership = np.eye(int(groups.max()) + 1)[groups]
    means, covariance = _group_means(unit, observed, membership), np.eye(X.shape[1])
    units_of_objective = -observed.sum(axis=0) @ np.log(scale) - prior_rows * np.log(scale).sum()
    objectives: list[float] = []
    status = Status.MAX_ITER
    try:
        for round_ in range(stop.max_iter + 1):
            z, precisions, log_likelihood = _expectations(unit - means[groups], covariance, blocks)
            penalty = _penalty(covariance, prior_rows)
            objectives.append(float(log_likelihood - penalty + units_of_objective))
            if round_ and objectives[-1] - objectives[-2] <= stop.tol * X.shape[0]:
                status = Status.CONVERGED
                break
            if round_ < stop.max_iter:
                means, covariance = _maximised(
                    z @ covariance, precisions, means, covariance, membership, prior_rows
                )
    except np.linalg.LinAlgError as error:
        must_be = "a float in (0, inf) where the rows leave the covariance singular"
        raise ValueError(refusal(owner, "prior_rows", must_be, prior_rows)) from error
    return GaussianFit(
        means=means * scale,
        covariance=covariance * np.outer(scale, scale),
        objectives=tuple(objectives),
        status=status,
    )


def spread(X: FloatArray, groups: IntArray) -> FloatArray:
    """Return the variances of the columns' observed cells about the observed group means."""
    observed = observed_cells(X)
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
