"""The saddle gap of `anchored`: a certificate that does not trust the solver.

From below, weak duality: `saddle_value` at any feasible coefficients and any positive
semidefinite multiplier. From above, a kernel matrix that truly lies in the set, and the exact
support vector machine on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.arrays import by_rows, clip, is_positive_definite, namespace, squared_distance
from kernimpute.projections import project_psd, symmetrise
from kernimpute.stage_one.problem import Relaxation, StageOneProblem

__all__ = ["SaddleCertificate", "certify"]

FloatArray = NDArray[np.float64]

ROUNDING = 1e-12
"""Smallest eigenvalue below zero that counts as rounding, relative to the largest entry."""


@dataclass(frozen=True)
class SaddleCertificate:
    """A feasible pair and how far it can be from the saddle.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        A kernel matrix between the bounds; positive semidefinite if the gap is finite.
    dual_coef : ndarray of shape (n_samples, n_problems)
        The exact support vector machine on it; where that could not bring the gap wanted, the
        coefficients that came.
    value : float
        The objective there, an upper bound of the saddle value.
    gap : float
        ``(value - lower bound) / |value|``; infinite where K could not be made feasible.
    exact : bool
        Whether `dual_coef` are the exact machine's.
    """

    K: FloatArray
    dual_coef: FloatArray
    value: float
    gap: float
    exact: bool = False


def certify(
    problem: StageOneProblem,
    adjustment: FloatArray,
    dual_coef: FloatArray,
    bound: float,
    tol: float,
) -> SaddleCertificate:
    """Return the best certificate that can be had near an adjustment.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11'.
    adjustment : ndarray of shape (n_samples, n_samples)
        A matrix between the bounds, nearly positive semidefinite.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Feasible signed coefficients, for a first look at the objective.
    bound : float
        A lower bound of the saddle value.
    tol : float
        Gap wanted: where the matrix as it stands already misses it, it is not repaired; where
        the repaired one does, no machine is solved on it.

    Returns
    -------
    SaddleCertificate
        With K projected on the cone, brought back between the bounds, and mixed with as little
        as suffices of the interior point.
    """
    if _is_psd(adjustment):
        K = symmetrise(adjustment)
    else:
        if _hopeless(problem, adjustment, dual_coef, bound, tol):
            return _unsolved(problem, adjustment, dual_coef, math.inf)
        nearly = _nearly_feasible(problem.relaxation, adjustment)
        # What is still to be repaired is little, and lowers the objective as a rule by nothing.
        if _hopeless(problem, nearly, dual_coef, bound, tol):
            return _unsolved(problem, nearly, dual_coef, math.inf)
        mixture = _least_mixture(nearly, problem.interior())
        if mixture is None:
            return _unsolved(problem, nearly, dual_coef, math.inf)
        K = mixture
        del nearly, mixture
    if _hopeless(problem, K, dual_coef, bound, tol):
        return _unsolved(problem, K, dual_coef, bound)
    solved = problem.solve(K)
    value = _bounded(problem, K, solved)
    return SaddleCertificate(K, solved, value, _relative_gap(value, bound), exact=True)


def _hopeless(
    problem: StageOneProblem, K: FloatArray, dual_coef: FloatArray, bound: float, tol: float
) -> bool:
    """Whether the objective at K already exceeds the bound by too much at these coefficients.

    Those of the exact machine only raise it.
    """
    value = problem.dual.value(K, dual_coef) + _cost(problem, K)
    return _relative_gap(value, bound) > tol


def _unsolved(
    problem: StageOneProblem, K: FloatArray, dual_coef: FloatArray, bound: float
) -> SaddleCertificate:
    """Return what is known without an exact solve; for a K that is not feasible, nothing."""
    value = _bounded(problem, K, dual_coef)
    gap = math.inf if math.isinf(bound) else _relative_gap(value, bound)
    return SaddleCertificate(K, dual_coef, value, gap)


def _bounded(problem: StageOneProblem, K: FloatArray, dual_coef: FloatArray) -> float:
    """Return an upper bound of the objective's maximum over the coefficients at K.

    The primal value at any coefficients bounds it, and costs no solve.
    """
    return problem.dual.primal_value(K, dual_coef) + _cost(problem, K)


def _cost(problem: StageOneProblem, K: FloatArray) -> float:
    """Return what the distance from the anchor costs."""
    return problem.eta * squared_distance(K, problem.relaxation.anchor)


def _relative_gap(value: float, bound: float) -> float:
    return max((value - bound) / max(abs(value), 1e-12), 0.0)


def _is_psd(K: FloatArray, *, overwrite: bool = False) -> bool:
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
    if not _is_psd(interior):
        return None
    short, enough = 1e-9, 1.0
    while enough > 1.5 * short:
        share = math.sqrt(short * enough)
        if _is_psd(_mixture(K, interior, share), overwrite=True):
            enough = share
        else:
            short = share
    return _mixture(K, interior, enough)


def _mixture(K: FloatArray, interior: FloatArray, share: float) -> FloatArray:
    """Return K moved by a share of the way to the interior."""

    def mixed(rows: slice) -> FloatArray:
        return share * (interior[rows, :] - K[rows, :]) + K[rows, :]

    return by_rows(mixed, K.shape[0])
