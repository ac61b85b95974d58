"""What a variant watches to know that it may stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernimpute.arrays import namespace, norm
from kernimpute.stage_one.certificate import SaddleCertificate, certify
from kernimpute.stage_one.kernel_steps import SpectrumMoments, saddle_value
from kernimpute.stage_one.problem import StageOneProblem, StageOneState

__all__ = ["Assessment", "absolute_dual_step", "largest_step", "relative_steps", "saddle_gap"]


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


def relative_steps(before: StageOneState, after: StageOneState) -> dict[str, float]:
    """Return the norm of each variable's change, relative to the variable.

    Parameters
    ----------
    before, after : StageOneState
        The states around a round.

    Returns
    -------
    dict of str to float
        For "kernel", "perturbation" and "dual".
    """
    pairs = {
        "kernel": (before.adjustment, after.adjustment),
        "perturbation": (before.perturbation, after.perturbation),
        "dual": (before.dual_coef, after.dual_coef),
    }
    return {name: norm(new - old) / max(norm(new), 1e-12) for name, (old, new) in pairs.items()}


def largest_step(
    problem: StageOneProblem, before: StageOneState, state: StageOneState, tol: float, *, last: bool
) -> Assessment:
    """Watch the largest relative step.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    before, state : StageOneState
        The states around the round.
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
    watched = max(relative_steps(before, state).values())
    return Assessment(problem.objective(state), math.nan, watched)


def absolute_dual_step(
    problem: StageOneProblem, before: StageOneState, state: StageOneState, tol: float, *, last: bool
) -> Assessment:
    """Watch the norm of the coefficients' step, from the third round on, as the released code.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    before, state : StageOneState
        The states around the round.
    tol : float
        Not used.
    last : bool
        Not used.

    Returns
    -------
    Assessment
        Without a gap, as in `largest_step`.
    """
    step = norm(state.dual_coef - before.dual_coef)
    watched = step if state.iteration >= 3 else math.inf
    return Assessment(problem.objective(state), math.nan, watched)


def saddle_gap(
    problem: StageOneProblem, before: StageOneState, state: StageOneState, tol: float, *, last: bool
) -> Assessment:
    """Watch the certified saddle gap, at rounds that lie ever further apart.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    before, state : StageOneState
        The states around the round; the dual moments of the second are the lower bound where
        the round has left it, the kernel moments hold the multiplier.
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
    bound = state.dual_moments
    if bound is None:
        # Nothing is left of a first round that halted; zero is a multiplier too.
        moments: SpectrumMoments | None = state.kernel_moments
        zeros = namespace(state.adjustment).zeros_like(state.adjustment)
        multiplier = zeros if moments is None else moments.multiplier
        bound = saddle_value(problem, state.dual_coef, multiplier)
    # A bound that still rises by more than the gap wanted is not worth a certificate.
    rises = before.dual_moments is not None and bound - before.dual_moments > tol * abs(bound)
    if not last and (rises or not _is_due(state.iteration)):
        return Assessment(bound, math.nan, math.inf)
    certificate = certify(
        problem, state.adjustment, state.dual_coef, bound, math.inf if last else tol
    )
    gap = certificate.gap
    # One without a feasible matrix is not kept: it is the size of one.
    return Assessment(bound, gap, gap, certificate if math.isfinite(gap) else None)


def _is_due(iteration: int) -> bool:
    """Whether a power of 1.25 lies between this round and the one before; also the first three."""
    reached = math.floor(math.log(iteration, 1.25))
    return iteration <= 3 or reached > math.floor(math.log(iteration - 1, 1.25))
