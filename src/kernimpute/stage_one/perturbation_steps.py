"""Step 2 of Stage I: a new perturbation, the adjustment and the dual coefficients held fixed."""

from __future__ import annotations

from kernimpute.core.dual import coupling
from kernimpute.core.projections import project_psd
from kernimpute.stage_one.problem import StageOneProblem, StageOneState
from kernimpute.stage_one.steps import Move

__all__ = ["closed_form_step", "no_perturbation"]


def closed_form_step(problem: StageOneProblem, state: StageOneState) -> Move:
    """Take the closed form of the relaxed problem, projected: eq. (OptE).

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        Supplies the adjustment and the dual coefficients.

    Returns
    -------
    Move
        ``P_psd(11' - Gamma / (4 rho))`` with ``Gamma = coupling o base o A``.
    """
    gamma_matrix = coupling(state.dual_coef) * problem.relaxation.base * state.adjustment
    return Move(project_psd(1.0 - gamma_matrix / (4.0 * problem.rho)), inner_iterations=1)


def no_perturbation(problem: StageOneProblem, state: StageOneState) -> Move:
    """Leave the perturbation at 11'.

    Parameters
    ----------
    problem : StageOneProblem
        The problem.
    state : StageOneState
        The state.

    Returns
    -------
    Move
        The perturbation as it is.
    """
    return Move(state.perturbation)
