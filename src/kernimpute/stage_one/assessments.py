"""What a variant watches to know that it may stop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernimpute.stage_one.certificate import SaddleCertificate, certify
from kernimpute.stage_one.kernel_steps import SpectrumMoments, saddle_value
from kernimpute.stage_one.problem import StageOneProblem, StageOneState

__all__ = ["Assessment", "relative_steps", "saddle_gap"]


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


def relative_steps(
    problem: StageOneProblem,
    state: StageOneState,
    step_norms: Mapping[str, float],
    tol: float,
    *,
    last: bool,
) -> Assessment:
    """Watch the largest step, each relative to the size of its variable.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state after the round.
    step_norms : mapping of str to float
        Norms of the changes of "kernel", "perturbation" and "dual", relative to the variable.
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
    return Assessment(
        problem.objective(state), math.nan, max(step_norms.values(), default=math.inf)
    )


def saddle_gap(
    problem: StageOneProblem,
    state: StageOneState,
    step_norms: Mapping[str, float],
    tol: float,
    *,
    last: bool,
) -> Assessment:
    """Watch the certified saddle gap, at rounds that lie ever further apart.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state after the round; its kernel moments hold the multiplier and the interior.
    step_norms : mapping of str to float
        Not used.
    tol : float
        Gap wanted.
    last : bool
        Whether no further round will come, so that this one must be certified.

    Returns
    -------
    Assessment
        With the lower bound as the objective; with a gap and its certificate at the rounds that
        are certified.
    """
    moments: SpectrumMoments = state.kernel_moments
    if not (last or _is_due(state.iteration)):
        bound = saddle_value(problem, state.dual_coef, moments.multiplier)
        return Assessment(bound, math.nan, math.inf)
    certificate = certify(
        problem,
        state.adjustment,
        state.dual_coef,
        moments.multiplier,
        moments.interior,
        math.inf if last else tol,
    )
    return Assessment(certificate.value, certificate.gap, certificate.gap, certificate)


def _is_due(iteration: int) -> bool:
    """Whether a power of 1.25 lies between this round and the one before; also the first three."""
    reached = math.floor(math.log(iteration, 1.25))
    return iteration <= 3 or reached > math.floor(math.log(iteration - 1, 1.25))
