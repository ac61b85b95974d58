"""L-BFGS in a box, for functions that are dear and have thousands of variables.

Each step takes the limited-memory quasi-Newton direction (Nocedal, 1980) among the variables that
no bound holds back (Bertsekas, 1982), from there goes to the nearest point of the box, and part of
the way where that falls too little. SciPy's L-BFGS-B takes much the same steps, but reads the
bounds one by one, which takes longer than the steps do where a few are enough.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.status import Status

__all__ = ["Place", "descend_in_box"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Found = TypeVar("Found")

PAIRS_KEPT = 10
"""Latest differences of points and gradients, which the direction is made from."""
LEAST_BEND = 1e-12
"""Cosine of the angle between two differences, of points and of gradients, below which their
curvature is noise."""
LEAST_FALL = 1e-3
"""Part of the fall promised by the slope that a step must bring."""
STEEPEST_END = 0.9
"""Slope uphill, relative to that downhill at the start, with which a step may end."""
SHORTEST, LONGEST = 1e-3, 0.9
"""Bounds of the next trial, in units of the one before."""
MOST_TRIALS = 20
"""Trials of one step."""


@dataclass(frozen=True)
class Place(Generic[Found]):
    """A point and the function there.

    Parameters
    ----------
    x : ndarray of shape (n_variables,)
        The point.
    value : float
        The function.
    gradient : ndarray of shape (n_variables,)
        Its gradient.
    found : object
        What else its evaluation found.
    """

    x: FloatArray
    value: float
    gradient: FloatArray
    found: Found


def descend_in_box(
    evaluate: Callable[[FloatArray], Place[Found]],
    start: Place[Found],
    *,
    lower: FloatArray,
    upper: FloatArray,
    max_steps: int,
    accept: Callable[[Place[Found]], bool],
) -> Status:
    """Descend from a point of a box.

    Parameters
    ----------
    evaluate : callable
        Evaluates the function at a point of the box.
    start : Place
        Where to start, in the box.
    lower, upper : ndarray of shape (n_variables,)
        The box.
    max_steps : int
        Steps at the most.
    accept : callable
        Called with the place that each step led to; a true answer stops.

    Returns
    -------
    Status
        CONVERGED if `accept` stopped it, MAX_ITER out of steps, STALLED where no step falls.
    """
    here = start
    pairs: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=PAIRS_KEPT)
    for _ in range(max_steps):
        there = _stepped(evaluate, here, pairs, lower, upper)
        if there is None and pairs:
            # What the pairs tell of another region may mislead in this one.
            pairs.clear()
            there = _stepped(evaluate, here, pairs, lower, upper)
        if there is None:
            return Status.STALLED
        move, change = there.x - here.x, there.gradient - here.gradient
        if _bend(move, change) > 0.0:
            pairs.append((move, change))
        here = there
        if accept(here):
            return Status.CONVERGED
    return Status.MAX_ITER


def _stepped(
    evaluate: Callable[[FloatArray], Place[Found]],
    here: Place[Found],
    pairs: deque[tuple[FloatArray, FloatArray]],
    lower: FloatArray,
    upper: FloatArray,
) -> Place[Found] | None:
    """Return the end of a step that falls enough and does not end steeply uphill.

    Where ever shorter steps do not bring both, it is the lowest that fell enough; None without any.
    """
    held = ((here.x <= lower) & (here.gradient > 0.0)) | ((here.x >= upper) & (here.gradient < 0.0))
    end = np.clip(here.x + _direction(here.gradient, ~held, pairs), lower, upper)
    step = end - here.x
    slope = float(here.gradient @ step)
    if slope >= 0.0:
        return None
    length, lowest = 1.0, None
    for _ in range(MOST_TRIALS):
        there = evaluate(end)
        end_slope = float(there.gradient @ step)
        # A promise below the rounding of the value is not kept by standing still.
        if there.value < here.value and there.value <= here.value + LEAST_FALL * length * slope:
            if end_slope <= -STEEPEST_END * slope:
                return there
            if lowest is None or there.value < lowest.value:
                lowest = there
        elif lowest is not None:
            return lowest
        length *= _shortening(there.value - here.value, length * slope, length * end_slope)
        # Rounding may leave the box.
        end = np.clip(here.x + length * step, lower, upper)
    return lowest


def _direction(
    gradient: FloatArray, free: BoolArray, pairs: deque[tuple[FloatArray, FloatArray]]
) -> FloatArray:
    """Return the quasi-Newton direction among the free variables; 0 in the others."""
    direction = np.zeros_like(gradient)
    ascent = gradient[free]
    kept = []
    for move, change in reversed(pairs):
        s, y = move[free], change[free]
        bend = _bend(s, y)
        if bend == 0.0:
            continue
        share = float(s @ ascent) / bend
        ascent -= share * y
        kept.append((s, y, bend, share))
    if kept:
        # The latest pair has the scale.
        _, y, bend, _ = kept[0]
        ascent *= bend / float(y @ y)
    elif 0.0 < (size := float(np.linalg.norm(ascent))) < 1.0:
        # Nothing has: the box does, which steps of the length of a small slope would never cross.
        ascent /= size
    for s, y, bend, share in reversed(kept):
        ascent += (share - float(y @ ascent) / bend) * s
    direction[free] = -ascent
    return direction


def _bend(move: FloatArray, change: FloatArray) -> float:
    """Return the curvature that differences show, their product; 0 where it is none, or noise."""
    bend = float(move @ change)
    noise = LEAST_BEND * float(np.linalg.norm(move)) * float(np.linalg.norm(change))
    return bend if bend > noise else 0.0


def _shortening(rise: float, slope: float, end_slope: float) -> float:
    """Return the part of a step to try next.

    That of the minimum of the cubic through its ends, or, where the parabola through them has its
    minimum nearer, half way between the two (Moré and Thuente, 1994).

    Parameters
    ----------
    rise : float
        Value at the end less that at the start.
    slope, end_slope : float
        Slopes at both, for a step of length 1.
    """
    largest = max(abs(rise), abs(slope), abs(end_slope))
    if not math.isfinite(largest):
        return SHORTEST
    # In units in which no product overflows.
    rise, slope, end_slope = rise / largest, slope / largest, end_slope / largest
    middle = slope + end_slope - 3.0 * rise
    root = math.sqrt(max(middle**2 - slope * end_slope, 0.0))
    denominator = end_slope - slope + 2.0 * root
    if not denominator > 0.0:
        return 0.5
    cubic = 1.0 - (end_slope + root - middle) / denominator
    parabola = 0.5 * slope / (slope - rise) if rise > slope else LONGEST
    part = cubic if cubic < parabola else 0.5 * (cubic + parabola)
    return min(max(part, SHORTEST), LONGEST)
