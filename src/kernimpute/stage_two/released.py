"""Stage II as the authors released it: one Adam step per row and sweep, gaussian kernel only.

Over the missing cells in [0, 1] it lowers

    ||D(X) - target||,    D(X)_ij = ||x_i - x_j||^2,

every row in order taking one Adam step given the newest values of all others, then clipped. It
starts at 1/2 and stops when the objective (the norm, not its square) changes by less than tol.
`recover_features` solves the same problem exactly cell by cell; this one is here to compare.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from kernimpute.core.checks import check_incomplete, observed_cells
from kernimpute.core.status import Callback, Record, Status, StopRule, Trace
from kernimpute.methods.recover import RecoveredFeatures

__all__ = ["recover_features_released"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
OWNER = "recover_features_released"

LEARNING_RATE = 0.1
"""Adam's rate in the first sweep; it falls as 1/sqrt(sweep)."""
BETA_MEAN, BETA_SQUARE, GUARD = 0.9, 0.999, 1e-8
"""Adam's constants."""
GRADIENT_FACTOR = 4.0
"""The true gradient has 8; under Adam the factor matters through the guard only."""


def recover_features_released(
    X: ArrayLike,
    target: ArrayLike,
    *,
    tol: float = 1e-5,
    max_sweeps: int = 20_000,
    callback: Callback | None = None,
) -> RecoveredFeatures:
    """Recover missing features by the released block descent.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows in [0, 1] with NaN at the gaps.
    target : array-like of shape (n_samples, n_samples)
        Squared distances to reach.
    tol : float, default=1e-5
        The sweeps stop when the objective changes by less, in [0, inf).
    max_sweeps : int, default=20000
        Sweeps at the most.
    callback : callable or None, default=None
        Called with the `Record` of each sweep; a true answer stops.

    Returns
    -------
    RecoveredFeatures
        The completed rows; the objective is the norm of the misfit. ``DIVERGED`` where the
        target is not finite, or so large that its squares are not.

    Raises
    ------
    TypeError, ValueError
        If X is not as described or the target has another shape.
    """
    table = check_incomplete(X, OWNER)
    distances = np.asarray(target, dtype=float)
    if distances.shape != (table.shape[0], table.shape[0]):
        must_be = f"of shape ({table.shape[0]}, {table.shape[0]})"
        raise ValueError(
            f"The 'target' parameter of {OWNER} must be {must_be}. "
            f"Got an array of shape {distances.shape} instead."
        )
    stop = StopRule(tol, max_sweeps)
    began = time.perf_counter()
    observed = observed_cells(table)
    filled = np.where(observed, table, 0.5)
    mean, square = np.zeros_like(filled), np.zeros_like(filled)
    status, n_sweeps = Status.MAX_ITER, stop.max_iter
    if observed.all():
        status, n_sweeps = Status.NOTHING_MISSING, 0
    elif not np.isfinite(distances).all():
        status, n_sweeps = Status.DIVERGED, 0
    objective = _misfit(filled, distances)
    records: list[Record] = []
    for sweep in range(1, n_sweeps + 1):
        before, previous = filled.copy(), objective
        _sweep(filled, mean, square, observed, distances, sweep)
        objective = _misfit(filled, distances)
        if math.isnan(objective):
            status, filled, objective = Status.DIVERGED, before, previous
            break
        record = Record(
            iteration=sweep,
            objective=objective,
            step_norms={"features": float(np.linalg.norm(filled - before))},
            inner_iterations=1,
            seconds=time.perf_counter() - began,
            stage="Stage II",
        )
        records.append(record)
        asked_to_stop = callback is not None and bool(callback(record))
        if sweep > 1 and abs(previous - objective) < stop.tol:
            status = Status.CONVERGED
            break
        if asked_to_stop:
            status = Status.INTERRUPTED
            break
    return RecoveredFeatures(
        X=filled,
        objective=objective,
        status=status,
        n_sweeps=len(records),
        trace=Trace(tuple(records)),
        start="half",
    )


def _misfit(X: FloatArray, distances: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        misfit = float(np.linalg.norm(cdist(X, X, "sqeuclidean") - distances))
    return misfit if math.isfinite(misfit) else math.nan


@njit(cache=True)
def _sweep(
    X: FloatArray,
    mean: FloatArray,
    square: FloatArray,
    observed: BoolArray,
    distances: FloatArray,
    sweep: int,
) -> None:
    """Sweep once, writing into the first three arrays, all of shape (n_samples, n_features)."""
    rate = LEARNING_RATE / np.sqrt(sweep)
    unbias_mean, unbias_square = 1.0 - BETA_MEAN**sweep, 1.0 - BETA_SQUARE**sweep
    for i in range(X.shape[0]):
        if observed[i].all():
            continue
        gradient = np.zeros(X.shape[1])
        for j in range(X.shape[0]):
            excess = -distances[i, j]
            for p in range(X.shape[1]):
                excess += (X[i, p] - X[j, p]) ** 2
            for p in range(X.shape[1]):
                gradient[p] += GRADIENT_FACTOR * excess * (X[i, p] - X[j, p])
        for p in range(X.shape[1]):
            if observed[i, p]:
                continue
            mean[i, p] = BETA_MEAN * mean[i, p] + (1.0 - BETA_MEAN) * gradient[p]
            square[i, p] = BETA_SQUARE * square[i, p] + (1.0 - BETA_SQUARE) * gradient[p] ** 2
            root = np.sqrt(square[i, p] / unbias_square)
            step = mean[i, p] / unbias_mean / (root + GUARD)
            X[i, p] = min(max(X[i, p] - rate * step, 0.0), 1.0)
