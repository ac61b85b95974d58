"""What the joint normal leaves, learnt column by column by a kernel ridge on hidden cells.

Where columns are related but not linearly, the normal's fills miss something that can be learnt.
For each column of the table:

1. Hide the column in rows that observe it, and nothing else: their other gaps stay, so the rows
   look like those to be filled. Fill them by the normal.
2. Fit a kernel ridge from the filled rows to what was hidden minus its fill. The kernel is
   exp(-distance / width); the ridge has the smallest leave-one-out error, in closed form.
3. Keep it where that error is clearly below the error of the normal alone.

Then the columns that were kept are learnt once more, from rows whose other gaps have the first
pass's fills. Trained on rows in which everything else is observed, the remainder would do harm in
rows with many gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.joint.gaussian import rows_times
from kernimpute.joint.ridge import spectrum_of

IntArray = NDArray[np.intp]

WIDTH = 2.0
"""Width of the kernel, in median distances. Three widths to choose from gained nothing."""
RIDGES = (1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Ridges that are compared. The smoother candidate comes first and wins a tie."""
MOST_CELLS, MANY_COLUMNS = 300, 30
"""Hidden cells of a column at the most. Beyond so many columns each has fewer: the cost of them
all, cubic in the cells, is bounded."""
FEWEST_CELLS = 20
"""Hidden cells of a column at the least; with fewer it is left to the normal."""
GAIN = 0.01
STANDARD_ERRORS = 1.0
"""A correction must save this share of the normal's squared error, and so many standard errors
of what it saves."""


@dataclass(frozen=True)
class Correction:
    """What is added to the normal's fills of one column: kernel(row, rows) @ coef."""

    column: int
    own: IntArray  # the columns of the same column of the table, which take the normal's fills
    rows: FloatArray  # (n_cells, n_columns), filled
    width: float
    coef: FloatArray  # (n_cells,)
    error_share: float  # its squared leave-one-out error, as a share of the normal's


@dataclass(frozen=True)
class Remainder:
    """The corrections of both passes; `second` replaces `first` in what is filled in the end."""

    first: tuple[Correction, ...] = ()
    second: tuple[Correction, ...] = ()

    def noise(self, n_columns: int) -> FloatArray:
        """Return the share of the normal's standard deviations that is left, (n_columns,)."""
        shares = np.ones(n_columns)
        for one in self.second:
            shares[one.column] = np.sqrt(one.error_share)
        return shares


def fit_remainder(
    Z: FloatArray,
    groups: IntArray,
    weights: FloatArray,
    fill: Callable[[FloatArray], FloatArray],
    generator: np.random.Generator,
) -> Remainder:
    """Return the corrections that pay, for rows (n_rows, n_columns) in standard units.

    `groups` (n_columns,) names the table's column that a column belongs to: a category's
    indicators are hidden together.
    """
    passes: list[tuple[Correction, ...]] = [()]
    candidates = np.unique(groups)
    most = int(MOST_CELLS * min(1.0, MANY_COLUMNS / candidates.size) ** (1.0 / 3.0))
    for _ in range(2):
        corrections: list[Correction] = []
        for group in candidates:
            own = np.flatnonzero(groups == group)
            # 1. Hide the column.
            known = np.flatnonzero(~np.isnan(Z[:, own[0]]))
            if known.size > most:
                known = np.sort(generator.choice(known, most, replace=False))
            if known.size < FEWEST_CELLS:
                continue
            hidden = Z[known]
            hidden[:, own] = np.nan
            filled = fill(hidden)
            rows = _added(filled, filled, np.isnan(hidden), passes[-1])
            rows[:, own] = filled[:, own]
            left = Z[np.ix_(known, own)] - filled[:, own]
            # 2. and 3. Learn what the normal left of each of its columns.
            corrections += _worthwhile(own, rows, left, weights[known])
        passes.append(tuple(corrections))
        candidates = np.unique(groups[[one.column for one in corrections]])
    return Remainder(*passes[1:])


def _worthwhile(
    own: IntArray, rows: FloatArray, left: FloatArray, weights: FloatArray
) -> list[Correction]:
    """Return the corrections whose leave-one-out error is clearly below that of none."""
    # Not by products of rows: the root of a small difference of large sums is noise.
    distances = cdist(rows, rows)
    width = WIDTH * float(np.median(distances[np.triu_indices(len(rows), 1)]))
    if width == 0.0:
        return []
    spectrum = spectrum_of(np.exp(-distances / width), weights)
    rotated = spectrum.rotated(left)
    held_out = [spectrum.held_out_errors(left, rotated, ridge) for ridge in RIDGES]
    errors = np.array([weights @ residuals**2 for residuals in held_out])
    corrections = []
    for place, column in enumerate(own):
        # Rounding decides nothing: a tie goes to the larger ridge, which comes first.
        best = int(np.flatnonzero(errors[:, place] <= errors[:, place].min() * (1.0 + 1e-8))[0])
        saved = weights * (left[:, place] ** 2 - held_out[best][:, place] ** 2)
        none = float(weights @ left[:, place] ** 2)
        if saved.sum() <= max(GAIN * none, STANDARD_ERRORS * float(np.sqrt((saved**2).sum()))):
            continue
        coef = spectrum.coef(rotated[:, [place]], RIDGES[best])[:, 0]
        share = float(errors[best, place]) / none
        corrections.append(Correction(int(column), own, rows, width, coef, share))
    return corrections


def correct(filled: FloatArray, missing: BoolArray, remainder: Remainder) -> FloatArray:
    """Return rows filled by the normal, (n_rows, n_columns), with their corrections added."""
    if not remainder.second:
        return filled
    between = _added(filled, filled, missing, remainder.first)
    return _added(filled, between, missing, remainder.second)


def _added(
    filled: FloatArray,
    rows: FloatArray,
    missing: BoolArray,
    corrections: tuple[Correction, ...],
) -> FloatArray:
    """Return `filled` with corrections added; the kernel sees `rows`."""
    corrected = filled.copy()
    cells, kernel = None, np.empty((0, 0))
    for one in corrections:
        gappy = np.flatnonzero(missing[:, one.column])
        if gappy.size:
            # The indicators of a category have the same rows.
            if cells is not one.rows:
                seen = rows[gappy]
                seen[:, one.own] = filled[np.ix_(gappy, one.own)]
                cells, kernel = one.rows, np.exp(-cdist(seen, one.rows) / one.width)
            corrected[gappy, one.column] += rows_times(kernel, one.coef[:, None])[:, 0]
    return corrected
