"""Where the descent of Stage II begins: the objective is not convex, so the start matters.

Four named starts, each a complete table that agrees with the observed cells:

- ``"half"``: 0.5 in numeric gaps, the most frequent code in categorical ones;
- ``"mean"``: the observed column means, the most frequent code;
- ``"random"``: uniform in [0, 1], any observed code;
- ``"spectral"``: read off the target itself, as follows.

If the target is the matrix of squared distances between the rows of some table, classical scaling
gives these rows up to a rigid motion; if it holds their inner products, an eigenfactor gives
them up to a rotation. The observed cells tell the motion: a ridge regression of every column on
the coordinates first, then `_fit_isometry`, which moves all columns by one motion and uses that
values lie in [0, 1]. Where the target is exact, this finds tables in which 98 of 100 cells were
missing. The laplacian distance is a squared Euclidean distance too, and the chi-squared sum an
inner product, in more dimensions than columns; there the regression alone is a useful guess.

A categorical column counts as one column a code, with ``sqrt(1/2)`` where a row has that code:
their squared distance is 1 where codes differ, just as the kernels count it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kernimpute.kernels import Chi2, Laplacian
from kernimpute.stage_two.problem import RecoveryProblem

__all__ = ["STARTS"]

FloatArray = NDArray[np.float64]

_SPARE_DIMENSIONS = 3
"""Coordinates a column for the kernels whose term is no isometry of the column itself."""

_EXACT = 1e-6
"""Relative error with which coordinates reproduce a target that is worth several fits."""

_FITS = 32
"""Fits of the isometry, from random tables after the first, while none fits the observed cells."""

_FIT_STEPS = 3000
_FITTED = 1e-26
"""Mean squared misfit at which an isometry fits to rounding."""

_PATIENCE = 20
"""Steps with a relative change below `_SLOW` after which a fit is given up."""

_SLOW = 1e-6

_RIDGES = np.concatenate([[0.0], 10.0 ** np.arange(-8.0, 1.0, 0.5)])
"""Ridges, relative to the squared norm of all coordinates, that a regression chooses from."""

_RANK = 1e-9
"""Relative size up to which an eigenvalue or singular value counts as 0."""


def _half(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table with 0.5 or the most frequent code in its gaps."""
    return _filled(problem, lambda known: 0.5)


def _mean(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table with the column mean or the most frequent code in its gaps."""
    return _filled(problem, lambda known: float(known.mean()) if known.size else 0.5)


def _filled(problem: RecoveryProblem, typical: Callable[[FloatArray], float]) -> FloatArray:
    table = problem.X.copy()
    for column, codes in enumerate(problem.codes):
        known = problem.observed[:, column]
        if codes.size:
            counts = (table[known, column, None] == codes).sum(axis=0)
            table[~known, column] = codes[np.argmax(counts)]
        else:
            table[~known, column] = typical(table[known, column])
    return table


def _random(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table with uniform values or codes in its gaps."""
    table = problem.X.copy()
    for column, codes in enumerate(problem.codes):
        gaps = ~problem.observed[:, column]
        n_gaps = int(gaps.sum())
        drawn = rng.choice(codes, n_gaps) if codes.size else rng.random(n_gaps)
        table[gaps, column] = drawn
    return table


def _spectral(problem: RecoveryProblem, rng: np.random.Generator) -> FloatArray:
    """Return the table whose rows best lie as the target says."""
    features, highest = _indicators(problem)
    isometric = not isinstance(problem.kernel, Laplacian | Chi2)
    centred = problem.kernel.is_distance
    n_coordinates = features.shape[1] * (1 if isometric else _SPARE_DIMENSIONS)
    coordinates, error = _coordinates(problem.target, n_coordinates, centred)
    fitted = np.clip(_regress(coordinates, features, centred), 0.0, highest)
    if isometric:
        first = fitted
        lowest = np.inf
        for fit in range(_FITS if error <= _EXACT else 1):
            guess = first if fit == 0 else highest * rng.random(features.shape)
            candidate, misfit = _fit_isometry(coordinates, features, guess, highest, centred)
            if misfit < lowest:
                fitted, lowest = candidate, misfit
            if lowest <= _FITTED:
                break
    return _table(problem, fitted)


STARTS: dict[str, Callable[[RecoveryProblem, np.random.Generator], FloatArray]] = {
    "half": _half,
    "mean": _mean,
    "random": _random,
    "spectral": _spectral,
}
"""The starts by name: each takes the problem and a generator and returns a complete table."""


# ------------------------------------------------------------------------------- the spectral one


def _indicators(problem: RecoveryProblem) -> tuple[FloatArray, FloatArray]:
    """Return the table with a column a code for categorical columns, and the largest values.

    Returns
    -------
    features : ndarray of shape (n_samples, n_indicators)
        NaN at the gaps.
    highest : ndarray of shape (n_indicators,)
        1 for a numeric column, ``sqrt(1/2)`` for a code.
    """
    blocks = []
    highest = []
    for column, codes in enumerate(problem.codes):
        values = problem.X[:, column, None]
        if codes.size:
            block = np.where(np.isnan(values), np.nan, np.sqrt(0.5) * (values == codes))
            highest += [np.sqrt(0.5)] * codes.size
        else:
            block = values
            highest += [1.0]
        blocks.append(block)
    return np.hstack(blocks), np.array(highest)


def _table(problem: RecoveryProblem, features: FloatArray) -> FloatArray:
    """Return the table from columns of indicators: the code with the largest one."""
    table = problem.X.copy()
    first = 0
    for column, codes in enumerate(problem.codes):
        gaps = ~problem.observed[:, column]
        width = max(codes.size, 1)
        block = features[gaps, first : first + width]
        table[gaps, column] = codes[np.argmax(block, axis=1)] if codes.size else block[:, 0]
        first += width
    return table


def _coordinates(target: FloatArray, n_coordinates: int, centred: bool) -> tuple[FloatArray, float]:
    """Return coordinates of the rows, and the relative error with which they give the target.

    Parameters
    ----------
    target : ndarray of shape (n_samples, n_samples)
        Squared distances, if `centred`, or inner products.
    n_coordinates : int
        Coordinates at the most; fewer where the target has fewer positive eigenvalues.
    centred : bool
        Whether to centre: classical scaling.

    Returns
    -------
    coordinates : ndarray of shape (n_samples, n_kept)
        The coordinates, largest extent first.
    error : float
        Norm of what the coordinates leave of the matrix of inner products, relative to its norm.
    """
    products = target
    if centred:
        means = target.mean(axis=0)
        products = -0.5 * (target - means - means[:, None] + means.mean())
    n = target.shape[0]
    values, vectors = eigh(products, subset_by_index=[max(n - n_coordinates, 0), n - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > max(_RANK * values[0], 0.0)
    norm = float(np.linalg.norm(products))
    left = max(norm**2 - float((values[kept] ** 2).sum()), 0.0)
    error = float(np.sqrt(left)) / norm if norm > 0.0 else 0.0
    return vectors[:, kept] * np.sqrt(values[kept]), error


def _regress(coordinates: FloatArray, features: FloatArray, centred: bool) -> FloatArray:
    """Return every column as a linear function of the coordinates, fitted on its known cells.

    Ridge regression, the ridge of each column by generalised cross-validation: the least of
    squared residuals over squared degrees of freedom left. A column without known cells
    becomes 0.5.
    """
    fitted = np.full(features.shape, 0.5)
    extent = float(np.linalg.norm(coordinates)) or 1.0
    for column in range(features.shape[1]):
        known = ~np.isnan(features[:, column])
        if not known.any():
            continue
        x = coordinates[known]
        y = features[known, column]
        x_mean = x.mean(axis=0) if centred else np.zeros(x.shape[1])
        y_mean = y.mean() if centred else 0.0
        left, sizes, right = np.linalg.svd((x - x_mean) / extent, full_matrices=False)
        kept = sizes > _RANK
        left, sizes, right = left[:, kept], sizes[kept], right[kept]
        y = y - y_mean
        along = left.T @ y
        shrink = sizes**2 / (sizes**2 + _RIDGES[:, None])
        misfit = max(float(y @ y - along @ along), 0.0) + ((along * (1.0 - shrink)) ** 2).sum(
            axis=1
        )
        freedom = y.size - float(centred) - shrink.sum(axis=1)
        scores = np.where(freedom > 0.1, misfit / np.maximum(freedom, 0.1) ** 2, np.inf)
        best = shrink[np.argmin(scores)]
        slope = right.T @ (best * along / sizes)
        fitted[:, column] = (coordinates - x_mean) / extent @ slope + y_mean
    return fitted


def _fit_isometry(
    coordinates: FloatArray,
    features: FloatArray,
    guess: FloatArray,
    highest: FloatArray,
    centred: bool,
) -> tuple[FloatArray, float]:
    """Return the table nearest to a moved copy of the coordinates that agrees with known cells.

    Alternates between the motion that takes the coordinates nearest to the table (a rotation
    by the singular vectors, and a shift if `centred`) and the table nearest to the moved
    coordinates: known cells as known, the others brought into their range. Nesterov's momentum,
    dropped whenever the misfit rises, makes it quick.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        The rows up to a motion.
    features : ndarray of shape (n_samples, n_indicators)
        The known cells, NaN elsewhere.
    guess : ndarray of shape (n_samples, n_indicators)
        Where the unknown cells begin.
    highest : ndarray of shape (n_indicators,)
        The largest value of each column; the smallest is 0.
    centred : bool
        Whether the motion may shift.

    Returns
    -------
    table : ndarray of shape (n_samples, n_indicators)
        The table.
    misfit : float
        Mean squared distance between it and the moved coordinates.
    """
    known = ~np.isnan(features)
    table = previous = aim = np.where(known, features, guess)
    misfit = np.inf
    momentum = 0
    slow = 0
    for _ in range(_FIT_STEPS):
        shift = aim.mean(axis=0) if centred else 0.0
        left, _, right = np.linalg.svd(coordinates.T @ (aim - shift), full_matrices=False)
        moved = coordinates @ (left @ right) + shift
        table = np.where(known, features, np.clip(moved, 0.0, highest))
        last, misfit = misfit, float(np.mean((moved - table) ** 2))
        slow = slow + 1 if abs(last - misfit) <= _SLOW * misfit else 0
        if misfit <= _FITTED or slow >= _PATIENCE:
            break
        momentum = 0 if misfit > last else momentum + 1
        aim = table + momentum / (momentum + 3.0) * (table - previous)
        previous = table
    return table, misfit
