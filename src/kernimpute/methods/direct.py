"""The one-stage variant: features moved by the gradient of the dual.

    min over missing cells of  J(X) = max over b of D(b; K(X)) + eta sum of w_i ||x_i - x_ref,i||^2,

w_i the weight of row i (1 where there are none), which is in the bounds of b_i too, and K(X) the
ordinary kernel matrix of the completed rows. By the envelope theorem the gradient of the maximum
needs only the maximiser b and the rows with b != 0, so no eigendecomposition, and there is no
Stage II: the features are the variable. Not convex in X; it starts at the reference
imputation and never rises. A categorical cell that differs from its reference costs eta w_i.

A row of weight w is as good as w copies of it that move together. L-BFGS sees the cells of a row
times the root of its weight: in these its steps are those that it would take with the copies, and
however far the weights lie apart, the anchor bends alike everywhere. A row of weight 0 has no say,
and stays at its reference.

Copies of an incomplete row lie on each other, where K is singular and J bends in every direction
that takes them apart. Of the many best b there, the one that shares alike among them is taken: its
gradient moves them together, just as one row of their weight.

Of many rows no kernel matrix is held: values and gradients come from the support vectors' rows,
chunk by chunk, the machine from libsvm's own kernel. Two kinds of kernel still need one: laplacian
and chi2, which libsvm does not have, and those that are not positive semidefinite, whose matrix is
projected on the cone. Those of the second kind take a dozen of its size.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import nnls

from kernimpute.core.box_descent import Place, descend_in_box
from kernimpute.core.checks import EPSILON
from kernimpute.core.dual import coupling
from kernimpute.core.gram import DenseGram, Gram, KernelGram, make_buffer
from kernimpute.core.rows import LabelledRows
from kernimpute.core.status import Callback, Record, Status, StopRule, Trace

__all__ = ["DirectImputation", "impute_directly"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Rows = NDArray[np.intp]

GRADIENTS_KEPT = 10
"""Latest gradients whose smallest convex combination measures the slope."""
SOLVER_TOL = 1e-8
"""Tolerance of an exact machine, as `Dual.solve` means it."""
LEAST_GAIN = 1e-3
"""Gain promised by all changes of codes, relative to J, that is worth a try."""
STEPS_LOOKED_BACK = 5
FLAT_SHARE = 0.1
"""J is flat once the steps looked back on brought less than this, times tol^2, of the fall so far:
what is left to fall goes with the square of the slope. Where J can hardly fall its slope hardly
does, and the steps are not worth their machines."""
STEPS_BETWEEN_CODES = 10
"""Descent steps after which categorical cells get their turn."""


@dataclass(frozen=True)
class DirectImputation:
    """What the one-stage variant found.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The completed rows.
    dual_coef : ndarray of shape (n_samples, n_problems)
        The exact support vector machine on them, signed coefficients.
    intercept : ndarray of shape (n_problems,)
        Its intercepts.
    status : Status
        How the descent ended.
    objective : float
        J at the end.
    gap : float
        Slope at the end, relative to that at the start.
    trace : Trace
        One record a descent step.
    """

    X: FloatArray
    dual_coef: FloatArray
    intercept: FloatArray
    status: Status
    objective: float
    gap: float
    trace: Trace


@dataclass(frozen=True)
class _Pull:
    """Minus twice the derivative of the maximum in K, in blocks.

    Parameters
    ----------
    dual_coef : ndarray of shape (n_samples, n_problems)
        Coefficients, whose coupling it is.
    projected : ndarray of shape (n_samples, n_samples) or None
        What it is instead where the machine's matrix is the projection of K on the cone.
    """

    dual_coef: FloatArray
    projected: FloatArray | None = None

    @cached_property
    def active(self) -> Rows:
        """The rows that it is not 0 in."""
        pulls = self.dual_coef if self.projected is None else self.projected
        return np.flatnonzero(pulls.any(axis=1))

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return some rows and columns, of shape (n_rows, n_columns)."""
        if self.projected is not None:
            return self.projected[np.ix_(rows, columns)]
        return np.asarray(self.dual_coef[rows] @ self.dual_coef[columns].T)


@dataclass(frozen=True)
class _Point:
    """J and what its evaluation leaves behind.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The completed rows.
    gram : KernelGram
        Their kernel matrix.
    K : Gram
        The matrix of the machine: the same, or its projection on the cone.
    dual_coef : ndarray of shape (n_samples, n_problems)
        The machine.
    pull : _Pull
        What it pulls with on each pair of rows.
    objective : float
        J.
    gradient : ndarray of shape (n_samples, n_features)
        Its gradient in the numeric cells.
    """

    X: FloatArray
    gram: KernelGram
    K: Gram
    dual_coef: FloatArray
    pull: _Pull
    objective: float
    gradient: FloatArray


@dataclass(frozen=True)
class _Objective:
    """J as a function of the completed rows.

    Parameters
    ----------
    rows : LabelledRows
        The incomplete rows.
    X_reference : ndarray of shape (n_samples, n_features)
        The anchor.
    eta : float
        Its weight.
    numeric : ndarray of bool of shape (n_features,)
        The columns that hold no codes.
    tol : float
        Tolerance of the machine.
    twins : ndarray of int of shape (n_samples,) or None
        Alike for rows that began as the same; None where there are none.
    buffer : ndarray of shape (n_samples, n_samples) or None
        What holds the kernel matrix of one point after the other; None holds none.
    """

    rows: LabelledRows
    X_reference: FloatArray
    eta: float
    numeric: BoolArray
    tol: float
    twins: IntArray | None = None
    buffer: FloatArray | None = None

    def __call__(self, X: FloatArray) -> _Point:
        gram = KernelGram(self.rows.kernel, X)
        at_work = gram.held_in(self.buffer)
        K, differential = self._on_the_cone(at_work)
        dual_coef = self._shared(X, self.rows.dual.solve(K, self.tol))
        pull = _Pull(dual_coef, None if differential is None else differential(dual_coef))
        objective = self.rows.dual.value(K, dual_coef) + self.eta * self._distance(X)
        gradient = self._gradient(at_work, pull)
        return _Point(X, gram, gram if K is at_work else K, dual_coef, pull, objective, gradient)

    def _on_the_cone(
        self, gram: KernelGram
    ) -> tuple[Gram, Callable[[FloatArray], FloatArray] | None]:
        """Return the machine's matrix, and its pull from coefficients where K is indefinite."""
        if gram.kernel.is_positive_semidefinite:
            return gram, None
        K = gram.matrix()
        # Rows of weight 0 have no part in the machine, so none in what is done for it.
        rows = np.flatnonzero(self.rows.sample_weight > 0.0)
        block = np.ix_(rows, rows)
        K[block], differential = _project_psd_with_differential(K[block])

        def pull(dual_coef: FloatArray) -> FloatArray:
            projected = np.zeros(K.shape)
            projected[block] = differential(coupling(dual_coef[rows]))
            return projected

        return DenseGram(K), pull

    def _shared(self, X: FloatArray, dual_coef: FloatArray) -> FloatArray:
        """Return coefficients shared among twins in proportion to their weights."""
        if self.twins is None:
            return dual_coef
        # Twins whose codes went apart are none any more.
        twins = _same_rows(np.column_stack([self.twins, X[:, ~self.numeric]]))
        weights = self.rows.sample_weight
        totals = np.bincount(twins, weights)[twins]
        shares = np.divide(weights, totals, out=np.zeros_like(totals), where=totals > 0.0)
        columns = [np.bincount(twins, column)[twins] * shares for column in dual_coef.T]
        # The coefficient of a row without twins stays as it is, to the last bit.
        alone = np.bincount(twins)[twins] == 1
        return np.where(alone[:, None], dual_coef, np.stack(columns, axis=1))

    def _distance(self, X: FloatArray) -> float:
        offset = X - self.X_reference
        offset[:, ~self.numeric] = offset[:, ~self.numeric] != 0.0
        return float(np.vdot(offset, self.rows.sample_weight[:, None] * offset))

    def _gradient(self, gram: KernelGram, pull: _Pull) -> FloatArray:
        """Return the gradient in the numeric cells, 0 in the others, shape (n, n_features)."""
        kernel, X = gram.kernel, gram.X
        gradient = (2.0 * self.eta * self.rows.sample_weight[:, None]) * (X - self.X_reference)
        gradient[:, ~self.numeric] = 0.0
        # Rows that pull on nothing have no gradient but the anchor's.
        active = pull.active
        for part, slopes in gram.slopes(active, active):
            slopes *= pull.block(active[part], active)
            gradient[active[part]] -= kernel.sums_gradient(X[active[part]], X[active], slopes)
        return gradient


def _same_rows(rows: FloatArray) -> IntArray:
    """Return a number for each row, the same for rows that are the same, of shape (n_rows,)."""
    numbers = np.unique(rows, axis=0, return_inverse=True)[1]
    return np.asarray(numbers, dtype=np.int64).ravel()


def _twins(rows: LabelledRows, X_reference: FloatArray) -> IntArray | None:
    """Return a number for each row, the same for twins, of shape (n_samples,); None without any.

    Twins are incomplete rows that agree in labels, gaps, observed cells and reference.
    """
    incomplete = np.flatnonzero(~rows.observed.all(axis=1))
    known = rows.observed[incomplete]
    # Adding 0 leaves one zero of the two, so that rows are the same if their bytes are.
    keys = np.hstack([known, X_reference[incomplete], rows.dual.targets[incomplete]], dtype=float)
    keys += 0.0
    if len({key.tobytes() for key in keys}) == incomplete.size:
        return None
    numbers = _same_rows(keys)
    twins = np.arange(rows.X.shape[0]) + incomplete.size
    twins[incomplete] = numbers
    return twins


def _project_psd_with_differential(
    K: FloatArray,
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Project on the cone and return the (self-adjoint) derivative of the projection there."""
    values, vectors = np.linalg.eigh(K)
    kept = np.maximum(values, 0.0)
    rise = kept[:, None] - kept[None, :]
    run = values[:, None] - values[None, :]
    slopes = np.divide(rise, run, out=np.zeros_like(rise), where=np.abs(run) > 1e-14)
    same = np.abs(run) <= 1e-14
    slopes[same] = np.broadcast_to(values[:, None] > 0.0, slopes.shape)[same]

    def differential(M: FloatArray) -> FloatArray:
        return np.asarray(vectors @ (slopes * (vectors.T @ M @ vectors)) @ vectors.T)

    return np.asarray((vectors * kept) @ vectors.T), differential


def impute_directly(
    rows: LabelledRows,
    X_reference: FloatArray,
    *,
    eta: float,
    stop: StopRule,
    callback: Callback | None = None,
) -> DirectImputation:
    """Move the missing cells down the gradient of the dual.

    1. Numeric cells: L-BFGS in the box [0, 1].
    2. Categorical cells: for every row the change of one code that lowers J most at the present
       coefficients; as many of them at once as lower J itself.
    3. Again, until step 2 changes nothing.

    Parameters
    ----------
    rows : LabelledRows
        The incomplete rows.
    X_reference : ndarray of shape (n_samples, n_features)
        Completed rows to start from and to be held at.
    eta : float
        Weight of the anchor of a row of weight 1, in (0, inf]; inf returns the reference.
    stop : StopRule
        Descent ends when the slope is at most tol times that at the start: the smallest norm of a
        convex combination of the latest projected gradients. It also ends where the last steps
        brought next to nothing of the fall so far. max_iter counts descent steps.
    callback : callable or None, default=None
        Called with the `Record` of each step; a true answer stops.

    Returns
    -------
    DirectImputation
        The completed rows and the support vector machine on them.
    """
    numeric = rows.kernel.numeric(rows.X.shape[1])
    weights = rows.sample_weight
    settled = Status.CONVERGED if rows.kernel.is_positive_semidefinite else Status.NOT_PSD
    heaviest = 2.0 * eta * float(weights.max()) * rows.X.size
    buffer = make_buffer(rows.kernel, rows.X.shape[0])
    if math.isinf(heaviest) or rows.observed.all():
        # Held with infinite weight, or without any gap, the reference is the solution.
        objective = _Objective(rows, X_reference, 0.0, numeric, SOLVER_TOL, buffer=buffer)
        status = Status.NOTHING_MISSING if rows.observed.all() else settled
        return _result(objective, objective(X_reference), status, 0.0, Trace())
    # A loose stop rule needs no exact machine on the way; the one returned is exact.
    solver_tol = max(SOLVER_TOL, min(1e-3, 1e-2 * stop.tol))
    twins = _twins(rows, X_reference)
    objective = _Objective(rows, X_reference, eta, numeric, solver_tol, twins, buffer)
    open_cells = ~rows.observed & (weights > 0.0)[:, None]
    free = _FreeCells(open_cells & numeric, weights)
    codes_are_open = bool((open_cells & ~numeric).any())
    point = objective(X_reference)
    log = _Log(callback, free, point, eta)
    status = Status.INTERRUPTED if log.write(point, 0.0, evaluations=1) else Status.CONVERGED
    while status is not Status.INTERRUPTED:
        # 1) numeric cells
        status = Status.CONVERGED
        if log.gap > stop.tol:
            left = stop.max_iter - log.steps
            budget = min(left, STEPS_BETWEEN_CODES) if codes_are_open else left
            point, status = _descend(objective, point, free, stop.tol, budget, log)
        if status is Status.INTERRUPTED:
            break
        # 2) categorical cells
        recoded = _recode(objective, point) if codes_are_open else None
        out_of_steps = log.steps >= stop.max_iter
        if recoded is None and (out_of_steps or status is not Status.MAX_ITER):
            break
        # 3) until nothing changes
        if recoded is not None:
            if out_of_steps:
                status = Status.MAX_ITER
                break
            point = recoded
            log.forget()
            if log.write(point, 0.0, evaluations=1):
                status = Status.INTERRUPTED
    if status is Status.CONVERGED:
        status = settled
    return _result(objective, point, status, log.gap, Trace(tuple(log.records)))


@dataclass(frozen=True)
class _FreeCells:
    """The numeric cells that may move, and the variables that L-BFGS sees of them.

    Parameters
    ----------
    mask : ndarray of bool of shape (n_samples, n_features)
        True where a cell may move; only in rows of positive weight.
    sample_weight : ndarray of shape (n_samples,)
        Weight of each row.
    """

    mask: BoolArray
    sample_weight: FloatArray

    @cached_property
    def roots(self) -> FloatArray:
        """Root of the weight of each free cell's row, of shape (n_cells,)."""
        return np.sqrt(self.sample_weight)[np.nonzero(self.mask)[0]]

    def variables(self, X: FloatArray) -> FloatArray:
        """Return the variables of a table, of shape (n_cells,)."""
        return X[self.mask] * self.roots

    def placed(self, variables: FloatArray, X: FloatArray) -> FloatArray:
        """Return a copy of a table with the cells that variables stand for."""
        moved = X.copy()
        moved[self.mask] = variables / self.roots
        return moved

    def gradient(self, point: _Point) -> FloatArray:
        """Return the gradient in the variables, of shape (n_cells,)."""
        return point.gradient[self.mask] / self.roots

    def projected_gradient(self, point: _Point) -> FloatArray:
        """Return the gradient in the variables, without what pushes against the box."""
        gradient, cells = self.gradient(point), point.X[self.mask]
        blocked = ((cells <= 0.0) & (gradient > 0.0)) | ((cells >= 1.0) & (gradient < 0.0))
        return np.where(blocked, 0.0, gradient)


class _Log:
    """The records and the latest gradients; the one thing that changes during a descent."""

    def __init__(
        self, callback: Callback | None, free: _FreeCells, start: _Point, eta: float
    ) -> None:
        self.callback = callback
        self.free = free
        steepest = float(np.linalg.norm(free.projected_gradient(start)))
        # Against the anchor's curvature alone such a slope could lower J by slope^2 / (4 eta):
        # where that drowns in J's own rounding there is no slope to measure others by.
        is_slope = steepest**2 > 4.0 * eta * EPSILON * abs(start.objective)
        self.steepest = steepest if is_slope else 0.0
        self.gradients: deque[FloatArray] = deque(maxlen=GRADIENTS_KEPT)
        self.records: list[Record] = []
        self.began = time.perf_counter()

    @property
    def steps(self) -> int:
        """Descent steps recorded; the start is not one."""
        return len(self.records) - 1

    @property
    def gap(self) -> float:
        """Slope at the last record, relative to that at the start."""
        return self.records[-1].gap

    def is_flat(self, tol: float) -> bool:
        """Whether the last steps brought next to nothing of the fall so far."""
        if self.steps < 2 * STEPS_LOOKED_BACK:
            return False
        first, before, now = (
            self.records[place].objective for place in (0, -1 - STEPS_LOOKED_BACK, -1)
        )
        return before - now <= FLAT_SHARE * tol**2 * (first - now)

    def forget(self) -> None:
        """Drop the gradients: they belong to other codes."""
        self.gradients.clear()

    def write(self, point: _Point, step: float, evaluations: int) -> bool:
        """Append a record and return whether the callback asks to stop."""
        self.gradients.append(self.free.projected_gradient(point))
        slope = _smallest_combination(np.stack(list(self.gradients)))
        record = Record(
            iteration=len(self.records),
            objective=point.objective,
            gap=slope / self.steepest if self.steepest > 0.0 else 0.0,
            step_norms={"features": step},
            inner_iterations=evaluations,
            seconds=time.perf_counter() - self.began,
            stage="direct",
        )
        self.records.append(record)
        return self.callback is not None and bool(self.callback(record))


def _result(
    objective: _Objective, point: _Point, status: Status, gap: float, trace: Trace
) -> DirectImputation:
    dual = objective.rows.dual
    K = point.K.held_in(objective.buffer) if isinstance(point.K, KernelGram) else point.K
    # The machine on the way was less exact, but it is that of the same rows.
    dual_coef = dual.solve(K, SOLVER_TOL, point.dual_coef)
    return DirectImputation(
        X=point.X,
        dual_coef=dual_coef,
        intercept=dual.intercept(K, dual_coef),
        status=status,
        objective=point.objective,
        gap=gap,
        trace=trace,
    )


def _smallest_combination(gradients: FloatArray) -> float:
    """Return the smallest norm of a convex combination of gradients, of shape (m, n_cells).

    J is a maximum over b, and bends wherever a support vector comes or goes. At such a bend no
    single gradient is small; that of J at the minimiser is a convex combination of those around
    it (Goldstein's subdifferential).
    """
    triangle = np.asarray(qr(gradients.T, mode="r")[0])[: gradients.shape[0]]
    scale = float(np.abs(triangle).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    # Weights that sum to 1, by a row that outweighs the others.
    heavy = np.full((1, gradients.shape[0]), 1e3)
    system = np.vstack([triangle / scale, heavy])
    weights, _ = nnls(system, np.append(np.zeros(triangle.shape[0]), 1e3))
    return float(np.linalg.norm(weights @ gradients) / weights.sum())


def _descend(
    objective: _Objective, start: _Point, free: _FreeCells, tol: float, budget: int, log: _Log
) -> tuple[_Point, Status]:
    """Descend in the numeric cells by L-BFGS in the box, from a point, by so many steps."""
    if budget <= 0:
        return start, Status.MAX_ITER
    accepted = start
    evaluations = 0
    interrupted = settled = False

    def place(point: _Point) -> Place[_Point]:
        return Place(free.variables(point.X), point.objective, free.gradient(point), point)

    def evaluate(variables: FloatArray) -> Place[_Point]:
        nonlocal evaluations
        evaluations += 1
        return place(objective(free.placed(variables, start.X)))

    def accept(there: Place[_Point]) -> bool:
        nonlocal accepted, evaluations, interrupted, settled
        step = float(np.linalg.norm(there.found.X - accepted.X))
        accepted = there.found
        interrupted = log.write(accepted, step, evaluations)
        evaluations = 0
        settled = log.gap <= tol or log.is_flat(tol)
        return interrupted or settled

    status = descend_in_box(
        evaluate,
        place(start),
        lower=np.zeros_like(free.roots),
        upper=free.roots,
        max_steps=budget,
        accept=accept,
    )
    return accepted, Status.INTERRUPTED if interrupted and not settled else status


def _recode(objective: _Objective, point: _Point) -> _Point | None:
    """Return a lower point that differs in categorical cells, or None where there is none."""
    changes = _profitable_changes(objective, point)
    if sum(change[0] for change in changes) <= LEAST_GAIN * abs(point.objective):
        return None
    while changes:
        X = point.X.copy()
        for _, row, column, code in changes:
            X[row, column] = code
        tried = objective(X)
        if tried.objective < point.objective - 1e-9 * max(1.0, abs(point.objective)):
            return tried
        # Together they overshot, for the coefficients answer: try the best quarter.
        changes = changes[: len(changes) // 4]
    return None


def _profitable_changes(
    objective: _Objective, point: _Point
) -> list[tuple[float, int, int, float]]:
    """Return the best change of one code in each row, at the present coefficients, best first.

    Returns
    -------
    list of (gain, row, column, code)
        With positive gains, largest first.
    """
    rows, kernel = objective.rows, objective.rows.kernel
    weights, active = rows.sample_weight, point.pull.active
    open_codes = ~rows.observed & (weights > 0.0)[:, None]
    open_codes[np.setdiff1d(np.arange(weights.size), active)] = False
    open_codes[:, objective.numeric] = False
    movable = np.flatnonzero(open_codes.any(axis=1))
    codes = {
        column: _codes_on_offer(rows, point.X, column, np.flatnonzero(open_codes[:, column]))
        for column in kernel.categorical
        if open_codes[:, column].any()
    }
    best: dict[int, tuple[float, int, int, float]] = {}
    for part, sums in point.gram.chunks(movable, active):
        here = movable[part]
        pull = point.pull.block(here, active)
        pull = np.where(here[:, None] == active[None, :], 0.0, pull)
        for column, offered in codes.items():
            is_open = open_codes[here, column]
            for change in _best_codes(
                objective, point, here[is_open], column, offered, sums[is_open], pull[is_open]
            ):
                row = change[1]
                if row not in best or best[row] < change:
                    best[row] = change
    return sorted(best.values(), reverse=True)


def _codes_on_offer(rows: LabelledRows, X: FloatArray, column: int, open_rows: Rows) -> FloatArray:
    """Return the codes that cells of a column may take, those that they have included."""
    # A row of weight 0 offers no code; a reference may have taken its.
    known = rows.observed[:, column] & (rows.sample_weight > 0.0)
    return np.union1d(rows.X[known, column], X[open_rows, column])


def _best_codes(
    objective: _Objective,
    point: _Point,
    open_rows: Rows,
    column: int,
    codes: FloatArray,
    sums: FloatArray,
    pull: FloatArray,
) -> list[tuple[float, int, int, float]]:
    """Return the best change of a column's code in some rows, where there is a profitable one.

    Parameters
    ----------
    objective, point
        J and where it is.
    open_rows : ndarray of int of shape (n_open,)
        The rows, whose code may change.
    column : int
        The column.
    codes : ndarray of shape (n_codes,)
        The codes on offer, in ascending order.
    sums, pull : ndarray of shape (n_open, n_active)
        Sums of feature terms and pull between them and the rows that pull; of a row on itself, no
        pull.

    Returns
    -------
    list of (gain, row, column, code)
        With positive gains.
    """
    own, others = point.X[open_rows, column], point.X[point.pull.active, column]
    without = sums - (own[:, None] != others[None, :])
    reference = objective.X_reference[open_rows, column]
    weights = objective.rows.sample_weight[open_rows]
    # A row's kernel values stand in its row and in its column: -2 / 2 = -1.
    costs = np.stack(
        [
            objective.eta * weights * (code != reference)
            - np.sum(pull * point.gram.kernel.link(without + (code != others)[None, :]), axis=1)
            for code in codes
        ],
        axis=1,
    )
    current = costs[np.arange(open_rows.size), np.searchsorted(codes, own)]
    choice = costs.argmin(axis=1)
    gains = current - costs.min(axis=1)
    return [
        (float(gains[index]), int(open_rows[index]), column, float(codes[choice[index]]))
        for index in np.flatnonzero(gains > 1e-12)
    ]
