"""The dual of one support vector machine, solved to rounding: libsvm begins, an active set ends.

In signed coefficients the problem is

    maximise  y'b - epsilon ||b||_1 - b'Kb / 2   subject to  1'b = 0,  lower <= b <= upper.

The absolute value bends at 0. So with a tube every coefficient lives on one of two *pieces*,
[lower, 0] or [0, upper], and on each of them the objective is a quadratic. Without a tube there is
a single piece, [lower, upper]. A coefficient is *free* inside its piece or fixed at an end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from sklearn import config_context
from sklearn.svm import SVC, SVR

from kernimpute.core.arrays import BoolArray, FloatArray

ROUNDING, SNAP = 1e-15, 1e-13
"""Error of a sum relative to its terms, of ``Kb`` to ``max |K| ||b||_1``; and distance, relative to
the largest coefficient, at which a start counts as lying on an end."""
RELEASE, WORTHWHILE = 0.1, 1e-2
"""Share of the largest violation from which on coefficients are freed together, and of the
unbounded gain from which on many may be fixed at once."""
MAX_STEP = 10.0
"""Longest step, in lengths of the longest piece: a singular block has its maximiser far away."""
PATIENCE = 20
"""Checks in a row without progress after which the method gives up."""
MAX_START_C = 100.0
"""Largest C of libsvm's machine, where K and the targets have entries of about 1."""


def libsvm_start(
    K: FloatArray, y: FloatArray, largest: FloatArray, epsilon: float | None
) -> FloatArray:
    """Return libsvm's coefficients, |b| <= largest; epsilon is None for a classification."""
    # K is in single precision there, so they only say roughly which are at an end.
    scale = 0.5 * float(y.max() - y.min())
    # At a large C libsvm takes very long: coefficients of a smaller one are scaled up.
    size = float(np.abs(np.diagonal(K)).mean())
    bounds = np.minimum(largest / scale, MAX_START_C / size) if size > 0.0 else largest / scale
    penalty = float(bounds.max())
    # With a limit on its iterations libsvm could warn that it has stopped early.
    options = {"kernel": "precomputed", "tol": 1e-3, "max_iter": -1}
    machine = SVC() if epsilon is None else SVR(epsilon=epsilon / scale)
    # Without a seed scikit-learn draws one from NumPy's global generator.
    machine.set_params(C=penalty, **options).random_state = 0
    with config_context(assume_finite=True, skip_parameter_validation=True):
        machine.fit(K, y / scale, sample_weight=bounds / penalty)
    b = np.zeros(y.size)
    b[machine.support_] = machine.dual_coef_[0]
    return b * (largest / bounds)


class ActiveSetSolution(NamedTuple):
    """Where the active set ended."""

    point: FloatArray  # within the bounds; its sum is 0 up to rounding
    value: float  # the dual objective there
    # What raising one coefficient and lowering another by the same small amount still gains.
    violation: float
    converged: bool  # whether the violation is at most the one asked for, or the rounding
    n_rounds: int  # linear solves made


def largest_entry(K: FloatArray) -> float:
    """Return the largest magnitude of an entry; NaN or infinite if an entry is."""
    # Two reductions do not need an array of the magnitudes, and both pass a NaN on.
    return float(np.maximum(K.max(), -K.min()))


def solve_dual(
    K: FloatArray,
    y: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    start: FloatArray,
    tol: float = 1e-8,
    max_rounds: int = 200,
) -> ActiveSetSolution:
    """Maximise the dual from a start, made feasible first, and never lower its value.

    Each round

    1. moves the free coefficients to their maximiser. Those that leave their piece on the way are
       fixed at its end; if that gains too little, the step goes to the first end only;
    2. frees the coefficients that violate optimality most, if step 1 reached its maximiser.

    The bounds must hold 0. `tol` is the largest violation accepted, relative to half the range of
    y; a violation of at most 1e-15 of ``max |K| ||b||_1`` is rounding, and is accepted too.
    """
    # 1'b = 0, so a constant in y changes nothing but the rounding errors.
    y = y - 0.5 * (y.max() + y.min())
    rounding = ROUNDING * largest_entry(K)
    b = _feasible(start, lower, upper)
    free = (lower < b) & (b < upper) & ((b != 0.0) | (epsilon == 0.0))
    piece = np.sign(b)
    gradient = y - K @ b

    def conditions() -> tuple[FloatArray, FloatArray, float, float, float]:
        # What raising each coefficient gains, what lowering it loses, the value, by how much the
        # largest rise exceeds the smallest fall, and how much of that is accepted.
        size = float(np.abs(b).sum())
        rises = gradient - np.where(b >= 0.0, epsilon, -epsilon)
        falls = gradient - np.where(b > 0.0, epsilon, -epsilon)
        rises, falls = np.where(b < upper, rises, -np.inf), np.where(b > lower, falls, np.inf)
        value = 0.5 * float((y + gradient) @ b) - epsilon * size
        violation = float(rises.max() - falls.min())
        return rises, falls, value, violation, max(tol * float(y.max()), rounding * size)

    smallest, highest, stalled, n_rounds = math.inf, -math.inf, 0, 0
    while n_rounds < max_rounds:
        n_rounds += 1
        if free.any():
            # 1) move the free coefficients
            index = np.flatnonzero(free)
            left, right = lower[index], upper[index]
            if epsilon > 0.0:
                is_above = piece[index] > 0.0
                left, right = np.where(is_above, 0.0, left), np.where(is_above, right, 0.0)
            now, slope = b[index], gradient[index] - epsilon * piece[index]
            block = K[index[:, None], index]
            step, met, arrived = _climb(block, slope, left - now, right - now, -float(b.sum()))
            new = now + step
            digits = ROUNDING * (np.abs(now) + np.abs(step))
            new = np.where((met < 0) | (new - left <= digits), left, new)
            new = np.where((met > 0) | (right - new <= digits), right, new)
            b[index] = new
            gradient = y - K @ b
            if not arrived:
                free[index] = met == 0
                continue
            free[index] = (left < new) & (new < right)
        # 2) free the worst; only a pair if freeing several has led nowhere
        rises, falls, value, violation, enough = conditions()
        progress = violation < 0.9 * smallest or value - highest > 1e-12 * abs(value)
        smallest, highest = min(smallest, violation), max(highest, value)
        stalled = 0 if progress else stalled + 1
        if violation <= enough or stalled > PATIENCE:
            break
        released = _released(rises, falls, 0.5 * enough, free, single=stalled > 0)
        piece = np.where(b != 0.0, np.sign(b), released)
        free = free | (released != 0.0)
    _, _, value, violation, enough = conditions()
    return ActiveSetSolution(b, value, violation, violation <= enough, n_rounds)


def _feasible(start: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return a feasible point near the start, which fixes the same coefficients if it can."""
    b = np.clip(start, lower, upper)
    snap = SNAP * float(np.abs(b).max())
    for end in (lower, upper, np.zeros_like(b)):
        b = np.where(np.abs(b - end) <= snap, end, b)
    excess = float(b.sum())
    if abs(excess) <= SNAP * float(np.abs(b).sum()):
        # The first step removes what rounding has left.
        return b
    room = b - lower if excess > 0.0 else upper - b
    inside = (lower < b) & (b < upper) & (b != 0.0)
    if float(room[inside].sum()) > abs(excess):
        room = np.where(inside, room, 0.0)
    return b - (excess / float(room.sum())) * room


def _released(
    rises: FloatArray, falls: FloatArray, least: float, free: BoolArray, *, single: bool
) -> FloatArray:
    """Return 1 for each fixed coefficient to free and raise, -1 to free and lower, else 0."""
    # The free coefficients, or the middle of the worst pair, give the common slope.
    subset = free if free.any() else np.ones_like(free)
    level = 0.5 * float(rises[subset].max() + falls[subset].min())
    up = np.where(free, -np.inf, rises - level)
    down = np.where(free, -np.inf, level - falls)
    if single:
        # The worst pair; of two fixed coefficients neither can move alone.
        bar_up, bar_down = max(least, float(up.max())), max(least, float(down.max()))
    else:
        bar_up = bar_down = max(least, RELEASE * float(max(up.max(), down.max())))
    return np.where(up >= bar_up, 1.0, np.where(down >= bar_down, -1.0, 0.0))


def _climb(
    block: FloatArray, slope: FloatArray, below: FloatArray, above: FloatArray, total: float
) -> tuple[FloatArray, FloatArray, bool]:
    """Return a step uphill, which ends it meets (-1, 1 or 0), and whether it is a maximiser.

    There is room from `below` <= 0 to `above` >= 0; the step sums to `total`.
    """
    newton = _newton_step(block, slope, MAX_STEP * float((above - below).max()), total)
    if bool(((below <= newton) & (newton <= above)).all()):
        return newton, _ends_met(newton, below, above), True

    def gain(step: FloatArray) -> float:
        return float(slope @ step - 0.5 * (step @ (block @ step)))

    shares = _shares_to_ends(newton, below, above)
    first = float(shares.min())
    step, met = first * newton, np.where(shares <= first, np.sign(newton), 0.0)
    # Fixing many at once is quicker where many are to be fixed, but need not rise.
    pruned = _pruned_step(block, slope, below, above, total, newton)
    if pruned is not None and gain(pruned) > max(gain(step), WORTHWHILE * gain(newton)):
        return pruned, _ends_met(pruned, below, above), True
    return step, met, False


def _pruned_step(
    block: FloatArray,
    slope: FloatArray,
    below: FloatArray,
    above: FloatArray,
    total: float,
    step: FloatArray,
) -> FloatArray | None:
    """Fix the half that leaves first at its ends, maximise over the rest; None if nothing stays."""
    inside = np.ones(step.size, dtype=bool)
    longest = MAX_STEP * float((above - below).max())
    while True:
        leaving = inside & ((step < below) | (step > above))
        if not leaving.any():
            return step
        shares = _shares_to_ends(step, below, above)
        inside &= ~(leaving & (shares <= np.median(shares[leaving])))
        if not inside.any():
            return None
        step = np.where(inside, 0.0, np.clip(step, below, above))
        rest = np.flatnonzero(inside)
        left_over = (slope - block @ step)[rest]
        step[rest] = _newton_step(
            block[rest[:, None], rest], left_over, longest, total - float(step.sum())
        )


def _shares_to_ends(step: FloatArray, below: FloatArray, above: FloatArray) -> FloatArray:
    """Return the share of a step after which each coefficient meets an end."""
    room = np.where(step < 0.0, below, above)
    return np.divide(room, step, out=np.full_like(room, np.inf), where=step != 0.0)


def _ends_met(step: FloatArray, below: FloatArray, above: FloatArray) -> FloatArray:
    """Return -1 where a step uses up the room below, 1 where that above, else 0."""
    return np.where(step <= below, -1.0, np.where(step >= above, 1.0, 0.0))


def _newton_step(block: FloatArray, slope: FloatArray, longest: float, total: float) -> FloatArray:
    """Return the step to the maximiser whose entries sum to `total`, cut to a length."""
    n = slope.size
    centred = slope - slope.mean()
    right_sides = np.stack([centred, np.ones(n)], axis=1)
    scale = float(np.abs(np.diagonal(block)).max()) or 1.0
    raised = ROUNDING * n * scale  # The multiple of the identity with which the step rises.
    for _ in range(12):
        # Steps sum to 0, so a constant changes nothing. It spares a cancellation where the block is
        # singular along the ones.
        shifted = block + scale
        shifted[np.diag_indices(n)] += raised
        try:
            # Not SciPy's: it would hold Python's lock, and no interrupt could be heard.
            factor = np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            raised *= 1e3
            continue
        unconstrained, unit = cho_solve((factor.T, False), right_sides, check_finite=False).T
        rising = unconstrained - (unconstrained.sum() / unit.sum()) * unit
        if float(centred @ rising) >= 0.0:
            step = rising + (total / unit.sum()) * unit
            step = step - (step.sum() - total) / n
            return np.asarray(step * min(1.0, longest / max(float(np.abs(step).max()), 1e-300)))
        raised *= 1e3
    return np.asarray(centred * (longest / max(float(np.abs(centred).max()), 1e-300)))
