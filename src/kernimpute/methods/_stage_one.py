"""What the variants of Stage I share: the result, the trace of the rounds, and the objective."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import FloatArray
from kernimpute.core.dual import Dual
from kernimpute.core.rows import LabelledRows
from kernimpute.core.status import Callback, Record, Status, Trace


@dataclass(frozen=True)
class LearnedKernel:
    """A kernel matrix learned by Stage I, and the support vector machine that belongs to it.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The learned kernel matrix.
    target : ndarray of shape (n_samples, n_samples)
        ``inverse_link(K)``, which Stage II fits. It is clipped to the bounds of the sums, so
        that a kernel value that underflows does no harm; `released` does not clip it.
    dual_coef : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Signed coefficients; one column for each class where there are more than two.
    intercept : float or ndarray of shape (n_classes,)
        Intercepts of the decision functions ``K @ dual_coef + intercept``.
    classes : ndarray of shape (n_classes,) or None
        The labels in ascending order; None for a regression.
    status : Status
        How the run ended.
    n_iter : int
        Number of rounds.
    gap : float
        The certificate of `anchored`, which is for K alone: the objective at K, maximised over
        the coefficients, exceeds the saddle value by at most this share of itself. With status
        RAISED or NOT_PSD it holds for the raised matrices. Infinite where the reference kernel
        is returned and is not positive semidefinite; NaN in the other variants.
    trace : Trace
        One record for each round.
    """

    K: FloatArray
    target: FloatArray
    dual_coef: FloatArray
    intercept: float | FloatArray
    classes: NDArray[np.generic] | None
    status: Status
    n_iter: int
    gap: float
    trace: Trace


class Rounds:
    """The trace of a run so far, its stop rule and its callback."""

    def __init__(self, tol: float, callback: Callback | None) -> None:
        self.records: list[Record] = []
        self._tol, self._callback, self._began = tol, callback, time.perf_counter()

    def add(
        self,
        objective: float,
        *,
        inner_iterations: int,
        watched: float | None = None,
        gap: float = math.nan,
        note: str = "",
        is_regular: bool = True,
        **changes: tuple[FloatArray, FloatArray],
    ) -> Status | None:
        """Record a round, and return how the run ends; None where it goes on.

        `changes` are the new and the old value of each variable. The stop rule watches the largest
        relative change unless another quantity is given.
        """
        is_regular = is_regular and math.isfinite(objective)
        is_regular = is_regular and all(np.isfinite(new).all() for new, _ in changes.values())
        norms = {name: _relative_step(*pair) for name, pair in changes.items() if is_regular}
        record = Record(
            iteration=len(self.records) + 1,
            objective=objective if is_regular else math.nan,
            gap=gap,
            step_norms=norms,
            inner_iterations=inner_iterations,
            seconds=time.perf_counter() - self._began,
            note=note,
            stage="Stage I",
        )
        self.records.append(record)
        asked_to_stop = self._callback is not None and bool(self._callback(record))
        if not is_regular:
            return Status.DIVERGED
        if (max(norms.values()) if watched is None else watched) <= self._tol:
            return Status.CONVERGED
        return Status.INTERRUPTED if asked_to_stop else None


def _relative_step(new: FloatArray, old: FloatArray) -> float:
    return float(np.linalg.norm(new - old)) / max(float(np.linalg.norm(new)), 1e-12)


def penalised_value(
    dual: Dual, K: FloatArray, b: FloatArray, *penalties: tuple[float, FloatArray]
) -> float:
    """Return ``D(b; K) + sum of weight ||offset||^2``, the objective of eq. (Stage1)."""
    value = dual.value(K, b)
    for weight, offset in penalties:
        # An infinite weight leaves rounding as the only offset.
        value += weight * float(np.vdot(offset, offset)) if math.isfinite(weight) else 0.0
    return value


def finish(
    rows: LabelledRows,
    K: FloatArray,
    b: FloatArray,
    intercept: FloatArray,
    status: Status,
    records: list[Record],
    *,
    target: FloatArray | None = None,
    gap: float = math.nan,
) -> LearnedKernel:
    """Return the result; the target is K's sums within their bounds unless it is given."""
    if target is None:
        # With a tiny gamma the sums overflow; their bounds are finite.
        with np.errstate(over="ignore"):
            sums = rows.kernel.inverse_link(K)
        target = np.clip(sums, *rows.kernel.bounds(rows.X, rows.observed))
    dual_coef, intercepts = rows.dual.shaped(b, intercept)
    return LearnedKernel(
        K=K,
        target=target,
        dual_coef=dual_coef,
        intercept=intercepts,
        classes=rows.dual.classes,
        status=status,
        n_iter=len(records),
        gap=gap,
        trace=Trace(tuple(records)),
    )
