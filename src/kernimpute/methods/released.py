"""Both stages as the authors' released code computes them: see `docs/released.md`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import observed_cells
from kernimpute.core.dual import Dual, coupling
from kernimpute.core.projections import (
    BETA_MEAN,
    BETA_SQUARE,
    GUARD,
    AdamMoments,
    adam_step,
    project_frobenius_ball,
    project_psd,
    symmetrise,
)
from kernimpute.core.rows import LabelledRows
from kernimpute.core.status import COMPILING, Callback, Rounds, Status, StopRule, Trace
from kernimpute.methods.paper import MOVING, LearnedKernel, StageOneRounds, finish, penalised_value
from kernimpute.methods.recover import RecoveredFeatures
from kernimpute.methods.sweep import compile_cached, is_compiled

LEARNING_RATE = 0.1
"""Adam's rate in the first round or sweep; it falls as 1 / sqrt(round)."""
FLOOR, NEGLIGIBLE = 1e-8, 1e-5
"""Smallest entry of a product and eigenvalue of the last kernel; and coefficient that becomes 0."""
RUNAWAY, OVERFLOW = 1e6, 1e100
"""Largest entry of ``K_o o A`` and of E in a regular run; and of A, large where K_o is small."""
LEAST_CHANGE, MAX_SWEEPS = 1e-5, 20_000
"""Stage II's stop rule: the change of the objective, and the number of sweeps."""
GRADIENT_FACTOR = 4.0
"""The true gradient of Stage II has 8; under Adam the factor matters through the guard only."""


class Factors(NamedTuple):
    """What moves in Stage I: A = K_Delta, E and b = alpha o y, and the Adam moments of each."""

    A: FloatArray
    E: FloatArray
    b: FloatArray
    moments: tuple[AdamMoments, ...]


# A run that diverges overflows at some point; `StageOneRounds.end` notices what is not finite.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def stage_one(
    rows: LabelledRows, eta: float, radius: float, stop: StopRule, callback: Callback | None = None
) -> LearnedKernel:
    """Learn the adjustment by the released recursion; a run away returns its last regular round."""
    dual = rows.dual
    K_o, lower = mask_bounds(rows)
    now = start(dual, K_o)
    rounds, status = StageOneRounds("Stage I", callback, stop.tol), None
    for t in range(1, stop.max_iter + 1):
        before = now
        now = next_round(dual, K_o, lower, now, eta, radius, t)
        A, E, b = now.A, now.E, now.b
        limits = ((A, OVERFLOW), (K_o * A, RUNAWAY), (E, RUNAWAY))
        status = rounds.end(
            penalised_value(dual, K_o * A * E, b, (eta, A - 1.0)),
            watched=float(np.linalg.norm(b - before.b)) if t >= 3 else math.inf,
            is_regular=all(np.abs(M).max() <= limit for M, limit in limits),
            inner_iterations=2,
            changes=dict(zip(MOVING, zip((A, E, b), before[:3], strict=True), strict=True)),
        )
        if status is Status.DIVERGED:
            now = before
        if status is not None:
            break
    b, intercept = machine(dual, K_o * now.A * now.E)
    # The target is -log(K) / gamma by way of the sums. Where K is above 1 it is negative.
    target = rows.kernel.observed_sums(rows.X, rows.observed) + rows.kernel.inverse_link(now.A)
    np.fill_diagonal(target, 0.0)
    status = status or Status.MAX_ITER
    return finish(rows, K_o * now.A, b, intercept, status, rounds.records, target=target)


def mask_bounds(rows: LabelledRows) -> tuple[FloatArray, FloatArray]:
    """Return K_o and the lower bound of A: the link of the features observed in either row."""
    # In either, because a mask is inverted there.
    missing = (~rows.observed).astype(float)
    in_either = rows.observed.shape[1] - missing @ missing.T
    K_o = rows.kernel.link(rows.kernel.observed_sums(rows.X, rows.observed))
    return K_o, rows.kernel.link(in_either)


def start(dual: Dual, K_o: FloatArray) -> Factors:
    """Return ``A = E = 11'`` and C / 2, which is feasible only for balanced labels."""
    ones, b = np.ones_like(K_o), 0.5 * (dual.lower + dual.upper)
    return Factors(ones, ones, b, (AdamMoments(),) * 3)


def next_round(
    dual: Dual, K_o: FloatArray, lower: FloatArray, now: Factors, eta: float, radius: float, t: int
) -> Factors:
    """Return the factors after round t; every step is one Adam step and uses the newest values."""
    A, E, b, (moments_A, moments_E, moments_b) = now
    rate = LEARNING_RATE / math.sqrt(t)
    # 1) The adjustment: mean diagonal 1, clipped; then the product projected and divided back.
    gradient = 2.0 * eta * (A - 1.0) - 0.5 * (coupling(b) * K_o * E)
    step, moments_A = adam_step(gradient, moments_A, rate)
    A = A - step
    A = np.clip(A / np.mean(np.diagonal(A)), lower, 1.0)
    A = _project_product(K_o * A * E) / K_o / E
    # 2) The perturbation: projected on the ball around 11'; then as in Step 1.
    step, moments_E = adam_step(0.5 * coupling(b) * K_o * A, moments_E, rate)
    E = project_frobenius_ball(E - step, np.ones_like(E), radius)
    E = _project_product(K_o * A * E) / K_o / A
    # 3) The coefficients: the exact projection of appendix B.
    gradient = dual.gradient(K_o * A * E, b) - dual.epsilon * np.sign(b)
    step, moments_b = adam_step(gradient, moments_b, rate)
    b = dual.proximal_point(b + step, 0.0)
    return Factors(A, E, b, (moments_A, moments_E, moments_b))


def _project_product(K: FloatArray) -> FloatArray:
    """Project on the cone, scale to mean diagonal 1, set the diagonal to 1, floor the entries."""
    projected = project_psd(K)
    scaled = projected / np.mean(np.diagonal(projected))
    np.fill_diagonal(scaled, 1.0)
    return np.maximum(scaled, FLOOR)


def machine(dual: Dual, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the exact machine on the floored kernel, and the mean of ``y - K b``."""
    values, vectors = np.linalg.eigh(symmetrise(K))
    K = symmetrise((vectors * np.maximum(values, FLOOR)) @ vectors.T)
    solved = dual.solve(K)
    b = np.where(np.abs(solved) < NEGLIGIBLE, 0.0, solved)
    residual = dual.gradient(K, b) - dual.epsilon * np.sign(b)
    support = b != 0.0
    counts = support.sum(axis=0)
    # Without any support vector the released code has NaN; this is the mean of y.
    means = np.where(support, residual, 0.0).sum(axis=0) / np.maximum(counts, 1)
    weights = np.maximum(dual.upper, -dual.lower) / dual.C
    intercept = np.where(counts > 0, means, np.average(dual.targets, 0, weights))
    return b, intercept


def stage_two(
    X: FloatArray, target: FloatArray, *, callback: Callback | None = None
) -> RecoveredFeatures:
    """Recover the missing cells from squared distances, by one Adam step a row and sweep."""
    observed = observed_cells(X)
    filled = np.where(observed, X, 0.5)
    mean, square = np.zeros_like(filled), np.zeros_like(filled)
    status, max_sweeps = Status.MAX_ITER, MAX_SWEEPS
    if observed.all() or not np.isfinite(target).all():
        status = Status.NOTHING_MISSING if observed.all() else Status.DIVERGED
        max_sweeps = 0
    objective = _misfit(filled, target)
    rounds = Rounds("Stage II", callback)
    if not is_compiled(_sweep):
        rounds.tell(COMPILING)
    for sweep in range(1, max_sweeps + 1):
        before, previous = filled.copy(), objective
        _sweep(filled, mean, square, observed, target, sweep)
        objective = _misfit(filled, target)
        if math.isnan(objective):
            status, filled, objective = Status.DIVERGED, before, previous
            break
        step = float(np.linalg.norm(filled - before))
        asked_to_stop = rounds.add(
            sweep, objective=objective, step_norms={"features": step}, inner_iterations=1
        )
        if sweep > 1 and abs(previous - objective) < LEAST_CHANGE:
            status = Status.CONVERGED
            break
        if asked_to_stop:
            status = Status.INTERRUPTED
            break
    trace = Trace(tuple(rounds.records))
    return RecoveredFeatures(filled, objective, status, len(trace), trace, start="half")


def _misfit(X: FloatArray, target: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        misfit = float(np.linalg.norm(cdist(X, X, "sqeuclidean") - target))
    return misfit if math.isfinite(misfit) else math.nan


@compile_cached(nogil=True)
def _sweep(
    X: FloatArray,
    mean: FloatArray,
    square: FloatArray,
    observed: BoolArray,
    target: FloatArray,
    sweep: int,
) -> None:
    """Sweep once over the rows of X, and update Adam's two moments, all in place."""
    rate = LEARNING_RATE / np.sqrt(sweep)
    unbias_mean, unbias_square = 1.0 - BETA_MEAN**sweep, 1.0 - BETA_SQUARE**sweep
    for i in range(X.shape[0]):
        if observed[i].all():
            continue
        gradient = np.zeros(X.shape[1])
        for j in range(X.shape[0]):
            excess = -target[i, j]
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
