"""Step 1 of Stage I: a new adjustment, the perturbation and the dual coefficients held fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import by_rows, clip, inner, namespace, row_blocks, to_numpy
from kernimpute.core.projections import (
    BoxConeProjection,
    project_box_cone,
    project_box_psd,
    psd_projection,
    symmetrise,
)
from kernimpute.core.projections import (
    BoxMultiplier as Multiplier,
)
from kernimpute.stage_one.problem import Relaxation, StageOneProblem, StageOneState
from kernimpute.stage_one.steps import Move

__all__ = [
    "EigenvalueMoments",
    "SpectrumMoments",
    "clipped_adjustment",
    "eigenvalue_step",
    "exact_projection_step",
    "finish_projection",
    "saddle_value",
    "spectrum_step",
]

FloatArray = NDArray[np.float64]

FALLBACK = (
    "Step 1's eigenvalue program is infeasible: the exact projection on the box and the cone "
    "was taken instead."
)
UNSOLVED = (
    "Step 1's eigenvalue program was not solved within its iterations: the exact projection on "
    "the box and the cone was taken instead."
)
PROJECTIONS_A_ROUND = 20
"""Projections on the cone in one round. They go on in the next round from the same multiplier, and
the rounds move ever less, so that the projection is exact in the limit; `finish_projection` makes
it so at the end."""
EIGENVALUE_ITERATIONS = 50
"""The same for the eigenvalue program, whose projection costs a third of one."""
VIOLATION = 1e-3
"""Largest violation of bounds of order 1 with which a round's eigenvalue program is solved."""
PENALTY = 5.0
"""Penalty between the two copies of `spectrum_step`, relative to the curvature 2 eta of the anchor.
Over real tables 3 to 6 take about as many rounds; smaller ones suit a large gamma, larger ones a
small gamma and much missing."""
PATIENCE = 30
"""Rounds after which the penalty grows in proportion to them. Where complete rows leave the set
next to no interior the multiplier is very large, and a constant penalty takes a thousand rounds."""
RELAXATION = 1.9
"""Over-relaxation of `spectrum_step`, below 2; 1.6 took up to a third more rounds."""


def exact_projection_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Project the closed form on box and cone: Appendix B's eq. (s1).

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state; its kernel moments are the multiplier of the previous round's projection.

    Returns
    -------
    Move
        The projection of eq. (7) on ``{lower <= A <= upper, A psd}``, as far as
        `PROJECTIONS_A_ROUND` carry it.
    """
    projection = project_box_psd(
        problem.unconstrained_adjustment(state),
        problem.relaxation.lower,
        problem.relaxation.upper,
        multiplier=state.kernel_moments,
        tol=1e-6,
        max_iter=PROJECTIONS_A_ROUND,
    )
    return Move(projection.point, projection.multiplier, projection.status, projection.n_iter)


def finish_projection(problem: StageOneProblem, adjustment: FloatArray) -> FloatArray:
    """Return the adjustment, nearly in the box and the cone, brought into both.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    adjustment : ndarray of shape (n_samples, n_samples)
        The last adjustment.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        In the box to the last bit, and positive semidefinite as nearly as a thousand
        projections reach.
    """
    relaxation = problem.relaxation
    projection = project_box_psd(
        adjustment, relaxation.lower, relaxation.upper, tol=1e-8, max_iter=1000
    )
    return clip(projection.point, relaxation.lower, relaxation.upper)


@dataclass(frozen=True)
class EigenvalueMoments:
    """What `eigenvalue_step` carries from round to round.

    Parameters
    ----------
    program, fallback : Multiplier or None
        Multiplier of the box in the eigenvalue program, and in the exact projection.
    """

    program: Multiplier | None = None
    fallback: Multiplier | None = None


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
        The state; its kernel moments are `EigenvalueMoments`.

    Returns
    -------
    Move
        The adjustment of eq. (OptKD). Where the program is infeasible, or violates the bounds by
        more than `VIOLATION` after its iterations, the exact projection of the appendix, and a
        note that says which.
    """
    moments: EigenvalueMoments = state.kernel_moments or EigenvalueMoments()
    closed_form = symmetrise(problem.unconstrained_adjustment(state))
    _, vectors = namespace(closed_form).linalg.eigh(closed_form)
    note, spent = FALLBACK, 0
    lower, upper = to_numpy(problem.relaxation.lower), to_numpy(problem.relaxation.upper)
    if not _is_infeasible(to_numpy(vectors), lower, upper):
        program = _project_eigenvalues(problem.relaxation, closed_form, vectors, moments.program)
        if program.violation <= VIOLATION:
            kept = replace(moments, program=program.multiplier)
            return Move(program.point, kept, inner_iterations=program.n_iter)
        note = FALLBACK if program.infeasible else UNSOLVED
        spent = program.n_iter
        moments = replace(moments, program=None if program.infeasible else program.multiplier)
    fallback = exact_projection_step(problem, replace(state, kernel_moments=moments.fallback))
    return fallback._replace(
        moments=replace(moments, fallback=fallback.moments),
        inner_iterations=spent + fallback.inner_iterations,
        note=note,
    )


def _project_eigenvalues(
    relaxation: Relaxation,
    closed_form: FloatArray,
    vectors: FloatArray,
    multiplier: Multiplier | None,
) -> BoxConeProjection:
    xp = namespace(vectors)

    def project_cone(point: FloatArray) -> FloatArray:
        diagonal = xp.sum(vectors * (point @ vectors), axis=0)
        kept = xp.maximum(diagonal, xp.zeros_like(diagonal))
        projected: FloatArray = (vectors * kept) @ vectors.T
        return projected

    return project_box_cone(
        closed_form,
        project_cone,
        relaxation.lower,
        relaxation.upper,
        multiplier=multiplier,
        tol=1e-6,
        max_iter=EIGENVALUE_ITERATIONS,
    )


def _is_infeasible(vectors: FloatArray, lower: FloatArray, upper: FloatArray) -> bool:
    """Whether entries without any room already decide against the eigenvalue program, on the CPU.

    Where ``lower = upper`` the program has an equation, linear in the eigenvalues. Two cases
    decide it at once:

    - rows i and j with 1 in all four places (two complete rows) ask for
      ``sum over k of (U_ik - U_jk)^2 d_k = 0``: every eigenvalue whose vector separates them
      is 0, generically all of them;
    - n independent equations, as an exact diagonal gives, have one solution, generically
      ``d = 1``, that is the identity.
    """
    pinned = lower == upper
    together = pinned & pinned.diagonal()[:, None] & pinned.diagonal()[None, :]
    rows, columns = np.nonzero(np.triu(together, 1))
    if rows.size:
        alike = np.abs(vectors[rows] - vectors[columns]).max(axis=0) <= 1e-10
        reach = np.square(vectors[rows[0], alike]).sum()
        if reach <= 1e-10:
            return True
    rows, columns = np.nonzero(np.triu(pinned))
    if rows.size < vectors.shape[0]:
        return False
    # The diagonal comes first: it is the best conditioned.
    first = np.argsort(rows != columns, kind="stable")[: 2 * vectors.shape[0]]
    rows, columns = rows[first], columns[first]
    equations = vectors[rows] * vectors[columns]
    eigenvalues, _, rank, _ = np.linalg.lstsq(equations, lower[rows, columns], rcond=1e-10)
    if rank < vectors.shape[0]:
        return False
    point = (vectors * eigenvalues) @ vectors.T
    outside = max(float((lower - point).max()), float((point - upper).max()))
    return bool(outside > VIOLATION or eigenvalues.min() < -VIOLATION)


@dataclass(frozen=True)
class SpectrumMoments:
    """What `spectrum_step` carries from round to round.

    Parameters
    ----------
    multiplier : ndarray of shape (n_samples, n_samples)
        Multiplier Z of the cone, positive semidefinite.
    in_cone : ndarray of shape (n_samples, n_samples)
        The copy P of the adjustment that is in the cone.
    n_negative : int or None
        Negative eigenvalues that the last projection found.
    """

    multiplier: FloatArray
    in_cone: FloatArray
    n_negative: int | None = None


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

    def some(rows: slice) -> FloatArray:
        return _clipped_rows(problem, dual_coef, multiplier[rows, :], rows)

    return by_rows(some, problem.n_samples)


def _clipped_rows(
    problem: StageOneProblem, dual_coef: FloatArray, multiplier: FloatArray, rows: slice
) -> FloatArray:
    """Return some rows of the `clipped_adjustment`, from those of the multiplier."""
    relaxation = problem.relaxation
    # The product first, which is symmetric: its factors scaled one by one would not be.
    pull = (dual_coef[rows, :] @ dual_coef.T + 2.0 * multiplier) / (4.0 * problem.eta)
    pulled = pull + relaxation.anchor[rows, :]
    return clip(pulled, relaxation.lower[rows, :], relaxation.upper[rows, :])


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
    value = problem.dual.linear_value(dual_coef)
    for rows in row_blocks(problem.n_samples):
        A = _clipped_rows(problem, dual_coef, multiplier[rows, :], rows)
        offset = A - problem.relaxation.anchor[rows, :]
        value -= 0.5 * inner(dual_coef[rows, :], A @ dual_coef)
        value += problem.eta * inner(offset, offset) - inner(multiplier[rows, :], A)
    return value


def spectrum_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Move the multiplier of the cone by one step of the alternating direction method.

    `anchored`'s Step 1. The exact projection would need up to hundreds of eigendecompositions and
    be thrown away at the next round. Instead the multiplier Z of the cone is a variable of the
    problem, and a round gives it one eigendecomposition. The adjustment has a copy in the box and
    a copy P in the cone, held together by Z and by a penalty ``rho = 2 eta PENALTY``, larger after
    `PATIENCE` rounds:

    1. the copy in the box is the minimiser
       ``clip((2 eta anchor + coupling / 2 + Z + rho P) / (2 eta + rho))``;
    2. with M = Z - rho (that, over-relaxed towards where it came from P), ``Z <- P_psd(M)``;
    3. P is what M lacks to the new Z, over rho: by Moreau's theorem the projection of -M / rho.

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

    References
    ----------
    Boyd, Parikh, Chu, Peleato and Eckstein (2011), Distributed optimization and statistical
    learning via the alternating direction method of multipliers, section 3.4.3.
    """
    b = state.dual_coef
    moments = _alternated(problem, state)
    # With the state go its multiplier and copy, which nothing else holds.
    del state
    adjustment = clipped_adjustment(problem, b, moments.multiplier)
    return Move(adjustment, moments, inner_iterations=1)


def _alternated(problem: StageOneProblem, state: StageOneState) -> SpectrumMoments:
    """Return the multiplier and the copy in the cone after one step."""
    moments: SpectrumMoments = state.kernel_moments
    Z, P, b = moments.multiplier, moments.in_cone, state.dual_coef
    relaxation, eta = problem.relaxation, problem.eta
    penalty = 2.0 * eta * PENALTY * max(1.0, state.iteration / PATIENCE)

    def pulled(rows: slice) -> FloatArray:
        pull = 0.5 * (b[rows, :] @ b.T) + Z[rows, :] + penalty * P[rows, :]
        centre = (2.0 * eta * relaxation.anchor[rows, :] + pull) / (2.0 * eta + penalty)
        in_box = clip(centre, relaxation.lower[rows, :], relaxation.upper[rows, :])
        relaxed = RELAXATION * in_box + (1.0 - RELAXATION) * P[rows, :]
        return Z[rows, :] - penalty * relaxed

    projection = psd_projection(by_rows(pulled, problem.n_samples), moments.n_negative)
    raised = projection.point

    # What was pulled is computed anew: held, it would be one matrix more at the peak.
    def lacking(rows: slice) -> FloatArray:
        return (raised[rows, :] - pulled(rows)) / penalty

    in_cone = by_rows(lacking, problem.n_samples)
    return SpectrumMoments(raised, in_cone, projection.n_negative)
