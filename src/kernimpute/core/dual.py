"""The dual of a support vector machine as data: classification, regression, one-vs-rest.

In signed coefficients (scikit-learn's ``dual_coef_``) all three are, for each column of
`targets`,

    maximise  y'b - epsilon ||b||_1 - b'Kb / 2   subject to  1'b = 0,  lower <= b <= upper,

with y = +-1, epsilon = 0 and ``y_i b_i in [0, C]`` for classification (eq. (2) of the paper), and
y the target, ``|b_i| <= C`` for regression (the paper's appendix E). One-vs-rest is the sum of
one such problem a class, all on the same kernel matrix, so that labels reach the kernel only
through the `coupling` ``sum over k of b_k b_k'``.

A row of weight w counts as w copies of it: its bounds are w times as wide, for the copies share
their kernel values, so that only the sum of their coefficients matters. A row of weight 0 has the
bounds 0 and 0 and takes part in nothing.

Values, gradients and proximal points are computed in the namespace of the arrays they are given
(`kernimpute.core.arrays`), if the dual's own are of the same; the exact solve and the intercept are
NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import type_of_target

from kernimpute.core.arrays import inner, namespace
from kernimpute.core.checks import (
    check_choice,
    check_real,
    free_memory,
    plain_labels,
    refusal,
    refusal_in_words,
)
from kernimpute.core.gram import DenseGram, Gram, as_gram
from kernimpute.core.projections import project_box_hyperplane
from kernimpute.core.svm import ActiveSetSolution, libsvm_coefficients, near_solution, solve_dual

__all__ = ["TASKS", "Dual", "UnsolvedMachineError", "check_sample_weight", "coupling", "make_dual"]

FloatArray = NDArray[np.float64]

TASKS = ("classification", "regression")
"""What the labels are."""

LARGEST_TARGET = 1e75
"""Largest magnitude of a target, so that its products with coefficients are numbers still."""
REACH = 1e15
"""Largest coefficients, in units of half the range of the targets over the largest entry of K. Of
larger ones the rounding of ``K b`` alone exceeds the targets, so that they decide nothing."""
LARGEST_COEFFICIENT = 1e100
"""The same where K is next to nothing, so that the coupling is a matrix of numbers still."""
SMALL = 3000
"""Rows up to which the memory is not asked whether it has room for a few matrices."""
COMMON = 1e30
"""Largest entry of K, half range of targets and bound that are solved as they are, and the inverse
of the smallest: little beyond, libsvm's single precision ends."""

FACTOR_ROWS = 1000
"""Rows from which on the interior-point method with a factor of K is asked before libsvm: mostly it
is faster then, of fewer where C is large."""
FACTOR_ITERATIONS = 4000
"""Iterations in which libsvm takes as long as that method, of some hundred rows."""
FEASIBLE = 1e-4
"""Largest sum of coefficients, relative to that of their magnitudes, from which it is worth to go
on."""

LARGEST_ERROR = 1e-3
"""Largest error of a machine: of its margins, relative to half the range of the targets (libsvm's
own default), or its duality gap relative to its primal objective. Rounding alone costs that much
where coefficients reach about 1e12 over the largest entry of K."""
LAST_ROUNDS = 1000
"""Rounds of the active set from each of two starts before a machine is given up; weights that span
twelve powers of ten take 160."""

CACHE_MB = 200
"""Memory that libsvm may take for columns of the matrix, in its single precision."""


class UnsolvedMachineError(ValueError):
    """A support vector machine cannot be solved: C is too large for its kernel matrix."""


def coupling(dual_coef: FloatArray) -> FloatArray:
    """Return ``sum over k of b_k b_k'``: all that a kernel step ever sees of the labels.

    Parameters
    ----------
    dual_coef : ndarray of shape (n_samples, n_problems)
        Signed coefficients, a column for each problem.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        The coupling, positive semidefinite of rank at most n_problems.
    """
    product: FloatArray = dual_coef @ dual_coef.T
    return product


@dataclass(frozen=True)
class Dual:
    """The dual problems that share one kernel matrix.

    Parameters
    ----------
    targets : ndarray of shape (n_samples, n_problems)
        Linear term y of each problem.
    lower, upper : ndarray of shape (n_samples, n_problems)
        Bounds of the signed coefficients, ``lower <= 0 <= upper``; both 0 for a row of weight 0.
    epsilon : float
        Half width of the tube; 0 for classification.
    C : float
        Penalty: largest magnitude of the coefficient of a row of weight 1.
    task : {"classification", "regression"}
        What the labels are.
    classes : ndarray of shape (n_classes,) or None
        The labels of the rows of positive weight, in ascending order; None for regression. With
        two of them there is one problem, in which the second is positive; with more, one each.
    """

    targets: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float
    C: float
    task: str
    classes: NDArray[np.generic] | None

    @property
    def n_problems(self) -> int:
        """Number of columns."""
        return int(self.targets.shape[1])

    def shaped(
        self, dual_coef: FloatArray, intercept: FloatArray
    ) -> tuple[FloatArray, float | FloatArray]:
        """Return coefficients and intercepts as results show them: a single problem has no column.

        Parameters
        ----------
        dual_coef : ndarray of shape (n_samples, n_problems)
            Signed coefficients.
        intercept : ndarray of shape (n_problems,)
            Intercepts.

        Returns
        -------
        dual_coef : ndarray of shape (n_samples,) or (n_samples, n_problems)
            The coefficients.
        intercept : float or ndarray of shape (n_problems,)
            The intercepts.
        """
        if self.n_problems == 1:
            return dual_coef[:, 0], float(intercept[0])
        return dual_coef, intercept

    def value(self, K: FloatArray | Gram, dual_coef: FloatArray) -> float:
        """Return the sum of the dual objectives.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples) or Gram
            The kernel matrix.
        dual_coef : ndarray of shape (n_samples, n_problems)
            Signed coefficients.

        Returns
        -------
        float
            ``sum over k of y_k'b_k - epsilon ||b_k||_1 - b_k'K b_k / 2``.
        """
        return self.linear_value(dual_coef) - 0.5 * as_gram(K).quadratic(dual_coef)

    def linear_value(self, dual_coef: FloatArray) -> float:
        """Return the part of the sum of the dual objectives that no kernel enters.

        Parameters
        ----------
        dual_coef : ndarray of shape (n_samples, n_problems)
            Signed coefficients.

        Returns
        -------
        float
            ``sum over k of y_k'b_k - epsilon ||b_k||_1``.
        """
        size = float(namespace(dual_coef).sum(namespace(dual_coef).abs(dual_coef)))
        return inner(self.targets, dual_coef) - self.epsilon * size

    def gradient(self, K: FloatArray | Gram, dual_coef: FloatArray) -> FloatArray:
        """Return ``y - K b``, the gradient of the smooth part of the objectives.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples) or Gram
            The kernel matrix.
        dual_coef : ndarray of shape (n_samples, n_problems)
            Signed coefficients.

        Returns
        -------
        ndarray of shape (n_samples, n_problems)
            The gradient; the tube's term ``-epsilon ||b||_1`` is `proximal_point`'s.
        """
        return self.targets - as_gram(K).product(dual_coef)

    def proximal_point(self, dual_coef: FloatArray, step: float) -> FloatArray:
        """Return the proximal point of everything but the smooth part.

        Parameters
        ----------
        dual_coef : ndarray of shape (n_samples, n_problems)
            The point, usually after a gradient step.
        step : float
            Length of that step; 0 gives the projection on the feasible set.

        Returns
        -------
        ndarray of shape (n_samples, n_problems)
            The nearest feasible coefficients, shrunk by ``step * epsilon``.
        """
        columns = [
            project_box_hyperplane(
                dual_coef[:, k], self.lower[:, k], self.upper[:, k], step * self.epsilon
            )
            for k in range(self.n_problems)
        ]
        stacked: FloatArray = namespace(dual_coef).stack(columns, axis=1)
        return stacked

    def solve(
        self, K: FloatArray | Gram, tol: float = 1e-8, start: FloatArray | None = None
    ) -> FloatArray:
        """Solve every problem exactly, up to rounding.

        libsvm, which keeps K in single precision, only says which coefficients are at their
        bounds; an active-set method in double precision goes on from there. Where libsvm gets
        lost (large C, K of low rank) an interior-point method takes its place, and where a factor
        of K is known and the rows are many, from the start.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples) or Gram
            The kernel matrix, symmetric and positive semidefinite. For one that is not, a point
            that meets the first-order conditions is returned as a rule. Of a `KernelGram` of many
            rows no more is held than libsvm's columns (200 MB) and, two or three times, the block
            of the coefficients strictly between their bounds.
        tol : float, default=1e-8
            Largest violation of the optimality conditions accepted: by how much raising one
            coefficient and lowering another, each by the same small amount, may still raise the
            objective, relative to half the range of the targets (1 for classification). What
            rounding does to ``y - K b`` is accepted in any case.
        start : ndarray of shape (n_samples, n_problems) or None, default=None
            A guess, such as the solution for another gamma, or that for another C times the
            ratio of the two; made feasible if it is not. The active set goes on from there,
            without libsvm, unless it does not arrive. The solution is the same up to rounding. It
            comes sooner, by a factor of 2 to 6, from another C or gamma within a tenth, and in a
            regression of large C; from one three times as large it mostly comes later.

        Returns
        -------
        ndarray of shape (n_samples, n_problems)
            The coefficients.

        Notes
        -----
        The interior-point method needs the matrix, and a few more of its size, unless a factor of
        it is known. Where it is not held there is none: libsvm's coefficients are improved by the
        active set as far as they can be. So it is, with more than `SMALL` rows, where the memory
        has no room for them.

        Coefficients beyond `REACH` are not looked for, however large C is: there the targets are
        lost in the rounding of ``K b``. A machine whose margin is hard has far smaller ones, and
        is that of every C beyond them.

        Raises
        ------
        ValueError
            If K has an entry that is NaN or infinite, or the start has one, or another shape.
        UnsolvedMachineError
            If no start leads to a machine that is solved. Solved means two things. Its violation is
            at most `tol`, or at most what rounding does to ``K b`` (1e-15 of ``max |K| ||b||_1``).
            And its violation, or else its duality gap relative to the primal objective, is at most
            1e-3: above that, rounding has left nothing of the machine.
        """
        gram = as_gram(K).held()
        if not math.isfinite(gram.largest()):
            raise ValueError(
                refusal_in_words("Dual.solve", "K", "finite", "NaN or infinite entries")
            )
        if start is not None and not (
            start.shape == self.targets.shape and np.isfinite(start).all()
        ):
            must_be = f"finite and of shape {self.targets.shape}"
            got = f"shape {start.shape} with {int((~np.isfinite(start)).sum())} that are not finite"
            raise ValueError(refusal_in_words("Dual.solve", "start", must_be, got))
        columns = [
            self._solve_column(gram, k, tol, None if start is None else start[:, k])
            for k in range(self.n_problems)
        ]
        return np.stack(columns, axis=1)

    def _solve_column(self, gram: Gram, k: int, tol: float, start: FloatArray | None) -> FloatArray:
        """Solve one problem among the rows that have room: neither solver takes the others."""
        lower, upper = self.lower[:, k], self.upper[:, k]
        column = np.zeros(lower.size)
        room = lower < upper
        if not (lower < 0.0).any() or not (upper > 0.0).any():
            # All that may move would move to one side: nothing can.
            return column
        if room.all():
            return self._solve_with_room(gram, self.targets[:, k], lower, upper, tol, start)
        rows = np.flatnonzero(room)
        column[rows] = self._solve_with_room(
            gram.among(rows).held(),
            self.targets[rows, k],
            lower[rows],
            upper[rows],
            tol,
            None if start is None else start[rows],
        )
        return column

    def _solve_with_room(
        self,
        gram: Gram,
        y: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        tol: float,
        start: FloatArray | None,
    ) -> FloatArray:
        half_range = 0.5 * float(y.max() - y.min())
        if half_range <= self.epsilon:
            # All targets fit into one tube: nothing pulls.
            return np.zeros(y.size)
        largest = gram.largest()
        reach = LARGEST_COEFFICIENT
        if largest > 0.0:
            reach = min(REACH * half_range / largest, reach)
        bound = max(float(upper.max()), -float(lower.min()))
        if bound > reach:
            bound, lower, upper = reach, np.maximum(lower, -reach), np.minimum(upper, reach)
        sizes = (half_range, bound, largest or 1.0)
        if not all(1.0 / COMMON <= size <= COMMON for size in sizes):
            return self._solve_in_other_units(
                gram, y, lower, upper, tol, start, sizes=(half_range, largest, bound)
            )
        problem = (y, lower, upper, self.epsilon)
        solution: ActiveSetSolution | None = None
        if start is not None:
            solution = solve_dual(gram, *problem, start, tol=tol, max_rounds=50)
            if solution.converged:
                return self._checked(gram, *problem[:3], tol, solution)
        if gram.factor is not None:
            solution = self._solve_by_factor(gram, *problem[:3], tol, solution)
            return self._checked(gram, *problem[:3], tol, solution)
        guess = self._libsvm(gram, y, np.maximum(upper, -lower), _many_iterations(y.size))
        if guess is not None:
            solution = solve_dual(gram, *problem, guess, tol=tol, max_rounds=50)
            if solution.converged or not _may_hold_more(gram, y.size):
                return self._checked(gram, *problem[:3], tol, solution)
        near = near_solution(gram, *problem)
        other = solve_dual(gram, *problem, near, tol=tol, max_rounds=300)
        if solution is None or other.value >= solution.value:
            solution = other
        return self._checked(gram, *problem[:3], tol, solution)

    def _checked(
        self,
        gram: Gram,
        y: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        tol: float,
        found: ActiveSetSolution,
    ) -> FloatArray:
        """Return the coefficients of a solved machine, or raise an error.

        The active set goes on from the point found, whose value it never lowers. The second start
        is 0, which owes nothing to the solver that led to the first.
        """
        half_range = 0.5 * float(y.max() - y.min())

        def gap(found: ActiveSetSolution) -> float:
            scores = gram.product(found.point)
            primal = 0.5 * inner(found.point, scores)
            primal += _smallest_loss(y - scores, upper, -lower, self.epsilon)
            return (primal - found.value) / (primal or 1.0)

        def is_solved(found: ActiveSetSolution) -> bool:
            # Where C is huge, a violation of next to nothing makes a large gap; where coefficients
            # are huge, it is the other way round. Either proves the machine.
            small = found.violation <= LARGEST_ERROR * half_range
            return found.converged and (small or gap(found) <= LARGEST_ERROR)

        for start in (found.point, np.zeros_like(y)):
            if not is_solved(found):
                problem = (y, lower, upper, self.epsilon)
                found = solve_dual(gram, *problem, start, tol=tol, max_rounds=LAST_ROUNDS)
        if is_solved(found):
            return found.point
        violation = found.violation / half_range
        raise UnsolvedMachineError(
            f"The support vector machine of {y.size} rows could not be solved: its optimality "
            f"conditions are violated by {violation:.1e} of half the range of the targets, and its "
            f"duality gap is {gap(found):.1e} of its primal objective; one must be at most "
            f"{LARGEST_ERROR:g}. Lower C or the spread of the sample weights."
        )

    def _solve_by_factor(
        self,
        gram: Gram,
        y: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        tol: float,
        best: ActiveSetSolution | None,
    ) -> ActiveSetSolution:
        """Solve where a factor of K is known: one method after the other, until one arrives.

        First the one that is mostly the fastest. What is accepted for its rounding alone is held
        against what the others find.
        """
        problem = (y, lower, upper, self.epsilon)
        largest, n = np.maximum(upper, -lower), y.size
        few = min(_many_iterations(n), FACTOR_ITERATIONS)

        def begin_near() -> FloatArray | None:
            near = near_solution(gram, *problem)
            # What is far from feasible is far from the solution.
            return near if abs(near.sum()) <= FEASIBLE * np.abs(near).sum() else None

        ways: list[Callable[[], FloatArray | None]] = [
            begin_near,
            lambda: self._libsvm(gram, y, largest, _many_iterations(n), or_none=False),
        ]
        if n < FACTOR_ROWS:
            ways.insert(0, lambda: self._libsvm(gram, y, largest, few))
        for begin in ways:
            guess = begin()
            if guess is None:
                continue
            found = solve_dual(gram, *problem, guess, tol=tol, max_rounds=50)
            if best is None or found.value > best.value:
                best = found
            if found.violation <= 0.5 * tol * float(y.max() - y.min()):
                break
        assert best is not None
        return best

    def _solve_in_other_units(
        self,
        gram: Gram,
        y: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        tol: float,
        start: FloatArray | None,
        sizes: tuple[float, float, float],
    ) -> FloatArray:
        """Solve for ``b / f`` with ``y / h`` and ``K f / h``, of sizes that no product overflows.

        Parameters
        ----------
        gram, y, lower, upper, tol, start
            The problem.
        sizes : tuple of float
            Half the range of y, and the largest of K and of the bounds. Their powers of 2 become
            the units, so that nothing is rounded.
        """
        of_y, of_K, of_bound = (math.frexp(size)[1] for size in sizes)
        of_b = min(of_y - of_K, of_bound) if sizes[1] > 0.0 else of_bound

        def in_unit(values: FloatArray, unit: int) -> FloatArray:
            return np.ldexp(values, -unit)[:, None]

        scaled = replace(
            self,
            targets=in_unit(y, of_y),
            lower=in_unit(lower, of_b),
            upper=in_unit(upper, of_b),
            epsilon=math.ldexp(self.epsilon, -of_y),
        )
        begin = None if start is None else np.ldexp(start, -of_b)[:, None]
        # Far below the rounding of y / h, what is left of K is nothing, and easier as such.
        negligible = math.ldexp(sizes[1], of_b - of_y) < 1.0 / COMMON
        K = gram.matrix()
        unit_K = np.zeros(K.shape) if negligible else np.ldexp(K, of_b - of_y)
        solution = scaled.solve(unit_K, tol, begin)[:, 0]
        return np.clip(np.ldexp(solution, of_b), lower, upper)

    def _libsvm(
        self,
        gram: Gram,
        y: FloatArray,
        largest: FloatArray,
        max_iter: int,
        *,
        or_none: bool = True,
    ) -> FloatArray | None:
        """Return libsvm's coefficients; None if unfinished, where another method may be asked.

        Parameters
        ----------
        gram : Gram
            The kernel matrix of the rows that have room.
        y, largest : ndarray of shape (n,)
            Their linear term, and the largest magnitudes of their coefficients.
        max_iter : int
            Its iterations at the most.
        or_none : bool, default=True
            Whether unfinished ones are None, where there is room for the other method.
        """
        scale = 0.5 * float(y.max() - y.min()) or 1.0
        # A smaller tolerance drowns in the rounding of single precision, and takes forever.
        rows, kernel = gram.libsvm_form()
        options = {**kernel, "tol": 1e-3, "max_iter": max_iter, "cache_size": CACHE_MB}
        tube = None if self.task == "classification" else self.epsilon / scale
        # A regression in units of its targets has its bounds in these too.
        in_units = largest if tube is None else largest / scale
        found, finished = libsvm_coefficients(rows, y / scale, in_units, tube, options)
        if or_none and not finished and _may_hold_more(gram, y.size):
            return None
        return np.asarray(scale * found)

    def intercept(self, K: FloatArray | Gram, dual_coef: FloatArray) -> FloatArray:
        """Return the intercepts from the free support vectors.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples) or Gram
            The kernel matrix.
        dual_coef : ndarray of shape (n_samples, n_problems)
            Signed coefficients.

        Returns
        -------
        ndarray of shape (n_problems,)
            Mean of ``y - Kb - epsilon sign(b)`` over the coefficients strictly between their
            bounds; without any, the middle of the interval that optimality leaves.
        """
        residual = self.gradient(K, dual_coef)
        return np.array(
            [
                self._intercept_column(residual[:, k], dual_coef[:, k], k)
                for k in range(self.n_problems)
            ]
        )

    def _intercept_column(self, residual: FloatArray, column: FloatArray, k: int) -> float:
        # Each row's own: a row whose bounds are 0 and 0 can neither rise nor fall, nor is it free.
        margin = 1e-9 * np.maximum(self.upper[:, k], -self.lower[:, k])
        can_rise = column < self.upper[:, k] - margin
        can_fall = column > self.lower[:, k] + margin
        free = can_rise & can_fall & (np.abs(column) > margin)
        if free.any():
            return float(np.mean(residual[free] - self.epsilon * np.sign(column[free])))
        # b >= what rising would gain, b <= what falling would lose.
        gains = residual - np.where(column >= -margin, self.epsilon, -self.epsilon)
        losses = residual - np.where(column > margin, self.epsilon, -self.epsilon)
        if not can_rise.any() and not can_fall.any():
            # No row has any room: all are equally good.
            return float(0.5 * (residual.max() + residual.min()))
        low = gains[can_rise].max() if can_rise.any() else losses[can_fall].min()
        high = losses[can_fall].min() if can_fall.any() else low
        return float(0.5 * (low + high))

    def primal_value(self, K: FloatArray | Gram, dual_coef: FloatArray) -> float:
        """Return the sum of the primal objectives at the best intercepts.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples) or Gram
            The kernel matrix.
        dual_coef : ndarray of shape (n_samples, n_problems)
            Signed coefficients; the primal function is ``K b``.

        Returns
        -------
        float
            ``sum over k of b_k'K b_k / 2 + C weighted sum of losses``, hinge or
            epsilon-insensitive.
        """
        scores = as_gram(K).product(dual_coef)
        residual = self.targets - scores
        losses = sum(
            _smallest_loss(residual[:, k], self.upper[:, k], -self.lower[:, k], self.epsilon)
            for k in range(self.n_problems)
        )
        return 0.5 * inner(dual_coef, scores) + losses

    def gap(self, K: FloatArray | Gram, dual_coef: FloatArray) -> float:
        """Return the duality gap, primal minus dual.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples) or Gram
            The kernel matrix, positive semidefinite.
        dual_coef : ndarray of shape (n_samples, n_problems)
            Feasible signed coefficients.

        Returns
        -------
        float
            At least 0 up to rounding, and 0 at the solution.
        """
        return self.primal_value(K, dual_coef) - self.value(K, dual_coef)


def _smallest_loss(
    residual: FloatArray, above: FloatArray, below: FloatArray, epsilon: float
) -> float:
    """Return the minimum over b of the piecewise linear loss of ``residual - b``.

    The loss is ``above * max(r - b - epsilon, 0) + below * max(b - r - epsilon, 0)``, summed; its
    minimum lies at the kink where the slope turns positive.
    """
    xp = namespace(residual)
    kinks = xp.concat([residual - epsilon, residual + epsilon])
    order = xp.argsort(kinks)
    slopes = xp.cumulative_sum(xp.take(xp.concat([above, below]), order)) - xp.sum(above)
    # Rounding may keep the last slope, the sum of `below`, under 0 where that is next to nothing.
    turn = min(int(xp.count_nonzero(slopes < 0.0)), slopes.shape[0] - 1)
    b = kinks[int(order[turn])]
    over, under, nothing = residual - b - epsilon, b - residual - epsilon, xp.zeros_like(residual)
    return inner(above, xp.maximum(over, nothing)) + inner(below, xp.maximum(under, nothing))


def check_sample_weight(
    owner: str, sample_weight: ArrayLike | None, n_samples: int, *, name: str = "sample_weight"
) -> FloatArray:
    """Return the weights of rows, or refuse them.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the messages.
    sample_weight : array-like of shape (n_samples,) or None
        Finite, nonnegative and not all 0; a weight w counts as w copies of the row. None weights
        every row 1.
    n_samples : int
        Number of rows.
    name : str, default="sample_weight"
        The parameter's name, for the messages.

    Returns
    -------
    ndarray of shape (n_samples,)
        The weights.

    Raises
    ------
    TypeError, ValueError
        If the weights are not as described.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        dtype = np.asarray(sample_weight).dtype
        weights = None if dtype.kind in "USVcmM" else np.array(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric: {error}.") from error
    if weights is None:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric. Got {dtype} instead.")
    if weights.shape != (n_samples,):
        got = f"an array of shape {weights.shape}"
        must_be = f"of shape ({n_samples},), one weight a row"
        raise ValueError(f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead.")
    refused = ~(np.isfinite(weights) & (weights >= 0.0))
    if refused.any():
        row = int(np.flatnonzero(refused)[0])
        raise ValueError(
            f"The {name!r} parameter of {owner} must be finite and nonnegative. "
            f"Got {float(weights[row])!r} in row {row} instead."
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 0.0 < total < np.inf:
        must_be = "positive for one row at least, and finite in sum"
        got = "only zeros" if total == 0.0 else "a sum that overflows"
        raise ValueError(f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead.")
    return weights


def make_dual(
    y: ArrayLike,
    n_samples: int,
    *,
    C: float = 1.0,
    task: str = "classification",
    epsilon: float = 0.1,
    sample_weight: ArrayLike | None = None,
    owner: str = "make_dual",
) -> Dual:
    """Return the dual of labels or targets.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of at least two classes (numbers, strings or booleans), or finite targets.
    n_samples : int
        Number of rows that y must match.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    task : {"classification", "regression"}, default="classification"
        What y holds.
    epsilon : float, default=0.1
        Half width of the regression tube, in [0, inf); not used for classification.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows: the bounds of a coefficient are those of weight 1 times its row's
        weight, in every problem. None weights every row 1.
    owner : str, default="make_dual"
        The function whose parameters these are, for the messages.

    Returns
    -------
    Dual
        The problem.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, y does not match the rows, has gaps, holds a single
        class among the rows of positive weight, or continuous values for a classification.
    """
    penalty = check_real(owner, "C", C, 0.0)
    check_choice(owner, "task", task, TASKS)
    labels = plain_labels(y, owner)
    if labels.shape != (n_samples,):
        got = f"an array of shape {labels.shape}"
        must_be = f"of shape ({n_samples},), one label a row"
        raise ValueError(f"The 'y' parameter of {owner} must be {must_be}. Got {got} instead.")
    tube = check_real(owner, "epsilon", epsilon, 0.0, low_included=True)
    weights = check_sample_weight(owner, sample_weight, n_samples)
    # Of the ranges of the two, the product may leave that of floats.
    with np.errstate(over="ignore"):
        largest = penalty * weights
    if not np.isfinite(largest).all():
        must_be = f"so small that C = {penalty:g} times a weight is finite"
        raise ValueError(refusal(owner, "sample_weight", must_be, float(weights.max())))
    if task == "regression":
        return _regression(labels, penalty, largest, tube, owner)
    return _classification(labels, penalty, weights, largest, owner)


def _regression(
    y: NDArray[np.generic], C: float, largest: FloatArray, epsilon: float, owner: str
) -> Dual:
    try:
        targets = y.astype(float)[:, None]
    except (TypeError, ValueError) as error:
        raise TypeError(refusal(owner, "y", "numeric for a regression", y.dtype)) from error
    farthest = float(np.abs(targets).max())
    if farthest > LARGEST_TARGET:
        must_be = f"at most {LARGEST_TARGET:g} in absolute value for a regression"
        raise ValueError(refusal(owner, "y", must_be, farthest))
    # A tube wider than all targets holds them as well as one as wide as they can be.
    epsilon = min(epsilon, 2.0 * LARGEST_TARGET)
    upper = largest[:, None]
    return Dual(targets, -upper, upper, epsilon, C, "regression", None)


def _classification(
    y: NDArray[np.generic], C: float, weights: FloatArray, largest: FloatArray, owner: str
) -> Dual:
    # Whole numbers are labels, and scikit-learn takes as long to say so as to solve a machine.
    whole = y.dtype.kind in "biu" or (y.dtype.kind == "f" and bool(np.all(y == np.floor(y))))
    if not whole and type_of_target(y) not in ("binary", "multiclass"):
        must_be = "made of class labels for task='classification'"
        raise ValueError(refusal(owner, "y", must_be, f"{type_of_target(y)} values"))
    # A class whose rows all have weight 0 is as one that is not there.
    counted = weights > 0.0
    classes = np.unique(y[counted])
    if classes.size < 2:
        among = "" if counted.all() else " among the rows of positive weight"
        must_be = f"of at least 2 classes{among} for task='classification'"
        raise ValueError(refusal(owner, "y", must_be, f"the single class {classes.tolist()[0]!r}"))
    positive = classes[1:] if classes.size == 2 else classes
    targets = np.where(y[:, None] == positive[None, :], 1.0, -1.0)
    upper = np.where(targets > 0.0, largest[:, None], 0.0)
    return Dual(targets, upper - largest[:, None], upper, 0.0, C, "classification", classes)


def _many_iterations(n: int) -> int:
    """Return how many iterations of libsvm, each of O(n), take as long as a method of O(n^3)."""
    return max(20 * n, n**2 // 20)


def _may_hold_more(gram: Gram, n: int) -> bool:
    """Return whether there is room for what the interior-point method holds: four more matrices.

    Of a matrix with a factor it holds none.
    """
    if gram.factor is not None:
        return True
    return isinstance(gram, DenseGram) and (n <= SMALL or 4 * 8 * n**2 < free_memory())
