"""Variant `direct`: the missing cells themselves go down the gradient of the dual.

    min over missing cells of  J(X) = max over b of D(b; K(X)) + eta sum of w_i ||x_i - x_ref,i||^2

K(X) is the ordinary kernel matrix of the completed rows, and w_i the weight of row i. By the
envelope theorem the gradient only needs the maximiser b, and only rows with b != 0 move each other.
The descent starts at the reference, and J never rises. A changed code costs eta w_i. A row of
weight w counts as w copies that move together; one of weight 0 stays at its reference.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, OptimizeResult, minimize, nnls

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import EPSILON
from kernimpute.core.dual import coupling
from kernimpute.core.kernels import row_blocks
from kernimpute.core.rows import LabelledRows
from kernimpute.core.status import Callback, Record, Rounds, Status, StopRule, Trace

Rows = NDArray[np.intp]

GRADIENTS_KEPT = 10
"""Number of the latest gradients whose smallest convex combination measures the slope."""
SOLVER_TOL = 1e-8
"""Tolerance of an exact machine, as in `Dual.solve`."""
LEAST_GAIN = 1e-3
"""Gain that all changes of codes must promise, relative to J, to be tried."""
FLAT_STEPS, FLAT_SHARE = 5, 0.1
"""J is flat once so many steps lowered it by less than this share of tol^2 times its fall."""
STEPS_BETWEEN_CODES = 10
"""Descent steps after which categorical cells have their turn."""


@dataclass(frozen=True)
class DirectImputation:
    """What `impute_directly` found: completed rows, and the exact machine on them."""

    X: FloatArray
    dual_coef: FloatArray  # (n_samples, n_problems)
    intercept: FloatArray
    status: Status
    trace: Trace


def impute_directly(
    rows: LabelledRows,
    X_reference: FloatArray,
    *,
    eta: float,
    stop: StopRule,
    callback: Callback | None = None,
) -> DirectImputation:
    """Move the missing cells down the gradient until its slope is small or J is flat."""
    numeric = rows.kernel.numeric(rows.X.shape[1])
    weights = rows.sample_weight
    settled = Status.CONVERGED if rows.kernel.is_positive_semidefinite else Status.NOT_PSD
    if rows.observed.all() or math.isinf(2.0 * eta * float(weights.max()) * rows.X.size):
        # Without a gap, or with an infinite anchor, the reference is the solution.
        objective = _Objective(rows, X_reference, 0.0, numeric, SOLVER_TOL)
        status = Status.NOTHING_MISSING if rows.observed.all() else settled
        return _result(objective, objective(X_reference), status, [])
    # A loose stop rule does not need exact machines on the way; the one returned is exact.
    solver_tol = max(SOLVER_TOL, min(1e-3, 1e-2 * stop.tol))
    twins = _same_rows(rows, X_reference)
    objective = _Objective(rows, X_reference, eta, numeric, solver_tol, twins)
    is_open = ~rows.observed & (weights > 0.0)[:, None]
    codes_are_open = bool((is_open & ~numeric).any())
    point = objective(X_reference)
    log = _Log(callback, is_open & numeric, weights, point, eta)
    status = Status.INTERRUPTED if log.write(point, 0.0, n_evaluations=1) else Status.CONVERGED
    while status is not Status.INTERRUPTED:
        # 1. Numeric cells: L-BFGS-B in the box [0, 1].
        status = Status.CONVERGED
        if log.gap > stop.tol:
            most = STEPS_BETWEEN_CODES if codes_are_open else stop.max_iter
            budget = min(stop.max_iter - log.n_steps, most)
            point, status = _descend(objective, point, stop.tol, budget, log)
        if status is Status.INTERRUPTED:
            break
        # 2. Categorical cells: as many of the best changes of one code a row as lower J together.
        recoded = _recode(objective, point, is_open & ~numeric) if codes_are_open else None
        out_of_steps = log.n_steps >= stop.max_iter
        # 3. Again, until nothing changes.
        if out_of_steps or (recoded is None and status is not Status.MAX_ITER):
            status = status if recoded is None else Status.MAX_ITER
            break
        if recoded is not None:
            point = recoded
            # The gradients so far belong to other codes.
            log.gradients.clear()
            if log.write(point, 0.0, n_evaluations=1):
                status = Status.INTERRUPTED
    status = settled if status is Status.CONVERGED else status
    return _result(objective, point, status, log.records)


def _result(
    objective: _Objective, point: _Point, status: Status, records: list[Record]
) -> DirectImputation:
    dual = objective.rows.dual
    K, _ = objective.machine_kernel(point.X)
    b = dual.solve(K, SOLVER_TOL, point.dual_coef)
    return DirectImputation(point.X, b, dual.intercept(K, b), status, Trace(tuple(records)))


@dataclass(frozen=True)
class _Point:
    """J and its gradient at completed rows."""

    X: FloatArray
    dual_coef: FloatArray
    # A block, by rows and columns, of -2 times the derivative of the maximum in K.
    pull: Callable[[Rows, Rows], FloatArray]
    active: Rows  # the rows between which the pull is not 0
    objective: float
    gradient: FloatArray  # (n_samples, n_features), 0 at codes


@dataclass(frozen=True)
class _Objective:
    """J as a function of the completed rows."""

    rows: LabelledRows
    X_reference: FloatArray
    eta: float
    numeric: BoolArray
    tol: float  # of the machine
    twins: NDArray[np.intp] | None = None  # one number for all rows that began as the same

    def __call__(self, X: FloatArray) -> _Point:
        K, differential = self.machine_kernel(X)
        dual_coef = self._share(X, self.rows.dual.solve(K, self.tol))
        coupled = None if differential is None else differential(coupling(dual_coef))
        active = np.flatnonzero((dual_coef if coupled is None else coupled).any(axis=1))

        def pull(rows: Rows, columns: Rows) -> FloatArray:
            # A matrix of all rows is needed only where a projection makes it.
            if coupled is None:
                return np.asarray(dual_coef[rows] @ dual_coef[columns].T)
            return coupled[np.ix_(rows, columns)]

        offset = X - self.X_reference
        offset[:, ~self.numeric] = offset[:, ~self.numeric] != 0.0
        anchored = self.eta * self.rows.sample_weight[:, None] * offset
        objective = self.rows.dual.value(K, dual_coef) + float(np.vdot(offset, anchored))
        del K
        gradient = np.where(self.numeric, 2.0 * anchored, 0.0)
        kernel = self.rows.kernel
        for block in row_blocks(active.size, active.size):
            part = active[block]
            sums = kernel.sums(X[part], X[active])
            slopes = kernel.link_gradient(sums) * pull(part, active)
            if kernel.is_distance:
                # Rows that coincide do not move each other; where the kernel is steep, rounding
                # would make them do so.
                slopes[(sums == 0.0) | (part[:, None] == active)] = 0.0
            gradient[part] -= kernel.sums_gradient(X[part], X[active], slopes)
        return _Point(X, dual_coef, pull, active, objective, gradient)

    def machine_kernel(
        self, X: FloatArray
    ) -> tuple[FloatArray, Callable[[FloatArray], FloatArray] | None]:
        """Return the machine's kernel matrix, and the derivative of its projection, if any."""
        K = self.rows.kernel(X, X)
        if self.rows.kernel.is_positive_semidefinite:
            return K, None
        # Rows of weight 0 have no part in the machine, so they must not change its matrix.
        rows = np.flatnonzero(self.rows.sample_weight > 0.0)
        block = np.ix_(rows, rows)
        values, vectors = np.linalg.eigh(K[block])
        kept = np.maximum(values, 0.0)
        K[block] = (vectors * kept) @ vectors.T
        slopes = np.tile((values > 0.0).astype(float), (values.size, 1))
        run = values[:, None] - values
        np.divide(kept[:, None] - kept, run, out=slopes, where=np.abs(run) > 1e-14)

        def differential(M: FloatArray) -> FloatArray:
            result = np.zeros(K.shape)
            result[block] = vectors @ (slopes * (vectors.T @ M[block] @ vectors)) @ vectors.T
            return result

        return K, differential

    def _share(self, X: FloatArray, dual_coef: FloatArray) -> FloatArray:
        """Return coefficients that twins share by weight, so that they move as one row does."""
        if self.twins is None:
            return dual_coef
        # Rows with different codes are not twins.
        keys = np.column_stack([self.twins, X[:, ~self.numeric]])
        twins = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
        weights = self.rows.sample_weight
        totals = np.bincount(twins, weights)[twins]
        shares = np.divide(weights, totals, out=np.zeros_like(totals), where=totals > 0.0)
        columns = [np.bincount(twins, column)[twins] * shares for column in dual_coef.T]
        return np.stack(columns, axis=1)


def _same_rows(rows: LabelledRows, X_reference: FloatArray) -> NDArray[np.intp] | None:
    """Return a number for each row, one for incomplete ones that agree in all; None without."""
    n = rows.X.shape[0]
    complete = np.where(rows.observed.all(axis=1), np.arange(n), -1)
    keys = np.column_stack([complete, rows.observed, X_reference, rows.dual.targets])
    distinct, twins = np.unique(keys, axis=0, return_inverse=True)
    return None if len(distinct) == n else twins.ravel()


class _Log(Rounds):
    """The numeric cells that may move, the records of a descent, and its latest gradients."""

    def __init__(
        self,
        callback: Callback | None,
        mask: BoolArray,
        sample_weight: FloatArray,
        start: _Point,
        eta: float,
    ) -> None:
        super().__init__("direct", callback)
        self.mask = mask
        # The variables of the descent are the cells times these.
        self.roots = np.sqrt(sample_weight)[np.nonzero(mask)[0]]
        steepest = float(np.linalg.norm(self.projected_gradient(start)))
        # Against the anchor's curvature alone, such a slope could lower J by slope^2 / (4 eta).
        # Where that is within J's rounding, the slope is rounding too.
        is_slope = steepest**2 > 4.0 * eta * EPSILON * abs(start.objective)
        self.steepest = steepest if is_slope else 0.0
        self.gradients: deque[FloatArray] = deque(maxlen=GRADIENTS_KEPT)

    def projected_gradient(self, point: _Point) -> FloatArray:
        """Return the gradient in the variables without what pushes against the box."""
        gradient, values = point.gradient[self.mask] / self.roots, point.X[self.mask]
        blocked = ((values <= 0.0) & (gradient > 0.0)) | ((values >= 1.0) & (gradient < 0.0))
        return np.where(blocked, 0.0, gradient)

    @property
    def n_steps(self) -> int:
        """Number of descent steps recorded; the start is not one."""
        return len(self.records) - 1

    @property
    def gap(self) -> float:
        """Slope at the last record, relative to that at the start."""
        return self.records[-1].gap

    def is_flat(self, tol: float) -> bool:
        """Return whether the last steps brought next to nothing of the fall so far."""
        if self.n_steps < 2 * FLAT_STEPS:
            return False
        first, before, now = (self.records[place].objective for place in (0, -1 - FLAT_STEPS, -1))
        return before - now <= FLAT_SHARE * tol**2 * (first - now)

    def write(self, point: _Point, step: float, n_evaluations: int) -> bool:
        """Append a record and return whether the callback asks to stop."""
        self.gradients.append(self.projected_gradient(point))
        slope = _smallest_combination(np.stack(list(self.gradients)))
        return self.add(
            len(self.records),
            objective=point.objective,
            gap=slope / self.steepest if self.steepest > 0.0 else 0.0,
            step_norms={"features": step},
            inner_iterations=n_evaluations,
        )


def _smallest_combination(gradients: FloatArray) -> float:
    """Return the smallest norm of a convex combination of gradients, (m, n_cells)."""
    # J bends wherever a support vector comes or goes, and there no single gradient is small.
    triangle: FloatArray = np.asarray(np.linalg.qr(gradients.T, mode="r"))
    scale = float(np.abs(triangle).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    # One heavy equation makes the weights sum to 1.
    heavy = np.full((1, gradients.shape[0]), 1e3)
    system = np.vstack([triangle / scale, heavy])
    weights, _ = nnls(system, np.append(np.zeros(len(triangle)), 1e3))
    return float(np.linalg.norm(weights @ gradients) / weights.sum())


def _descend(
    objective: _Objective, start: _Point, tol: float, budget: int, log: _Log
) -> tuple[_Point, Status]:
    """Descend in the numeric cells from a point, by at most `budget` steps."""
    if budget <= 0:
        return start, Status.MAX_ITER
    # L-BFGS-B first steps by the gradient itself. Where that is short, this makes its length 1, as
    # the box's, so that the unit of J does not matter.
    unit = min(1.0, float(np.linalg.norm(log.projected_gradient(start)))) or 1.0
    latest = accepted = start
    first = evaluated = start.X[log.mask] * log.roots
    n_evaluations, ended = 0, None

    def evaluate(variables: FloatArray) -> tuple[float, FloatArray]:
        nonlocal latest, evaluated, n_evaluations
        if not np.array_equal(variables, evaluated):
            X = start.X.copy()
            X[log.mask] = variables / log.roots
            latest, evaluated = objective(X), variables.copy()
            n_evaluations += 1
        return latest.objective / unit, latest.gradient[log.mask] / log.roots / unit

    def accept(intermediate_result: OptimizeResult) -> None:
        nonlocal accepted, n_evaluations, ended
        step = float(np.linalg.norm(latest.X - accepted.X))
        accepted = latest
        if log.write(accepted, step, n_evaluations):
            ended = Status.INTERRUPTED
        if log.gap <= tol or log.is_flat(tol):
            ended = Status.CONVERGED
        n_evaluations = 0
        if ended:
            raise StopIteration

    found = minimize(
        evaluate,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(np.zeros_like(log.roots), log.roots),
        callback=accept,
        options={"maxiter": budget, "ftol": 0.0, "gtol": 0.0},
    )
    return accepted, ended or (Status.MAX_ITER if found.nit >= budget else Status.STALLED)


def _recode(objective: _Objective, point: _Point, is_open: BoolArray) -> _Point | None:
    """Return a lower point that differs in open categorical cells, or None if none was found."""
    gains, columns, codes = _best_changes(objective, point, is_open)
    rows = np.argsort(-gains, kind="stable")
    rows = rows[gains[rows] > 1e-12]
    if gains[rows].sum() <= LEAST_GAIN * abs(point.objective):
        return None
    while rows.size:
        X = point.X.copy()
        X[rows, columns[rows]] = codes[rows]
        tried = objective(X)
        if tried.objective < point.objective - 1e-9 * max(1.0, abs(point.objective)):
            return tried
        # Together they overshot, because the coefficients answer: try the best quarter.
        rows = rows[: rows.size // 4]
    return None


def _best_changes(
    objective: _Objective, point: _Point, is_open: BoolArray
) -> tuple[FloatArray, Rows, FloatArray]:
    """Return each row's gain by its best change of a code, or 0, its column and its new code."""
    rows, kernel, active = objective.rows, objective.rows.kernel, point.active
    gains, places = np.zeros(point.X.shape[0]), np.zeros(point.X.shape[0], dtype=np.intp)
    codes = np.zeros(point.X.shape[0])
    # Only cells of rows that the machine pulls on can gain.
    pulled = np.zeros_like(is_open)
    pulled[active] = is_open[active]
    movable = np.flatnonzero(pulled.any(axis=1))
    for block in row_blocks(movable.size, active.size):
        part = movable[block]
        sums = kernel.sums(point.X[part], point.X[active])
        pull = np.where(part[:, None] == active, 0.0, point.pull(part, active))
        for column in np.flatnonzero(pulled[part].any(axis=0)):
            # A row of weight 0 offers no code, but a reference may have put its code here.
            known = rows.observed[:, column] & (rows.sample_weight > 0.0)
            current = point.X[pulled[:, column], column]
            offered = np.union1d(rows.X[known, column], current)
            own, others = point.X[part, column], point.X[active, column]
            without = sums - (own[:, None] != others)
            price = objective.eta * rows.sample_weight[part]
            # A row's kernel values stand in its row and in its column of K: -2 / 2 = -1.
            costs = np.stack(
                [
                    price * (code != objective.X_reference[part, column])
                    - (pull * kernel.link(without + (code != others))).sum(axis=1)
                    for code in offered
                ],
                axis=1,
            )
            gain = costs[np.arange(part.size), np.searchsorted(offered, own)] - costs.min(axis=1)
            better = pulled[part, column] & (gain > gains[part])
            gains[part[better]] = gain[better]
            places[part[better]] = column
            codes[part[better]] = offered[costs.argmin(axis=1)[better]]
    return gains, places, codes
