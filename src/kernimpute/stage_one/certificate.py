"""The saddle gap of `anchored`: a certificate that does not trust the solver.

From below, weak duality: `saddle_value` at any feasible coefficients and any positive
semidefinite multiplier. From above, a kernel matrix that truly lies in the set, and the primal
value of a support vector machine on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import (
    by_rows,
    clip,
    is_positive_definite,
    like,
    namespace,
    squared_distance,
    to_numpy,
)
from kernimpute.core.projections import project_psd, symmetrise
from kernimpute.stage_one.problem import Relaxation, StageOneProblem

__all__ = ["SaddleCertificate", "certify", "is_psd", "relative_gap", "upper_bound"]

FloatArray = NDArray[np.float64]

ROUNDING = 1e-12
"""Smallest eigenvalue below zero that counts as rounding, relative to the largest entry."""


@dataclass(frozen=True)
class SaddleCertificate:
    """A feasible pair that bounds the saddle value from above.

    Parameters
    ----------
    packed : ndarray of shape (n_samples (n_samples + 1) / 2,)
        The lower triangle, row by row, of a kernel matrix K between the bounds, positive
        semidefinite. NumPy's: it is kept for long, and half as large.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Nearly the support vector machine on it; the exact one can take longer than many rounds,
        for at the saddle most rows have the same margin.
    value : float
        A bound from above of the objective's maximum over the coefficients at K, and so of the
        saddle value.
    """

    packed: FloatArray
    dual_coef: FloatArray
    value: float

    def matrix(self) -> FloatArray:
        """Return K, of shape (n_samples, n_samples), in the namespace of the coefficients."""
        n = self.dual_coef.shape[0]
        K = np.empty((n, n))
        first = 0
        for row in range(n):
            part = self.packed[first : first + row + 1]
            K[row, : row + 1] = K[: row + 1, row] = part
            first += row + 1
        return like(K, self.dual_coef)

    def gap(self, bound: float) -> float:
        """Return the relative saddle gap.

        Parameters
        ----------
        bound : float
            A lower bound of the saddle value.

        Returns
        -------
        float
            ``(value - bound) / |value|``, at least 0.
        """
        return relative_gap(self.value, bound)


def relative_gap(value: float, bound: float) -> float:
    """Return the gap between an upper and a lower bound, relative to the upper one.

    Parameters
    ----------
    value, bound : float
        The bounds.

    Returns
    -------
    float
        ``(value - bound) / |value|``, at least 0.
    """
    return max((value - bound) / max(abs(value), 1e-12), 0.0)


def certify(
    problem: StageOneProblem,
    adjustment: FloatArray,
    dual_coef: FloatArray,
    is_wanted: Callable[[float], bool],
) -> SaddleCertificate | None:
    """Return the best certificate that can be had near an adjustment, if it is wanted.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11'.
    adjustment : ndarray of shape (n_samples, n_samples)
        A matrix between the bounds, nearly positive semidefinite.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Feasible signed coefficients, for a first look at the objective and for the machine to
        start from.
    is_wanted : callable
        Whether a certificate of some value would be wanted; if so, also one of any smaller value.
        Where the matrix as it stands is not, it is not repaired; where the repaired one is not, no
        machine is solved on it.

    Returns
    -------
    SaddleCertificate or None
        With K projected on the cone, brought back between the bounds, and mixed with as little
        as suffices of the interior point. None where it is not wanted, or K could not be made
        feasible.
    """
    K: FloatArray | None
    if is_psd(adjustment):
        K = symmetrise(adjustment)
    else:
        # What is to be repaired raises the objective as a rule.
        if not is_wanted(_smallest_value(problem, adjustment, dual_coef)):
            return None
        nearly = _nearly_feasible(problem.relaxation, adjustment)
        # What is still to be repaired is little, and lowers the objective as a rule by nothing.
        if not is_wanted(_smallest_value(problem, nearly, dual_coef)):
            return None
        K = _least_mixture(nearly, problem.interior())
        del nearly
    if K is None or not is_wanted(_smallest_value(problem, K, dual_coef)):
        return None
    solved = problem.proximal_machine(K, dual_coef, 0.0)
    value = upper_bound(problem, K, solved)
    return SaddleCertificate(_packed(K), solved, value) if is_wanted(value) else None


def _packed(K: FloatArray) -> FloatArray:
    """Return the lower triangle of a symmetric matrix, as NumPy's."""
    matrix = to_numpy(K)
    return np.concatenate([matrix[row, : row + 1] for row in range(matrix.shape[0])])


def _smallest_value(problem: StageOneProblem, K: FloatArray, dual_coef: FloatArray) -> float:
    """Return the objective at K and these coefficients; those of the exact machine raise it."""
    return problem.dual.value(K, dual_coef) + _cost(problem, K)


def upper_bound(problem: StageOneProblem, K: FloatArray, dual_coef: FloatArray) -> float:
    """Return an upper bound of the saddle value.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11'.
    K : ndarray of shape (n_samples, n_samples)
        A kernel matrix of the set.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients; the nearer the machine on K, the smaller the bound.

    Returns
    -------
    float
        The primal value at K, which bounds the objective's maximum over the coefficients, and what
        the distance from the anchor costs.
    """
    return problem.dual.primal_value(K, dual_coef) + _cost(problem, K)


def _cost(problem: StageOneProblem, K: FloatArray) -> float:
    """Return what the distance from the anchor costs."""
    return problem.eta * squared_distance(K, problem.relaxation.anchor)


def is_psd(K: FloatArray, *, overwrite: bool = False) -> bool:
    """Return whether a symmetric matrix is positive semidefinite up to rounding.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The matrix.
    overwrite : bool, default=False
        Whether K may be destroyed, which saves a copy.

    Returns
    -------
    bool
        Whether it has a Cholesky factor when raised by `ROUNDING`.
    """
    xp = namespace(K)
    largest = max(float(xp.max(K)), -float(xp.min(K)))
    return is_positive_definite(K, jitter=ROUNDING * largest, overwrite=overwrite)


def _nearly_feasible(relaxation: Relaxation, adjustment: FloatArray) -> FloatArray:
    """Return a matrix between the bounds that is closer to the cone.

    The nearest positive semidefinite matrix, brought back between the bounds. Its diagonal has
    grown by what the negative eigenvalues took away; where that has no room, as at 1, clipping it
    alone would bring them back. Rows and columns are scaled instead, which leaves the cone's
    matrices in the cone; what is then clipped is little.
    """
    projected = project_psd(adjustment)
    xp = namespace(projected)
    diagonal = xp.linalg.diagonal(projected)
    allowed = clip(
        diagonal, xp.linalg.diagonal(relaxation.lower), xp.linalg.diagonal(relaxation.upper)
    )
    positive = diagonal > 0.0
    ratio = xp.where(positive, allowed, xp.ones_like(diagonal)) / xp.where(
        positive, diagonal, xp.ones_like(diagonal)
    )
    scale = xp.sqrt(xp.maximum(ratio, xp.zeros_like(ratio)))

    def scaled(rows: slice) -> FloatArray:
        entries = projected[rows, :] * (scale[rows, None] * scale[None, :])
        return clip(entries, relaxation.lower[rows, :], relaxation.upper[rows, :])

    return by_rows(scaled, projected.shape[0])


def _least_mixture(K: FloatArray, interior: FloatArray) -> FloatArray | None:
    """Return K moved towards the interior just far enough to be positive semidefinite."""
    if not is_psd(interior):
        return None
    short, enough = 1e-9, 1.0
    while enough > 1.5 * short:
        share = math.sqrt(short * enough)
        if is_psd(_mixture(K, interior, share), overwrite=True):
            enough = share
        else:
            short = share
    return _mixture(K, interior, enough)


def _mixture(K: FloatArray, interior: FloatArray, share: float) -> FloatArray:
    """Return K moved by a share of the way to the interior."""

    def mixed(rows: slice) -> FloatArray:
        return share * (interior[rows, :] - K[rows, :]) + K[rows, :]

    return by_rows(mixed, K.shape[0])
