"""The joint reference: what the columns say of each other, from incomplete rows to their fills.

`fit_joint` fits a joint normal, and learns by a kernel ridge what it leaves:

1. Standardise the columns. The indicators of rare categories keep their means.
2. Choose the strength by the error on hidden cells. An infinite one fills with means.
3. Fit the chosen normal to all cells.
4. Learn the remainder. For each column of the table: hide it, fill it by the normal, and fit a
   kernel ridge from the filled rows to what the fill lacks; keep the ridge where it clearly helps.
   Then learn those columns once more, from rows whose other gaps have the first pass's fills.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.joint import gaussian
from kernimpute.joint.gaussian import IntArray, Law, drawn_classes, rows_times, with_labels
from kernimpute.joint.ridge import TIE, spectrum_of

STRENGTHS = (1000.0, 300.0, 100.0, 30.0, 8.0, 2.0, 0.5, 0.1, 0.02)
"""Pseudo-rows of the prior that are compared, besides infinitely many."""
UNCHOSEN, FEWEST_HIDDEN = 30.0, 30
"""Strength where fewer cells than so many can be hidden to choose one."""
UNCHOSEN_NOTE = (
    "the table is too small to tell how much its columns say: a cautious default is used"
)
MEANS_NOTE = (
    "the columns tell nothing of each other that could be learnt: gaps have means and the most "
    "frequent categories"
)
FEWEST_OF_CATEGORY, HIDDEN_SHARE = 3, 0.2
"""Rows that a category's indicator takes at the least; share of cells hidden for the choice."""
TOL, CHOICE_ROUNDS, FIT_ROUNDS = 2e-3, 10, 30
"""EM stops where filled cells move by less, in standard deviations, or after so many rounds."""
FEWEST_CHOICE_ROWS, MOST_CHOICE_ROWS, MOST_CHOICE_CELLS = 400, 2_000, 40_000
"""Rows that a choice takes: at the most so many, and so many cells, but not fewer than these."""
MOST_FIT_ROWS, MOST_SQUARES = 20_000, 2e7
"""Rows that a fit takes at the most, and the squares of their gaps, which fill the memory."""
MOST_DENSE_COLUMNS, MOST_CUBES = 150, 1.2e8
"""With more columns, or rows times cubed gaps in a choice, the covariance is of low rank."""
FEWEST_CHUNK_ROWS, MOST_CHUNK_ROWS, CHUNK_SQUARES = 64, 2**13, 2**24
"""Rows that are filled at a time at the least and the most, and rows times squared columns."""
LIGHTEST = 1e-12
"""Rows that weigh less than this share of the heaviest are left out of the fit."""

MOST_REMAINDER_ROWS = 5_000
"""With more rows in fit, or more than `MOST_DENSE_COLUMNS`, there is no remainder."""
WIDTH = 2.0
"""Width of the kernel, in median distances. Three widths to choose from gained nothing."""
REMAINDER_RIDGES = (1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Ridges that are compared. The smoother candidate comes first and wins a tie."""
FEWEST_CELLS, MOST_CELLS, MANY_COLUMNS = 20, 300, 30
"""Hidden cells of a column at the least and the most; fewer for more columns: the cost is cubic."""
GAIN, STANDARD_ERRORS = 0.01, 1.0
"""A correction must save this share of the normal's squared error, and so many standard errors."""


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


@dataclass(frozen=True)
class JointReference:
    """A fitted joint normal and its remainder, which fill rows by their observed cells.

    Rows are (n_rows, n_columns) matrices with NaN at the gaps: numbers, and an indicator for each
    category of a category column (a single one for two).
    """

    centre: FloatArray  # (n_columns,)
    scale: FloatArray  # (n_columns,)
    groups: IntArray  # (n_columns,): the table's column
    numeric: BoolArray  # (n_columns,)
    used: IntArray  # (n_used,): the columns of the law; the others are filled with their means
    normal: Law  # of used columns in standard units; a quantity as label is the last column
    strength: float
    remainder: Remainder
    notes: tuple[str, ...]

    def fill(
        self, X: FloatArray, classes: IntArray | None = None, target: FloatArray | None = None
    ) -> FloatArray:
        """Return rows with gaps filled; class codes (-1: none) or a quantity as label help."""
        filled = X.copy()
        for rows, Z, posterior in self._chunks(X, classes, target):
            gaps = np.isnan(X[rows])
            own = self._from_standard(self._filled(Z, posterior))
            filled[rows][gaps] = np.clip(own[gaps], 0.0, 1.0)
        return filled

    def standard_deviation(self, X: FloatArray) -> FloatArray:
        """Return the conditional standard deviations of the gaps, 0 at observed cells."""
        deviation = np.zeros_like(X)
        for rows, Z, _ in self._chunks(X, None, None):
            variance = self.normal.conditional(Z).variance
            own = np.tile(self.scale, (len(Z), 1))
            spread = np.sqrt(variance) * self.remainder.noise(Z.shape[1])
            own[:, self.used] *= spread[:, : self.used.size]
            deviation[rows] = np.where(np.isnan(X[rows]), own, 0.0)
        return deviation

    def sample(self, X: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Return rows with a draw at the gaps: numbers within [0, 1], one category a cell."""
        drawn = X.copy()
        for rows, Z, _ in self._chunks(X, None, None):
            own = drawn[rows]
            # Categories are drawn one after the other, and each counts as observed from then on.
            for group in np.unique(self.groups[~self.numeric]):
                columns = np.flatnonzero(self.groups == group)
                gappy = np.flatnonzero(np.isnan(own[:, columns[0]]))
                filled = self._from_standard(self._filled(Z[gappy], None))
                shares = np.clip(filled[:, columns], 0.0, 1.0)
                if columns.size == 1:
                    own[gappy, columns] = (generator.random(shares.shape) < shares)[:, 0]
                else:
                    # Where all are clipped to 0, all are equally likely.
                    chosen = drawn_classes(shares + 1e-12, generator)
                    own[np.ix_(gappy, columns)] = np.eye(columns.size)[chosen]
                places = np.flatnonzero(np.isin(self.used, columns))
                Z[np.ix_(gappy, places)] = self._to_standard(own[gappy])[:, places]
            gaps = np.isnan(own)
            mean = self.normal.fill(Z)
            filled = correct(mean, np.isnan(Z), self.remainder)
            noise = (self.normal.draw(Z, generator) - mean) * self.remainder.noise(Z.shape[1])
            own[gaps] = np.clip(self._from_standard(filled + noise), 0.0, 1.0)[gaps]
        return drawn

    def _chunks(
        self, X: FloatArray, classes: IntArray | None, target: FloatArray | None
    ) -> Iterator[tuple[slice, FloatArray, FloatArray | None]]:
        """Yield slices of rows with these in standard units, and the classes' probabilities."""
        size = CHUNK_SQUARES // max(1, self.used.size) ** 2
        size = max(FEWEST_CHUNK_ROWS, min(MOST_CHUNK_ROWS, size))
        for first in range(0, len(X), size):
            rows = slice(first, first + size)
            Z = self._to_standard(X[rows])
            if self.normal.means.shape[1] > self.used.size:
                own = np.full(len(Z), np.nan) if target is None else target[rows]
                Z = np.column_stack([Z, own])
            posterior = None
            if classes is not None:
                posterior = with_labels(self.normal.conditional(Z).posterior, classes[rows])
            yield rows, Z, posterior

    def _filled(self, Z: FloatArray, posterior: FloatArray | None) -> FloatArray:
        """Return rows in standard units with their gaps filled."""
        return correct(self.normal.fill(Z, posterior), np.isnan(Z), self.remainder)

    def _to_standard(self, X: FloatArray) -> FloatArray:
        """Return the used columns of rows in standard units."""
        return ((X - self.centre) / self.scale)[:, self.used]

    def _from_standard(self, Z: FloatArray) -> FloatArray:
        """Return all columns, in their own units, of rows that the law has filled."""
        own = np.zeros((len(Z), self.centre.size))
        own[:, self.used] = Z[:, : self.used.size]
        return np.asarray(self.centre + self.scale * own)


def fit_joint(
    X: FloatArray,
    groups: IntArray,
    numeric: BoolArray,
    weights: FloatArray,
    seed: int = 0,
    classes: IntArray | None = None,
    target: FloatArray | None = None,
) -> JointReference:
    """Return the joint reference of incomplete rows, those of `JointReference`.

    Every column of X is observed in some. `groups` has the table's column of each, `classes` the
    codes 0, 1, … of classes, -1 without a label; each class gets a mean. A `target`, a quantity as
    label in standard units, NaN without one, is one more column. `seed` decides what is hidden.
    """
    generator = generator_of(seed)
    n_classes = 1 if classes is None else int(classes.max(initial=0)) + 1
    heavy, weights = counted_rows(weights)
    # 1. Standard units.
    centre, scale = _centre_and_scale(X[heavy], weights)
    # Indicators that say the same in all rows but a few are left out.
    ones, known = (X[heavy] == 1.0).sum(axis=0), (~np.isnan(X[heavy])).sum(axis=0)
    is_used = numeric | (np.minimum(ones, known - ones) >= FEWEST_OF_CATEGORY)
    # A law needs a column.
    used = np.flatnonzero(is_used if is_used.any() else ~is_used)
    gaps = np.isnan(X[heavy][:, used]).sum(axis=1)
    most = min(MOST_FIT_ROWS, max(FEWEST_CHOICE_ROWS, int(MOST_SQUARES / (1.0 + np.mean(gaps**2)))))
    some = _some(heavy.size, most, generator)
    rows, weights = heavy[some], weights[some]
    Z = ((X[rows] - centre) / scale)[:, used]
    classes = None if classes is None else classes[rows]
    own_groups = groups[used]
    if target is not None:
        Z = np.column_stack([Z, target[rows]])
        own_groups = np.append(own_groups, groups.max(initial=-1) + 1)
    # 2. The strength.
    unlabelled = Z.copy()
    unlabelled[:, used.size :] = np.nan
    strength, normal, notes = _choose(
        Z, unlabelled, own_groups, weights, classes, n_classes, generator
    )
    # 3. All cells.
    if math.isfinite(strength):
        normal = normal.fitted(Z, strength, weights, classes, TOL, FIT_ROUNDS)
    # 4. The remainder.
    remainder = Remainder()
    if len(X) <= MOST_REMAINDER_ROWS and Z.shape[1] <= MOST_DENSE_COLUMNS:
        remainder = fit_remainder(unlabelled, own_groups, weights, normal.fill, generator)
    if math.isinf(strength) and not remainder.second:
        notes = (MEANS_NOTE,)
    return JointReference(centre, scale, groups, numeric, used, normal, strength, remainder, notes)


def generator_of(seed: int) -> np.random.Generator:
    """Return a generator whose numbers are not those of ``default_rng(seed)``.

    A user who removes cells by that one would else find hidden just those that are missing.
    """
    return np.random.default_rng([seed, 1])


def _choose(
    Z: FloatArray,
    unlabelled: FloatArray,
    groups: IntArray,
    weights: FloatArray,
    classes: IntArray | None,
    n_classes: int,
    generator: np.random.Generator,
) -> tuple[float, Law, tuple[str, ...]]:
    """Return the strength with the least error on hidden cells, its law, and notes."""
    n_columns = Z.shape[1]
    most = min(MOST_CHOICE_ROWS, max(FEWEST_CHOICE_ROWS, MOST_CHOICE_CELLS // n_columns))
    rows = _some(len(Z), most, generator)
    Z, unlabelled, weights = Z[rows], unlabelled[rows], weights[rows]
    classes = None if classes is None else classes[rows]
    hidden = _hidden_cells(~np.isnan(unlabelled), groups, generator)
    # A category is one cell, however many indicators it has.
    n_hidden = int(hidden[:, np.unique(groups, return_index=True)[1]].sum())
    cubes = float(((np.isnan(Z) | hidden).sum(axis=1).astype(float) ** 3).sum())
    is_low_rank = n_columns > MOST_DENSE_COLUMNS or cubes > MOST_CUBES
    of_means = gaussian.factors_of_means if is_low_rank else gaussian.normal_of_means
    normal: Law = of_means(n_columns, n_classes)
    if n_hidden < FEWEST_HIDDEN:
        start = gaussian.principal_factors(Z, n_classes) if is_low_rank else normal
        return UNCHOSEN, start, (UNCHOSEN_NOTE,)
    gappy, to_fill = np.where(hidden, np.nan, Z), np.where(hidden, np.nan, unlabelled)
    counts = weights[:, None] / np.bincount(groups)[groups]

    def error(filled: FloatArray) -> float:
        return float((counts * (filled - Z) ** 2)[hidden].sum())

    best, errors = (math.inf, normal), [error(np.where(hidden, 0.0, Z))]
    start = gaussian.principal_factors(gappy, n_classes) if is_low_rank else normal
    for strength in STRENGTHS:
        normal = start.fitted(gappy, strength, weights, classes, TOL, CHOICE_ROUNDS)
        if not is_low_rank:
            # EM cannot leave loadings of zero, where a strong prior leads.
            start = normal
        errors.append(error(normal.fill(to_fill)))
        # Rounding decides nothing: a tie goes to the stronger prior.
        if errors[-1] < min(errors[:-1]) * (1.0 - TIE):
            best = strength, normal
        if errors[-1] > errors[-2] > min(errors):
            break
    return *best, ()


def _centre_and_scale(X: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (1 for a constant) of the observed cells of columns."""
    counts = np.where(np.isnan(X), 0.0, weights[:, None])
    totals = counts.sum(axis=0)
    totals = np.where(totals > 0.0, totals, 1.0)
    known = np.nan_to_num(X)
    centre = (counts * known).sum(axis=0) / totals
    scale = np.sqrt((counts * (known - centre) ** 2).sum(axis=0) / totals)
    return centre, np.where(scale > 0.0, scale, 1.0)


def counted_rows(weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the rows whose weight counts, and their weights, which sum to the rows at least."""
    # The prior counts in rows, and would overwhelm weights that sum to 1.
    shares = weights / weights.max()
    rows = np.flatnonzero(shares > LIGHTEST)
    shares = shares[rows]
    total = min(max(float(weights.max()) * float(shares.sum()), float(rows.size)), 1.0 / LIGHTEST)
    return rows, shares * (total / shares.sum())


def _some(n_rows: int, most: int, generator: np.random.Generator) -> IntArray:
    """Return the places of at most so many rows, ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(generator.choice(n_rows, most, replace=False))


def _hidden_cells(
    observed: BoolArray, groups: IntArray, generator: np.random.Generator
) -> BoolArray:
    """Return which cells are hidden; a table's cell whole, as indicators tell of each other."""
    draws = generator.random((len(observed), int(groups.max(initial=-1)) + 1))
    return observed & (draws < HIDDEN_SHARE)[:, groups]


def fit_remainder(
    Z: FloatArray,
    groups: IntArray,
    weights: FloatArray,
    fill: Callable[[FloatArray], FloatArray],
    generator: np.random.Generator,
) -> Remainder:
    """Return the corrections that pay, for rows (n_rows, n_columns) in standard units."""
    passes: list[tuple[Correction, ...]] = [()]
    candidates = np.unique(groups)
    most = int(MOST_CELLS * min(1.0, MANY_COLUMNS / candidates.size) ** (1.0 / 3.0))
    for _ in range(2):
        corrections: list[Correction] = []
        for group in candidates:
            own = np.flatnonzero(groups == group)
            # 1. Hide the column and nothing else, so the rows look like those to be filled.
            known = np.flatnonzero(~np.isnan(Z[:, own[0]]))
            known = known[_some(known.size, most, generator)]
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
    held_out = [spectrum.held_out_errors(left, rotated, ridge) for ridge in REMAINDER_RIDGES]
    errors = np.array([weights @ residuals**2 for residuals in held_out])
    corrections = []
    for place, column in enumerate(own):
        # Rounding decides nothing: a tie goes to the larger ridge, which comes first.
        best = int(np.flatnonzero(errors[:, place] <= errors[:, place].min() * (1.0 + TIE))[0])
        saved = weights * (left[:, place] ** 2 - held_out[best][:, place] ** 2)
        none = float(weights @ left[:, place] ** 2)
        if saved.sum() <= max(GAIN * none, STANDARD_ERRORS * float(np.sqrt((saved**2).sum()))):
            continue
        coef = spectrum.coef(rotated[:, [place]], REMAINDER_RIDGES[best])[:, 0]
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
