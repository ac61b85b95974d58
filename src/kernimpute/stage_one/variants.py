"""The variants of Stage I: what each is made of.

A variant is a frozen record of functions; the loop in `learn` calls them and asks nothing else.

==============  =====================  ==========================  ===========================
name            Step 1                 Step 2                      Step 3
==============  =====================  ==========================  ===========================
``paper``       eigenvalue program,    closed form with rho,       Adam, clip and centre
                else exact projection  psd projection
``appendix``    exact projection on    the same                    Adam, exact projection
                box and cone
``released``    Adam, clip, product    Adam, Frobenius ball        Adam, exact projection; at
                projected                                          the end an exact SVM
``anchored``    one step on the        none                        proximal step, an exact
                cone's multiplier                                  machine of its own
==============  =====================  ==========================  ===========================

`paper` is Algorithm 1 as printed; `appendix` is what the paper's theorem is about; `released`
equals the authors' code; `anchored` is ours: the learned kernel itself is the variable, which
makes the problem convex-concave, so that a saddle exists and a gap certifies it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from kernimpute.core.arrays import inner, namespace, to_numpy
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import StopRule
from kernimpute.stage_one import (
    dual_steps,
    kernel_steps,
    perturbation_steps,
    relaxations,
    released_steps,
)
from kernimpute.stage_one.assessments import (
    Assessment,
    Progress,
    absolute_dual_step,
    largest_step,
    lower_bound,
    saddle_gap,
)
from kernimpute.stage_one.certificate import (
    SaddleCertificate,
    is_psd,
    relative_gap,
    upper_bound,
)
from kernimpute.stage_one.problem import (
    ReferenceMachine,
    Relaxation,
    StageOneProblem,
    StageOneState,
)
from kernimpute.stage_one.steps import Move

__all__ = ["VARIANTS", "Solution", "Variant"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Step = Callable[[StageOneProblem, StageOneState], Move]


class Assess(Protocol):
    """Says where a round stands; see `assessments`."""

    def __call__(
        self,
        problem: StageOneProblem,
        state: StageOneState,
        progress: Progress,
        tol: float,
        best: SaddleCertificate | None,
    ) -> Assessment:
        """Return the assessment of the state after a round."""


@dataclass(frozen=True)
class Solution:
    """What a run of Stage I found.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The learned kernel, without the perturbation.
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients.
    intercept : ndarray of shape (n_problems,)
        Intercepts.
    target : ndarray of shape (n_samples, n_samples) or None
        What Stage II is to fit; None takes K's sums, kept within their bounds.
    gap : float
        How far K's objective, maximised over the coefficients, can be above the saddle value,
        relative to it; NaN in the variants without a certificate.
    """

    K: FloatArray
    dual_coef: FloatArray
    intercept: FloatArray
    target: FloatArray | None = None
    gap: float = math.nan


@dataclass(frozen=True)
class Variant:
    """A variant of Stage I as a record of functions.

    Parameters
    ----------
    relax : callable
        Base, anchor and bounds of the adjustment, from rows, mask, kernel and reference.
    start : callable
        The first state.
    kernel_step, perturbation_step, dual_step : callable
        Steps 1, 2 and 3.
    objective : callable
        What the rounds make smaller or larger, from problem and state.
    assess : callable
        What the stop rule watches.
    finish : callable
        The solution from the last state and the best certificate.
    stop : StopRule
        The default stop rule.
    recovery : {"exact", "released"}
        How Stage II is to follow.
    """

    relax: Callable[[FloatArray, BoolArray, Kernel, ReferenceMachine], Relaxation]
    start: Callable[[StageOneProblem], StageOneState]
    kernel_step: Step
    perturbation_step: Step
    dual_step: Step
    objective: Callable[[StageOneProblem, StageOneState], float]
    assess: Assess
    finish: Callable[[StageOneProblem, StageOneState, SaddleCertificate | None], Solution]
    stop: StopRule
    recovery: str = "exact"


def _start_at_ones(problem: StageOneProblem) -> StageOneState:
    """Start as Algorithm 1 does, at ``A = E = 11'``, with feasible coefficients.

    The printed start ``alpha = C / 2`` is feasible only for balanced labels; it is projected.
    """
    dual, lower = problem.dual, problem.relaxation.lower
    ones = namespace(lower).ones_like(lower)
    halves = dual.proximal_point(0.5 * (dual.lower + dual.upper), 0.0)
    return StageOneState(ones, ones, halves)


def _start_at_anchor(problem: StageOneProblem) -> StageOneState:
    """Start at the reference kernel, and at the support vector machine on it scaled down.

    The anchor may be raised, or kept within its bounds; the machine is then that of a matrix
    nearby, and a start all the same. It can be far too large: the coefficients' own coupling will
    raise the kernel, most where C is large. So they are multiplied by the t that maximises
    ``D(t b; anchor) - t^4 ||coupling||^2 / (16 eta)``, the objective where the kernel, free of
    bounds, has answered.
    """
    relaxation = problem.relaxation
    b = problem.solve(relaxation.anchor) if problem.guess is None else problem.guess
    linear = problem.dual.linear_value(b)
    quadratic = 2.0 * (linear - problem.dual.value(relaxation.anchor, b))
    quartic = inner(b.T @ b, b.T @ b) / (16.0 * problem.eta)

    def slope(t: float) -> float:
        return linear - t * quadratic - 4.0 * t**3 * quartic

    t = float(brentq(slope, 0.0, 1.0)) if slope(1.0) < 0.0 < slope(0.0) else 1.0
    zeros = namespace(relaxation.anchor).zeros_like(relaxation.anchor)
    moments = kernel_steps.SpectrumMoments(zeros, relaxation.anchor)
    return StageOneState(relaxation.anchor, relaxation.base, t * b, kernel_moments=moments)


def _finish_perturbed(
    problem: StageOneProblem, state: StageOneState, best: SaddleCertificate | None
) -> Solution:
    """Take the loop's coefficients, which belong to the perturbed kernel, as they are."""
    adjustment = kernel_steps.finish_projection(problem, state.adjustment)
    K = problem.relaxation.base * adjustment
    intercept = problem.intercept(problem.perturbed_kernel(state), state.dual_coef)
    return Solution(K, state.dual_coef, intercept)


def _finish_certified(
    problem: StageOneProblem, state: StageOneState, best: SaddleCertificate | None
) -> Solution:
    """Take the matrix behind the smallest gap, which may be the anchor; and the machine on it."""
    bound, anchor = lower_bound(problem, state), problem.relaxation.anchor
    # Any coefficients bound the anchor's value from below: near the saddle those at hand show that
    # it is no better, and spare its machine.
    if best is not None and best.value <= problem.dual.value(anchor, best.dual_coef):
        return _certified(problem, best, bound)
    dual_coef = problem.solve(anchor)
    value = upper_bound(problem, anchor, dual_coef) if is_psd(anchor) else math.inf
    if best is not None and best.value <= value:
        return _certified(problem, best, bound)
    gap = relative_gap(value, bound) if math.isfinite(value) else math.inf
    return Solution(anchor, dual_coef, problem.intercept(anchor, dual_coef), gap=gap)


def _certified(problem: StageOneProblem, best: SaddleCertificate, bound: float) -> Solution:
    K = best.matrix()
    dual_coef = problem.solve(K, best.dual_coef)
    return Solution(K, dual_coef, problem.intercept(K, dual_coef), gap=best.gap(bound))


def _finish_released(
    problem: StageOneProblem, state: StageOneState, best: SaddleCertificate | None
) -> Solution:
    """Solve a machine on the perturbed kernel, and hand on the kernel without the perturbation.

    On the CPU: beside the machine, only one eigendecomposition is left to do.
    """
    problem = problem.converted(to_numpy)
    state = replace(
        state,
        adjustment=to_numpy(state.adjustment),
        perturbation=to_numpy(state.perturbation),
        dual_coef=to_numpy(state.dual_coef),
    )
    _, dual_coef, intercept = released_steps.released_machine(problem, state)
    K = problem.relaxation.base * state.adjustment
    return Solution(K, dual_coef, intercept, released_steps.released_target(problem, state))


VARIANTS: dict[str, Variant] = {
    "paper": Variant(
        relax=relaxations.printed,
        start=_start_at_ones,
        kernel_step=kernel_steps.eigenvalue_step,
        perturbation_step=perturbation_steps.closed_form_step,
        dual_step=dual_steps.adam_clip_and_centre_step,
        objective=StageOneProblem.objective,
        assess=largest_step,
        finish=_finish_perturbed,
        stop=StopRule(tol=1e-3, max_iter=500),
    ),
    "appendix": Variant(
        relax=relaxations.ratio,
        start=_start_at_ones,
        kernel_step=kernel_steps.exact_projection_step,
        perturbation_step=perturbation_steps.closed_form_step,
        dual_step=dual_steps.adam_projection_step,
        objective=StageOneProblem.objective,
        assess=largest_step,
        finish=_finish_perturbed,
        stop=StopRule(tol=1e-3, max_iter=500),
    ),
    "released": Variant(
        relax=relaxations.union_of_masks,
        start=released_steps.released_start,
        kernel_step=released_steps.released_kernel_step,
        perturbation_step=released_steps.released_perturbation_step,
        dual_step=released_steps.released_dual_step,
        objective=StageOneProblem.objective,
        assess=absolute_dual_step,
        finish=_finish_released,
        stop=StopRule(tol=1e-4, max_iter=10_000),
        recovery="released",
    ),
    "anchored": Variant(
        relax=relaxations.kernel_itself,
        start=_start_at_anchor,
        kernel_step=kernel_steps.spectrum_step,
        perturbation_step=perturbation_steps.no_perturbation,
        dual_step=dual_steps.proximal_step,
        objective=lower_bound,
        assess=saddle_gap,
        finish=_finish_certified,
        stop=StopRule(tol=1e-3, max_iter=1000),
    ),
}
"""The variants by name."""
