"""The sweep of Stage II, compiled: the same steps as `cell_minimisers`, in the same order.

A table lives here as *columns*, an array of shape (n_features, n_samples), so that everything
an inner loop reads is contiguous; a categorical column holds the indices of its codes. A row
begins by summing its residuals afresh from the columns, so no (n_samples, n_samples) state is
kept, nothing is mirrored and no rounding accumulates. Then

- for the gaussian and the product kernels, the row's share of the objective depends on its
  numeric cells through a few moments of the other rows alone: sums of the residuals, of the
  columns and of their products. Those of the columns are kept up from row to row where all pairs
  have the weight 1; else they take a pass. After it every cell update is a quartic and
  O(n_features), and a step of all cells jointly, which takes no pass either, all but minimises
  over the row. The two are repeated up to `ROW_ROUNDS` times;
- for the laplacian and the chi-squared kernels every cell takes its own passes.

Everything compiled is in this one file because numba's cache watches only the file of the
function that is called: a helper elsewhere could change and the cached sweep would not.
Reductions may be reassociated, which is what lets them run on vector registers; infinities and
NaN keep their meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CHI2",
    "CHI2_GRID",
    "CHI2_POWER",
    "GAUSSIAN",
    "LAPLACIAN",
    "NEWTON_STEPS",
    "NEWTON_TOL",
    "PIVOT",
    "PRODUCT",
    "ROW_ROUNDS",
    "ROW_SHARE",
    "Rows",
    "SMALLEST",
    "fill_from_similar",
    "objective",
    "recover_rows",
    "sweep",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

_Function = TypeVar("_Function", bound=Callable[..., Any])

GAUSSIAN, LAPLACIAN, PRODUCT, CHI2 = 0, 1, 2, 3
"""The feature terms; all products share one."""

ROW_ROUNDS = 8
NEW_ROW_ROUNDS = 100
"""How often a sweep goes over the numeric cells of a row where that needs no pass over rows: of
a row of the table, whose company moves too, and of a new one, which is to be minimised over."""

ROW_SHARE = 0.1
"""A round over a row of the table is its last if its joint step is within this share of Newton's:
what is left then is of second order. Rows left farther from their minima cost sweeps, and the
extrapolation more, for the map from sweep to sweep is then less smooth."""

PIVOT = 1e-10
"""Relative size of a pivot up to which a row's curvature counts as singular."""

NEWTON_STEPS = 60
NEWTON_TOL = 1e-9
"""Newton's method ends once a step is this short: by then its error is the square of it."""

HALLEY_TOL = 1e-6
"""Halley's method ends once a step is this short: by then its error is the cube of it."""

NEAR_STEPS = 6
"""Its steps before a minimum counts as far."""

CHI2_GRID = 12
CHI2_POWER = 6.0
"""Cells of the grid in which a chi-squared cell is first sought, and the power of its nodes,
which lie close near 0 because the term bends there over a distance as small as the values."""

SMALLEST = 1e-300
"""Stands for 0 where the derivative of the chi-squared term would be 0 / 0."""

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # A check for division by zero would keep the chi-squared loops off the vector registers.
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}


def _helper(function: _Function) -> _Function:
    """Compile a function that only compiled functions call."""
    compiled: _Function = _compiler(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return compiled


def _entry(function: _Function) -> _Function:
    """Compile a function that Python calls; it is cached, its helpers included."""
    try:
        compiled: _Function = _compiler(cache=True)(function)
    except RuntimeError:
        # No directory will hold a cache, neither the package's nor the user's.
        compiled = _compiler()(function)
    return compiled


def _compiler(**options: bool) -> Any:
    return numba.njit(**_OPTIONS | options)


class Rows(NamedTuple):
    """The rows of a table in the layout of compiled code.

    Parameters
    ----------
    kind : int
        The feature term.
    columns : ndarray of shape (n_features, n_samples)
        The table; indices of codes in categorical columns.
    n_codes : ndarray of int of shape (n_features,)
        Number of codes of a categorical column, 0 for a numeric one.
    squares : ndarray of int of shape (n_squares,)
        The columns whose feature terms are squared differences.
    order : ndarray of int of shape (n_features, n_samples)
        For the laplacian kernel, the rows in ascending order of each column; else of no length.
    """

    kind: int
    columns: FloatArray
    n_codes: IntArray
    squares: IntArray
    order: IntArray


# ------------------------------------------------------------------------- residuals of a row


@_helper
def _write_residuals(
    rows: Rows, values: FloatArray, target: FloatArray, stop: int, residuals: FloatArray
) -> None:
    """Write the sums of a row's feature terms with rows 0 to stop, less their target."""
    for j in range(stop):
        residuals[j] = -target[j]
    # By eights and fours, squares are added with an eighth and a fourth of the reads and writes.
    n_squares = rows.squares.shape[0]
    n_eights = n_squares // 8 * 8
    n_fours = n_squares // 4 * 4
    for m in range(0, n_eights, 8):
        _add_eight_squares(rows.columns, values, rows.squares[m : m + 8], stop, residuals)
    for m in range(n_eights, n_fours, 4):
        _add_four_squares(rows.columns, values, rows.squares[m : m + 4], stop, residuals)
    for m in range(n_fours, n_squares):
        p = rows.squares[m]
        _add_term(rows.kind, 0, values[p], rows.columns[p], stop, residuals)
    if n_squares == rows.columns.shape[0]:
        return
    for p in range(rows.columns.shape[0]):
        if rows.kind != GAUSSIAN or rows.n_codes[p] > 0:
            _add_term(rows.kind, rows.n_codes[p], values[p], rows.columns[p], stop, residuals)


@_helper
def _add_four_squares(
    columns: FloatArray, values: FloatArray, four: IntArray, stop: int, residuals: FloatArray
) -> None:
    """Add the squared differences between four values and their columns."""
    a, b, c, d = four[0], four[1], four[2], four[3]
    at_a, at_b, at_c, at_d = values[a], values[b], values[c], values[d]
    for j in range(stop):
        in_a = columns[a, j] - at_a
        in_b = columns[b, j] - at_b
        in_c = columns[c, j] - at_c
        in_d = columns[d, j] - at_d
        residuals[j] += (in_a * in_a + in_b * in_b) + (in_c * in_c + in_d * in_d)


@_helper
def _add_eight_squares(
    columns: FloatArray, values: FloatArray, eight: IntArray, stop: int, residuals: FloatArray
) -> None:
    """Add the squared differences between eight values and their columns."""
    a, b, c, d = eight[0], eight[1], eight[2], eight[3]
    e, f, g, h = eight[4], eight[5], eight[6], eight[7]
    at_a, at_b, at_c, at_d = values[a], values[b], values[c], values[d]
    at_e, at_f, at_g, at_h = values[e], values[f], values[g], values[h]
    for j in range(stop):
        in_a = columns[a, j] - at_a
        in_b = columns[b, j] - at_b
        in_c = columns[c, j] - at_c
        in_d = columns[d, j] - at_d
        in_e = columns[e, j] - at_e
        in_f = columns[f, j] - at_f
        in_g = columns[g, j] - at_g
        in_h = columns[h, j] - at_h
        first = (in_a * in_a + in_b * in_b) + (in_c * in_c + in_d * in_d)
        residuals[j] += first + ((in_e * in_e + in_f * in_f) + (in_g * in_g + in_h * in_h))


@_helper
def _add_term(
    kind: int, n_codes: int, value: float, column: FloatArray, stop: int, residuals: FloatArray
) -> None:
    """Add the feature terms between a value and a column."""
    if n_codes > 0:
        for j in range(stop):
            residuals[j] += 1.0 if column[j] != value else 0.0
    elif kind == GAUSSIAN:
        for j in range(stop):
            difference = column[j] - value
            residuals[j] += difference * difference
    elif kind == LAPLACIAN:
        for j in range(stop):
            residuals[j] += abs(column[j] - value)
    elif kind == PRODUCT:
        for j in range(stop):
            residuals[j] += column[j] * value
    elif value > 0.0:
        for j in range(stop):
            residuals[j] += 2.0 * value * (column[j] / (column[j] + value))


@_helper
def _exchange_term(
    kind: int, old: float, new: float, column: FloatArray, residuals: FloatArray
) -> None:
    """Put the feature terms of a new numeric value in the place of those of the old one."""
    if kind == LAPLACIAN:
        for j in range(column.shape[0]):
            residuals[j] += abs(column[j] - new) - abs(column[j] - old)
    else:
        first = max(old, SMALLEST)
        second = max(new, SMALLEST)
        for j in range(column.shape[0]):
            # g(new, a) - g(old, a) = 2 a^2 (new - old) / ((new + a) (old + a))
            ratio = (column[j] / (column[j] + first)) * (column[j] / (column[j] + second))
            residuals[j] += 2.0 * (second - first) * ratio


# --------------------------------------------------------------------- one cell, one polynomial


@_helper
def _quartic_step(q1: float, q2: float, q3: float, q4: float, low: float, high: float) -> float:
    """Return the step in [low, high], which holds 0, that lowers a quartic most; or 0.

    The quartic is ``q1 u + q2 u^2 + q3 u^3 + q4 u^4`` with q4 >= 0. Mostly its minimum is near: at
    0, where that is an end of the interval or flat, or a few steps of Halley's method away. What
    the quartic rises by from there, divided by u or by (u - minimum)^2, is a parabola at the
    least; where that is nowhere negative there is no lower minimum, and none need be sought.
    """
    if q1 == 0.0 or (low >= 0.0 and q1 > 0.0) or (high <= 0.0 and q1 < 0.0):
        if q2 >= 0.0 and q3 * q3 <= 4.0 * q2 * q4:
            return 0.0
        return _far_step(q1, q2, q3, q4, low, high)
    u = 0.0
    for _ in range(NEAR_STEPS):
        slope = _slope(q1, q2, q3, q4, u)
        curvature = 2.0 * q2 + u * (6.0 * q3 + u * 12.0 * q4)
        bend = 6.0 * q3 + u * 24.0 * q4
        square = curvature * curvature
        if curvature <= 0.0 or abs(slope * bend) > square:
            break
        step = 2.0 * slope * curvature / (2.0 * square - slope * bend)
        u -= step
        if not low <= u <= high:
            break
        if abs(step) <= HALLEY_TOL:
            third = q3 + 4.0 * q4 * u
            if third * third <= 4.0 * q4 * (q2 + u * (3.0 * q3 + u * 6.0 * q4)):
                return u
            break
    return _far_step(q1, q2, q3, q4, low, high)


@_helper
def _far_step(q1: float, q2: float, q3: float, q4: float, low: float, high: float) -> float:
    """Return what `_quartic_step` does, wherever the minimum is.

    The quartic is convex outside its inflection points, if it has any. So its minimum is where
    its slope vanishes in one of at most two convex parts of the interval, or at an end of the
    interval.
    """
    spread = 9.0 * q3 * q3 - 24.0 * q2 * q4
    if spread <= 0.0 or q4 <= 0.0:
        return _convex_step(q1, q2, q3, q4, low, high)
    centre = -q3 / (4.0 * q4)
    half = np.sqrt(spread) / (12.0 * q4)
    step = 0.0
    lowest = 0.0
    for candidate in (
        low,
        high,
        _convex_step(q1, q2, q3, q4, low, max(low, min(high, centre - half))),
        _convex_step(q1, q2, q3, q4, min(high, max(low, centre + half)), high),
    ):
        value = _quartic(q1, q2, q3, q4, candidate)
        if value < lowest:
            lowest = value
            step = candidate
    return step


@_helper
def _quartic(q1: float, q2: float, q3: float, q4: float, u: float) -> float:
    """Return the value of a quartic without constant term."""
    return u * (q1 + u * (q2 + u * (q3 + u * q4)))


@_helper
def _convex_step(q1: float, q2: float, q3: float, q4: float, left: float, right: float) -> float:
    """Return the minimiser of a quartic in an interval on which it is convex.

    Halley's method for the root of the slope, from the point nearest to 0, between points where
    the slope is below and above 0; it bisects where the method would leave them or may fail.
    """
    if _slope(q1, q2, q3, q4, left) >= 0.0:
        return left
    if _slope(q1, q2, q3, q4, right) <= 0.0:
        return right
    u = min(max(0.0, left), right)
    for _ in range(NEWTON_STEPS):
        slope = _slope(q1, q2, q3, q4, u)
        if slope == 0.0:
            break
        if slope > 0.0:
            right = u
        else:
            left = u
        curvature = 2.0 * q2 + u * (6.0 * q3 + u * 12.0 * q4)
        bend = 6.0 * q3 + u * 24.0 * q4
        previous = u
        square = curvature * curvature
        # Near an inflection point its step is no measure of the distance to the root.
        if abs(slope * bend) <= square:
            u -= 2.0 * slope * curvature / (2.0 * square - slope * bend)
        else:
            u = 0.5 * (left + right)
        if not left <= u <= right:
            u = 0.5 * (left + right)
        if abs(u - previous) <= HALLEY_TOL:
            break
    return u


@_helper
def _slope(q1: float, q2: float, q3: float, q4: float, u: float) -> float:
    """Return the derivative of a quartic."""
    return q1 + u * (2.0 * q2 + u * (3.0 * q3 + u * 4.0 * q4))


@_helper
def _place_of(value: float, column: FloatArray, order: IntArray) -> int:
    """Return how many values of a column are less than a value."""
    low = 0
    high = column.shape[0]
    while low < high:
        middle = (low + high) // 2
        if column[order[middle]] < value:
            low = middle + 1
        else:
            high = middle
    return low


@_helper
def _laplacian_step(
    value: float,
    column: FloatArray,
    order: IntArray,
    weights: FloatArray,
    residuals: FloatArray,
) -> float:
    """Return the step of a laplacian cell in [0, 1] that lowers the objective most; or 0.

    Between neighbouring values of the column the objective is a parabola
    ``total u^2 - 2 pull u + shift`` in the step u. The parabolas are visited outwards from the
    current value, so that those near it are summed from small numbers.
    """
    n = column.shape[0]
    place = _place_of(value, column, order)
    total = 0.0
    pull_here = 0.0
    for j in range(n):
        total += weights[j]
    for k in range(place):
        pull_here -= weights[order[k]] * residuals[order[k]]
    for k in range(place, n):
        pull_here += weights[order[k]] * residuals[order[k]]
    if total <= 0.0:
        return 0.0
    step = 0.0
    lowest = 0.0
    for side in (1.0, -1.0):
        # On the left side everything is mirrored: steps, offsets and pull change their sign.
        pull = side * pull_here
        shift = 0.0
        reach = 1.0 - value if side > 0.0 else value
        near = 0.0
        k = place if side > 0.0 else place - 1
        while True:
            inside = 0 <= k < n
            far = min(side * (column[order[k]] - value), reach) if inside else reach
            far = max(far, near)
            u = min(max(pull / total, near), far)
            change = u * (total * u - 2.0 * pull) + shift
            if change < lowest:
                lowest = change
                step = side * u
            if far >= reach or not inside:
                break
            j = order[k]
            pull += 2.0 * weights[j] * (far - residuals[j])
            shift += 4.0 * weights[j] * far * (far - residuals[j])
            near = far
            k += 1 if side > 0.0 else -1
    return step


@_helper
def _chi2_change(
    step: float,
    value: float,
    own_residual: float,
    own_weight: float,
    column: FloatArray,
    ratios: FloatArray,
    weights: FloatArray,
    residuals: FloatArray,
) -> tuple[float, float, float]:
    """Return what a step of a chi-squared cell adds to the objective, its slope and curvature.

    `ratios` hold ``a / (a + value)``; with the same of the new value, ``ratio``, a feature term
    changes by ``2 step ratios ratio``, has the slope ``2 ratio^2`` and the curvature
    ``-4 ratio^2 / (a + value + step)``. The term with the row itself is its value.
    """
    moved = max(value + step, SMALLEST)
    change = 0.5 * own_weight * step * (step + 2.0 * own_residual)
    slope = own_weight * (step + own_residual)
    curvature = own_weight
    for j in range(column.shape[0]):
        inverse = 1.0 / (column[j] + moved)
        ratio = column[j] * inverse
        move = 2.0 * step * ratios[j] * ratio
        square = ratio * ratio
        residual = residuals[j] + move
        change += weights[j] * move * (residual + residuals[j])
        slope += weights[j] * 4.0 * square * residual
        curvature += weights[j] * 8.0 * square * (square - residual * inverse)
    return change, slope, curvature


@_helper
def _chi2_step(
    value: float,
    own_residual: float,
    own_weight: float,
    column: FloatArray,
    ratios: FloatArray,
    weights: FloatArray,
    residuals: FloatArray,
) -> float:
    """Return the step of a chi-squared cell in [0, 1] that lowers the objective most; or 0.

    The best of a grid, or no step where none of it is better, starts a Newton search that is
    kept between its neighbours on the grid and bisects where the method would leave them.
    """
    for j in range(column.shape[0]):
        ratios[j] = column[j] / (column[j] + max(value, SMALLEST))
    best = 0.0
    lowest = 0.0
    for node in range(CHI2_GRID + 1):
        step = (node / CHI2_GRID) ** CHI2_POWER - value
        change, _, _ = _chi2_change(
            step, value, own_residual, own_weight, column, ratios, weights, residuals
        )
        if change < lowest:
            lowest = change
            best = step
    root = (value + best) ** (1.0 / CHI2_POWER) * CHI2_GRID
    # A quarter of a cell away at least, so that a node has both its neighbours around it.
    left = (max(np.ceil(root - 0.25) - 1.0, 0.0) / CHI2_GRID) ** CHI2_POWER - value
    right = (min(np.floor(root + 0.25) + 1.0, float(CHI2_GRID)) / CHI2_GRID) ** CHI2_POWER - value
    step = best
    for _ in range(NEWTON_STEPS):
        _, slope, curvature = _chi2_change(
            step, value, own_residual, own_weight, column, ratios, weights, residuals
        )
        if slope > 0.0:
            right = step
        else:
            left = step
        newton = -slope / curvature if curvature > 0.0 else np.inf
        if abs(newton) <= NEWTON_TOL:
            step = min(max(step + newton, -value), 1.0 - value)
            break
        step += newton
        if not left <= step <= right:
            step = 0.5 * (left + right)
        if right - left <= NEWTON_TOL:
            break
    change, _, _ = _chi2_change(
        step, value, own_residual, own_weight, column, ratios, weights, residuals
    )
    return step if change < lowest else best


@_helper
def _best_code(
    code: int,
    codes: FloatArray,
    n_codes: int,
    weights: FloatArray,
    residuals: FloatArray,
    pulls: FloatArray,
) -> int:
    """Return the code of a categorical cell that lowers the objective most; or the current one.

    Leaving code b for c adds 1 to the residuals of the rows with b and takes 1 from those with
    c: the objective changes by ``weight_b + 2 pull_b + weight_c - 2 pull_c``, where the pull of
    a code sums the weighted residuals of its rows.
    """
    for c in range(n_codes):
        pulls[c] = 0.0
    for j in range(codes.shape[0]):
        c = int(codes[j])
        leaving = 1.0 if c == code else -1.0
        pulls[c] += weights[j] * (1.0 + 2.0 * leaving * residuals[j])
    best = code
    lowest = 0.0
    for c in range(n_codes):
        change = pulls[code] + pulls[c]
        if c != code and change < lowest:
            lowest = change
            best = c
    return best


# ------------------------------------------------------------------------- the cells of a row


class _Moments(NamedTuple):
    """Sums over rows, from which the numeric cells of another row are minimised over.

    Parameters
    ----------
    shared : bool
        Whether they are of all rows, each counting once, and serve every row in turn.
    sums, products : ndarray of shape (n_features,) and (n_features, n_features)
        Weighted sums of the columns and of their products.
    """

    shared: bool
    sums: FloatArray
    products: FloatArray


class _Workspace(NamedTuple):
    """What the minimisation over one row writes on.

    Parameters
    ----------
    residuals, weights, weighted : ndarray of shape (n_samples,)
        Residuals of the pairs of the row, their weights, and room for products of the two.
    cells : ndarray of int of shape (n_features,)
        Columns of the row's numeric missing cells.
    pulls : ndarray of shape (max(n_features, n_codes),)
        Sums over the other rows, a number a column or a code.
    free : ndarray of int of shape (n_features,)
        Columns of the cells of a joint step.
    forces, steps : ndarray of shape (n_features,)
        A negative part of the objective's gradient in these cells, and their steps.
    curvature : ndarray of shape (n_features, n_features)
        The same part of the second derivatives, on and above the diagonal.
    moments : _Moments
        Those of a row that shares none.
    """

    residuals: FloatArray
    weights: FloatArray
    weighted: FloatArray
    cells: IntArray
    pulls: FloatArray
    free: IntArray
    forces: FloatArray
    steps: FloatArray
    curvature: FloatArray
    moments: _Moments


@_helper
def _width(n_features: int) -> int:
    """Return the number of columns, rounded up so that loops over them fill vector registers."""
    return (n_features + 7) // 8 * 8


@_helper
def _workspace(rows: Rows) -> _Workspace:
    n_features, n = rows.columns.shape
    n_pulls = _width(n_features)
    for p in range(n_features):
        n_pulls = max(n_pulls, rows.n_codes[p])
    width = _width(n_features)
    # Zeros, for loops over all columns pass over numbers that mean nothing.
    moments = _Moments(False, np.zeros(width), np.zeros((n_features, width)))
    return _Workspace(
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n_features, np.int64),
        np.zeros(n_pulls),
        np.empty(n_features, np.int64),
        np.empty(n_features),
        np.empty(n_features),
        np.empty((n_features, n_features)),
        moments,
    )


@_helper
def _categorical_cells(
    rows: Rows, values: FloatArray, missing: BoolArray, work: _Workspace
) -> float:
    """Minimise over the missing categorical cells of a row in turn; return 1 if one moved."""
    largest = 0.0
    for p in range(rows.columns.shape[0]):
        if not missing[p] or rows.n_codes[p] == 0:
            continue
        codes = rows.columns[p]
        code = int(values[p])
        best = _best_code(code, codes, rows.n_codes[p], work.weights, work.residuals, work.pulls)
        if best != code:
            for j in range(codes.shape[0]):
                work.residuals[j] += 1.0 if codes[j] == code else 0.0
                work.residuals[j] -= 1.0 if codes[j] == best else 0.0
            values[p] = best
            largest = 1.0
    return largest


@_helper
def _single_cells(
    rows: Rows,
    values: FloatArray,
    n_cells: int,
    own_weight: float,
    own_residual: float,
    work: _Workspace,
) -> float:
    """Minimise over a laplacian or chi-squared row's numeric cells; return the largest step."""
    largest = 0.0
    for m in range(n_cells):
        p = work.cells[m]
        column = rows.columns[p]
        value = values[p]
        if rows.kind == LAPLACIAN:
            step = _laplacian_step(value, column, rows.order[p], work.weights, work.residuals)
        else:
            step = _chi2_step(
                value, own_residual, own_weight, column, work.weighted, work.weights, work.residuals
            )
        if step != 0.0:
            new = min(max(value + step, 0.0), 1.0)
            _exchange_term(rows.kind, value, new, column, work.residuals)
            own_residual += new - value
            values[p] = new
            largest = max(largest, abs(step))
    return largest


@_helper
def _write_pulls(
    columns: FloatArray, cells: IntArray, n_cells: int, weighted: FloatArray, pulls: FloatArray
) -> None:
    """Write the products of some columns with a weighted column, four columns a pass."""
    n = weighted.shape[0]
    last = n_cells - 1
    for m in range(0, n_cells, 4):
        # Beyond the last, a column is multiplied again.
        a, b = cells[m], cells[min(m + 1, last)]
        c, d = cells[min(m + 2, last)], cells[min(m + 3, last)]
        of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            factor = weighted[j]
            of_a += factor * columns[a, j]
            of_b += factor * columns[b, j]
            of_c += factor * columns[c, j]
            of_d += factor * columns[d, j]
        pulls[a] = of_a
        pulls[b] = of_b
        pulls[c] = of_c
        pulls[d] = of_d


@_helper
def _write_moments(
    columns: FloatArray,
    cells: IntArray,
    n_cells: int,
    weights: FloatArray,
    weighted: FloatArray,
    moments: _Moments,
) -> None:
    """Write the weighted sums of some columns and of their products."""
    n = weights.shape[0]
    for m in range(n_cells):
        p = cells[m]
        total = 0.0
        for j in range(n):
            weighted[j] = weights[j] * columns[p, j]
            total += weighted[j]
        moments.sums[p] = total
        _write_pulls(columns, cells, m + 1, weighted, moments.products[p])
        for o in range(m):
            moments.products[cells[o], p] = moments.products[p, cells[o]]


@_helper
def _add_row(moments: _Moments, values: FloatArray, sign: float) -> None:
    """Count a row once more, or once less, in moments."""
    for q in range(moments.sums.shape[0]):
        moments.sums[q] += sign * values[q]
    for p in range(moments.products.shape[0]):
        factor = sign * values[p]
        for q in range(moments.sums.shape[0]):
            moments.products[p, q] += factor * values[q]


@_helper
def _shared_moments(rows: Rows, weights: FloatArray) -> _Moments:
    """Return the moments of the columns, for a row of weights that serves all.

    They are kept up by products of all columns a row: no gain where columns outnumber rows.
    """
    n_features, n = rows.columns.shape
    shared = weights.shape[0] == 1 and n_features <= n and rows.kind in (GAUSSIAN, PRODUCT)
    for j in range(n):
        shared = shared and weights[0, j] == 1.0
    if not shared:
        return _Moments(False, np.empty(0), np.empty((0, 0)))
    width = _width(n_features)
    moments = _Moments(True, np.zeros(width), np.zeros((n_features, width)))
    every = np.arange(n_features)
    _write_moments(rows.columns, every, n_features, weights[0], np.empty(n), moments)
    return moments


@_helper
def _gaussian_cells(
    values: FloatArray,
    n_cells: int,
    n_rounds: int,
    share: float,
    tol: float,
    weight: float,
    residual: float,
    moments: _Moments,
    work: _Workspace,
) -> float:
    """Minimise over the numeric cells of a gaussian row, from moments; return the largest step.

    Over the other rows, `weight` sums the weights, `residual` the weighted residuals, and the
    pulls of the workspace their products with the columns. A round puts each cell on its minimum
    and then moves all of them jointly.
    """
    pulls, sums, products = work.pulls, moments.sums, moments.products
    largest = 0.0
    for _ in range(n_rounds):
        moved = 0.0
        for m in range(n_cells):
            p = work.cells[m]
            value = values[p]
            offset = weight * value - sums[p]
            square = value * (offset - sums[p]) + products[p, p]
            step = _quartic_step(
                4.0 * (value * residual - pulls[p]),
                4.0 * square + 2.0 * residual,
                4.0 * offset,
                weight,
                -value,
                1.0 - value,
            )
            residual = _shift_gaussian(values, p, step, weight, residual, moments, pulls)
            moved = max(moved, abs(step))
        n_free, length = _gaussian_joint_steps(values, n_cells, weight, residual, moments, work)
        for a in range(n_free):
            step = work.steps[a]
            residual = _shift_gaussian(values, work.free[a], step, weight, residual, moments, pulls)
            moved = max(moved, abs(step))
        largest = max(largest, moved)
        if moved <= tol or abs(length - 1.0) < share:
            break
    return largest


@_helper
def _shift_gaussian(
    values: FloatArray,
    p: int,
    step: float,
    weight: float,
    residual: float,
    moments: _Moments,
    pulls: FloatArray,
) -> float:
    """Move a cell of a gaussian row; return the sum of the weighted residuals.

    The residuals change by ``2 step (value - a) + step^2``.
    """
    value: float = values[p]
    offset: float = weight * value - moments.sums[p]
    # Of all columns: more numbers than needed, but side by side.
    by_sum = step * (2.0 * value + step)
    by_product = 2.0 * step
    for q in range(moments.sums.shape[0]):
        pulls[q] += by_sum * moments.sums[q] - by_product * moments.products[p, q]
    values[p] = min(max(value + step, 0.0), 1.0)
    return residual + step * (2.0 * offset + step * weight)


@_helper
def _gaussian_joint_steps(
    values: FloatArray,
    n_cells: int,
    weight: float,
    residual: float,
    moments: _Moments,
    work: _Workspace,
) -> tuple[int, float]:
    """Write the joint steps of a gaussian row's free cells.

    The direction is Newton's, without what makes the curvature indefinite. Along it, the steps
    v times t, a residual becomes ``r + 2 t v'(value - a) + t^2 v'v``: the objective is a quartic
    in t, of which the minimum is taken.

    Returns
    -------
    n_free : int
        Number of steps; 0 where the curvature is singular or less than two cells are free.
    length : float
        The t of the minimum: 1 if the objective is a parabola, and where a single cell is
        free, since it is at its minimum; 0 if the curvature is singular.
    """
    sums, products = moments.sums, moments.products
    free, forces, steps, curvature = work.free, work.forces, work.steps, work.curvature
    n_free = _free_cells(values, n_cells, 1.0, residual, work)
    if n_free < 2:
        return 0, 1.0
    bend = max(residual, 0.0)
    for a in range(n_free):
        p = free[a]
        offset = weight * values[p] - sums[p]
        for b in range(a, n_free):
            q = free[b]
            curvature[a, b] = 2.0 * (offset * values[q] - values[p] * sums[q] + products[p, q])
        curvature[a, a] += bend
    if not _solve(curvature, steps, n_free):
        return 0, 0.0
    force, square, offset = 0.0, 0.0, 0.0
    for a in range(n_free):
        force += forces[a] * steps[a]
        square += steps[a] * steps[a]
        offset += steps[a] * (weight * values[free[a]] - sums[free[a]])
    length = _quartic_step(
        -4.0 * force,
        2.0 * (force + square * (residual - bend)),
        4.0 * square * offset,
        square * square * weight,
        0.0,
        _reach(values, n_free, work),
    )
    for a in range(n_free):
        steps[a] *= length
    return n_free, length


@_helper
def _product_cells(
    values: FloatArray,
    n_cells: int,
    n_rounds: int,
    share: float,
    tol: float,
    own_weight: float,
    own_residual: float,
    moments: _Moments,
    work: _Workspace,
) -> float:
    """Minimise over the numeric cells of a product row, from moments; return the largest step.

    The pulls of the workspace are the products of the weighted residuals with the columns. A
    round puts each cell on its minimum and then moves all of them jointly.
    """
    pulls, products = work.pulls, moments.products
    largest = 0.0
    for _ in range(n_rounds):
        moved = 0.0
        for m in range(n_cells):
            p = work.cells[m]
            value = values[p]
            step = _quartic_step(
                2.0 * (pulls[p] + own_weight * own_residual * value),
                products[p, p] + own_weight * (own_residual + 2.0 * value * value),
                2.0 * own_weight * value,
                0.5 * own_weight,
                -value,
                1.0 - value,
            )
            own_residual = _shift_product(values, p, step, own_residual, moments, pulls)
            moved = max(moved, abs(step))
        n_free, length = _product_joint_steps(
            values, n_cells, own_weight, own_residual, moments, work
        )
        for a in range(n_free):
            step = work.steps[a]
            own_residual = _shift_product(values, work.free[a], step, own_residual, moments, pulls)
            moved = max(moved, abs(step))
        largest = max(largest, moved)
        if moved <= tol or abs(length - 1.0) < share:
            break
    return largest


@_helper
def _shift_product(
    values: FloatArray,
    p: int,
    step: float,
    own_residual: float,
    moments: _Moments,
    pulls: FloatArray,
) -> float:
    """Move a cell of a product row; return the residual of the row with itself.

    The residuals change by ``step a``, that of the row with itself by ``2 step value + step^2``.
    """
    value: float = values[p]
    for q in range(moments.sums.shape[0]):
        pulls[q] += step * moments.products[p, q]
    values[p] = min(max(value + step, 0.0), 1.0)
    return own_residual + step * (2.0 * value + step)


@_helper
def _product_joint_steps(
    values: FloatArray,
    n_cells: int,
    own_weight: float,
    own_residual: float,
    moments: _Moments,
    work: _Workspace,
) -> tuple[int, float]:
    """Write the joint steps of a product row's free cells; all as in `_gaussian_joint_steps`.

    Along the direction v a residual becomes ``r + t v'a``, that of the row with itself
    ``r + 2 t v'value + t^2 v'v``.
    """
    products = moments.products
    free, forces, steps, curvature = work.free, work.forces, work.steps, work.curvature
    pull = own_weight * own_residual
    n_free = _free_cells(values, n_cells, -1.0, pull, work)
    if n_free < 2:
        return 0, 1.0
    bend = max(pull, 0.0)
    for a in range(n_free):
        p = free[a]
        twice = 2.0 * own_weight * values[p]
        for b in range(a, n_free):
            q = free[b]
            curvature[a, b] = products[p, q] + twice * values[q]
        curvature[a, a] += bend
    if not _solve(curvature, steps, n_free):
        return 0, 0.0
    force, square, along = 0.0, 0.0, 0.0
    for a in range(n_free):
        force += forces[a] * steps[a]
        square += steps[a] * steps[a]
        along += steps[a] * values[free[a]]
    length = _quartic_step(
        -2.0 * force,
        force + square * (pull - bend),
        2.0 * own_weight * along * square,
        0.5 * own_weight * square * square,
        0.0,
        _reach(values, n_free, work),
    )
    for a in range(n_free):
        steps[a] *= length
    return n_free, length


@_helper
def _free_cells(
    values: FloatArray, n_cells: int, sign: float, residual: float, work: _Workspace
) -> int:
    """Write which cells of a row a joint step moves, and the forces on them; return their number.

    The force ``sign pull - residual value`` is a negative part of the gradient. Cells that it
    pushes out of [0, 1] stay.
    """
    n_free = 0
    for m in range(n_cells):
        p = work.cells[m]
        value = values[p]
        force = sign * work.pulls[p] - residual * value
        if (value <= 0.0 and force <= 0.0) or (value >= 1.0 and force >= 0.0):
            continue
        work.free[n_free] = p
        work.forces[n_free] = force
        work.steps[n_free] = force
        n_free += 1
    return n_free


@_helper
def _solve(matrix: FloatArray, vector: FloatArray, n: int) -> bool:
    """Solve a symmetric linear system in place, by elimination; return whether it is definite.

    Parameters
    ----------
    matrix : ndarray of shape (at least n, at least n)
        The matrix on and above its diagonal; overwritten.
    vector : ndarray of shape (at least n,)
        The right side; becomes the solution, but means nothing where False is returned.
    n : int
        Number of unknowns.
    """
    least = 0.0
    for a in range(n):
        least = max(least, PIVOT * matrix[a, a])
    for a in range(n):
        if not matrix[a, a] > least:
            return False
        inverse = 1.0 / matrix[a, a]
        matrix[a, a] = inverse
        for b in range(a + 1, n):
            factor = matrix[a, b] * inverse
            for c in range(b, n):
                matrix[b, c] -= factor * matrix[a, c]
            vector[b] -= factor * vector[a]
    for a in range(n - 1, -1, -1):
        total = vector[a]
        for b in range(a + 1, n):
            total -= matrix[a, b] * vector[b]
        vector[a] = total * matrix[a, a]
    return True


@_helper
def _reach(values: FloatArray, n_free: int, work: _Workspace) -> float:
    """Return by how much joint steps may be multiplied, at most by two, within [0, 1]."""
    reach = 2.0
    for a in range(n_free):
        value = values[work.free[a]]
        step = work.steps[a]
        room = 1.0 - value if step > 0.0 else value
        if room < reach * abs(step):
            reach = room / abs(step)
    return reach


@_helper
def _minimise_row(
    rows: Rows,
    own: int,
    values: FloatArray,
    missing: BoolArray,
    target: FloatArray,
    weights: FloatArray,
    moments: _Moments,
    n_rounds: int,
    share: float,
    tol: float,
    work: _Workspace,
) -> float:
    """Minimise over the missing cells of a row in turn, its categorical ones first.

    Parameters
    ----------
    rows : Rows
        The rows it is measured against.
    own : int
        Its place among them; -1 if it is none of them.
    values : ndarray of shape (n_features,)
        The row; overwritten.
    missing : ndarray of bool of shape (n_features,)
        Its cells that may move.
    target, weights : ndarray of shape (n_samples,)
        Its target sums and their weights.
    moments : _Moments
        Of the rows but itself, if they share any.
    n_rounds : int
        Rounds over the numeric cells, where moments make them cheap.
    share : float
        A round is the last if the length of its joint step differs from 1 by less.
    tol : float
        Step of a cell up to which a round is the last.
    work : _Workspace
        Written on.

    Returns
    -------
    float
        The largest step; a change of category counts as 1.
    """
    n = rows.columns.shape[1]
    n_cells = 0
    n_categorical = 0
    for p in range(rows.columns.shape[0]):
        if missing[p] and rows.n_codes[p] == 0:
            work.cells[n_cells] = p
            n_cells += 1
        elif missing[p]:
            n_categorical += 1
    _write_residuals(rows, values, target, n, work.residuals)
    own_weight = weights[own] if own >= 0 else 0.0
    own_residual = work.residuals[own] if own >= 0 else 0.0
    largest = 0.0
    if not moments.shared or n_categorical > 0:
        for j in range(n):
            work.weights[j] = weights[j]
        if own >= 0:
            work.weights[own] = 0.0
        largest = _categorical_cells(rows, values, missing, work)
    if rows.kind == LAPLACIAN or rows.kind == CHI2:
        return max(largest, _single_cells(rows, values, n_cells, own_weight, own_residual, work))
    if moments.shared:
        own_moments = moments
        if own >= 0:
            work.residuals[own] = 0.0
        weighted = work.residuals
        weight = float(n - 1 if own >= 0 else n)
    else:
        own_moments = work.moments
        weighted = work.weighted
        weight = 0.0
        _write_moments(rows.columns, work.cells, n_cells, work.weights, work.weighted, own_moments)
        for j in range(n):
            weighted[j] = work.weights[j] * work.residuals[j]
            weight += work.weights[j]
    residual = 0.0
    for j in range(n):
        residual += weighted[j]
    _write_pulls(rows.columns, work.cells, n_cells, weighted, work.pulls)
    if rows.kind == GAUSSIAN:
        moved = _gaussian_cells(
            values, n_cells, n_rounds, share, tol, weight, residual, own_moments, work
        )
    else:
        moved = _product_cells(
            values, n_cells, n_rounds, share, tol, own_weight, own_residual, own_moments, work
        )
    return max(largest, moved)


# ------------------------------------------------------------------------- the training table


@_entry
def objective(rows: Rows, target: FloatArray, weights: FloatArray) -> float:
    """Return the weighted sum of squared residuals over all pairs of rows, summed afresh.

    Parameters
    ----------
    rows : Rows
        The table.
    target : ndarray of shape (n_samples, n_samples)
        Symmetric target sums.
    weights : ndarray of shape (n_samples, n_samples) or (1, n_samples)
        Symmetric weights, or a row of ones for all.

    Returns
    -------
    float
        The objective.
    """
    n_features, n = rows.columns.shape
    values = np.empty(n_features)
    residuals = np.empty(n)
    total = 0.0
    for i in range(n):
        for p in range(n_features):
            values[p] = rows.columns[p, i]
        _write_residuals(rows, values, target[i], i + 1, residuals)
        row_weights = weights[min(i, weights.shape[0] - 1)]
        row = 0.0
        for j in range(i):
            row += row_weights[j] * residuals[j] * residuals[j]
        total += 2.0 * row + row_weights[i] * residuals[i] * residuals[i]
    return total


@_entry
def sweep(rows: Rows, target: FloatArray, weights: FloatArray, missing: BoolArray) -> float:
    """Minimise over the missing cells of every row in turn, in place; return the largest step.

    Parameters
    ----------
    rows : Rows
        The table; its columns are overwritten, and their order is kept up.
    target : ndarray of shape (n_samples, n_samples)
        Symmetric target sums.
    weights : ndarray of shape (n_samples, n_samples) or (1, n_samples)
        Symmetric weights, or a row of ones for all.
    missing : ndarray of bool of shape (n_samples, n_features)
        The cells that may move.

    Returns
    -------
    float
        The largest step of a cell; a change of category counts as 1.
    """
    n_features, n = rows.columns.shape
    work = _workspace(rows)
    moments = _shared_moments(rows, weights)
    values = np.zeros(_width(n_features))
    largest = 0.0
    for i in range(n):
        n_missing = 0
        for p in range(n_features):
            values[p] = rows.columns[p, i]
            n_missing += missing[i, p]
        if n_missing == 0:
            continue
        row_weights = weights[min(i, weights.shape[0] - 1)]
        if moments.shared:
            _add_row(moments, values, -1.0)
        moved = _minimise_row(
            rows,
            i,
            values,
            missing[i],
            target[i],
            row_weights,
            moments,
            ROW_ROUNDS,
            ROW_SHARE,
            0.0,
            work,
        )
        largest = max(largest, moved)
        if moments.shared:
            _add_row(moments, values, 1.0)
        for p in range(n_features):
            if missing[i, p]:
                rows.columns[p, i] = values[p]
                if rows.kind == LAPLACIAN:
                    _restore_order(rows.columns[p], rows.order[p], i)
    return largest


@_helper
def _restore_order(column: FloatArray, order: IntArray, row: int) -> None:
    """Move the one row that may stand at the wrong place of a column's order."""
    place = 0
    while order[place] != row:
        place += 1
    while place + 1 < order.shape[0] and column[order[place + 1]] < column[row]:
        order[place] = order[place + 1]
        place += 1
    while place > 0 and column[order[place - 1]] > column[row]:
        order[place] = order[place - 1]
        place -= 1
    order[place] = row


# -------------------------------------------------------------------------------- new rows


@_entry
def fill_from_similar(
    rows: Rows, copies: FloatArray, sharpness: float, table: FloatArray, missing: BoolArray
) -> None:
    """Fill new rows, in place, with the mean or the most frequent code of similar rows.

    A row k has the weight ``copies_k exp(-sharpness share distance_k / mean distance)``, the
    distance being the sum of feature terms (squared differences for the kernels that are not of a
    distance) over the cells that the new row has, its mean weighted by the copies, and share the
    part of the features that the new row has.

    Parameters
    ----------
    rows : Rows
        The complete rows.
    copies : ndarray of shape (n_samples,) or (0,)
        How often each complete row counts, in (0, inf); empty where all count once.
    sharpness : float
        How fast the weights fall, for a new row with all but one of the features.
    table : ndarray of shape (n_new, n_features)
        The new rows; overwritten at their gaps.
    missing : ndarray of bool of shape (n_new, n_features)
        Their gaps.
    """
    n_features, n = rows.columns.shape
    work = _workspace(rows)
    term = LAPLACIAN if rows.kind == LAPLACIAN else GAUSSIAN
    distances, weights, pulls = work.residuals, work.weights, work.pulls
    weighted = copies.size > 0
    n_copies = copies.sum()
    for i in range(table.shape[0]):
        for j in range(n):
            distances[j] = 0.0
        n_observed = 0
        for p in range(n_features):
            if not missing[i, p]:
                n_observed += 1
                _add_term(term, rows.n_codes[p], table[i, p], rows.columns[p], n, distances)
        mean = 0.0
        nearest = np.inf
        for j in range(n):
            mean += distances[j] / n
            nearest = min(nearest, distances[j])
        # Loops of their own, so that rows which all count once are summed as they ever were.
        if weighted:
            mean = 0.0
            for j in range(n):
                mean += copies[j] * distances[j]
            mean /= n_copies
        scale = sharpness * n_observed / (n_features * mean) if mean > 0.0 else 0.0
        total = 0.0
        for j in range(n):
            weights[j] = np.exp(scale * (nearest - distances[j]))
            total += weights[j]
        if weighted:
            total = 0.0
            for j in range(n):
                weights[j] *= copies[j]
                total += weights[j]
        for p in range(n_features):
            if not missing[i, p]:
                continue
            column = rows.columns[p]
            if rows.n_codes[p] == 0:
                value = 0.0
                for j in range(n):
                    value += weights[j] * column[j]
                table[i, p] = min(max(value / total, 0.0), 1.0)
                continue
            for c in range(rows.n_codes[p]):
                pulls[c] = 0.0
            for j in range(n):
                pulls[int(column[j])] += weights[j]
            best = 0
            for c in range(rows.n_codes[p]):
                if pulls[c] > pulls[best]:
                    best = c
            table[i, p] = best


@_entry
def recover_rows(
    rows: Rows,
    target: FloatArray,
    weights: FloatArray,
    missing: BoolArray,
    max_sweeps: int,
    tol: float,
    table: FloatArray,
    objectives: FloatArray,
    n_sweeps: IntArray,
    steps: FloatArray,
) -> None:
    """Minimise over the missing cells of new rows, each on its own against the complete rows.

    Parameters
    ----------
    rows : Rows
        The complete rows.
    target : ndarray of shape (n_new, n_samples)
        Target sums.
    weights : ndarray of shape (n_new, n_samples) or (1, n_samples)
        Weights, or a row of ones for all.
    missing : ndarray of bool of shape (n_new, n_features)
        The cells that may move.
    max_sweeps : int
        Sweeps over a row at the most.
    tol : float
        A row is done once no cell moves by more in a sweep.
    table : ndarray of shape (n_new, n_features)
        The new rows; overwritten.
    objectives : ndarray of shape (n_new,)
        Written: each row's weighted sum of squared residuals.
    n_sweeps : ndarray of int of shape (n_new,)
        Written: each row's sweeps.
    steps : ndarray of shape (n_new,)
        Written: the largest step of each row's last sweep; at most `tol` if it is done.
    """
    n_features, n = rows.columns.shape
    work = _workspace(rows)
    moments = _shared_moments(rows, weights)
    for i in range(table.shape[0]):
        row_weights = weights[min(i, weights.shape[0] - 1)]
        moved = 0.0
        for p in range(n_features):
            moved = max(moved, 1.0 if missing[i, p] else 0.0)
        n_sweeps[i] = 0
        while moved > tol and n_sweeps[i] < max_sweeps:
            moved = _minimise_row(
                rows,
                -1,
                table[i],
                missing[i],
                target[i],
                row_weights,
                moments,
                NEW_ROW_ROUNDS,
                0.0,
                tol,
                work,
            )
            n_sweeps[i] += 1
        steps[i] = moved
        _write_residuals(rows, table[i], target[i], n, work.residuals)
        value = 0.0
        for j in range(n):
            value += row_weights[j] * work.residuals[j] * work.residuals[j]
        objectives[i] = value
