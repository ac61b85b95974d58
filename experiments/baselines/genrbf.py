"""genRBF: a support vector machine on the expected Gaussian kernel between rows with gaps.

Source: Smieja, Struski, Tabor and Marzec, "Generalized RBF kernel for incomplete data",
Knowledge-Based Systems 173, 2019 (arXiv 1612.01480), and the authors' code.

A row with gaps stands for the Gaussian ``N(m, S)`` that a Gaussian fitted to the whole table
becomes once the row's observed cells are known: S is zero there, and m is the row. Between two
such rows, drawn independently of each other,

    E exp(-gamma ||u - v||^2) = det(A)^(-1/2) exp(-gamma (m_i - m_j)' A^-1 (m_i - m_j)),
    A = I + 2 gamma (S_i + S_j),

a scalar product of the two distributions, so that kernel matrices are positive semidefinite. The
source divides it by the norms of the two, ``det(I + 4 gamma S_i)^(-1/4)`` each. A row meets itself
as two independent draws, which is 1 after the division.

The source measures distances as the fitted Gaussian does, ``(u - v)' covariance^-1 (u - v)``:
rows are whitened, and S becomes the projection onto what a row leaves unknown.

Two complete rows have S = 0, the Gaussian kernel. One complete row leaves ``A = I + 2 gamma S_i``:
one eigendecomposition of S_i serves every complete row and every gamma. Two rows with gaps take a
Cholesky factor of A each time; bordered by ``m_i - m_j``, it has the solved difference as its last
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from experiments.baselines.gaussian import conditional_gaussians, fit_gaussian
from experiments.methods.candidates import GRIDS, Candidate, memoized
from experiments.methods.machines import precomputed
from experiments.naming import Option
from experiments.problem import Problem
from kernimpute.kernels import Gaussian

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

BLOCK_PAIRS = 512
"""Pairs of rows with gaps at once: their matrices then stay near the processor."""


@dataclass(frozen=True)
class RowGaussians:
    """Rows that are a Gaussian each."""

    means: FloatArray  # Their means
    covariances: FloatArray  # The covariance of each gap pattern
    pattern: IntArray  # The pattern of each row
    complete: NDArray[np.bool_]  # Where the covariance is zero
    eigenvalues: FloatArray  # Of the covariances, not below 0
    eigenvectors: FloatArray

    def log_dets(self, factors: FloatArray) -> FloatArray:
        """Return ``log det(I + factor S)`` of each row, of shape (n_factors, n_rows)."""
        patterns = np.log1p(factors[:, None, None] * self.eigenvalues).sum(axis=2)
        return np.asarray(patterns[:, self.pattern])


class GenRBFKernel:
    """The expected Gaussian kernel, normalised, in the metric of a Gaussian fitted to the rows."""

    def __init__(self, X: FloatArray) -> None:
        fit = fit_gaussian(X, np.zeros(X.shape[0], dtype=np.intp))
        self.mean, self.covariance = fit.means[0], fit.covariance

    def matrices(
        self, X: FloatArray, Z: FloatArray | None = None, *, gammas: Sequence[float]
    ) -> FloatArray:
        """Return the kernel matrices of all gammas, (n_gammas, n_rows, n_other_rows)."""
        scales = np.array(gammas)
        left = self._distributions(X)
        right = left if Z is None else self._distributions(Z)
        logs = log_expectations(left, right, scales)
        norms = left.log_dets(4.0 * scales)[:, :, None]
        # Added to each other first: the sum is symmetric to the last bit.
        logs += 0.25 * (norms + right.log_dets(4.0 * scales)[:, None, :])
        return np.exp(logs, out=logs)

    def _distributions(self, X: FloatArray) -> RowGaussians:
        means, covariances, pattern = conditional_gaussians(X, self.mean, self.covariance)
        root = np.linalg.cholesky(self.covariance)
        whitening = solve_triangular(root, np.eye(root.shape[0]), lower=True)
        eigenvalues, vectors = np.linalg.eigh(whitening @ covariances @ whitening.T)
        # A nearly singular covariance leaves rounding below 0, which a large gamma would raise.
        eigenvalues = np.maximum(eigenvalues, 0.0)
        return RowGaussians(
            means=(means - self.mean) @ whitening.T,
            covariances=(vectors * eigenvalues[:, None, :]) @ np.swapaxes(vectors, 1, 2),
            pattern=pattern,
            complete=~np.isnan(X).any(axis=1),
            eigenvalues=eigenvalues,
            eigenvectors=vectors,
        )


def candidates(problem: Problem, options: Mapping[str, Option]) -> Iterator[Candidate]:
    """Yield support vector machines with the expected gaussian kernel over C and gamma."""
    X = problem.train.X
    gammas = GRIDS[str(options["grid"])]
    kernel = GenRBFKernel(X)
    to_train = memoized(lambda rows: kernel.matrices(rows, X, gammas=gammas))
    return precomputed(problem, gammas, kernel.matrices(X, gammas=gammas), to_train)


def log_expectations(left: RowGaussians, right: RowGaussians, gammas: FloatArray) -> FloatArray:
    """Return the logarithms of the expected kernels of all pairs."""
    logs = np.empty((gammas.size, left.means.shape[0], right.means.shape[0]))
    whole_left, whole_right = np.flatnonzero(left.complete), np.flatnonzero(right.complete)
    gappy_left, gappy_right = np.flatnonzero(~left.complete), np.flatnonzero(~right.complete)
    if whole_left.size and whole_right.size:
        rows = left.means[whole_left]
        # One and the same array, because the distances are then symmetric to the last bit.
        distances = Gaussian().sums(rows, rows if right is left else right.means[whole_right])
        logs[:, whole_left[:, None], whole_right] = -gammas[:, None, None] * distances
    if whole_right.size:
        for row in gappy_left.tolist():
            logs[:, row, whole_right] = _with_complete_rows(
                left, row, right.means[whole_right], gammas
            )
    if right is left:
        logs[:, whole_left[:, None], gappy_left] = np.swapaxes(
            logs[:, gappy_left[:, None], whole_left], 1, 2
        )
        for place, row in enumerate(gappy_left.tolist()):
            others = gappy_left[place + 1 :]
            logs[:, row, others] = _with_gappy_rows(left, row, left, others, gammas)
            logs[:, others, row] = logs[:, row, others]
        logs[:, gappy_left, gappy_left] = -0.5 * left.log_dets(4.0 * gammas)[:, gappy_left]
        return logs
    if whole_left.size:
        for row in gappy_right.tolist():
            logs[:, whole_left, row] = _with_complete_rows(
                right, row, left.means[whole_left], gammas
            )
    for row in gappy_left.tolist():
        logs[:, row, gappy_right] = _with_gappy_rows(left, row, right, gappy_right, gammas)
    return logs


def _with_complete_rows(
    rows: RowGaussians, row: int, complete: FloatArray, gammas: FloatArray
) -> FloatArray:
    """Return the logarithms, (n_gammas, n_complete), between a row with gaps and complete rows."""
    pattern = rows.pattern[row]
    factors = 1.0 + 2.0 * gammas[:, None] * rows.eigenvalues[pattern]
    squares = np.square((complete - rows.means[row]) @ rows.eigenvectors[pattern])
    logs = (-gammas[:, None] / factors) @ squares.T
    logs -= 0.5 * np.log(factors).sum(axis=1)[:, None]
    return np.asarray(logs)


def _with_gappy_rows(
    rows: RowGaussians, row: int, others: RowGaussians, chosen: IntArray, gammas: FloatArray
) -> FloatArray:
    """Return the logarithms, (n_gammas, n_chosen), between a row and others, all with gaps."""
    n_features = rows.means.shape[1]
    logs = np.empty((gammas.size, chosen.size))
    for start in range(0, chosen.size, BLOCK_PAIRS):
        block = chosen[start : start + BLOCK_PAIRS]
        sums = rows.covariances[rows.pattern[row]] + others.covariances[others.pattern[block]]
        differences = rows.means[row] - others.means[block]
        bordered = np.empty((block.size, n_features + 1, n_features + 1))
        bordered[:, n_features, :n_features] = differences
        # A >= I, so that any corner above the squared length leaves the border definite.
        bordered[:, n_features, n_features] = 2.0 * np.square(differences).sum(axis=1) + 1.0
        diagonal = np.einsum("bii->bi", bordered)[:, :n_features]
        for place, gamma in enumerate(gammas):
            np.multiply(sums, 2.0 * gamma, out=bordered[:, :n_features, :n_features])
            diagonal += 1.0
            # Only the lower triangle is read, so that the border is there once.
            factor = np.linalg.cholesky(bordered)
            pivots = np.einsum("bii->bi", factor)[:, :n_features]
            squares = np.square(factor[:, n_features, :n_features]).sum(axis=1)
            logs[place, start : start + block.size] = -np.log(pivots).sum(axis=1) - gamma * squares
    return logs
