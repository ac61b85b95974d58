"""What a variant watches to know that it may stop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernimpute.arrays import namespace, norm, squared_distance
from kernimpute.stage_one.certificate import SaddleCertificate, certify
from kernimpute.stage_one.kernel_steps import SpectrumMoments, saddle_value
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
        Relative saddle gap; NaN where the variant has none or did not compute it this round.
    watched : float
        The quantity that the stop rule compares with its tol; infinite where it is unknown.
    certificate : SaddleCertificate or None
        The feasible pair behind the gap.
    """

    objective: float
    gap: float
    watched: float
    certificate: SaddleCertificate | None = None


def largest_step(
    problem: StageOneProblem, state: StageOneState, progress: Progress, tol: float, *, last: bool
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
    last : bool
        Not used.

    Returns
    -------
    Assessment
        Without a gap: the observed kernel is not positive semidefinite, so neither is the
        problem convex-concave, and no saddle need exist.
    """
    return Assessment(progress.objective, math.nan, max(progress.norms.values()))


def absolute_dual_step(
    problem: StageOneProblem, state: StageOneState, progress: Progress, tol: float, *, last: bool
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
    last : bool
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
        The state; its dual moments are the bound where a round has left it, its kernel moments
        hold the multiplier.

    Returns
    -------
    float
        `saddle_value` at the state.
    """
    if state.dual_moments is not None:
        return float(state.dual_moments)
    # Nothing is left of a first round that halted; zero is a multiplier too.
    moments: SpectrumMoments | None = state.kernel_moments
    zeros = namespace(state.adjustment).zeros_like(state.adjustment)
    multiplier = zeros if moments is None else moments.multiplier
    return saddle_value(problem, state.dual_coef, multiplier)


def saddle_gap(
    problem: StageOneProblem, state: StageOneState, progress: Progress, tol: float, *, last: bool
) -> Assessment:
    """Watch the certified saddle gap, at rounds that lie ever further apart.

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
    last : bool
        Whether no further round will come, so that this one must be certified.

    Returns
    -------
    Assessment
        With a gap at the rounds that are certified, and with its certificate where it is the gap
        wanted, or the last.
    """
    bound = progress.objective
    # A bound that still rises by more than the gap wanted is not worth a certificate.
    rises = progress.rise > tol * abs(bound)
    if not last and (rises or not _is_due(state.iteration)):
        return Assessment(bound, math.nan, math.inf)
    certificate = certify(
        problem, state.adjustment, state.dual_coef, bound, math.inf if last else tol
    )
    gap = certificate.gap
    # Any other is not kept: it is the size of a matrix, and the last round will have its own.
    kept = math.isfinite(gap) and (last or gap <= tol)
    return Assessment(bound, gap, gap, certificate if kept else None)


def _is_due(iteration: int) -> bool:
    """Whether a power of 1.4 lies between this round and the one before; also the first three."""
    reached = math.floor(math.log(iteration, 1.4))
    return iteration <= 3 or reached > math.floor(math.log(iteration - 1, 1.4))
