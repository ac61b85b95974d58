"""Step 3 of Stage I: new dual coefficients, the adjustment and the perturbation held fixed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernimpute.arrays import inner, namespace, norm, row_blocks
from kernimpute.optimizers import AdamMoments, adam_step
from kernimpute.projections import clip_and_centre
from kernimpute.stage_one.kernel_steps import saddle_value
from kernimpute.stage_one.problem import StageOneProblem, StageOneState
from kernimpute.stage_one.steps import Move

__all__ = ["adam_clip_and_centre_step", "adam_projection_step", "proximal_step"]

FloatArray = NDArray[np.float64]

LEARNING_RATE = 0.1
"""First step of Adam as a share of C; the paper leaves it open."""
INNER_ITERATIONS = 30
"""Fewest gradient steps of `proximal_step`."""
ROWS_AN_ITERATION = 8
"""For so many rows there is one gradient step, if that makes more: at n^2 each they cost about a
third of one eigendecomposition at any n, and a large machine needs them."""


def adam_projection_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Take one Adam step and project it exactly: Appendix B's eq. (s3).

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state; its dual moments are Adam's.

    Returns
    -------
    Move
        The projected coefficients. The step starts from the projected coefficients, not from the
        unprojected ones that the appendix prints.
    """
    return _adam(problem, state, lambda point: problem.dual.proximal_point(point, 0.0))


def adam_clip_and_centre_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Take one Adam step, clip it and subtract the mean: the paper's Step 3.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state; its dual moments are Adam's.

    Returns
    -------
    Move
        Coefficients that sum to 0 but may leave their bounds.
    """
    dual = problem.dual

    def centre(point: FloatArray) -> FloatArray:
        columns = [
            _centred_where_room(point[:, k], dual.lower[:, k], dual.upper[:, k])
            for k in range(dual.n_problems)
        ]
        stacked: FloatArray = namespace(point).stack(columns, axis=1)
        return stacked

    return _adam(problem, state, centre)


def _centred_where_room(v: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Clip and centre the entries that have room; the others, of rows of weight 0, stay at 0."""
    xp = namespace(v)
    room = lower < upper
    (rows,) = xp.nonzero(room)
    centred = clip_and_centre(xp.take(v, rows), xp.take(lower, rows), xp.take(upper, rows))
    # Written back by reading: the entries with room, counted up to each place.
    counted = xp.cumulative_sum(xp.astype(room, xp.int64)) - 1
    spread = xp.take(centred, xp.where(room, counted, xp.zeros_like(counted)))
    written: FloatArray = xp.where(room, spread, xp.zeros_like(v))
    return written


def _adam(
    problem: StageOneProblem, state: StageOneState, project: Callable[[FloatArray], FloatArray]
) -> Move:
    dual, coefficients = problem.dual, state.dual_coef
    moments = state.dual_moments or AdamMoments.zeros(coefficients)
    gradient = dual.gradient(problem.perturbed_kernel(state), coefficients)
    gradient = gradient - dual.epsilon * namespace(coefficients).sign(coefficients)
    # The theorem needs steps that vanish; 1/sqrt(t) vanishes and still travels any distance.
    learning_rate = LEARNING_RATE * dual.C / math.sqrt(moments.t + 1)
    step, moments = adam_step(gradient, moments, learning_rate)
    return Move(project(coefficients + step), moments)


def proximal_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Maximise a minorant of the lower bound in the dual coefficients: `anchored`'s Step 3.

    The best response to a fixed kernel jumps from round to round and cycles. But with the
    multiplier of the cone fixed, the lower bound is, in the coupling, concave with a Lipschitz
    gradient, so that

        D(b; A) - ||coupling(b) - coupling(b_now)||^2 / (16 eta)

    minorises it and touches it at b_now: raising this raises the lower bound. It is raised by an
    accelerated proximal gradient with restarts.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11' and a finite eta.
    state : StageOneState
        Supplies the adjustment, as `clipped_adjustment` at the current multiplier.

    Returns
    -------
    Move
        Feasible coefficients with a minorant at least as large as before; its moments are the
        lower bound there, for the assessment and for the next round.
    """
    dual, K, now, eta = problem.dual, state.adjustment, state.dual_coef, problem.eta

    def minorant(b: FloatArray) -> float:
        # ||b b' - c c'||^2 from the small Gram matrices.
        own, cross, old = b.T @ b, b.T @ now, now.T @ now
        apart = inner(own, own) - 2.0 * inner(cross, cross) + inner(old, old)
        return dual.value(K, b) - apart / (16.0 * eta)

    def slope(b: FloatArray) -> FloatArray:
        drift = b @ (b.T @ b) - now @ (now.T @ b)
        return dual.gradient(K, b) - drift / (4.0 * eta)

    # Largest row sum bounds the spectral norm; the quartic's curvature is bounded where
    # ||b||^2 is at most doubled.
    curvature = _largest_row_sum(K) + 1.5 * inner(now, now) / eta
    step = 1.0 / curvature
    previous, ahead, pace = now, now, 1.0
    for _ in range(max(INNER_ITERATIONS, problem.n_samples // ROWS_AN_ITERATION)):
        b = dual.proximal_point(ahead + step * slope(ahead), step)
        moved = b - previous
        if inner(ahead - b, moved) > 0.0:
            ahead, pace = b, 1.0
        else:
            next_pace = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * pace * pace))
            ahead, pace = b + ((pace - 1.0) / next_pace) * moved, next_pace
        previous = b
        if norm(moved) <= 1e-8 * norm(b):
            break
    kept = previous if minorant(previous) >= minorant(now) else now
    return Move(kept, saddle_value(problem, kept, state.kernel_moments.multiplier))


def _largest_row_sum(K: FloatArray) -> float:
    """Return the largest sum of magnitudes in a row."""
    xp = namespace(K)
    blocks = row_blocks(K.shape[0])
    return max(float(xp.max(xp.sum(xp.abs(K[rows, :]), axis=1))) for rows in blocks)
