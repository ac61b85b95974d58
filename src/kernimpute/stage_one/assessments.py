"""What a variant watches to know that it may stop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernimpute.core.arrays import namespace, norm, squared_distance
from kernimpute.stage_one.certificate import SaddleCertificate, certify, relative_gap
from kernimpute.stage_one.dual_steps import ProximalMoments
from kernimpute.stage_one.kernel_steps import saddle_value
from kernimpute.stage_one.problem import StageOneProblem, StageOneState

__all__ = [
    "Assessment",
    "Progress",
    "absolute_dual_step",
    "largest_step",
    "lower_bound",
    "saddle_gap",
]


@dataclass(frozen=True)
class Progress:
    """What a round changed, without the matrices of before.

    Parameters
    ----------
    objective : float
        Objective after the round.
    rise : float
        By how much it rose; NaN where it was not known before.
    norms : mapping of str to float
        Norm of each variable's change, relative to the variable, for "kernel", "perturbation"
        and "dual".
    dual_step : float
        Norm of the coefficients' change.
    """

    objective: float
    rise: float
    norms: Mapping[str, float]
    dual_step: float

    @classmethod
    def between(
        cls, before: StageOneState, after: StageOneState, objective: float, objective_before: float
    ) -> Progress:
        """Return what lies between two states.

        Parameters
        ----------
        before, after : StageOneState
            The states around a round.
        objective, objective_before : float
            The objective after it and before.

        Returns
        -------
        Progress
            The changes.
        """
        pairs = {
            "kernel": (before.adjustment, after.adjustment),
            "perturbation": (before.perturbation, after.perturbation),
            "dual": (before.dual_coef, after.dual_coef),
        }
        norms = {
            name: math.sqrt(squared_distance(new, old)) / max(norm(new), 1e-12)
            for name, (old, new) in pairs.items()
        }
        dual_step = norm(after.dual_coef - before.dual_coef)
        return cls(objective, objective - objective_before, norms, dual_step)


@dataclass(frozen=True)
class Assessment:
    """Where a round stands.

    Parameters
    ----------
    objective : float
        Objective after the round.
    gap : float
        Relative saddle gap of the certificate; NaN without one.
    watched : float
        The quantity that the stop rule compares with its tol; infinite where it is unknown.
    certificate : SaddleCertificate or None
        The best feasible pair so far.
    """

    objective: float
    gap: float
    watched: float
    certificate: SaddleCertificate | None = None


def largest_step(
    problem: StageOneProblem,
    state: StageOneState,
    progress: Progress,
    tol: float,
    best: SaddleCertificate | None,
) -> Assessment:
    """Watch the largest relative step.

    Parameters
    ----------
    problem : StageOneProblem
        Not used.
    state : StageOneState
        Not used.
    progress : Progress
        What the round changed.
    tol : float
        Not used: nothing is saved by knowing it.
    best : SaddleCertificate or None
        Not used.

    Returns
    -------
    Assessment
        Without a gap: the observed kernel is not positive semidefinite, so neither is the
        problem convex-concave, and no saddle need exist.
    """
    return Assessment(progress.objective, math.nan, max(progress.norms.values()))


def absolute_dual_step(
    problem: StageOneProblem,
    state: StageOneState,
    progress: Progress,
    tol: float,
    best: SaddleCertificate | None,
) -> Assessment:
    """Watch the norm of the coefficients' step, from the third round on, as the released code.

    Parameters
    ----------
    problem : StageOneProblem
        Not used.
    state : StageOneState
        The state after the round.
    progress : Progress
        What the round changed.
    tol : float
        Not used.
    best : SaddleCertificate or None
        Not used.

    Returns
    -------
    Assessment
        Without a gap, as in `largest_step`.
    """
    watched = progress.dual_step if state.iteration >= 3 else math.inf
    return Assessment(progress.objective, math.nan, watched)


def lower_bound(problem: StageOneProblem, state: StageOneState) -> float:
    """Return the lower bound of the saddle value that `anchored` raises.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state; its dual moments hold the bound where a round has left it, its kernel moments
        the multiplier.

    Returns
    -------
    float
        The largest `saddle_value` so far.
    """
    moments: ProximalMoments | None = state.dual_moments
    if moments is not None:
        return moments.bound
    # Before the first round, or after one that halted; zero is a multiplier too.
    zeros = namespace(state.adjustment).zeros_like(state.adjustment)
    return saddle_value(problem, state.dual_coef, zeros)


def saddle_gap(
    problem: StageOneProblem,
    state: StageOneState,
    progress: Progress,
    tol: float,
    best: SaddleCertificate | None,
) -> Assessment:
    """Watch the gap of the best certificate, which is looked for at rounds ever further apart.

    At the rounds of `_is_due` for a certificate that has the gap wanted; from the eighth on, at
    the powers of 2, for any that is better than the best, which a run that stops early has then.
    Which rounds these are does not depend on where a run ends, so that one that is allowed more
    rounds never ends with a worse certificate. Before the eighth, a run that stops early has the
    anchor.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state after the round.
    progress : Progress
        What the round changed; its objective is the lower bound.
    tol : float
        Gap wanted.
    best : SaddleCertificate or None
        The best certificate so far.

    Returns
    -------
    Assessment
        With the best certificate.
    """
    bound, iteration = progress.objective, state.iteration
    smallest, gap = math.inf, math.inf
    if best is not None:
        smallest, gap = best.value, best.gap(bound)
    to_keep = iteration >= 8 and iteration & (iteration - 1) == 0
    # A bound that still rises by more than the gap wanted is not worth a certificate.
    to_end = _is_due(iteration) and not progress.rise > tol * abs(bound)

    def is_wanted(value: float) -> bool:
        return value < smallest and (to_keep or relative_gap(value, bound) <= tol)

    if gap > tol and (to_keep or to_end):
        best = certify(problem, state.adjustment, state.dual_coef, is_wanted) or best
    if best is None:
        return Assessment(bound, math.nan, math.inf)
    gap = best.gap(bound)
    return Assessment(bound, gap, gap, best)


def _is_due(iteration: int) -> bool:
    """Whether a power of 1.25 lies between this round and the one before; also the first three."""
    reached = math.floor(math.log(iteration, 1.25))
    return iteration <= 3 or reached > math.floor(math.log(iteration - 1, 1.25))
