"""The exact minimiser of one cell given all others, for every feature term, and the sweep of them.

This file says what the compiled sweep computes; it is its definition and its reference in the
tests, written for reading. With all cells but one fixed, the objective is a function of that
cell's value t alone. Half of it, up to a constant, is::

    sum over other rows j of weight_j (g(t, a_j) + c_j)^2 + own_weight / 2 (g(t, t) + c)^2

where ``a`` is the cell's column and ``c_j`` what the other features leave of the residual of the
pair. Everything below is written in the step ``u = t - value`` from the current value and in the
current residuals ``r_j = g(value, a_j) + c_j``: then a small step is computed from small numbers,
and a minimiser can be right to the last digits where the objective is nearly zero.

Each minimiser returns a value that is a global minimum, and the current value unless the new
one is better; so no update raises the objective, nor does a sweep. Cells of a row pull at each
other, and one at a time they approach the minimum over the row slowly: `joint_step` moves them
together, to the minimum along Newton's direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernimpute.methods.starts import RecoveryProblem
from kernimpute.methods.sweep import (
    CHI2,
    CHI2_GRID,
    CHI2_POWER,
    GAUSSIAN,
    LAPLACIAN,
    NEWTON_STEPS,
    NEWTON_TOL,
    PIVOT,
    PRODUCT,
    ROW_ROUNDS,
    ROW_SHARE,
    SMALLEST,
)

__all__ = [
    "categorical_cell",
    "chi2_cell",
    "gaussian_cell",
    "joint_step",
    "laplacian_cell",
    "product_cell",
    "quartic_step",
    "sweep",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def quartic_step(coefficients: FloatArray, low: float, high: float) -> float:
    """Return the step that lowers a quartic without constant term most.

    The ends of the interval and the real roots of the derivative, brought into the interval
    and polished by Newton's method, are compared by their values.

    Parameters
    ----------
    coefficients : ndarray of shape (4,)
        Coefficients of u, u^2, u^3 and u^4, the last nonnegative.
    low, high : float
        Ends of the interval, which holds 0.

    Returns
    -------
    float
        The step; 0 if no step has a negative value.
    """
    slope = coefficients * np.arange(1, 5)
    curvature = slope[1:] * np.arange(1, 4)
    candidates = np.concatenate([[0.0, low, high], np.roots(slope[::-1]).real])
    candidates = np.clip(candidates, low, high)
    for _ in range(NEWTON_STEPS):
        bend = np.polyval(curvature[::-1], candidates)
        newton = np.divide(
            np.polyval(slope[::-1], candidates), bend, out=np.zeros_like(bend), where=bend > 0.0
        )
        candidates[3:] = np.clip(candidates - newton, low, high)[3:]
    values = candidates * np.polyval(coefficients[::-1], candidates)
    return float(candidates[np.argmin(values)])


def gaussian_cell(
    value: float, column: FloatArray, residuals: FloatArray, weights: FloatArray
) -> float:
    """Return the best value in [0, 1] of a gaussian cell, where ``g(t, a) = (t - a)^2``.

    The residual of a pair becomes ``r + 2 u (value - a) + u^2``, so the objective is a quartic.

    Parameters
    ----------
    value : float
        The current value.
    column : ndarray of shape (n_others,)
        The other rows' values in the cell's column.
    residuals : ndarray of shape (n_others,)
        The current residuals of the cell's row with the other rows.
    weights : ndarray of shape (n_others,)
        The weights of these pairs.

    Returns
    -------
    float
        The best value.
    """
    offsets = value - column
    coefficients = np.array(
        [
            4.0 * (weights * residuals * offsets).sum(),
            (weights * (4.0 * offsets**2 + 2.0 * residuals)).sum(),
            4.0 * (weights * offsets).sum(),
            weights.sum(),
        ]
    )
    return _moved(value, quartic_step(coefficients, -value, 1.0 - value))


def product_cell(
    value: float,
    column: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    own_residual: float,
    own_weight: float,
) -> float:
    """Return the best value in [0, 1] of a cell where ``g(t, a) = t a``.

    The residual of a pair becomes ``r + u a``, a parabola's; that of the row with itself
    becomes ``r + 2 value u + u^2``, whose square is a quartic.

    Parameters
    ----------
    value : float
        The current value.
    column, residuals, weights : ndarray of shape (n_others,)
        As in `gaussian_cell`.
    own_residual, own_weight : float
        Residual and weight of the row with itself.

    Returns
    -------
    float
        The best value.
    """
    coefficients = np.array(
        [
            2.0 * (weights * residuals * column).sum() + 2.0 * own_weight * own_residual * value,
            (weights * column**2).sum() + own_weight * (own_residual + 2.0 * value**2),
            2.0 * own_weight * value,
            0.5 * own_weight,
        ]
    )
    return _moved(value, quartic_step(coefficients, -value, 1.0 - value))


def laplacian_cell(
    value: float, column: FloatArray, residuals: FloatArray, weights: FloatArray
) -> float:
    """Return the best value in [0, 1] of a laplacian cell, where ``g(t, a) = |t - a|``.

    With the offset ``e = a - value``, the residual of a pair becomes ``r + |u - e| - |e|``. To
    one side of the current value, u > 0 say, a row whose offset lies on the other side has
    ``(u + r)^2``, and one whose offset lies ahead ``(u - r)^2`` before and ``(u - (2 e - r))^2``
    after it is passed. Between two offsets the objective is one parabola, summed cumulatively
    from the nearest offset outwards; its minimum within the piece competes with the others'.

    Parameters
    ----------
    value : float
        The current value.
    column, residuals, weights : ndarray of shape (n_others,)
        As in `gaussian_cell`.

    Returns
    -------
    float
        The best value.
    """
    total = weights.sum()
    if total <= 0.0:
        return value
    best_step = 0.0
    lowest = 0.0
    for side in (1.0, -1.0):
        offsets = side * (column - value)
        ahead = np.flatnonzero(offsets >= 0.0)
        ahead = ahead[np.argsort(offsets[ahead], kind="stable")]
        e, r, w = offsets[ahead], residuals[ahead], weights[ahead]
        behind = np.setdiff1d(np.arange(column.size), ahead)
        start = (w * r).sum() - (weights[behind] * residuals[behind]).sum()
        pulls = start + np.concatenate([[0.0], np.cumsum(2.0 * w * (e - r))])
        shifts = np.concatenate([[0.0], np.cumsum(4.0 * w * e * (e - r))])
        reach = 1.0 - value if side > 0.0 else value
        knots = np.minimum(np.concatenate([[0.0], e, [reach]]), reach)
        steps = np.clip(pulls / total, knots[:-1], knots[1:])
        changes = steps * (total * steps - 2.0 * pulls) + shifts
        # Pieces beyond the reach have shrunk to a point, where their parabolas mean nothing.
        changes[knots[:-1] >= reach] = 0.0
        best = int(np.argmin(changes))
        if changes[best] < lowest:
            lowest = changes[best]
            best_step = side * steps[best]
    return _moved(value, best_step)


def chi2_cell(
    value: float,
    column: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    own_residual: float,
    own_weight: float,
) -> float:
    """Return the best value in [0, 1] of a cell where ``g(t, a) = 2 t a / (t + a)``.

    A step changes the residual of a pair by ``2 u a^2 / ((value + a) (t + a))``, and that of the
    row with itself by u. The function has no closed minimiser and may have several minima:
    the best node of a grid, or the current value where it is better, starts a Newton search
    kept between its neighbouring nodes by bisection.

    Parameters
    ----------
    value : float
        The current value.
    column, residuals, weights : ndarray of shape (n_others,)
        As in `gaussian_cell`.
    own_residual, own_weight : float
        Residual and weight of the row with itself.

    Returns
    -------
    float
        The best value.
    """
    ratios = column / (column + max(value, SMALLEST))

    def at(step: float) -> tuple[float, float, float]:
        """Return the change of the objective at a step, its slope and its curvature."""
        moved = max(value + step, SMALLEST)
        ratio = column / (column + moved)
        move = 2.0 * step * ratios * ratio
        r = residuals + move
        change = (weights * move * (r + residuals)).sum()
        change += 0.5 * own_weight * step * (step + 2.0 * own_residual)
        slope = 4.0 * (weights * ratio**2 * r).sum() + own_weight * (step + own_residual)
        bend = 8.0 * (weights * ratio**2 * (ratio**2 - r / (column + moved))).sum() + own_weight
        return float(change), float(slope), float(bend)

    nodes = (np.arange(CHI2_GRID + 1) / CHI2_GRID) ** CHI2_POWER - value
    candidates = {0.0: 0.0} | {float(node): at(float(node))[0] for node in nodes}
    step = min(candidates, key=lambda node: candidates[node])
    root = (value + step) ** (1.0 / CHI2_POWER) * CHI2_GRID
    # A quarter of a cell away at least, so that a node has both its neighbours around it.
    left = float(nodes[max(int(np.ceil(root - 0.25)) - 1, 0)])
    right = float(nodes[min(int(np.floor(root + 0.25)) + 1, CHI2_GRID)])
    start = step
    for _ in range(NEWTON_STEPS):
        _, slope, bend = at(step)
        left, right = (left, step) if slope > 0.0 else (step, right)
        newton = -slope / bend if bend > 0.0 else np.inf
        if abs(newton) <= NEWTON_TOL:
            step = min(max(step + newton, -value), 1.0 - value)
            break
        step += newton
        if not left <= step <= right:
            step = 0.5 * (left + right)
        if right - left <= NEWTON_TOL:
            break
    return _moved(value, step if at(step)[0] < candidates[start] else start)


def categorical_cell(
    code: int, codes: FloatArray, n_codes: int, residuals: FloatArray, weights: FloatArray
) -> int:
    """Return the best code of a categorical cell, where ``g`` is 1 for two codes that differ.

    Leaving code b for c adds 1 to the residuals of the rows with b, and takes 1 from those of
    the rows with c; every code is tried.

    Parameters
    ----------
    code : int
        The current code.
    codes : ndarray of shape (n_others,)
        The other rows' codes.
    n_codes : int
        Number of codes.
    residuals, weights : ndarray of shape (n_others,)
        As in `gaussian_cell`.

    Returns
    -------
    int
        The best code.
    """
    leaving = (weights * (2.0 * residuals + 1.0))[codes == code].sum()
    entering = np.bincount(
        codes.astype(np.int64), weights * (1.0 - 2.0 * residuals), minlength=n_codes
    )
    changes = leaving + entering
    changes[code] = 0.0
    best = int(np.argmin(changes))
    return best if changes[best] < 0.0 else code


def joint_step(
    values: FloatArray,
    slopes: FloatArray,
    bends: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the step of several cells of a gaussian or product row at once.

    The steps v change a residual to ``r + slope'v + bend v'v``. Cells that the gradient pushes
    out of [0, 1] stay. The direction is Newton's, its curvature made semidefinite by leaving out
    what the bends make of residuals that are negative on balance. Along it the objective is a
    quartic, of which the minimum is taken, as far as twice the direction and no cell leaves
    [0, 1].

    Parameters
    ----------
    values : ndarray of shape (n_cells,)
        The current values.
    slopes : ndarray of shape (n_cells, n_pairs)
        Derivatives of the residuals.
    bends : ndarray of shape (n_pairs,)
        Halves of their second derivatives, which no two cells share.
    residuals, weights : ndarray of shape (n_pairs,)
        The current residuals, and the weights of their squares.

    Returns
    -------
    steps : ndarray of shape (n_cells,)
        The steps.
    length : float
        Their ratio to the direction: 1 where less than two cells are free, for a single one is
        at its minimum; 0 where the curvature is singular.
    """
    forces = -slopes @ (weights * residuals)
    free = ~((values <= 0.0) & (forces <= 0.0) | (values >= 1.0) & (forces >= 0.0))
    steps = np.zeros(values.size)
    if free.sum() < 2:
        return steps, 1.0
    curvature = (weights * slopes[free]) @ slopes[free].T
    bend = max(2.0 * float((weights * residuals * bends).sum()), 0.0)
    curvature[np.diag_indices_from(curvature)] += bend
    try:
        pivots = np.diag(np.linalg.cholesky(curvature)) ** 2
    except np.linalg.LinAlgError:
        return steps, 0.0
    if pivots.min() <= PIVOT * np.diag(curvature).max():
        return steps, 0.0
    direction = np.linalg.solve(curvature, forces[free])
    room = np.where(direction > 0.0, 1.0 - values[free], values[free])
    reach = min(2.0, float((room / np.maximum(np.abs(direction), SMALLEST)).min()))
    slope = direction @ slopes[free]
    bent = bends * (direction @ direction)
    coefficients = np.array(
        [
            2.0 * (weights * residuals * slope).sum(),
            (weights * (slope**2 + 2.0 * residuals * bent)).sum(),
            2.0 * (weights * slope * bent).sum(),
            (weights * bent**2).sum(),
        ]
    )
    length = quartic_step(coefficients, 0.0, reach)
    steps[free] = length * direction
    return steps, length


def _moved(value: float, step: float) -> float:
    return min(max(value + step, 0.0), 1.0)


def sweep(problem: RecoveryProblem, columns: FloatArray) -> float:
    """Minimise over the missing cells of every row in turn, in place.

    A row's categorical cells come first, then its numeric ones. For the gaussian and the product
    kernels a step of all numeric cells jointly follows, and the two are repeated, in up to
    `ROW_ROUNDS` rounds, until no cell moves or the joint step is Newton's but for `ROW_SHARE`.

    Parameters
    ----------
    problem : RecoveryProblem
        The problem.
    columns : ndarray of shape (n_features, n_samples)
        A complete table in the layout of `RecoveryProblem.rows`; overwritten.

    Returns
    -------
    float
        The largest step of a cell; a change of category counts as 1.
    """
    n_codes = problem.n_codes
    n = columns.shape[1]
    jointly = problem.kind in (GAUSSIAN, PRODUCT)
    largest = 0.0
    for i in range(n):
        missing = np.flatnonzero(~problem.observed[i])
        numeric = missing[n_codes[missing] == 0]
        others = np.arange(n) != i
        weights = np.broadcast_to(problem.weights, (n, n))[i]
        for p in missing[n_codes[missing] > 0]:
            code = int(columns[p, i])
            residuals = _residuals(problem, columns, i)[others]
            best = categorical_cell(
                code, columns[p, others], int(n_codes[p]), residuals, weights[others]
            )
            columns[p, i] = best
            largest = max(largest, float(best != code))
        for _ in range(ROW_ROUNDS if jointly else 1):
            moved = 0.0
            for p in numeric:
                value = float(columns[p, i])
                residuals = _residuals(problem, columns, i)
                columns[p, i] = _numeric_cell(
                    problem.kind, value, columns[p], residuals, weights, i
                )
                moved = max(moved, abs(columns[p, i] - value))
            length = 1.0
            if jointly:
                steps, length = _numeric_cells(problem, columns, numeric, weights, i)
                columns[numeric, i] = np.clip(columns[numeric, i] + steps, 0.0, 1.0)
                moved = max(moved, np.abs(steps).max(initial=0.0))
            largest = max(largest, moved)
            if moved == 0.0 or abs(length - 1.0) < ROW_SHARE:
                break
    return largest


def _numeric_cells(
    problem: RecoveryProblem, columns: FloatArray, cells: IntArray, weights: FloatArray, row: int
) -> tuple[FloatArray, float]:
    """Return the joint step of a row's cells, and its length."""
    own = np.arange(columns.shape[1]) == row
    values = columns[cells, row]
    # A row's pair with itself is there once in the objective, its others twice.
    weights = np.where(own, 0.5, 1.0) * weights
    if problem.kind == GAUSSIAN:
        slopes = 2.0 * (values[:, None] - columns[cells])
        bends = np.where(own, 0.0, 1.0)
    else:
        slopes = np.where(own, 2.0, 1.0) * columns[cells]
        bends = np.where(own, 1.0, 0.0)
    return joint_step(values, slopes, bends, _residuals(problem, columns, row), weights)


def _residuals(problem: RecoveryProblem, columns: FloatArray, row: int) -> FloatArray:
    """Return the residuals of a row with every row, itself included."""
    residuals: FloatArray = -problem.target[row]
    for column, n_codes in zip(columns, problem.n_codes, strict=True):
        if n_codes:
            residuals = residuals + (column != column[row])
        else:
            residuals = residuals + problem.kernel.feature_term(column[row], column)
    return residuals


def _numeric_cell(
    kind: int,
    value: float,
    column: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    row: int,
) -> float:
    others = np.arange(column.size) != row
    a, r, w = column[others], residuals[others], weights[others]
    if kind == GAUSSIAN:
        return gaussian_cell(value, a, r, w)
    if kind == LAPLACIAN:
        return laplacian_cell(value, a, r, w)
    cell = chi2_cell if kind == CHI2 else product_cell
    return cell(value, a, r, w, float(residuals[row]), float(weights[row]))
