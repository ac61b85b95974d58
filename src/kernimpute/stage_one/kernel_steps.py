"""Step 1 of Stage I: a new adjustment, the perturbation and the dual coefficients held fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.dual import coupling
from kernimpute.projections import (
    BoxConeProjection,
    project_box_cone,
    project_box_psd,
    project_psd,
    symmetrise,
)
from kernimpute.stage_one.problem import StageOneProblem, StageOneState
from kernimpute.stage_one.steps import Move

__all__ = [
    "SpectrumMoments",
    "clipped_adjustment",
    "eigenvalue_step",
    "exact_projection_step",
    "saddle_value",
    "spectrum_step",
]

FloatArray = NDArray[np.float64]

FALLBACK = (
    "Step 1's eigenvalue program is infeasible: the exact projection on the box and the cone "
    "was taken instead."
)


def exact_projection_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Project the closed form on box and cone: Appendix B's eq. (s1).

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state; its kernel moments are the multiplier of the previous projection.

    Returns
    -------
    Move
        The projection of eq. (7) on ``{lower <= A <= upper, A psd}``.
    """
    projection = project_box_psd(
        problem.unconstrained_adjustment(state),
        problem.relaxation.lower,
        problem.relaxation.upper,
        multiplier=state.kernel_moments,
        tol=1e-6,
        max_iter=300,
    )
    return Move(projection.point, projection.multiplier, projection.status, projection.n_iter)


def eigenvalue_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Adjust the eigenvalues of the closed form: the paper's eq. (find_d) and (OptKD).

    The eigenvectors U of eq. (7) stay; the eigenvalues d become the nearest with ``d >= 0`` and
    ``lower <= U diag(d) U' <= upper``. Since the u_k u_k' are orthonormal this is the projection
    on a box cut by the cone ``{U diag(d) U' : d >= 0}``, whose own projection is
    ``M -> U diag(max(diag(U'MU), 0)) U'``; the paper's dense constraint matrix is not needed.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state; its kernel moments are the multiplier of the exact projection, if that has
        had to step in.

    Returns
    -------
    Move
        The adjustment of eq. (OptKD); where the program is infeasible, or not solved to 1e-6
        within its iterations, the exact projection of the appendix, and a note that says so.
    """
    projection = _project_eigenvalues(problem, problem.unconstrained_adjustment(state))
    if projection.violation <= 1e-6 and not projection.infeasible:
        return Move(projection.point, state.kernel_moments, inner_iterations=projection.n_iter)
    fallback = exact_projection_step(problem, state)
    spent = projection.n_iter + fallback.inner_iterations
    return fallback._replace(inner_iterations=spent, note=FALLBACK)


def _project_eigenvalues(problem: StageOneProblem, M: FloatArray) -> BoxConeProjection:
    relaxation = problem.relaxation
    values, vectors = np.linalg.eigh(symmetrise(M))

    def project_cone(point: FloatArray) -> FloatArray:
        diagonal = np.maximum(np.sum(vectors * (point @ vectors), axis=0), 0.0)
        return np.asarray((vectors * diagonal) @ vectors.T)

    if _pinned_spectrum_is_infeasible(vectors, relaxation.lower, relaxation.upper):
        point = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return BoxConeProjection.infeasible_at(point, relaxation.lower, relaxation.upper)
    return project_box_cone(M, project_cone, relaxation.lower, relaxation.upper, tol=1e-7)


def _pinned_spectrum_is_infeasible(
    vectors: FloatArray, lower: FloatArray, upper: FloatArray
) -> bool:
    """Whether entries without any room already decide the eigenvalues, and against the box.

    Where ``lower = upper`` the program has an equation, linear in the eigenvalues: on the
    diagonal ``sum over k of U_ik^2 d_k = 1``. If the equations have one solution only, it can be
    looked at; n of them, as an exact diagonal gives, generically do.
    """
    rows, columns = np.nonzero(np.triu(lower == upper))
    if rows.size < vectors.shape[0]:
        return False
    # n equations suffice to decide; the diagonal comes first, for it is the best conditioned.
    first = np.argsort(rows != columns, kind="stable")[: 2 * vectors.shape[0]]
    rows, columns = rows[first], columns[first]
    equations = vectors[rows] * vectors[columns]
    eigenvalues, _, rank, _ = np.linalg.lstsq(equations, lower[rows, columns], rcond=1e-10)
    if rank < vectors.shape[0]:
        return False
    point = (vectors * eigenvalues) @ vectors.T
    outside = max(float((lower - point).max()), float((point - upper).max()))
    return bool(outside > 1e-6 or eigenvalues.min() < -1e-6)


@dataclass(frozen=True)
class SpectrumMoments:
    """What `spectrum_step` carries from round to round.

    Parameters
    ----------
    multiplier, previous : ndarray of shape (n_samples, n_samples)
        Multiplier Z of the cone after this round and the one before.
    interior : ndarray of shape (n_samples, n_samples)
        A matrix of the set with room on every side, for the certificate.
    pace : float
        Nesterov's sequence; 1 after a restart.
    value : float
        Lower bound of the saddle value before the round's step.
    """

    multiplier: FloatArray
    previous: FloatArray
    interior: FloatArray
    pace: float = 1.0
    value: float = -math.inf


def clipped_adjustment(
    problem: StageOneProblem, dual_coef: FloatArray, multiplier: FloatArray
) -> FloatArray:
    """Return the minimiser over the box alone, the cone held by its multiplier Z.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11'.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients.
    multiplier : ndarray of shape (n_samples, n_samples)
        Z, positive semidefinite.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        ``clip(anchor + (coupling + 2 Z) / (4 eta), lower, upper)``.
    """
    pull = (coupling(dual_coef) + 2.0 * multiplier) / (4.0 * problem.eta)
    relaxation = problem.relaxation
    return np.clip(relaxation.anchor + pull, relaxation.lower, relaxation.upper)


def saddle_value(problem: StageOneProblem, dual_coef: FloatArray, multiplier: FloatArray) -> float:
    """Return a lower bound of the saddle value.

    Weak duality: the minimum over the box of the Lagrangian, for any feasible coefficients and
    any positive semidefinite multiplier.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11'.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Feasible signed coefficients.
    multiplier : ndarray of shape (n_samples, n_samples)
        Z, positive semidefinite.

    Returns
    -------
    float
        ``D(b; A) + eta ||A - anchor||^2 - <Z, A>`` at the clipped adjustment A.
    """
    A = clipped_adjustment(problem, dual_coef, multiplier)
    offset = A - problem.relaxation.anchor
    value = problem.dual.value(A, dual_coef)
    return value + problem.eta * float(np.vdot(offset, offset)) - float(np.vdot(multiplier, A))


def spectrum_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Raise the multiplier of the cone by one accelerated step: `anchored`'s Step 1.

    The exact projection would need up to hundreds of eigendecompositions and be thrown away
    at the next round. Instead the multiplier Z of the cone is a variable of the problem: the
    box is eliminated in closed form, and Z rises by projected gradient,
    ``Z <- P_psd(Z - 2 eta A(Z))``, one eigendecomposition a round, with Nesterov's extrapolation,
    restarted when it points downhill or the lower bound falls.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11' and a finite eta.
    state : StageOneState
        The state; its kernel moments are `SpectrumMoments`.

    Returns
    -------
    Move
        The clipped adjustment at the new multiplier.
    """
    moments: SpectrumMoments = state.kernel_moments
    Z = moments.multiplier
    value = saddle_value(problem, state.dual_coef, Z)
    pace = moments.pace if value >= moments.value else 1.0
    next_pace = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * pace * pace))
    ahead = Z + ((pace - 1.0) / next_pace) * (Z - moments.previous)
    A = clipped_adjustment(problem, state.dual_coef, ahead)
    raised = project_psd(ahead - 2.0 * problem.eta * A)
    if float(np.vdot(ahead - raised, raised - Z)) > 0.0:
        next_pace = 1.0
    adjustment = clipped_adjustment(problem, state.dual_coef, raised)
    moments_next = SpectrumMoments(raised, Z, moments.interior, next_pace, value)
    return Move(adjustment, moments_next, inner_iterations=1)
