"""Step 3 of Stage I: new dual coefficients, the adjustment and the perturbation held fixed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import inner, namespace
from kernimpute.core.projections import AdamMoments, adam_step, clip_and_centre
from kernimpute.stage_one.kernel_steps import saddle_value
from kernimpute.stage_one.problem import StageOneProblem, StageOneState
from kernimpute.stage_one.steps import Move

__all__ = [
    "ProximalMoments",
    "adam_clip_and_centre_step",
    "adam_projection_step",
    "proximal_step",
]

FloatArray = NDArray[np.float64]

LEARNING_RATE = 0.1
"""First step of Adam as a share of C; the paper leaves it open."""
FIRST_CAUTION, LEAST_CAUTION = 0.5, 1e-3
"""Share of `proximal_step`'s weight in the first round, and the smallest."""
BOLDNESS = 0.7
"""Of the share that would have been right, what the next step takes: of 0.5, 0.7, 0.9, 1.2 and 2
the one with the fewest rounds; the bound falls then in hardly any."""
TRIES = 2
"""Weights that `proximal_step` tries in one round."""


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


@dataclass(frozen=True)
class ProximalMoments:
    """What `proximal_step` carries from round to round.

    Parameters
    ----------
    bound : float
        The largest lower bound of the saddle value so far.
    caution : float
        Share of the weight that is sure to raise the bound with which the next step begins.
    """

    bound: float
    caution: float = FIRST_CAUTION


def proximal_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Maximise a model of the lower bound in the dual coefficients: `anchored`'s Step 3.

    The best response to a fixed kernel jumps from round to round and cycles. But with the
    multiplier of the cone fixed, the lower bound is, in the coupling, concave with a Lipschitz
    gradient, so that near b_now

        D(b; A) - w ||b - b_now||^2 / 2    with    w = ||b_now||^2 / (2 eta)

    minorises it and touches it at b_now: raising this raises the lower bound. It is a machine's
    dual again and solved exactly. Where entries of the adjustment are at their bounds, a fraction
    of w is enough. Each step shows with what fraction the model would have been the bound itself;
    the next takes `BOLDNESS` of that.

    Parameters
    ----------
    problem : StageOneProblem
        The problem, with base 11' and a finite eta.
    state : StageOneState
        Supplies the adjustment, as `clipped_adjustment` at the current multiplier; its dual
        moments are `ProximalMoments`.

    Returns
    -------
    Move
        Feasible coefficients with a lower bound at least as large as before.
    """
    dual, A, now = problem.dual, state.adjustment, state.dual_coef
    multiplier = state.kernel_moments.multiplier
    moments: ProximalMoments | None = state.dual_moments
    caution = FIRST_CAUTION if moments is None else moments.caution
    before = saddle_value(problem, now, multiplier)
    largest = before if moments is None else max(before, moments.bound)
    weight = inner(now, now) / (2.0 * problem.eta)
    for _ in range(TRIES):
        b = problem.proximal_machine(A, now, caution * weight)
        bound = saddle_value(problem, b, multiplier)
        moved = 0.5 * weight * inner(b - now, b - now)
        # What the bound is short of where the kernel would not answer.
        short = before + dual.value(A, b) - dual.value(A, now) - bound
        needed = short / moved if moved > 0.0 else 0.0
        caution = min(max(BOLDNESS * needed, LEAST_CAUTION), 1.0)
        if bound >= before:
            return Move(b, ProximalMoments(max(bound, largest), caution))
    return Move(now, ProximalMoments(largest, caution))
