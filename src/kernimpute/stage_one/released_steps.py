"""The three steps of the authors' released code, and what it does after them.

It departs from the paper in every step; `docs/released.md` states the recursion and
`docs/differences.md` what follows from it. Every step is one Adam step, and after Steps 1 and 2 the
*product* ``K_o o A o E`` is projected and the other two factors divided out of it, so that neither
A nor E ends in its own set. With K_o far from positive semidefinite (gamma of 1 or more on a few
hundred rows) the two run away in opposite directions; `RUNAWAY` recognises it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import clip, namespace, on_diagonal
from kernimpute.core.checks import refusal
from kernimpute.core.dual import coupling
from kernimpute.core.projections import (
    AdamMoments,
    adam_step,
    project_frobenius_ball,
    project_psd,
    symmetrise,
)
from kernimpute.core.status import Status
from kernimpute.stage_one.problem import StageOneProblem, StageOneState
from kernimpute.stage_one.steps import Move

__all__ = [
    "floor_spectrum",
    "project_product",
    "released_dual_step",
    "released_intercept",
    "released_kernel_step",
    "released_machine",
    "released_perturbation_step",
    "released_start",
    "released_target",
]

FloatArray = NDArray[np.float64]

LEARNING_RATE = 0.1
"""Adam's rate in the first round; it falls as 1/sqrt(round)."""
ENTRY_FLOOR = 1e-8
"""Smallest entry of a projected product, out of which the two factors are divided."""
SPECTRUM_FLOOR = 1e-8
"""Smallest eigenvalue of the kernel that the final machine sees."""
NEGLIGIBLE = 1e-5
"""Final coefficients below this, in absolute value, become 0."""
RUNAWAY = 1e6
"""Largest entry of ``K_o o A``, and of E, in a regular run. An entry of E is a quotient of two
projected products; at 1e6 an eigendecomposition's error of 1e-15 has become one of 1e-9."""
OVERFLOW = 1e100
"""Largest entry of A that can still be squared and summed."""


def _adam(
    value: FloatArray, descent: FloatArray, moments: AdamMoments | None
) -> tuple[FloatArray, AdamMoments]:
    """Take one Adam step against a gradient; the rate falls with the steps taken."""
    before = moments or AdamMoments.zeros(value)
    step, after = adam_step(descent, before, LEARNING_RATE / math.sqrt(before.t + 1))
    return value - step, after


def project_product(K: FloatArray) -> FloatArray:
    """Project on the cone, scale to mean diagonal 1, set the diagonal to 1, floor the entries.

    The last two undo positive semidefiniteness slightly.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The product of the three factors.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        Unit diagonal, entries of at least `ENTRY_FLOOR`.
    """
    xp = namespace(K)
    projected = project_psd(K)
    scaled = projected / xp.mean(xp.linalg.diagonal(projected))
    unit = xp.where(on_diagonal(scaled), xp.ones_like(scaled), scaled)
    floored: FloatArray = xp.maximum(unit, xp.full_like(unit, ENTRY_FLOOR))
    return floored


def _regime(factor: FloatArray, limit: float = RUNAWAY) -> Status:
    """Tell a regular factor from a runaway one; NaN is runaway."""
    xp = namespace(factor)
    return Status.CONVERGED if bool(xp.max(xp.abs(factor)) <= limit) else Status.DIVERGED


def released_kernel_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Step 1: Adam, mean diagonal, box; then the product projected and divided back.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base K_o.
    state : StageOneState
        The state; its kernel moments are Adam's.

    Returns
    -------
    Move
        The adjustment, in neither of its sets; ``DIVERGED`` where it runs away.
    """
    base, relaxation = problem.relaxation.base, problem.relaxation
    pull = coupling(state.dual_coef) * base * state.perturbation
    gradient = 2.0 * problem.eta * (state.adjustment - 1.0) - 0.5 * pull
    A, moments = _adam(state.adjustment, gradient, state.kernel_moments)
    xp = namespace(A)
    A = clip(A / xp.mean(xp.linalg.diagonal(A)), relaxation.lower, relaxation.upper)
    K = project_product(base * A * state.perturbation)
    A = K / base / state.perturbation
    # K_o o A, for A itself may rightly be large where K_o is small.
    status = _regime(base * A) if _regime(A, OVERFLOW).success else Status.DIVERGED
    return Move(A, moments, status, inner_iterations=1)


def released_perturbation_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Step 2: Adam, Frobenius ball; then the product projected and divided back.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base K_o and a radius.
    state : StageOneState
        The state after Step 1; its perturbation moments are Adam's.

    Returns
    -------
    Move
        The perturbation; ``DIVERGED`` where it runs away.
    """
    base = problem.relaxation.base
    gradient = 0.5 * coupling(state.dual_coef) * base * state.adjustment
    E, moments = _adam(state.perturbation, gradient, state.perturbation_moments)
    E = project_frobenius_ball(E, namespace(E).ones_like(E), problem.radius)
    K = project_product(base * state.adjustment * E)
    E = K / base / state.adjustment
    return Move(E, moments, _regime(E), inner_iterations=1)


def released_dual_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Step 3: Adam from the projected coefficients, then the exact projection.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state after Steps 1 and 2; its dual moments are Adam's.

    Returns
    -------
    Move
        Feasible coefficients.
    """
    dual = problem.dual
    ascent = dual.gradient(problem.perturbed_kernel(state), state.dual_coef)
    ascent = ascent - dual.epsilon * namespace(ascent).sign(state.dual_coef)
    point, moments = _adam(state.dual_coef, -ascent, state.dual_moments)
    return Move(dual.proximal_point(point, 0.0), moments)


def floor_spectrum(K: FloatArray, floor: float) -> FloatArray:
    """Raise the eigenvalues of a symmetric matrix to a floor.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric up to rounding.
    floor : float
        Smallest eigenvalue of the result.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        Symmetric.
    """
    values, vectors = np.linalg.eigh(symmetrise(K))
    return symmetrise((vectors * np.maximum(values, floor)) @ vectors.T)


def released_machine(
    problem: StageOneProblem, state: StageOneState
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the machine exactly on the last product, its spectrum floored.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The last regular state.

    Returns
    -------
    K : ndarray of shape (n_samples, n_samples)
        The kernel that the coefficients belong to; it still has the perturbation in it.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients, the negligible ones set to 0.
    intercept : ndarray of shape (n_problems,)
        `released_intercept`.
    """
    K = floor_spectrum(problem.perturbed_kernel(state), SPECTRUM_FLOOR)
    solved = problem.dual.solve(K)
    dual_coef = np.where(np.abs(solved) < NEGLIGIBLE, 0.0, solved)
    return K, dual_coef, released_intercept(problem, K, dual_coef)


def released_intercept(
    problem: StageOneProblem, K: FloatArray, dual_coef: FloatArray
) -> FloatArray:
    """Average ``y - K b`` over all support vectors, those at their bounds too.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    K : ndarray of shape (n_samples, n_samples)
        The kernel of the coefficients.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients.

    Returns
    -------
    ndarray of shape (n_problems,)
        The means; of y, weighted (our addition), where there is no support vector.
    """
    dual = problem.dual
    residual = dual.gradient(K, dual_coef) - dual.epsilon * np.sign(dual_coef)
    support = dual_coef != 0.0
    counts = support.sum(axis=0)
    means = np.where(support, residual, 0.0).sum(axis=0) / np.maximum(counts, 1)
    weights = np.maximum(dual.upper, -dual.lower) / dual.C
    return np.asarray(np.where(counts > 0, means, np.average(dual.targets, 0, weights)))


def released_start(problem: StageOneProblem) -> StageOneState:
    """Start at ``A = E = 11'`` and C / 2, feasible only for balanced labels; Step 3 mends that.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.

    Returns
    -------
    StageOneState
        The first state.

    Raises
    ------
    ValueError
        If eta is infinite: Adam's step along an infinite gradient is not defined.
    """
    if math.isinf(problem.eta):
        must_be = "a float in (0, inf) for variant='released'"
        raise ValueError(refusal("learn_kernel", "eta", must_be, problem.eta))
    ones = namespace(problem.relaxation.lower).ones_like(problem.relaxation.lower)
    return StageOneState(ones, ones, 0.5 * (problem.dual.lower + problem.dual.upper))


def released_target(problem: StageOneProblem, state: StageOneState) -> FloatArray:
    """Return ``-log K / gamma`` with a zero diagonal, by way of the sums.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The last regular state.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        Not kept within any bounds: a learned kernel above 1 asks for a negative distance.
    """
    kernel = problem.kernel
    sums = kernel.observed_sums(problem.X, problem.observed)
    with np.errstate(over="ignore"):
        target = sums + kernel.inverse_link(state.adjustment)
    return np.where(np.eye(problem.n_samples, dtype=bool), 0.0, target)
