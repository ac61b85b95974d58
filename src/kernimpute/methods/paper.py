"""What all variants of Stage I share, and those of the paper (`paper`) and its appendix B."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import FloatArray
from kernimpute.core.dual import Dual, coupling
from kernimpute.core.projections import (
    AdamMoments,
    BoxMultiplier,
    adam_step,
    project_box_cone,
    project_box_psd,
    project_psd,
    symmetrise,
)
from kernimpute.core.rows import LabelledRows
from kernimpute.core.status import Callback, Record, Rounds, Status, StopRule, Trace

LEARNING_RATE = 0.1
"""Adam's first step as a share of C; the paper leaves it open."""
PROGRAM_ITERATIONS, PROJECTIONS = 50, 20
"""Iterations of the eigenvalue program, and of the exact projection, in one round."""
VIOLATION = 1e-3
"""Largest violation of the bounds at which the eigenvalue program counts as solved."""
MOVING = ("kernel", "perturbation", "dual")
"""The names of A, E and b in the trace."""
FALLBACK = "the exact projection on the box and the cone was taken instead."
INFEASIBLE = f"Step 1's eigenvalue program is infeasible: {FALLBACK}"
UNSOLVED = f"Step 1's eigenvalue program was not solved within its iterations: {FALLBACK}"


@dataclass(frozen=True)
class LearnedKernel:
    """A kernel matrix learned by Stage I, and the support vector machine that belongs to it.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The learned kernel matrix.
    target : ndarray of shape (n_samples, n_samples)
        ``inverse_link(K)``, which Stage II fits; clipped to the sums' bounds but for `released`.
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
        The certificate of `anchored`: the objective at K (raised, with status RAISED or NOT_PSD)
        exceeds the saddle value by at most this share of itself. Infinite where an indefinite
        reference kernel is returned; NaN in the other variants.
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


class StageOneRounds(Rounds):
    """The rounds of Stage I so far."""

    def end(
        self,
        objective: float,
        *,
        watched: float | None = None,
        is_regular: bool = True,
        changes: dict[str, tuple[FloatArray, FloatArray]],
        **fields: Any,
    ) -> Status | None:
        """Record a round, and return how the run ends; None where it goes on.

        The stop rule watches the largest relative of the `changes`, (new, old), unless told what.
        """
        is_regular = is_regular and math.isfinite(objective)
        is_regular = is_regular and all(np.isfinite(new).all() for new, _ in changes.values())
        norms = {name: _relative_step(*pair) for name, pair in changes.items() if is_regular}
        asked_to_stop = self.add(
            len(self.records) + 1,
            objective=objective if is_regular else math.nan,
            step_norms=norms,
            **fields,
        )
        if not is_regular:
            return Status.DIVERGED
        if (max(norms.values()) if watched is None else watched) <= self.tol:
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
    machine, trace = rows.dual.shaped(b, intercept), Trace(tuple(records))
    return LearnedKernel(K, target, *machine, rows.dual.classes, status, len(trace), gap, trace)


class Adjusted(NamedTuple):
    """Step 1's result, and the multipliers of the box from which the next round's Step 1 starts."""

    adjustment: FloatArray
    program: BoxMultiplier | None = None
    exact: BoxMultiplier | None = None
    n_iter: int = 0
    note: str = ""


# A run that diverges overflows at some point; `StageOneRounds.end` notices what is not finite.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def stage_one(
    rows: LabelledRows,
    eta: float,
    rho: float,
    stop: StopRule,
    callback: Callback | None = None,
    *,
    appendix: bool = False,
) -> LearnedKernel:
    """Learn the adjustment A = K_Delta of the observed kernel by Stage I of Algorithm 1.

    With E the perturbation, b = alpha * y, and A within its bounds, both matrices semidefinite:
    min over A, max over b and E of D(b; K_o * A * E) + eta ||A - 11'||^2 - rho ||E - 11'||^2.
    """
    dual = rows.dual
    K_o, lower, upper = adjustment_bounds(rows, exact_diagonal=appendix)
    # Algorithm 1, line 2: A = E = 11' and alpha = C / 2, which is feasible for balanced labels
    # only. So it is projected.
    A = E = np.ones_like(lower)
    K, step_1 = K_o, Adjusted(A)
    # A proximal point with step 0 is the projection on the feasible coefficients.
    b = dual.proximal_point(0.5 * (dual.lower + dual.upper), 0.0)
    moments = AdamMoments()
    rounds, status = StageOneRounds("Stage I", callback, stop.tol), None
    for t in range(1, stop.max_iter + 1):
        before = (A, E, b, K)
        # 1) Eq. (7), the minimiser in A without constraints; then its eigenvalues moved into the
        #    bounds by eq. (8) to (11). Appendix B: the projection P_1 of eq. (s1). The coupling
        #    is bb', summed over the classes if there are more than two.
        closed_form = 1.0 + K_o * E * coupling(b) / (4.0 * eta)
        adjust = project_exactly if appendix else adjust_eigenvalues
        step_1 = adjust(closed_form, lower, upper, step_1)
        A = step_1.adjustment
        # 2) Eq. (14): the maximiser in E, projected on the cone.
        E = project_psd(1.0 - coupling(b) * K_o * A / (4.0 * rho))
        # 3) One Adam step, clipped and centred. Appendix B: the projection P_3 of eq. (s3). The
        #    theorem needs steps that vanish; 1 / sqrt(t) vanishes and still travels any distance.
        K = K_o * A * E
        gradient = dual.gradient(K, b) - dual.epsilon * np.sign(b)
        ascent, moments = adam_step(gradient, moments, LEARNING_RATE * dual.C / math.sqrt(t))
        b = dual.proximal_point(b + ascent, 0.0) if appendix else _centred(dual, b + ascent)
        # 4) The objective, with eta ||A - 11'||^2 - rho ||E - 11'||^2, and the stop rule; a round
        #    that diverged is undone.
        status = rounds.end(
            penalised_value(dual, K, b, (eta, A - 1.0), (-rho, E - 1.0)),
            inner_iterations=step_1.n_iter + 1,
            note=step_1.note,
            changes=dict(zip(MOVING, zip((A, E, b), before[:3], strict=True), strict=True)),
        )
        if status is Status.DIVERGED:
            A, E, b, K = before
        if status is not None:
            break
    # Line 9: K = K_o * K_Delta, without the perturbation, to which the machine belongs. A round's
    # Step 1 is inexact, so the last adjustment is projected to the end and clipped.
    exact = project_box_psd(A, lower, upper, tol=1e-8, max_iter=1000)
    learned = K_o * np.clip(exact.point, lower, upper)
    status = status or Status.MAX_ITER
    return finish(rows, learned, b, dual.intercept(K, b), status, rounds.records)


def adjustment_bounds(
    rows: LabelledRows, *, exact_diagonal: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return K_o and the bounds B_l and B_u of ``K / K_o``, as below eq. (DecoupleKernel)."""
    kernel = rows.kernel
    least, most = kernel.bounds(rows.X, rows.observed)
    K_o = kernel.link(least)
    if kernel.is_exponential:
        # The ratio of two exponentials needs the unknown sums alone, and is never 0 / 0.
        lower = kernel.link(most - least)
        upper = np.ones_like(lower)
    else:
        other_end = kernel.link(most) / K_o
        lower, upper = np.minimum(other_end, 1.0), np.maximum(other_end, 1.0)
    if kernel.is_distance and not exact_diagonal:
        # The paper gives [0, 1] to the term of a feature that is unknown in both rows. For a row
        # against itself the term is 0, and the exact lower bound is 1.
        np.fill_diagonal(lower, kernel.link((~rows.observed).sum(axis=1).astype(float)))
    return K_o, lower, upper


def project_exactly(
    closed_form: FloatArray, lower: FloatArray, upper: FloatArray, last: Adjusted
) -> Adjusted:
    """Project on box and cone (appendix B's P_1), exactly in the limit: rounds move ever less."""
    found = project_box_psd(closed_form, lower, upper, last.exact, 1e-6, PROJECTIONS)
    return Adjusted(found.point, last.program, found.multiplier, found.n_iter)


def adjust_eigenvalues(
    closed_form: FloatArray, lower: FloatArray, upper: FloatArray, last: Adjusted
) -> Adjusted:
    """Move the eigenvalues of the closed form U diag(d) U' to be within bounds: eq. (find_d)."""
    closed_form = symmetrise(closed_form)
    U: FloatArray = np.linalg.eigh(closed_form)[1]
    program, note, spent = last.program, INFEASIBLE, 0

    def project_cone(M: FloatArray) -> FloatArray:
        d = np.maximum(np.sum(U * (M @ U), axis=0), 0.0)
        return np.asarray((U * d) @ U.T)

    if not _is_infeasible(U, lower, upper):
        found = project_box_cone(
            closed_form, project_cone, lower, upper, last.program, 1e-6, PROGRAM_ITERATIONS
        )
        if found.violation <= VIOLATION:
            return Adjusted(found.point, found.multiplier, last.exact, found.n_iter)
        infeasible = found.status is Status.INFEASIBLE
        program = None if infeasible else found.multiplier
        note, spent = INFEASIBLE if infeasible else UNSOLVED, found.n_iter
    exact = project_exactly(closed_form, lower, upper, last)
    return exact._replace(program=program, n_iter=spent + exact.n_iter, note=note)


def _is_infeasible(U: FloatArray, lower: FloatArray, upper: FloatArray) -> bool:
    """Whether the entries with lower = upper already decide against the eigenvalue program."""
    # Each is an equation, linear in d. Where two rows fix all four of their entries at 1, every d_k
    # whose vector separates them is 0.
    n, pinned = lower.shape[0], lower == upper
    together = pinned & pinned.diagonal()[:, None] & pinned.diagonal()[None, :]
    rows, columns = np.nonzero(np.triu(together, 1))
    if rows.size:
        alike = np.abs(U[rows] - U[columns]).max(axis=0) <= 1e-10
        if np.square(U[rows[0], alike]).sum() <= 1e-10:
            return True
    rows, columns = np.nonzero(np.triu(pinned))
    if rows.size < n:
        return False
    # The diagonal comes first, because it is the best conditioned.
    first = np.argsort(rows != columns, kind="stable")[: 2 * n]
    rows, columns = rows[first], columns[first]
    d, _, rank, _ = np.linalg.lstsq(U[rows] * U[columns], lower[rows, columns], rcond=1e-10)
    point = (U * d) @ U.T
    outside = max(float((lower - point).max()), float((point - upper).max()), -float(d.min()))
    return bool(rank == n and outside > VIOLATION)


def _centred(dual: Dual, point: FloatArray) -> FloatArray:
    """Clip, then subtract the mean: the paper's Step 3, which may leave the box by the mean."""
    # Rows of weight 0 stay at 0.
    room = dual.lower < dual.upper
    clipped = np.clip(point, dual.lower, dual.upper)
    return np.where(room, clipped - clipped.sum(axis=0) / room.sum(axis=0), 0.0)
