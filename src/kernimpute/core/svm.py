"""An active-set method for the dual of a support vector machine, exact to rounding.

For one problem, in signed coefficients,

    maximise  y'b - epsilon ||b||_1 - b'Kb / 2   subject to  1'b = 0,  lower <= b <= upper.

The absolute value bends at 0, so with a tube every coefficient lives on one of two *pieces*,
[lower, 0] or [0, upper], on each of which the objective is a quadratic; without one there is a
single piece, [lower, upper]. A coefficient is *free* inside its piece or fixed at an end.

From a good start, such as libsvm's in single precision, one to four rounds are the rule.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from kernimpute.core.checks import free_memory
from kernimpute.core.gram import Gram, as_gram

__all__ = ["ActiveSetSolution", "libsvm_coefficients", "near_solution", "solve_dual"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ROUNDING = 1e-15
"""Error of a sum, relative to its terms; of ``Kb``, relative to ``max |K| ||b||_1``."""
SNAP = 1e-13
"""What is rounding in the coefficients of a start, relative to the largest or to their sum."""
RELEASE = 0.1
"""Coefficients are freed together whose violation is at least this share of the largest."""
REACH = 10.0
"""Longest step, in lengths of the longest piece: of a singular block the maximiser is far away."""
WORTHWHILE = 1e-2
"""Share of the gain without bounds for which many coefficients may be fixed at once."""
LARGE_BLOCK = 4096
"""Free coefficients whose block, with two copies, takes 400 MB: below, memory is not asked for."""
PATIENCE = 20
"""Looks at the conditions in a row without a smaller violation before the method gives up."""


@dataclass(frozen=True)
class ActiveSetSolution:
    """Where the active-set method ended.

    Parameters
    ----------
    point : ndarray of shape (n,)
        Coefficients within their bounds, summing to 0 up to rounding.
    value : float
        The dual objective there.
    violation : float
        Largest violation of the optimality conditions: by how much raising one coefficient and
        lowering another, each by the same small amount, still raises the objective.
    converged : bool
        Whether the violation is at most what was asked for, or what rounding allows.
    n_rounds : int
        Linear solves made.
    """

    point: FloatArray
    value: float
    violation: float
    converged: bool
    n_rounds: int


def solve_dual(
    K: FloatArray | Gram,
    y: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    start: FloatArray,
    *,
    tol: float = 1e-8,
    max_rounds: int = 200,
) -> ActiveSetSolution:
    """Maximise the dual from a start, never lowering its value.

    Each round

    1. goes to the maximiser over the free coefficients. If some leave their piece on the way,
       those that leave first are fixed at its end and the rest is maximised over again, until none
       leaves; unless this rises too little: then the step goes to the first end met;
    2. if the step did not end so, frees the coefficients that violate optimality most.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram
        Symmetric. If it is not positive semidefinite, a point that meets the first-order
        conditions is found.
    y : ndarray of shape (n,)
        The linear term.
    lower, upper : ndarray of shape (n,)
        Bounds, ``lower <= 0 <= upper``.
    epsilon : float
        Weight of the absolute values, in [0, inf).
    start : ndarray of shape (n,)
        Where to begin; made feasible if it is not.
    tol : float, default=1e-8
        Largest violation accepted, relative to half the range of y. What rounding does to
        ``y - Kb`` is accepted too: 1e-15 of ``max |K| ||b||_1``.
    max_rounds : int, default=200
        Rounds at the most.

    Returns
    -------
    ActiveSetSolution
        The point and how far it is from optimal.

    Raises
    ------
    MemoryError
        If the block of the free coefficients is too large.
    """
    # 1'b = 0, so a constant in y changes nothing but the rounding errors.
    y = y - 0.5 * (y.max() + y.min())
    gram = as_gram(K)
    rounding = ROUNDING * gram.largest()
    b = _feasible(start, lower, upper)
    free = (lower < b) & (b < upper) & ((b != 0.0) | (epsilon == 0.0))
    piece = np.sign(b)
    gradient = y - gram.product(b)

    def look() -> _View:
        size = float(np.abs(b).sum())
        value = 0.5 * float((y + gradient) @ b) - epsilon * size
        enough = max(tol * float(y.max()), rounding * size)
        return _View(*_one_sided_slopes(gradient, b, lower, upper, epsilon), value, enough)

    smallest, highest, stalled, n_rounds = math.inf, -math.inf, 0, 0
    while n_rounds < max_rounds:
        n_rounds += 1
        if free.any():
            # 1) move the free coefficients
            index = np.flatnonzero(free)
            left, right = _ends(piece[index], lower[index], upper[index], epsilon)
            now, slope = b[index], gradient[index] - epsilon * piece[index]
            _check_room(index.size, y.size)
            block = gram.block(index, index)
            step, met, arrived = _climb(block, slope, left - now, right - now, -float(b.sum()))
            new = now + step
            digits = ROUNDING * (np.abs(now) + np.abs(step))
            new = np.where((met < 0) | (new - left <= digits), left, new)
            new = np.where((met > 0) | (right - new <= digits), right, new)
            b[index] = new
            gradient = y - gram.product(b)
            if not arrived:
                free[index] = met == 0
                continue
            free[index] = (left < new) & (new < right)
        # 2) free the worst; only a pair if freeing several has led nowhere
        view = look()
        progress = view.violation < 0.9 * smallest
        progress |= view.value - highest > 1e-12 * abs(view.value)
        smallest, highest = min(smallest, view.violation), max(highest, view.value)
        stalled = 0 if progress else stalled + 1
        if view.is_optimal or stalled > PATIENCE:
            break
        released = _released(view, free, single=stalled > 0)
        piece = np.where(b != 0.0, np.sign(b), released)
        free = free | (released != 0.0)
    view = look()
    return ActiveSetSolution(b, view.value, view.violation, view.is_optimal, n_rounds)


def _check_room(n_free: int, n: int) -> None:
    """Refuse a block that does not fit into memory: how large it is shows here at the soonest."""
    if n_free <= LARGE_BLOCK:
        return
    need, free = 3 * 8 * n_free**2, free_memory()
    if need > free:
        raise MemoryError(
            f"The support vector machine of {n} rows must hold a block of {n_free} coefficients, "
            f"of {need / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB are free: lower C or gamma, or "
            "impute by subsets."
        )


@dataclass(frozen=True)
class _View:
    """What the optimality conditions look like at a point.

    Parameters
    ----------
    rises, falls : ndarray of shape (n,)
        What raising and (negated) what lowering each coefficient is worth; minus infinity and
        infinity where it is at its bound. The point is optimal if no rise exceeds any fall.
    value : float
        The dual objective.
    enough : float
        Violation that is accepted.
    """

    rises: FloatArray
    falls: FloatArray
    value: float
    enough: float

    @property
    def violation(self) -> float:
        """By how much the largest rise exceeds the smallest fall."""
        return float(self.rises.max() - self.falls.min())

    @property
    def is_optimal(self) -> bool:
        """Whether the violation is accepted."""
        return self.violation <= self.enough


def _feasible(start: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return a feasible point beside the start, which fixes the same coefficients if it can."""
    b = np.clip(start, lower, upper)
    snap = SNAP * float(np.abs(b).max())
    for end in (lower, upper, np.zeros_like(b)):
        b = np.where(np.abs(b - end) <= snap, end, b)
    excess = float(b.sum())
    if abs(excess) <= SNAP * float(np.abs(b).sum()):
        # Rounding, which the first step takes along.
        return b
    room = b - lower if excess > 0.0 else upper - b
    inside = (lower < b) & (b < upper) & (b != 0.0)
    if float(room[inside].sum()) > abs(excess):
        room = np.where(inside, room, 0.0)
    return b - (excess / float(room.sum())) * room


def _ends(
    piece: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the pieces on the side of the given signs, each of shape (n,)."""
    if epsilon == 0.0:
        return lower, upper
    return np.where(piece > 0.0, 0.0, lower), np.where(piece > 0.0, upper, 0.0)


def _one_sided_slopes(
    gradient: FloatArray, b: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """Return the rises and the falls of a `_View`."""
    rises = gradient - np.where(b >= 0.0, epsilon, -epsilon)
    falls = gradient - np.where(b > 0.0, epsilon, -epsilon)
    return np.where(b < upper, rises, -np.inf), np.where(b > lower, falls, np.inf)


def _released(view: _View, free: BoolArray, *, single: bool) -> FloatArray:
    """Return 1 for a fixed coefficient to be freed and raised, -1 for one to be lowered, else 0.

    The free coefficients, or the middle of the worst pair, say what the common slope is.
    """
    among = free if free.any() else np.ones_like(free)
    level = 0.5 * float(view.rises[among].max() + view.falls[among].min())
    up = np.where(free, -np.inf, view.rises - level)
    down = np.where(free, -np.inf, level - view.falls)
    least = 0.5 * view.enough
    if single:
        # The worst pair; of two fixed coefficients, neither can move alone.
        bar_up, bar_down = max(least, float(up.max())), max(least, float(down.max()))
    else:
        bar_up = bar_down = max(least, RELEASE * float(max(up.max(), down.max())))
    return np.where(up >= bar_up, 1.0, np.where(down >= bar_down, -1.0, 0.0))


def _climb(
    block: FloatArray, slope: FloatArray, below: FloatArray, above: FloatArray, total: float
) -> tuple[FloatArray, FloatArray, bool]:
    """Move the free coefficients uphill as far as their pieces allow.

    Parameters
    ----------
    block : ndarray of shape (n_free, n_free)
        K between the free coefficients.
    slope : ndarray of shape (n_free,)
        Gradient on their pieces.
    below, above : ndarray of shape (n_free,)
        Room on either side, ``below <= 0 <= above``.
    total : float
        What the step must sum to: rounding that the hyperplane is off by.

    Returns
    -------
    step : ndarray of shape (n_free,)
        The step.
    met : ndarray of shape (n_free,)
        -1 where the lower end was met, 1 where the upper one was, else 0.
    arrived : bool
        Whether the step leads to the maximiser over the coefficients that meet no end.
    """
    newton = _newton_step(block, slope, REACH * float((above - below).max()), total)
    if bool(((below <= newton) & (newton <= above)).all()):
        return newton, _ends_met(newton, below, above), True

    def gain(step: FloatArray) -> float:
        return float(slope @ step - 0.5 * (step @ (block @ step)))

    reach = _reach(newton, below, above)
    first = float(reach.min())
    step, met = first * newton, np.where(reach <= first, np.sign(newton), 0.0)
    # Fixing many at once is quicker where many are to be fixed, but need not rise.
    pruned = _pruned(block, slope, below, above, total, newton)
    if pruned is not None and gain(pruned) > max(gain(step), WORTHWHILE * gain(newton)):
        return pruned, _ends_met(pruned, below, above), True
    return step, met, False


def _pruned(
    block: FloatArray,
    slope: FloatArray,
    below: FloatArray,
    above: FloatArray,
    total: float,
    newton: FloatArray,
) -> FloatArray | None:
    """Return the step to the maximiser over what is left when what it puts outside is fixed.

    The half that leaves its piece first is fixed at the end it leaves by, the rest maximised over
    again, until nothing is outside. None where that leaves nothing.
    """
    step = newton
    inside = np.ones(step.size, dtype=bool)
    while True:
        outside = (step < below) | (step > above)
        if not (outside & inside).any():
            return step
        reach = _reach(step, below, above)
        leaving = outside & inside
        inside &= ~(leaving & (reach <= np.median(reach[leaving])))
        if not inside.any():
            return None
        step = np.where(inside, 0.0, np.clip(step, below, above))
        rest = np.flatnonzero(inside)
        left_over = (slope - block @ step)[rest]
        longest = REACH * float((above - below).max())
        step[rest] = _newton_step(
            block[rest[:, None], rest], left_over, longest, total - float(step.sum())
        )


def _reach(step: FloatArray, below: FloatArray, above: FloatArray) -> FloatArray:
    """Return the share of a step after which each coefficient meets an end."""
    room = np.where(step < 0.0, below, above)
    return np.divide(room, step, out=np.full_like(room, np.inf), where=step != 0.0)


def _ends_met(step: FloatArray, below: FloatArray, above: FloatArray) -> FloatArray:
    """Return -1 where a step uses up the room below, 1 where that above, else 0."""
    return np.where(step <= below, -1.0, np.where(step >= above, 1.0, 0.0))


def _newton_step(block: FloatArray, slope: FloatArray, longest: float, total: float) -> FloatArray:
    """Return the step to the maximiser with the given sum, scaled down to a length if longer.

    A singular or indefinite block is raised by as small a multiple of the identity as makes the
    step one that rises.
    """
    n = slope.size
    centred = slope - slope.mean()
    right_sides = np.stack([centred, np.ones(n)], axis=1)
    scale = float(np.abs(np.diagonal(block)).max()) or 1.0
    # A constant added to the block changes nothing where steps sum to 0, and spares a
    # cancellation where the block is singular along a direction that does not.
    raised = ROUNDING * n * scale
    for _ in range(12):
        shifted = block + scale
        shifted[np.diag_indices(n)] += raised
        try:
            # Its transpose is laid out as LAPACK wants it, which spares a copy.
            factor = cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raised *= 1e3
            continue
        unconstrained, unit = cho_solve(factor, right_sides, check_finite=False).T
        rising = unconstrained - (unconstrained.sum() / unit.sum()) * unit
        if float(centred @ rising) >= 0.0:
            step = rising + (total / unit.sum()) * unit
            step = step - (step.sum() - total) / n
            return np.asarray(step * min(1.0, longest / max(float(np.abs(step).max()), 1e-300)))
        raised *= 1e3
    return np.asarray(centred * (longest / max(float(np.abs(centred).max()), 1e-300)))


try:
    from sklearn.svm import _libsvm as binding
except ImportError:
    binding = None


C_SVC, EPSILON_SVR = 0, 3
"""libsvm's numbers of the two problems."""


def libsvm_coefficients(
    rows: FloatArray,
    y: FloatArray,
    largest: FloatArray,
    epsilon: float | None,
    options: Mapping[str, object],
) -> tuple[FloatArray, bool]:
    """Return the signed coefficients of a machine.

    Parameters
    ----------
    rows : ndarray of shape (n, n_columns)
        The rows, or the kernel matrix where the kernel is "precomputed".
    y : ndarray of shape (n,)
        Labels -1 and 1, or targets.
    largest : ndarray of shape (n,)
        The largest magnitude of each coefficient, positive.
    epsilon : float or None
        Half width of the tube; None for a classification.
    options : mapping
        scikit-learn's options of the kernel, and of the solver.

    Returns
    -------
    coefficients : ndarray of shape (n,)
        The coefficients.
    finished : bool
        Whether libsvm met its tolerance.
    """
    penalty = float(largest.max())
    weights = largest / penalty
    found = _from_binding(rows, y, weights, penalty, epsilon, options)
    if found is None:
        found = _from_estimator(rows, y, weights, penalty, epsilon, options)
    support, values, finished = found
    coefficients = np.zeros(y.size)
    coefficients[support] = values
    return coefficients, finished


Found = tuple[NDArray[np.int32], FloatArray, bool]
"""Support vectors, their coefficients, and whether the tolerance was met."""


def _from_binding(
    rows: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    penalty: float,
    epsilon: float | None,
    options: Mapping[str, object],
) -> Found | None:
    """Return what the binding finds, or None where it has another form."""
    if binding is None:
        return None
    problem: dict[str, float] = {"svm_type": C_SVC}
    if epsilon is not None:
        problem = {"svm_type": EPSILON_SVR, "epsilon": epsilon}
    try:
        binding.set_verbosity_wrap(0)
        support, _, _, values, *_, status, _ = binding.fit(
            np.ascontiguousarray(rows),
            np.ascontiguousarray(y),
            sample_weight=np.ascontiguousarray(weights),
            C=penalty,
            **problem,
            **options,
        )
    except (AttributeError, TypeError, ValueError):
        return None
    # Of two classes, libsvm's own signs are those of the first.
    return support, values[0] if epsilon is not None else -values[0], status == 0


def _from_estimator(
    rows: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    penalty: float,
    epsilon: float | None,
    options: Mapping[str, object],
) -> Found:
    """Return what scikit-learn's estimators find."""
    machine = (
        SVC(C=penalty, **options) if epsilon is None else SVR(C=penalty, epsilon=epsilon, **options)
    )
    # It would draw a seed, which it has no use for, from NumPy's global generator; SVR has no
    # parameter for that.
    machine.random_state = 0
    with config_context(assume_finite=True), _without_convergence_warnings():
        machine.fit(rows, y, sample_weight=weights)
    return machine.support_, machine.dual_coef_[0], machine.fit_status_ == 0


class _SharedFilter:
    """The filter of warnings that all threads inside `_without_convergence_warnings` share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_inside = 0
        self.caught: warnings.catch_warnings[None] | None = None


_FILTER = _SharedFilter()


@contextmanager
def _without_convergence_warnings() -> Iterator[None]:
    """Ignore scikit-learn's warnings of convergence, on several threads at a time too.

    `warnings.catch_warnings` saves the filters of the process and puts them back. Of two threads
    that each do so, the one that leaves last may put back what the other had set, for good. So
    the first to come in saves them, and the last to leave puts them back.
    """
    with _FILTER.lock:
        if _FILTER.n_inside == 0:
            _FILTER.caught = warnings.catch_warnings()
            _FILTER.caught.__enter__()
            warnings.simplefilter("ignore", ConvergenceWarning)
        _FILTER.n_inside += 1
    try:
        yield
    finally:
        with _FILTER.lock:
            _FILTER.n_inside -= 1
            if _FILTER.n_inside == 0 and _FILTER.caught is not None:
                _FILTER.caught.__exit__(None, None, None)
                _FILTER.caught = None


IntArray = NDArray[np.intp]

MAX_ITERATIONS = 60
ACCURACY = 1e-8
"""Where it ends: mean gap, relative to half the range of y times the mean coefficient."""
TO_THE_WALL = 0.995
"""Share of the way to the nearest bound that a step may go."""


@dataclass(frozen=True)
class _Parts:
    """The parts that make up the coefficients.

    Parameters
    ----------
    base : ndarray of shape (n,)
        The coefficients where all parts are 0.
    owner : ndarray of int of shape (n_parts,)
        The coefficient that each part belongs to.
    sign : ndarray of shape (n_parts,)
        Whether it is added or subtracted.
    width : ndarray of shape (n_parts,)
        Its upper bound.
    cost : ndarray of shape (n_parts,)
        Its linear term in the minimisation.
    """

    base: FloatArray
    owner: IntArray
    sign: FloatArray
    width: FloatArray
    cost: FloatArray

    def gather(self, values: FloatArray) -> FloatArray:
        """Return the signed sum of values over the parts of each coefficient, of shape (n,)."""
        total = np.bincount(self.owner, self.sign * values, minlength=self.base.size)
        return np.asarray(total, dtype=float)

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the value of each part's coefficient, with its sign, of shape (n_parts,)."""
        return np.asarray(self.sign * values[self.owner])


def _parts(y: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float) -> _Parts:
    everyone = np.arange(y.size)
    if epsilon == 0.0:
        return _Parts(lower, everyone, np.ones(y.size), upper - lower, -y)
    return _Parts(
        base=np.zeros(y.size),
        owner=np.concatenate([everyone, everyone]),
        sign=np.repeat([1.0, -1.0], y.size),
        width=np.concatenate([upper, -lower]),
        cost=np.concatenate([epsilon - y, epsilon + y]),
    )


@dataclass(frozen=True)
class _Point:
    """An iterate, or a direction between iterates.

    Parameters
    ----------
    low, high : ndarray of shape (n_parts,)
        Distance of each part from 0 and from its width.
    at_low, at_high : ndarray of shape (n_parts,)
        Multipliers of the two bounds.
    multiplier : float
        Multiplier of ``1'b = 0``.
    """

    low: FloatArray
    high: FloatArray
    at_low: FloatArray
    at_high: FloatArray
    multiplier: float

    @property
    def gap(self) -> float:
        """Mean product of a distance and its multiplier."""
        total = float(self.low @ self.at_low) + float(self.high @ self.at_high)
        return total / (2 * self.low.size)

    def moved(self, direction: _Point, share: float) -> _Point:
        """Return the iterate after a share of a direction."""
        return _Point(
            self.low + share * direction.low,
            self.high + share * direction.high,
            self.at_low + share * direction.at_low,
            self.at_high + share * direction.at_high,
            self.multiplier + share * direction.multiplier,
        )

    def longest_share(self, direction: _Point) -> float:
        """Return the share of a direction, at most 1, that keeps everything positive."""
        share = 1.0
        for name in ("low", "high", "at_low", "at_high"):
            value, move = getattr(self, name), getattr(direction, name)
            falls = move < 0.0
            if falls.any():
                share = min(share, TO_THE_WALL * float((-value[falls] / move[falls]).min()))
        return share


class _Factorised:
    """A kernel matrix plus a diagonal, factorised.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    diagonal : ndarray of shape (n,)
        What is added, positive.
    """

    def __init__(self, gram: Gram, diagonal: FloatArray) -> None:
        # Laid out as LAPACK wants it, so that the factor takes its place.
        matrix = np.array(gram.matrix(), dtype=float, order="F")
        matrix[np.diag_indices(diagonal.size)] += diagonal
        self.factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right_side: FloatArray) -> FloatArray:
        """Return the solution of the system with a right side, of shape (n,)."""
        return np.asarray(cho_solve(self.factor, right_side, check_finite=False))


class _FactorisedLowRank:
    """The same of ``F F'``, by Woodbury's identity.

    Where the diagonal is small the identity takes differences of large numbers; what that loses is
    won back by a second solution, for what the first left over.

    Parameters
    ----------
    gram : Gram
        The kernel matrix, whose factor is known.
    diagonal : ndarray of shape (n,)
        What is added, positive.
    """

    def __init__(self, gram: Gram, diagonal: FloatArray) -> None:
        self.F, self.diagonal = cast(FloatArray, gram.factor), diagonal
        small = self.F.T @ (self.F / diagonal[:, None])
        small[np.diag_indices(small.shape[0])] += 1.0
        self.factor = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right_side: FloatArray) -> FloatArray:
        """Return the solution of the system with a right side, of shape (n,)."""
        first = self._solve(right_side)
        left_over = right_side - self.F @ (self.F.T @ first) - self.diagonal * first
        return first + self._solve(left_over)

    def _solve(self, right_side: FloatArray) -> FloatArray:
        alone = right_side / self.diagonal
        common = cho_solve(self.factor, self.F.T @ alone, check_finite=False)
        return np.asarray(alone - (self.F @ common) / self.diagonal)


def _product(gram: Gram, b: FloatArray) -> FloatArray:
    """Return ``K b``, by the factor where there is one."""
    return gram.product(b) if gram.factor is None else gram.factor @ (gram.factor.T @ b)


class _NewtonSystem:
    """The linearised optimality conditions at an iterate, factorised.

    Reduced to the coefficients they are ``(K + diag(1 / softness)) d + m 1 = rest`` with
    ``1'd = -1'b``.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    parts : _Parts
        The parts.
    point : _Point
        The iterate.

    Raises
    ------
    scipy.linalg.LinAlgError
        If the matrix is not positive definite.
    """

    def __init__(self, gram: Gram, parts: _Parts, point: _Point) -> None:
        self.parts, self.point = parts, point
        self.b = parts.base + parts.gather(point.low)
        force = parts.spread(_product(gram, self.b) + point.multiplier)
        self.slack = point.at_low - point.at_high - parts.cost - force
        self.weight = point.at_low / point.low + point.at_high / point.high
        self.softness = np.bincount(parts.owner, 1.0 / self.weight, minlength=self.b.size)
        # What rounding may have made negative in a singular K.
        ridge = 1e-15 * self.b.size * gram.largest()
        factorise = _Factorised if gram.factor is None else _FactorisedLowRank
        self.factorised = factorise(gram, 1.0 / self.softness + ridge)
        self.unit = self.factorised.solve(np.ones(self.b.size))

    def direction(self, to_low: FloatArray, to_high: FloatArray) -> _Point:
        """Return the direction that changes the products of distance and multiplier so."""
        parts, point = self.parts, self.point
        pull = self.slack + to_low / point.low - to_high / point.high
        rest = parts.gather(pull / self.weight)
        unbalanced = self.factorised.solve(rest / self.softness)
        raised = float(unbalanced.sum() + self.b.sum()) / float(self.unit.sum())
        force = (rest - unbalanced + raised * self.unit) / self.softness
        move = (pull - parts.spread(force)) / self.weight
        at_low = (to_low - point.at_low * move) / point.low
        at_high = (to_high + point.at_high * move) / point.high
        return _Point(move, -move, at_low, at_high, raised)


def near_solution(
    K: FloatArray | Gram,
    y: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
) -> FloatArray:
    """Return a point near the maximiser of the dual, its coefficients at bounds put there.

    Mehrotra's predictor and corrector.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram
        The kernel matrix, positive semidefinite. Where a factorisation fails because it is not,
        the point reached so far is returned.
    y : ndarray of shape (n,)
        The linear term.
    lower, upper : ndarray of shape (n,)
        Bounds, ``lower <= 0 <= upper`` and ``lower < upper``; with a tube ``lower < 0 < upper``.
    epsilon : float
        Weight of the absolute values, in [0, inf).

    Returns
    -------
    ndarray of shape (n,)
        Coefficients between their bounds, whose sum is 0 only to the accuracy of the method.
    """
    gram = as_gram(K)
    y = y - 0.5 * (y.max() + y.min())
    scale = float(y.max()) or 1.0
    parts = _parts(y, lower, upper, epsilon)
    middle, ones = 0.5 * parts.width, np.full(parts.width.size, scale)
    point = _Point(middle, middle, ones, ones, 0.0)
    for _ in range(MAX_ITERATIONS):
        try:
            system = _NewtonSystem(gram, parts, point)
        except LinAlgError:
            break
        near = point.gap <= ACCURACY * scale * float(np.abs(system.b).mean())
        if near and float(np.abs(system.slack).max()) <= math.sqrt(ACCURACY) * scale:
            break
        to_low, to_high = -point.low * point.at_low, -point.high * point.at_high
        predicted = system.direction(to_low, to_high)
        ahead = point.moved(predicted, point.longest_share(predicted))
        centre = point.gap * (ahead.gap / point.gap) ** 3
        corrected = system.direction(
            centre + to_low - predicted.low * predicted.at_low,
            centre + to_high - predicted.high * predicted.at_high,
        )
        share = point.longest_share(corrected)
        if not share > 1e-8:
            break
        point = point.moved(corrected, share)
        # Its factor is a matrix, and so is the next one's.
        del system
    # A part is at the bound whose multiplier outweighs its distance.
    at_zero = point.low / parts.width < point.at_low / scale
    at_width = point.high / parts.width < point.at_high / scale
    settled = np.where(at_zero, 0.0, np.where(at_width, parts.width, point.low))
    return parts.base + parts.gather(np.minimum(settled, parts.width))
