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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernimpute.gram import Gram, as_gram
from kernimpute.memory import free_memory

__all__ = ["ActiveSetSolution", "solve_dual"]

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
