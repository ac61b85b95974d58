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
from scipy.linalg import LinAlgError, cholesky

from kernimpute.stage_one.problem import StageOneProblem

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
        The exact support vector machine on it; for a gap of more than twice the one wanted, the
        coefficients that came.
    value : float
        The objective there, an upper bound of the saddle value.
    gap : float
        ``(value - lower bound) / |value|``; infinite where K could not be made feasible.
    """

    K: FloatArray
    dual_coef: FloatArray
    value: float
    gap: float


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
        Signed coefficients, for a first look at the upper bound.
    bound : float
        A lower bound of the saddle value.
    tol : float
        Gap wanted: where the matrix as it stands already misses it, it is not repaired.

    Returns
    -------
    SaddleCertificate
        With K mixed with as little as suffices of a point between the anchor and the interior.
    """
    if _is_psd(adjustment):
        return _at(problem, adjustment, bound)
    # The primal value at any coefficients bounds the machine's maximum, and costs no solve.
    unrepaired = _bounded(problem, adjustment, dual_coef)
    if _relative(unrepaired - bound, unrepaired) > tol:
        return SaddleCertificate(adjustment, dual_coef, unrepaired, math.inf)
    anchor = problem.relaxation.anchor
    interior = anchor if problem.relaxation.interior is None else problem.relaxation.interior
    mixtures = (
        _least_mixture(adjustment, (1.0 - share) * anchor + share * interior)
        for share in (0.1, 1.0)
    )
    candidates = [K for K in mixtures if K is not None]
    if not candidates:
        return SaddleCertificate(adjustment, dual_coef, unrepaired, math.inf)
    values = [_bounded(problem, K, dual_coef) for K in candidates]
    best = int(np.argmin(values))
    if _relative(values[best] - bound, values[best]) > 2.0 * tol:
        gap = _relative(values[best] - bound, values[best])
        return SaddleCertificate(candidates[best], dual_coef, values[best], gap)
    return _at(problem, candidates[best], bound)


def _bounded(problem: StageOneProblem, K: FloatArray, dual_coef: FloatArray) -> float:
    """Return an upper bound of the objective's maximum over the coefficients at K."""
    offset = K - problem.relaxation.anchor
    value = problem.dual.primal_value(K, dual_coef)
    return value + problem.eta * float(np.vdot(offset, offset))


def _at(problem: StageOneProblem, K: FloatArray, bound: float) -> SaddleCertificate:
    coefficients = problem.dual.solve(K)
    value = _bounded(problem, K, coefficients)
    return SaddleCertificate(K, coefficients, value, max(_relative(value - bound, value), 0.0))


def _relative(gap: float, value: float) -> float:
    return gap / max(abs(value), 1e-12)


def _is_psd(K: FloatArray) -> bool:
    jitter = ROUNDING * float(np.abs(K).max())
    try:
        cholesky(K + jitter * np.eye(K.shape[0]), check_finite=False, overwrite_a=True)
    except LinAlgError:
        return False
    return True


def _least_mixture(K: FloatArray, inner_point: FloatArray) -> FloatArray | None:
    """Return K moved towards a point just far enough to be positive semidefinite."""
    if not _is_psd(inner_point):
        return None
    short, enough = 1e-9, 1.0
    while enough > 1.5 * short:
        share = math.sqrt(short * enough)
        if _is_psd((1.0 - share) * K + share * inner_point):
            enough = share
        else:
            short = share
    return (1.0 - enough) * K + enough * inner_point
