"""The dual of a support vector machine as data: classification, regression, one-vs-rest.

In signed coefficients (scikit-learn's ``dual_coef_``) all three are, for each column of `targets`,

    maximise  y'b - epsilon ||b||_1 - b'Kb / 2   subject to  1'b = 0,  lower <= b <= upper,

with y = +-1, epsilon = 0 and ``y_i b_i in [0, C]`` for classification (eq. (2) of the paper), and
y the target, ``|b_i| <= C`` for regression (the paper's appendix E). A row of weight w counts as w
copies of it: its bounds are w times as wide. One-vs-rest is one such problem for each class, on the
same kernel matrix, so labels reach it only through the `coupling` ``sum over k of b_k b_k'``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import type_of_target

from kernimpute.core import checks
from kernimpute.core.arrays import FloatArray
from kernimpute.core.projections import project_box_hyperplane
from kernimpute.core.svm import ActiveSetSolution, largest_entry, libsvm_start, solve_dual

TASKS = ("classification", "regression")
"""What the labels are."""

MAX_TARGET = 1e75
"""Largest magnitude of a target: its products with coefficients do not overflow."""
MAX_COEFFICIENT, MAX_COEFFICIENT_WITHOUT_KERNEL = 1e15, 1e100
"""Largest coefficient, in units of half the range of the targets over the largest entry of K:
beyond it, rounding in ``K b`` exceeds the targets. The second, where K is next to nothing."""
COMMON = 1e30
"""Entries of K and bounds up to this, and down to its inverse, fit libsvm's single precision."""
MAX_ERROR = 1e-3
"""Largest margin, relative to half the range of the targets, or duality gap, relative to the primal
value, of a machine that is returned."""
WARM_ROUNDS, COLD_ROUNDS, ROUNDS_PER_ROW = 50, 1000, 5
"""Rounds of the active set from a given start, and from others; or so many for each row, if that is
more, because K of low rank takes about one for every second row."""


class UnsolvedMachineError(ValueError):
    """A support vector machine cannot be solved: C is too large for its kernel matrix."""


def coupling(dual_coef: FloatArray) -> FloatArray:
    """Return ``sum over k of b_k b_k'``: all that a kernel step ever sees of the labels."""
    return np.asarray(dual_coef @ dual_coef.T)


@dataclass(frozen=True)
class Dual:
    """The dual problems that share one kernel matrix; coefficients have the shape of `targets`."""

    targets: FloatArray  # (n_samples, n_problems)
    lower: FloatArray
    upper: FloatArray
    epsilon: float  # half width of the tube; 0 for classification
    C: float  # largest magnitude of the coefficient of a row of weight 1
    task: str
    # The labels of the rows of positive weight in ascending order; None for regression. Two
    # classes make one problem, in which the second is positive; more make one problem each.
    classes: NDArray[np.generic] | None

    def shaped(
        self, dual_coef: FloatArray, intercept: FloatArray
    ) -> tuple[FloatArray, float | FloatArray]:
        """Return coefficients and intercepts without the axis of problems if there is only one."""
        is_one = self.targets.shape[1] == 1
        return (dual_coef[:, 0], float(intercept[0])) if is_one else (dual_coef, intercept)

    def value(self, K: FloatArray, dual_coef: FloatArray) -> float:
        """Return ``sum over k of y_k'b_k - epsilon ||b_k||_1 - b_k'K b_k / 2``."""
        return self.linear_value(dual_coef) - 0.5 * float(np.vdot(dual_coef, K @ dual_coef))

    def linear_value(self, dual_coef: FloatArray) -> float:
        """Return the part of the value that no kernel enters."""
        size = float(np.abs(dual_coef).sum())
        return float(np.vdot(self.targets, dual_coef)) - self.epsilon * size

    def gradient(self, K: FloatArray, dual_coef: FloatArray) -> FloatArray:
        """Return ``y - K b``, the gradient of the smooth part of the objectives."""
        return self.targets - K @ dual_coef

    def proximal_point(self, dual_coef: FloatArray, step: float) -> FloatArray:
        """Return the nearest feasible coefficients, shrunk by ``step * epsilon``."""
        columns = zip(dual_coef.T, self.lower.T, self.upper.T, strict=True)
        threshold = step * self.epsilon
        return np.stack([project_box_hyperplane(*each, threshold) for each in columns], axis=1)

    def solve(
        self, K: FloatArray, tol: float = 1e-8, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the coefficients that solve every problem, or raise `UnsolvedMachineError`.

        The violation of optimality is at most `tol` times half the range of the targets.
        """
        if not math.isfinite(largest_entry(K)):
            got = "NaN or infinite entries"
            raise ValueError(checks.refusal_in_words("Dual.solve", "K", "finite", got))
        starts = [None] * self.targets.shape[1] if start is None else start.T
        columns = [self._solve_column(K, k, tol, each) for k, each in enumerate(starts)]
        return np.stack(columns, axis=1)

    def _solve_column(
        self, K: FloatArray, k: int, tol: float, start: FloatArray | None
    ) -> FloatArray:
        """Solve one problem, on the rows that have room and in units that nothing overflows."""
        column = np.zeros(self.targets.shape[0])
        rows = np.flatnonzero(self.lower[:, k] < self.upper[:, k])
        y, lower, upper = (M[rows, k] for M in (self.targets, self.lower, self.upper))
        half_range = 0.5 * float(np.ptp(y)) if rows.size else 0.0
        one_sided = not (lower < 0.0).any() or not (upper > 0.0).any()
        if one_sided or half_range <= self.epsilon:
            # No coefficient can move, or all targets fit into one tube.
            return column
        if rows.size < column.size:
            K = K[rows[:, None], rows]
        largest = largest_entry(K)
        reach = MAX_COEFFICIENT_WITHOUT_KERNEL
        if largest > 0.0:
            reach = min(MAX_COEFFICIENT * half_range / largest, reach)
        lower, upper = np.maximum(lower, -reach), np.minimum(upper, reach)
        bound = max(float(upper.max()), -float(lower.min()))
        if start is not None:
            start = np.clip(start[rows], lower, upper)

        # Units are powers of 2, so that nothing is rounded.
        y_unit = b_unit = math.frexp(half_range)[1] - 1
        smallest = min(largest, math.ldexp(bound, -y_unit))
        if largest > COMMON or smallest < 1.0 / COMMON:
            b_unit = math.frexp(bound)[1]
            if largest > 0.0:
                b_unit = min(b_unit, y_unit - math.frexp(largest)[1])
            K = np.ldexp(K, b_unit - y_unit)
            # Far below the rounding of y, what is left of K decides nothing.
            K = K if largest_entry(K) >= 1.0 / COMMON else np.zeros_like(K)
        y, epsilon = np.ldexp(y, -y_unit), math.ldexp(self.epsilon, -y_unit)
        low, high = np.ldexp(lower, -b_unit), np.ldexp(upper, -b_unit)
        start = None if start is None else np.ldexp(start, -b_unit)
        b = _solve((K, y, low, high, epsilon), self.task, tol, start)
        column[rows] = np.clip(np.ldexp(b, b_unit), lower, upper)
        if largest > 0.0 and np.abs(column).max() >= MAX_COEFFICIENT * half_range / largest:
            raise UnsolvedMachineError(
                f"The support vector machine of {rows.size} rows could not be solved: at C = "
                f"{self.C:g} its coefficients are so large that rounding exceeds the targets. "
                "Lower C or the spread of the sample weights."
            )
        return column

    def intercept(self, K: FloatArray, dual_coef: FloatArray) -> FloatArray:
        """Return the intercepts, of shape (n_problems,)."""
        residual = self.gradient(K, dual_coef)
        columns = zip(residual.T, dual_coef.T, self.lower.T, self.upper.T, strict=True)
        return np.array([_intercept(*column, self.epsilon) for column in columns])

    def primal_value(self, K: FloatArray, dual_coef: FloatArray) -> float:
        """Return the primal objectives' sum at the functions ``K b`` and the best intercepts."""
        scores = K @ dual_coef
        columns = zip((self.targets - scores).T, self.upper.T, -self.lower.T, strict=True)
        losses = sum(_smallest_loss(*column, self.epsilon) for column in columns)
        return 0.5 * float(np.vdot(dual_coef, scores)) + losses


def _solve(
    problem: tuple[FloatArray, FloatArray, FloatArray, FloatArray, float],
    task: str,
    tol: float,
    start: FloatArray | None,
) -> FloatArray:
    """Return the coefficients of (K, y, lower, upper, epsilon) from the first start that does."""
    K, y, lower, upper, epsilon = problem
    half_range = 0.5 * float(np.ptp(y))

    def relative_gap(found: ActiveSetSolution) -> float:
        scores = K @ found.point
        loss = _smallest_loss(y - scores, upper, -lower, epsilon)
        primal = 0.5 * float(found.point @ scores) + loss
        return (primal - found.value) / (primal or 1.0)

    def starts() -> Iterator[tuple[FloatArray, int]]:
        if start is not None:
            yield start, WARM_ROUNDS
        max_rounds = max(COLD_ROUNDS, ROUNDS_PER_ROW * y.size)
        tube = epsilon if task == "regression" else None
        yield libsvm_start(K, y, np.maximum(upper, -lower), tube), max_rounds
        yield np.zeros(y.size), max_rounds  # It owes nothing to another solver.

    for begin, max_rounds in starts():
        found = solve_dual(*problem, begin, tol, max_rounds)
        violation = found.violation / half_range
        # Where C is huge, a tiny violation makes a large gap; where coefficients are huge, a tiny
        # gap leaves a large violation. Either one alone proves the machine.
        if found.converged and (violation <= MAX_ERROR or relative_gap(found) <= MAX_ERROR):
            return found.point
    raise UnsolvedMachineError(
        f"The support vector machine of {y.size} rows could not be solved: its optimality "
        f"conditions are violated by {violation:.1e} of half the range of the targets, and its "
        f"duality gap is {relative_gap(found):.1e} of its primal objective; one must be at most "
        f"{MAX_ERROR:g}. Lower C or the spread of the sample weights."
    )


def _intercept(
    residual: FloatArray, b: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> float:
    """Return an intercept from ``y - K b``: the free rows' mean, else the optimal ones' middle."""
    # Relative to each row's own bounds: a row of weight 0 can neither rise nor fall.
    margin = 1e-9 * np.maximum(upper, -lower)
    can_rise, can_fall = b < upper - margin, b > lower + margin
    free = can_rise & can_fall & (np.abs(b) > margin)
    if free.any():
        return float(np.mean(residual[free] - epsilon * np.sign(b[free])))
    # The intercept is at least what rising would gain, and at most what falling would lose.
    gains = residual - np.where(b >= -margin, epsilon, -epsilon)
    losses = residual - np.where(b > margin, epsilon, -epsilon)
    if not can_rise.any() and not can_fall.any():
        # No row has room, so all intercepts are equally good.
        return float(0.5 * (residual.max() + residual.min()))
    low = gains[can_rise].max() if can_rise.any() else losses[can_fall].min()
    high = losses[can_fall].min() if can_fall.any() else low
    return float(0.5 * (low + high))


def _smallest_loss(
    residual: FloatArray, above: FloatArray, below: FloatArray, epsilon: float
) -> float:
    """Return the minimum over b of the piecewise linear loss of ``residual - b``.

    The loss is ``above * max(r - b - epsilon, 0) + below * max(b - r - epsilon, 0)``, summed.
    """
    kinks = np.concatenate([residual - epsilon, residual + epsilon])
    order = np.argsort(kinks)
    slopes = np.cumsum(np.concatenate([above, below])[order]) - above.sum()
    # Rounding may keep the last slope, the sum of `below`, under 0 where that is next to nothing.
    turn = min(int(np.count_nonzero(slopes < 0.0)), slopes.size - 1)
    b = kinks[order[turn]]
    over = np.maximum(residual - b - epsilon, 0.0)
    under = np.maximum(b - residual - epsilon, 0.0)
    return float(above @ over + below @ under)


def make_dual(
    y: ArrayLike,
    n_samples: int,
    C: float = 1.0,
    task: str = "classification",
    epsilon: float = 0.1,
    sample_weight: ArrayLike | None = None,
    owner: str = "make_dual",
) -> Dual:
    """Return the dual of labels or targets, or refuse what `owner` was given."""
    penalty = checks.check_real(owner, "C", C, 0.0)
    checks.check_choice(owner, "task", task, TASKS)
    labels = checks.plain_labels(y, owner)
    if labels.shape != (n_samples,):
        must_be = f"of shape ({n_samples},), one label a row"
        got = f"an array of shape {labels.shape}"
        raise ValueError(checks.refusal_in_words(owner, "y", must_be, got))
    tube = checks.check_real(owner, "epsilon", epsilon, 0.0, low_included=True)
    weights = checks.check_sample_weight(owner, sample_weight, n_samples)
    with np.errstate(over="ignore"):
        largest = penalty * weights
    if not np.isfinite(largest).all():
        must_be = f"so small that C = {penalty:g} times a weight is finite"
        raise ValueError(checks.refusal(owner, "sample_weight", must_be, float(weights.max())))
    if task == "regression":
        try:
            targets = labels.astype(float)[:, None]
        except (TypeError, ValueError) as error:
            must_be = "numeric for a regression"
            raise TypeError(checks.refusal(owner, "y", must_be, labels.dtype)) from error
        farthest = float(np.abs(targets).max())
        if farthest > MAX_TARGET:
            must_be = f"at most {MAX_TARGET:g} in absolute value for a regression"
            raise ValueError(checks.refusal(owner, "y", must_be, farthest))
        # No two targets are farther apart, so a wider tube changes nothing.
        tube = min(tube, 2.0 * MAX_TARGET)
        upper = largest[:, None]
        return Dual(targets, -upper, upper, tube, penalty, "regression", None)
    # Whole numbers are labels. scikit-learn takes as long to find that out as a machine to solve.
    kind = labels.dtype.kind
    whole = kind in "biu" or (kind == "f" and bool(np.all(labels == np.floor(labels))))
    if not whole and type_of_target(labels) not in ("binary", "multiclass"):
        must_be = "made of class labels for task='classification'"
        raise ValueError(checks.refusal(owner, "y", must_be, f"{type_of_target(labels)} values"))
    counted = weights > 0.0
    classes = np.unique(labels[counted])
    if classes.size < 2:
        where = "" if counted.all() else " among the rows of positive weight"
        must_be = f"of at least 2 classes{where} for task='classification'"
        raise ValueError(
            checks.refusal(owner, "y", must_be, f"the single class {classes.tolist()[0]!r}")
        )
    positive = classes[1:] if classes.size == 2 else classes
    targets = np.where(labels[:, None] == positive, 1.0, -1.0)
    upper = np.where(targets > 0.0, largest[:, None], 0.0)
    return Dual(targets, upper - largest[:, None], upper, 0.0, penalty, "classification", classes)
