"""Algorithm 1 of the paper: learn a kernel matrix, then recover the features from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernimpute.core.kernels import Gaussian
from kernimpute.core.rows import LabelledRows
from kernimpute.core.status import Callback
from kernimpute.methods.recover import RecoveredFeatures, recover_features
from kernimpute.stage_one import VARIANTS, LearnedKernel, StageOneOptions, learn_from_rows
from kernimpute.stage_two.released import recover_features_released

__all__ = ["TwoStageImputation", "impute_in_two_stages"]

FARTHEST = 1e100
"""Largest sum that Stage II is asked to fit."""


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
    rows: LabelledRows, variant: str, options: StageOneOptions
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
    options : StageOneOptions
        Stage I's; the callback is called with the `Record` of each sweep too, and a true answer
        stops the stage.

    Returns
    -------
    TwoStageImputation
        The results of both stages.
    """
    learned = learn_from_rows(rows, VARIANTS[variant], options)
    recovered = RECOVERIES[VARIANTS[variant].recovery](rows, learned, options.callback)
    return TwoStageImputation(learned, recovered)


def _recover_exactly(
    rows: LabelledRows, learned: LearnedKernel, callback: Callback | None
) -> RecoveredFeatures:
    """Fit the features to the learned sums, cell by cell exactly."""
    # Only `released` keeps no bounds; so far beyond them all are equally out of reach.
    target = np.clip(learned.target, -FARTHEST, FARTHEST)
    return recover_features(rows.X, target, kernel=rows.kernel, callback=callback)


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
