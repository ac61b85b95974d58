"""The sweep of Stage II, compiled: row by row, each missing cell goes to its best value.

A row begins with its residuals, the sums of feature terms less their targets, computed afresh, so
that no rounding accumulates. A kernel with a new feature term needs its name in `CELLS`, its
formula in `_add_terms` and, in step 2 of `sweep`, the best step of one cell. All compiled code is
in this file because numba's cache only notices changes of the file that a function is in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from kernimpute.core.arrays import BoolArray, FloatArray

IntArray = NDArray[np.int64]

_Function = TypeVar("_Function", bound=Callable[..., Any])

GAUSSIAN, LAPLACIAN, PRODUCT, CHI2 = 0, 1, 2, 3
CELLS = {"gaussian": GAUSSIAN, "laplacian": LAPLACIAN, "product": PRODUCT, "chi2": CHI2}
"""The numbers that compiled code knows feature terms by, under the names of `Kernel.cell`."""
ROW_ROUNDS, ROW_SHARE = 8, 0.1
"""Rounds over a row's numeric cells at the most; the last is within this share of Newton's step."""
PIVOT = 1e-10
"""Relative size of a pivot up to which a row's curvature counts as singular."""
MAX_STEPS, NEWTON_TOL = 60, 1e-9
"""Newton's method stops at a step of this length because its error is then the square of it."""
CHI2_GRID, CHI2_POWER = 12, 6.0
"""Intervals of the grid for a chi-squared cell; power of its nodes, dense near 0's sharp bend."""
SMALLEST = 1e-300
"""Stands for 0 where the derivative of the chi-squared term would be 0 / 0."""

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # A check for division by zero would keep the chi-squared loops off the vector registers.
    "error_model": "numpy",
    # Sums may be reordered, which lets them use vector registers; NaN keeps its meaning.
    "fastmath": {"reassoc", "contract", "nsz"},
}


def _helper(function: _Function) -> _Function:
    """Compile a function that only compiled functions call."""
    options = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    # A call that is not inlined passes every array of a tuple as a dozen numbers.
    compiled: _Function = numba.njit(forceinline=True, **options)(function)
    return compiled


def compile_cached(**options: Any) -> Callable[[_Function], _Function]:
    """Return what compiles a function that Python calls, and keeps the code in a file if it can."""

    def compiled(function: _Function) -> _Function:
        try:
            return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
        except RuntimeError:
            # Neither the package's directory nor the user's can be written to.
            return numba.njit(**options)(function)  # type: ignore[no-any-return]

    return compiled


def is_compiled(function: Any) -> bool:
    """Return whether a function has been called, so that nothing is left to compile or read."""
    return bool(function.signatures)


class Rows(NamedTuple):
    """A complete table as compiled code takes it."""

    cell: int  # the feature term, a value of `CELLS`
    columns: FloatArray  # (n_features, n_samples); indices of codes in categorical columns
    n_codes: IntArray  # (n_features,): number of codes of a column, 0 for a numeric one
    order: IntArray  # (n_features, n_samples): for the laplacian term, each column's argsort


def arrange(cell: int, columns: FloatArray, n_codes: IntArray) -> Rows:
    """Return columns of shape (n_features, n_samples) as compiled code takes them."""
    # Sorting costs as much as the objective, and only the laplacian term reads the order.
    order = np.argsort(columns if cell == LAPLACIAN else columns[:0], axis=1, kind="stable")
    return Rows(cell, np.ascontiguousarray(columns), n_codes, order)


@_helper
def _add_terms(
    cell: int, n_codes: int, column: FloatArray, value: float, sign: float, residuals: FloatArray
) -> None:
    """Add to the residuals, of the first rows, the feature terms of a value in a column."""
    n = residuals.shape[0]
    if n_codes > 0:
        for j in range(n):
            residuals[j] += sign if column[j] != value else 0.0
    elif cell == GAUSSIAN:
        for j in range(n):
            difference = column[j] - value
            residuals[j] += sign * difference * difference
    elif cell == LAPLACIAN:
        for j in range(n):
            residuals[j] += sign * abs(column[j] - value)
    elif cell == PRODUCT:
        for j in range(n):
            residuals[j] += sign * value * column[j]
    elif value > 0.0:
        for j in range(n):
            residuals[j] += sign * 2.0 * value * (column[j] / (column[j] + value))


@_helper
def _write_residuals(
    rows: Rows, values: FloatArray, target: FloatArray, residuals: FloatArray
) -> None:
    """Write the sums of a row's feature terms with the first rows, less their targets."""
    for j in range(residuals.shape[0]):
        residuals[j] = -target[j]
    for p in range(rows.columns.shape[0]):
        _add_terms(rows.cell, rows.n_codes[p], rows.columns[p], values[p], 1.0, residuals)


@_helper
def _exchange(rows: Rows, p: int, old: float, new: float, residuals: FloatArray) -> None:
    """Put the terms of a new value in column p in the place of those of the old one."""
    _add_terms(rows.cell, rows.n_codes[p], rows.columns[p], old, -1.0, residuals)
    _add_terms(rows.cell, rows.n_codes[p], rows.columns[p], new, 1.0, residuals)


@compile_cached(**_OPTIONS)
def objective(rows: Rows, target: FloatArray, weights: FloatArray) -> float:
    """Return the sum of squared residuals of all pairs, weighted by the same or by one row."""
    n_features, n = rows.columns.shape
    values = np.empty(n_features)
    residuals = np.empty(n)
    total = 0.0
    for i in range(n):
        values[:] = rows.columns[:, i]
        _write_residuals(rows, values, target[i], residuals[: i + 1])
        row_weights = weights[min(i, weights.shape[0] - 1)]
        row = 0.0
        for j in range(i):
            row += row_weights[j] * residuals[j] * residuals[j]
        total += 2.0 * row + row_weights[i] * residuals[i] * residuals[i]
    return total


class _Room(NamedTuple):
    """Arrays that the minimisation over a row writes to."""

    # The columns of a row's numeric missing cells, and the places among them of those that a joint
    # step moves.
    cells: IntArray
    free: IntArray
    # A number per row of the table; the third are the ratios of `_chi2_change`, or the products of
    # residuals or a column with the weights. And one per code.
    residuals: FloatArray
    weights: FloatArray
    weighted: FloatArray
    of_codes: FloatArray
    # The weighted sums over the rows of a column; of a cell its value, two coefficients of the
    # quartic, and its step.
    sums: FloatArray
    values: FloatArray
    cubic: FloatArray
    linear: FloatArray
    steps: FloatArray
    # The same of two columns or cells: weighted sums, a coefficient, the curvature.
    products: FloatArray
    square: FloatArray
    curvature: FloatArray


_Chi2Cell = tuple[float, float, float, FloatArray, FloatArray, FloatArray, FloatArray]
"""A cell's value, its row's own residual and weight, its column, and of `_Room` three arrays."""


@_helper
def _best_code(rows: Rows, p: int, code: int, room: _Room) -> int:
    """Return the code of a cell that lowers the objective most, or the current one."""
    codes, n_codes, changes = rows.columns[p], rows.n_codes[p], room.of_codes
    for c in range(n_codes):
        changes[c] = 0.0
    for j in range(codes.shape[0]):
        c = int(codes[j])
        # A change adds 1 to the residuals of rows with the old code, and takes 1 of the new one's.
        leaving = 1.0 if c == code else -1.0
        changes[c] += room.weights[j] * (1.0 + 2.0 * leaving * room.residuals[j])
    best, lowest = code, 0.0
    for c in range(n_codes):
        change = changes[code] + changes[c]
        if c != code and change < lowest:
            lowest, best = change, c
    return best


@_helper
def _laplacian_step(
    value: float, column: FloatArray, order: IntArray, weights: FloatArray, residuals: FloatArray
) -> float:
    """Return the step of a laplacian cell in [0, 1] that lowers the objective most, or 0."""
    n = column.shape[0]
    place, total, pull_here = 0, 0.0, 0.0
    for j in range(n):
        place += 1 if column[j] < value else 0
        total += weights[j]
        pull_here += weights[j] * (residuals[j] if column[j] >= value else -residuals[j])
    if total <= 0.0:
        return 0.0
    # Between neighbours the objective is total u^2 - 2 pull u + shift; visited outwards, so that
    # parabolas near the current value are summed from small numbers.
    step, lowest = 0.0, 0.0
    for side in (1.0, -1.0):
        # On the left side everything is mirrored: steps, offsets and pull change their sign.
        pull, shift, near = side * pull_here, 0.0, 0.0
        reach = 1.0 - value if side > 0.0 else value
        k = place if side > 0.0 else place - 1
        while True:
            inside = 0 <= k < n
            far = min(side * (column[order[k]] - value), reach) if inside else reach
            far = max(far, near)
            u = min(max(pull / total, near), far)
            change = u * (total * u - 2.0 * pull) + shift
            if change < lowest:
                lowest, step = change, side * u
            if far >= reach or not inside:
                break
            j = order[k]
            pull += 2.0 * weights[j] * (far - residuals[j])
            shift += 4.0 * weights[j] * far * (far - residuals[j])
            near = far
            k += 1 if side > 0.0 else -1
    return step


@_helper
def _chi2_change(step: float, cell: _Chi2Cell) -> tuple[float, float, float]:
    """Return what a step of a chi-squared cell adds to the objective, its slope and curvature.

    `ratios` holds ``a / (a + value)``. With the same of the new value, ``ratio``, a feature term
    changes by ``2 step ratios ratio``, its slope is ``2 ratio^2`` and its curvature
    ``-4 ratio^2 / (a + value + step)``. The term of the row with itself is its value.
    """
    value, own_residual, own_weight, column, ratios, weights, residuals = cell
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
def _chi2_step(cell: _Chi2Cell) -> float:
    """Return the step of a chi-squared cell in [0, 1] that lowers the objective most, or 0."""
    value, _, _, column, ratios, _, _ = cell
    for j in range(column.shape[0]):
        ratios[j] = column[j] / (column[j] + max(value, SMALLEST))
    best, lowest = 0.0, 0.0
    for node in range(CHI2_GRID + 1):
        step = (node / CHI2_GRID) ** CHI2_POWER - value
        change, _, _ = _chi2_change(step, cell)
        if change < lowest:
            lowest, best = change, step
    root = (value + best) ** (1.0 / CHI2_POWER) * CHI2_GRID
    # At least a quarter of an interval away, so that a node has both its neighbours around it.
    left = (max(np.ceil(root - 0.25) - 1.0, 0.0) / CHI2_GRID) ** CHI2_POWER - value
    right = (min(np.floor(root + 0.25) + 1.0, float(CHI2_GRID)) / CHI2_GRID) ** CHI2_POWER - value
    step = best
    # Newton's method, which bisects where it would leave the bracket.
    for _ in range(MAX_STEPS):
        _, slope, curvature = _chi2_change(step, cell)
        left, right = (left, step) if slope > 0.0 else (step, right)
        newton = -slope / curvature if curvature > 0.0 else np.inf
        if abs(newton) <= NEWTON_TOL:
            step = min(max(step + newton, -value), 1.0 - value)
            break
        step += newton
        if not left <= step <= right:
            step = 0.5 * (left + right)
        if right - left <= NEWTON_TOL:
            break
    change, _, _ = _chi2_change(step, cell)
    return step if change < lowest else best


@_helper
def _quartic_step(q1: float, q2: float, q3: float, q4: float, low: float, high: float) -> float:
    """Return the step in [low, high] that lowers q1 u + q2 u^2 + q3 u^3 + q4 u^4 most, or 0."""
    # With q4 >= 0 the minimum is at an end or in a part outside the inflection points, each convex.
    spread = 9.0 * q3 * q3 - 24.0 * q2 * q4
    if spread <= 0.0 or q4 <= 0.0:
        return _convex_step(q1, q2, q3, q4, low, high)
    centre = -q3 / (4.0 * q4)
    half = np.sqrt(spread) / (12.0 * q4)
    step, lowest = 0.0, 0.0
    for candidate in (
        low,
        high,
        _convex_step(q1, q2, q3, q4, low, max(low, min(high, centre - half))),
        _convex_step(q1, q2, q3, q4, min(high, max(low, centre + half)), high),
    ):
        value = candidate * (q1 + candidate * (q2 + candidate * (q3 + candidate * q4)))
        if value < lowest:
            lowest, step = value, candidate
    return step


@_helper
def _convex_step(q1: float, q2: float, q3: float, q4: float, left: float, right: float) -> float:
    """Return a quartic's minimiser where it is convex, by Newton's method or bisection from 0."""
    if _slope(q1, q2, q3, q4, left) > 0.0:
        return left
    if _slope(q1, q2, q3, q4, right) < 0.0:
        return right
    u = min(max(0.0, left), right)
    for _ in range(MAX_STEPS):
        slope = _slope(q1, q2, q3, q4, u)
        if slope == 0.0:
            break
        left, right = (left, u) if slope > 0.0 else (u, right)
        curvature = 2.0 * q2 + u * (6.0 * q3 + u * 12.0 * q4)
        step = -slope / curvature if curvature > 0.0 else np.inf
        if not left <= u + step <= right:
            step = 0.5 * (left + right) - u
        u += step
        if abs(step) <= NEWTON_TOL:
            break
    return u


@_helper
def _slope(q1: float, q2: float, q3: float, q4: float, u: float) -> float:
    return q1 + u * (2.0 * q2 + u * (3.0 * q3 + u * 4.0 * q4))


@_helper
def _write_quartic(
    rows: Rows, n_cells: int, own_weight: float, own_residual: float, room: _Room
) -> tuple[float, float]:
    """Write the quartic of a row's missing steps v; return alpha and beta.

    It is ``alpha |v|^4 + |v|^2 (beta + cubic'v) + v'square v / 2 + linear'v`` for residuals that
    change by ``2 v'(value - a) + |v|^2`` (differences, a being another row) or ``v'a`` (products;
    a row with itself: ``2 v'value + |v|^2``, counted half because other pairs are there twice).
    """
    is_difference, sums, products = rows.cell == GAUSSIAN, room.sums, room.products
    # The weighted sums of the cells' columns and of their products.
    for m in range(n_cells):
        p = room.cells[m]
        sums[p] = _dot(room.weights, rows.columns[p])
        for j in range(room.weights.shape[0]):
            room.weighted[j] = room.weights[j] * rows.columns[p, j]
        for o in range(m + 1):
            q = room.cells[o]
            products[p, q] = products[q, p] = _dot(room.weighted, rows.columns[q])
    weight, residual = 0.0, 0.0
    for j in range(room.weights.shape[0]):
        room.weighted[j] = room.weights[j] * room.residuals[j]
        weight += room.weights[j]
        residual += room.weighted[j]
    for m in range(n_cells):
        p, x = room.cells[m], room.values[m]
        pull = _dot(room.weighted, rows.columns[p])
        if is_difference:
            room.cubic[m] = 4.0 * (weight * x - sums[p])
            room.linear[m] = 4.0 * (residual * x - pull)
        else:
            room.cubic[m] = 2.0 * own_weight * x
            room.linear[m] = 2.0 * (pull + own_weight * own_residual * x)
        for o in range(n_cells):
            q, z = room.cells[o], room.values[o]
            if is_difference:
                square = 8.0 * (x * (weight * z - sums[q]) - sums[p] * z + products[p, q])
            else:
                square = 2.0 * products[p, q] + 4.0 * own_weight * x * z
            room.square[m, o] = square
    if is_difference:
        return weight, 2.0 * residual
    return 0.5 * own_weight, own_weight * own_residual


@_helper
def _dot(x: FloatArray, z: FloatArray) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * z[j]
    return total


@_helper
def _minimise_quartic(alpha: float, beta: float, n_cells: int, room: _Room) -> None:
    """Move a row's cells to the minimum of their quartic in [0, 1]: each alone, then all, again."""
    values, cubic, square, linear = room.values, room.cubic, room.square, room.linear
    for _ in range(ROW_ROUNDS):
        moved = False
        for m in range(n_cells):
            step = _quartic_step(
                linear[m], 0.5 * square[m, m] + beta, cubic[m], alpha, -values[m], 1.0 - values[m]
            )
            if step != 0.0:
                beta = _move_origin(m, step, alpha, beta, n_cells, room)
                moved = True
        n_free, length = _write_joint_steps(alpha, beta, n_cells, room)
        for a in range(n_free):
            beta = _move_origin(room.free[a], room.steps[a], alpha, beta, n_cells, room)
        if not moved or abs(length - 1.0) < ROW_SHARE:
            break


@_helper
def _move_origin(
    m: int, step: float, alpha: float, beta: float, n_cells: int, room: _Room
) -> float:
    """Move a cell, rewrite the quartic for steps from there, and return its beta."""
    values, cubic, square, linear = room.values, room.cubic, room.square, room.linear
    rise: float = step * (cubic[m] + 2.0 * alpha * step)
    for o in range(n_cells):
        bend = step * cubic[o]
        linear[o] += step * (square[m, o] + bend)
        square[m, o] += 2.0 * bend
        square[o, m] += 2.0 * bend
    linear[m] += 2.0 * step * (beta + rise)
    square[m, m] += 8.0 * alpha * step * step
    cubic[m] += 4.0 * alpha * step
    values[m] = min(max(values[m] + step, 0.0), 1.0)
    return beta + rise


@_helper
def _write_joint_steps(alpha: float, beta: float, n_cells: int, room: _Room) -> tuple[int, float]:
    """Write t times Newton's steps of the cells that are not pushed out of [0, 1].

    Return their number, 0 for a singular curvature or a single cell, and t, then 0 or 1.
    """
    values, linear = room.values, room.linear
    free, steps, curvature = room.free, room.steps, room.curvature
    n_free = 0
    for m in range(n_cells):
        blocked_below = values[m] <= 0.0 and linear[m] >= 0.0
        blocked_above = values[m] >= 1.0 and linear[m] <= 0.0
        if not blocked_below and not blocked_above:
            free[n_free] = m
            steps[n_free] = -linear[m]
            n_free += 1
    if n_free < 2:
        return 0, 1.0
    # A negative beta would make the curvature indefinite.
    ridge = max(2.0 * beta, 0.0)
    for a in range(n_free):
        for b in range(a, n_free):
            curvature[a, b] = room.square[free[a], free[b]]
        curvature[a, a] += ridge
    if not _solve(curvature, steps, n_free):
        return 0, 0.0
    # At most twice Newton's step, and not beyond the first end of [0, 1].
    slope, norm, bend, reach = 0.0, 0.0, 0.0, 2.0
    for a in range(n_free):
        m, step = free[a], steps[a]
        slope += linear[m] * step
        norm += step * step
        bend += room.cubic[m] * step
        slack = 1.0 - values[m] if step > 0.0 else values[m]
        if slack < reach * abs(step):
            reach = slack / abs(step)
    # The direction solves (square + ridge) v = -linear, which gives v'square v.
    square = -0.5 * slope + norm * (beta - 0.5 * ridge)
    length = _quartic_step(slope, square, norm * bend, alpha * norm * norm, 0.0, reach)
    for a in range(n_free):
        steps[a] *= length
    return n_free, length


@_helper
def _solve(matrix: FloatArray, vector: FloatArray, n: int) -> bool:
    """Solve a symmetric system of n rows in place by its upper triangle; False if not definite."""
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


@compile_cached(**_OPTIONS)
def sweep(rows: Rows, target: FloatArray, weights: FloatArray, missing: BoolArray) -> None:
    """Minimise over the missing cells of every row in turn, overwriting the table and its order."""
    n_features, n = rows.columns.shape
    places, of_rows = np.empty((2, n_features), np.int64), np.empty((3, n))
    of_cells, of_pairs = np.empty((5, n_features)), np.empty((3, n_features, n_features))
    room = _Room(
        *(places[0], places[1]),
        *(of_rows[0], of_rows[1], of_rows[2], np.empty(rows.n_codes.max())),
        *(of_cells[0], of_cells[1], of_cells[2], of_cells[3], of_cells[4]),
        *(of_pairs[0], of_pairs[1], of_pairs[2]),
    )
    residuals, values = room.residuals, np.empty(n_features)
    for i in range(n):
        if not missing[i].any():
            continue
        values[:] = rows.columns[:, i]
        _write_residuals(rows, values, target[i], residuals)
        room.weights[:] = weights[min(i, weights.shape[0] - 1)]
        own_weight, own_residual = room.weights[i], residuals[i]
        # The row's pair with itself follows another formula.
        room.weights[i] = 0.0
        # 1. Categorical cells.
        n_cells = 0
        for p in range(n_features):
            if missing[i, p] and rows.n_codes[p] > 0:
                code = int(values[p])
                best = _best_code(rows, p, code, room)
                if best != code:
                    _exchange(rows, p, code, best, residuals)
                    values[p] = best
            elif missing[i, p]:
                room.cells[n_cells] = p
                room.values[n_cells] = values[p]
                n_cells += 1
        if rows.cell == LAPLACIAN or rows.cell == CHI2:
            # 2. Numeric cells, one by one.
            for m in range(n_cells):
                p = room.cells[m]
                value, column = values[p], rows.columns[p]
                if rows.cell == LAPLACIAN:
                    step = _laplacian_step(value, column, rows.order[p], room.weights, residuals)
                else:
                    own = (value, own_residual, own_weight, column)
                    step = _chi2_step((*own, room.weighted, room.weights, residuals))
                if step != 0.0:
                    values[p] = min(max(value + step, 0.0), 1.0)
                    _exchange(rows, p, value, values[p], residuals)
                    own_residual += values[p] - value
        else:
            # 3. Numeric cells, all together: the objective is a quartic polynomial of them.
            alpha, beta = _write_quartic(rows, n_cells, own_weight, own_residual, room)
            _minimise_quartic(alpha, beta, n_cells, room)
            for m in range(n_cells):
                values[room.cells[m]] = room.values[m]
        for p in range(n_features):
            if missing[i, p]:
                rows.columns[p, i] = values[p]
                if rows.cell == LAPLACIAN:
                    _restore_order(rows.columns[p], rows.order[p], i)


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
