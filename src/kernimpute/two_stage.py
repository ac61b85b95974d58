"""Algorithm 1 of the paper: learn a kernel matrix, then recover the features from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernimpute.convergence import Callback
from kernimpute.kernels import Gaussian
from kernimpute.labelled_rows import LabelledRows
from kernimpute.reference import Reference
from kernimpute.stage_one import VARIANTS, LearnedKernel, learn_from_rows
from kernimpute.stage_two import RecoveredFeatures, recover_features, recover_features_released

__all__ = ["TwoStageImputation", "impute_in_two_stages"]


@dataclass(frozen=True)
class TwoStageImputation:
    """What the two stages found.

    Parameters
    ----------
    learned : LearnedKernel
        Stage I: the kernel matrix and the support vector machine.
    recovered : RecoveredFeatures
        Stage II: the completed rows.
    """

    learned: LearnedKernel
    recovered: RecoveredFeatures


def impute_in_two_stages(
    rows: LabelledRows,
    variant: str,
    *,
    eta: float | None = None,
    rho: float | None = None,
    radius: float | None = None,
    reference: Reference = None,
    tol: float | None = None,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> TwoStageImputation:
    """Run Algorithm 1 on checked rows.

    1. Stage I: K_o, B_l, B_u; repeat Steps 1 to 3 until the stop rule is met; K = K_o o K_Delta.
    2. Stage II: from several starts, sweep over the rows until the stop rule is met.

    Parameters
    ----------
    rows : LabelledRows
        Incomplete rows, kernel and dual.
    variant : str
        A name of `VARIANTS`.
    eta, rho, radius, reference, tol, max_iter
        Stage I's, as in `learn_kernel`.
    callback : callable or None, default=None
        Called with the `Record` of each round and of each sweep; a true answer stops the stage.

    Returns
    -------
    TwoStageImputation
        The results of both stages.
    """
    learned = learn_from_rows(
        rows,
        VARIANTS[variant],
        eta=eta,
        rho=rho,
        radius=radius,
        reference=reference,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
    recovered = RECOVERIES[VARIANTS[variant].recovery](rows, learned, callback)
    return TwoStageImputation(learned, recovered)


def _recover_exactly(
    rows: LabelledRows, learned: LearnedKernel, callback: Callback | None
) -> RecoveredFeatures:
    """Fit the features to the learned sums, cell by cell exactly."""
    return recover_features(rows.X, learned.target, kernel=rows.kernel, callback=callback)


def _recover_as_released(
    rows: LabelledRows, learned: LearnedKernel, callback: Callback | None
) -> RecoveredFeatures:
    """Descend as the released code does; exactly where it has no descent: off the gaussian."""
    if not isinstance(rows.kernel, Gaussian):
        return _recover_exactly(rows, learned, callback)
    return recover_features_released(rows.X, learned.target, callback=callback)


RECOVERIES: dict[str, Callable[..., RecoveredFeatures]] = {
    "exact": _recover_exactly,
    "released": _recover_as_released,
}
"""Stage II by the name that a variant's record gives."""
