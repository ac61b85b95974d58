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

from kernimpute.parameters import refusal

__all__ = [
    "FilledErrors",
    "filled_errors",
    "fisher_ratio",
    "inter_class_distance",
    "scatter_ratio",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def inter_class_distance(X: ArrayLike, y: ArrayLike) -> float:
    """Return the distance between the means of the classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Complete rows.
    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    Returns
    -------
    float
        ``||mu_1 - mu_2||`` in the units of X; of more than two classes, the mean over their pairs.

    Raises
    ------
    ValueError
        If X is no matrix of finite numbers, y does not match its rows or has a single class.

    Examples
    --------
    >>> inter_class_distance([[0.0], [2.0], [5.0], [7.0]], [0, 0, 1, 1])
    5.0
    """
    classes = _classes(X, y, "inter_class_distance")
    return _mean([math.sqrt(_squared(one, other)) for one, other in combinations(classes, 2)])


def fisher_ratio(X: ArrayLike, y: ArrayLike) -> float:
    """Return Fisher's discriminant ratio as the paper's table has it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Complete rows.
    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    Returns
    -------
    float
        ``||mu_1 - mu_2||^2 / (tr S_1 + tr S_2)`` with the classes' own covariances S, divided by
        their sizes; infinite where no class varies. Of more than two classes, the mean over their
        pairs.

    Raises
    ------
    ValueError
        If X is no matrix of finite numbers, y does not match its rows or has a single class.

    Examples
    --------
    >>> fisher_ratio([[0.0], [2.0], [5.0], [7.0]], [0, 0, 1, 1])
    12.5
    """
    classes = _classes(X, y, "fisher_ratio")
    return _mean(
        [
            _ratio(_squared(one, other), one.spread / one.size + other.spread / other.size)
            for one, other in combinations(classes, 2)
        ]
    )


def scatter_ratio(X: ArrayLike, y: ArrayLike) -> float:
    """Return the scatter between the classes over the scatter within them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Complete rows.
    y : array-like of shape (n_samples,)
        Labels of at least two classes.

    Returns
    -------
    float
        ``tr(S_b) / tr(S_w)``, for any number of classes: the paper's appendix calls it the Fisher
        discriminant ratio. Infinite where no class varies.

    Raises
    ------
    ValueError
        If X is no matrix of finite numbers, y does not match its rows or has a single class.

    Examples
    --------
    >>> scatter_ratio([[0.0], [2.0], [5.0], [7.0]], [0, 0, 1, 1])
    6.25
    """
    classes = _classes(X, y, "scatter_ratio")
    n_samples = sum(one.size for one in classes)
    mean = sum((one.size / n_samples) * one.mean for one in classes)
    between = sum(one.size * float(np.square(one.mean - mean).sum()) for one in classes)
    return _ratio(between, sum(one.spread for one in classes))


@dataclass(frozen=True)
class FilledErrors:
    """How far filled cells are from what was there; NaN without any cell to compare.

    Parameters
    ----------
    mae : float
        Mean absolute error of the cells, in the units of the table.
    rmse : float
        Root of their mean squared error, in the same units.
    wasserstein : float
        Wasserstein-1 distance between a column's filled values and the removed ones, as
        distributions: the mean over the columns with such cells.
    """

    mae: float
    rmse: float
    wasserstein: float


def filled_errors(filled: ArrayLike, truth: ArrayLike, observed: ArrayLike) -> FilledErrors:
    """Return the errors of filled cells against the values that had been there.

    Parameters
    ----------
    filled : array-like of shape (n_samples, n_features)
        The filled table.
    truth : array-like of shape (n_samples, n_features)
        The table before cells were removed; NaN where nobody knows, which is left out.
    observed : array-like of bool of shape (n_samples, n_features)
        True at the cells that were observed, which are left out.

    Returns
    -------
    FilledErrors
        The errors.

    Raises
    ------
    ValueError
        If the three are not matrices of one shape, or a cell to compare is not filled.

    Examples
    --------
    >>> filled_errors([[0.5, 1.0], [0.5, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0, 1], [0, 1]])
    FilledErrors(mae=0.5, rmse=0.5, wasserstein=0.5)
    """
    table, known = _matrix(filled), _matrix(truth)
    there = np.asarray(observed, dtype=bool)
    if not (table.ndim == 2 and table.shape == known.shape == there.shape):
        got = f"shapes {table.shape}, {known.shape} and {there.shape}"
        must_be = "a matrix of the shape of truth and of observed"
        raise ValueError(refusal("filled_errors", "filled", must_be, got))
    compared = ~there & ~np.isnan(known)
    if not np.isfinite(table[compared]).all():
        must_be = "finite at every cell to compare"
        raise ValueError(refusal("filled_errors", "filled", must_be, "NaN or infinite cells"))
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
    rows, labels = _matrix(X), np.asarray(y)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        must_be = "a matrix of finite numbers"
        got = f"an array of shape {rows.shape}" if rows.ndim != 2 else "NaN or infinite entries"
        raise ValueError(refusal(owner, "X", must_be, got))
    if labels.shape != rows.shape[:1]:
        must_be = f"of shape ({rows.shape[0]},), one label a row"
        raise ValueError(refusal(owner, "y", must_be, f"an array of shape {labels.shape}"))
    names = np.unique(labels)
    if names.size < 2:
        raise ValueError(refusal(owner, "y", "of at least 2 classes", names.tolist()))
    members = (rows[labels == name] for name in names)
    return [_Class(len(own), own.mean(axis=0), _spread(own)) for own in members]


def _matrix(table: ArrayLike) -> FloatArray:
    return np.asarray(table, dtype=float)


def _spread(rows: FloatArray) -> float:
    return float(np.square(rows - rows.mean(axis=0)).sum())


def _squared(one: _Class, other: _Class) -> float:
    return float(np.square(one.mean - other.mean).sum())


def _ratio(between: float, within: float) -> float:
    if within > 0.0:
        return between / within
    return math.inf if between > 0.0 else math.nan


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
