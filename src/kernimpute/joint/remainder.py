"""What the joint normal leaves, learnt column by column by a kernel ridge on hidden cells.

Where columns are related but not linearly, the normal's fills miss something that can be learnt.
For each column of the table:

1. Hide the column in rows that observe it, one cell a row: their other gaps stay, so the rows look
   like those to be filled. Fill them by the normal.
2. Fit a gaussian kernel ridge from the filled rows to what was hidden minus its fill; its ridge
   has the smallest leave-one-out error, in closed form.
3. Keep it where that error is at least 1 % below the error of the normal alone.

Trained on rows in which everything else is observed, it would do harm in rows with many gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernimpute.joint.gaussian import rows_times

__all__ = ["Correction", "Fill", "correct", "fit_remainder", "held_out_residuals"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

WIDTH = 0.7
"""Width of the kernel, in median squared distances. Three widths to choose from gained nothing."""
RIDGES = (1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Ridges that are compared. The smoother candidate comes first and wins a tie."""
MOST_CELLS = 300
"""Hidden cells of a column at the most."""
FEWEST_CELLS = 20
"""Hidden cells of a column at the least; with fewer it is left to the normal."""
GAIN = 0.01
"""Share of the normal's squared error that a correction must save."""


class Fill(Protocol):
    """What fills rows (n_rows, n_columns), NaN at the gaps, by the normal alone."""

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return the filled rows."""


@dataclass(frozen=True)
class Correction:
    """What is added to the normal's fills of one column: kernel(row, rows) @ coef."""

    column: int
    rows: FloatArray  # (n_cells, n_columns), filled
    width: float  # the kernel is exp(-squared distance / width)
    coef: FloatArray  # (n_cells,)


def fit_remainder(
    Z: FloatArray,
    groups: IntArray,
    weights: FloatArray,
    fill: Fill,
    generator: np.random.Generator,
) -> tuple[Correction, ...]:
    """Return the corrections that pay, for rows (n_rows, n_columns) in standard units.

    `groups` (n_columns,) names the table's column that a column belongs to: a category's
    indicators are hidden together.
    """
    corrections = []
    for group in np.unique(groups):
        columns = np.flatnonzero(groups == group)
        # 1. Hide the column.
        known = np.flatnonzero(~np.isnan(Z[:, columns[0]]))
        if known.size > MOST_CELLS:
            known = np.sort(generator.choice(known, MOST_CELLS, replace=False))
        if known.size < FEWEST_CELLS:
            continue
        hidden = Z[known]
        hidden[:, columns] = np.nan
        rows = fill(hidden)
        left = Z[np.ix_(known, columns)] - rows[:, columns]
        # 2. and 3. Learn what the normal left of each of its columns.
        corrections += _worthwhile(columns, rows, left, weights[known])
    return tuple(corrections)


def _worthwhile(
    columns: IntArray, rows: FloatArray, left: FloatArray, weights: FloatArray
) -> list[Correction]:
    """Return the corrections whose leave-one-out error is below that of none."""
    distances = _squared_distances(rows, rows)
    width = WIDTH * float(np.median(distances[np.triu_indices(len(rows), 1)]))
    if width == 0.0:
        return []
    K = np.exp(-distances / width)
    root = np.sqrt(weights / weights.mean())
    spectrum = _spectrum(K, root)
    none = weights @ left**2
    least, ridges = (1.0 - GAIN) * none, np.full(columns.size, np.inf)
    for ridge in RIDGES:
        errors = weights @ _held_out(spectrum, root, left, ridge) ** 2
        # Rounding decides nothing: a tie goes to the larger ridge.
        is_better = errors < least * (1.0 - 1e-8)
        least, ridges = np.where(is_better, errors, least), np.where(is_better, ridge, ridges)
    values, vectors = spectrum
    corrections = []
    for place in np.flatnonzero(np.isfinite(ridges)):
        rotated = vectors.T @ (root * left[:, place])
        coef = root * (vectors @ (rotated / (values + ridges[place])))
        corrections.append(Correction(int(columns[place]), rows, width, coef))
    return corrections


def held_out_residuals(
    K: FloatArray, root: FloatArray, left: FloatArray, ridge: float
) -> FloatArray:
    """Return what a kernel ridge leaves of each row's values when it is fitted to the others.

    Rows have the weights root^2, of shape (n_rows,), and the values `left` (n_rows, n_values).
    """
    return _held_out(_spectrum(K, root), root, left, ridge)


def _spectrum(K: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and eigenvectors of a kernel matrix whose rows are weighted."""
    values, vectors = np.linalg.eigh(K * root[:, None] * root)
    return values, vectors


def _held_out(
    spectrum: tuple[FloatArray, FloatArray], root: FloatArray, left: FloatArray, ridge: float
) -> FloatArray:
    """Return the residuals of `held_out_residuals`, given the spectrum of the kernel matrix."""
    values, vectors = spectrum
    # A ridge with weights is one without, on rows and values times their square roots.
    scaled = root[:, None] * left
    shrunk = values / (values + ridge)
    residuals = scaled - vectors @ (shrunk[:, None] * (vectors.T @ scaled))
    leverage = vectors**2 @ shrunk
    return np.asarray(residuals / ((1.0 - leverage) * root)[:, None])


def correct(
    filled: FloatArray, missing: NDArray[np.bool_], corrections: tuple[Correction, ...]
) -> FloatArray:
    """Return rows filled by the normal, (n_rows, n_columns), with their corrections added."""
    corrected = filled.copy()
    for one in corrections:
        gappy = np.flatnonzero(missing[:, one.column])
        if gappy.size:
            kernel = np.exp(-_squared_distances(filled[gappy], one.rows) / one.width)
            corrected[gappy, one.column] += rows_times(kernel, one.coef[:, None])[:, 0]
    return corrected


def _squared_distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the squared distances of all pairs of rows."""
    products = rows_times(left, np.ascontiguousarray(right.T))
    sums = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.asarray(np.maximum(sums - 2.0 * products, 0.0))
