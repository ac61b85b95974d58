"""What a filled table is worth: how far apart its classes lie, and how far its cells are off.

The paper's appendix defines the Fisher ratio as ``tr(S_b) / tr(S_w)``, while its table holds
``||mu_1 - mu_2||^2 / (tr S_1 + tr S_2)``. Here the published one is `fisher_ratio` and the
appendix's `scatter_ratio`. The table's other two, the indices of Calinski and Harabasz and of
Davies and Bouldin, are in ``sklearn.metrics``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import wasserstein_distance

from kernimpute.labels import is_gap
from kernimpute.parameters import refusal_in_words

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def inter_class_distance(X: ArrayLike, y: ArrayLike) -> float:
    """Return the distance between the means of the classes."""
    classes = _classes(X, y, "inter_class_distance")
    return _mean([math.sqrt(_squared(one, other)) for one, other in combinations(classes, 2)])


def fisher_ratio(X: ArrayLike, y: ArrayLike) -> float:
    """Return Fisher's discriminant ratio as the paper's table has it."""
    classes = _classes(X, y, "fisher_ratio")
    return _mean(
        [
            _ratio(_squared(one, other), one.spread / one.size + other.spread / other.size)
            for one, other in combinations(classes, 2)
        ]
    )


def scatter_ratio(X: ArrayLike, y: ArrayLike) -> float:
    """Return the scatter between the classes over the scatter within them."""
    classes = _classes(X, y, "scatter_ratio")
    n_samples = sum(one.size for one in classes)
    means = np.stack([one.mean for one in classes])
    weighted = [(one.size / n_samples) * one.mean for one in classes]
    mean = _unless_constant(means, np.asarray(sum(weighted)))
    between = sum(one.size * float(np.square(one.mean - mean).sum()) for one in classes)
    return _ratio(between, sum(one.spread for one in classes))


@dataclass(frozen=True)
class FilledErrors:
    """How far filled cells are from what was there; NaN without any cell to compare."""

    mae: float  # Mean absolute error of the cells, in the units of the table
    rmse: float  # Root of their mean squared error, in the same units
    # Wasserstein-1 distance between a column's filled values and the removed ones, as
    # distributions: the mean over the columns with such cells
    wasserstein: float


def filled_errors(filled: ArrayLike, truth: ArrayLike, observed: ArrayLike) -> FilledErrors:
    """Return the errors of filled cells against the values that had been there."""
    owner = "filled_errors"
    table, known = _matrix(filled, owner, "filled"), _matrix(truth, owner, "truth")
    there = _mask(observed, owner, "observed")
    if not (table.ndim == 2 and table.shape == known.shape == there.shape):
        got = f"shapes {table.shape}, {known.shape} and {there.shape}"
        must_be = "a matrix of the shape of truth and of observed"
        raise ValueError(refusal_in_words(owner, "filled", must_be, got))
    for name, values in (("filled", table), ("truth", known)):
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0].tolist()
            got = f"{float(values[row, column])!r} in row {row}, column {column}"
            raise ValueError(refusal_in_words(owner, name, "without infinite cells", got))
    compared = ~there & ~np.isnan(known)
    if np.isnan(table[compared]).any():
        row, column = np.argwhere(compared & np.isnan(table))[0].tolist()
        must_be = "finite at every cell to compare"
        got = f"NaN in row {row}, column {column}"
        raise ValueError(refusal_in_words(owner, "filled", must_be, got))
    if not compared.any():
        return FilledErrors(math.nan, math.nan, math.nan)
    error = np.abs(table[compared] - known[compared])
    distances = [
        float(wasserstein_distance(table[cells, p], known[cells, p]))
        for p, cells in enumerate(compared.T)
        if cells.any()
    ]
    return FilledErrors(
        mae=float(error.mean()),
        rmse=math.sqrt(float(np.square(error).mean())),
        wasserstein=_mean(distances),
    )


@dataclass(frozen=True)
class _Class:
    """The rows of a class: how many, their mean, and their squared distances to it, summed."""

    size: int
    mean: FloatArray
    spread: float


def _classes(X: ArrayLike, y: ArrayLike, owner: str) -> list[_Class]:
    rows, labels = _matrix(X, owner, "X"), np.asarray(y)
    shaped = rows.ndim == 2 and rows.size > 0
    if not (shaped and np.isfinite(rows).all()):
        must_be = "a matrix of finite numbers with at least one row and one column"
        got = "NaN or infinite entries" if shaped else f"an array of shape {rows.shape}"
        raise ValueError(refusal_in_words(owner, "X", must_be, got))
    if labels.shape != rows.shape[:1]:
        must_be = f"of shape ({rows.shape[0]},), one label a row"
        raise ValueError(refusal_in_words(owner, "y", must_be, f"an array of shape {labels.shape}"))
    lacking = [row for row, label in enumerate(labels.tolist()) if is_gap(label)]
    if lacking:
        got = f"{labels.tolist()[lacking[0]]!r} in row {lacking[0]}"
        raise ValueError(refusal_in_words(owner, "y", "complete, without NaN or None", got))
    try:
        names = np.unique(labels)
    except TypeError as error:
        must_be = "of labels of one kind, numbers or text"
        raise TypeError(refusal_in_words(owner, "y", must_be, "labels of several kinds")) from error
    if names.size < 2:
        got = f"1 class, {names.tolist()[0]!r},"
        raise ValueError(refusal_in_words(owner, "y", "of at least 2 classes", got))
    return [_class_of(rows[labels == name]) for name in names]


def _class_of(rows: FloatArray) -> _Class:
    mean = _unless_constant(rows, rows.mean(axis=0))
    return _Class(len(rows), mean, float(np.square(rows - mean).sum()))


def _unless_constant(rows: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the means of columns; of equal values that value, which rounding may miss."""
    return np.where((rows == rows[0]).all(axis=0), rows[0], mean)


def _matrix(table: ArrayLike, owner: str, name: str) -> FloatArray:
    try:
        return np.asarray(table, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric: {error}.") from error


def _mask(cells: ArrayLike, owner: str, name: str) -> BoolArray:
    """Return booleans, or numbers that are 0 or 1, as booleans."""
    must_be = "an array of booleans, or of 0 and 1"
    try:
        given = np.asarray(cells)
    except ValueError as error:
        raise ValueError(refusal_in_words(owner, name, must_be, "rows of many lengths")) from error
    if given.dtype.kind == "O":
        # Objects of one kind get its type.
        given = np.array(given.tolist())
    if given.dtype.kind not in "biuf":
        got = f"an array of {given.dtype} values"
        raise TypeError(refusal_in_words(owner, name, must_be, got))
    other = (given != 0) & (given != 1)
    if other.any():
        got = f"{given[other].tolist()[0]!r} among its values"
        raise ValueError(refusal_in_words(owner, name, must_be, got))
    return given.astype(bool)


def _squared(one: _Class, other: _Class) -> float:
    return float(np.square(one.mean - other.mean).sum())


def _ratio(between: float, within: float) -> float:
    if within > 0.0:
        return between / within
    return math.inf if between > 0.0 else math.nan


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
