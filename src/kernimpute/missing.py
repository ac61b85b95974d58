"""Which cells of a matrix are observed, and what a matrix must be before a solver sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernimpute.parameters import refusal_in_words

__all__ = [
    "ObservedRange",
    "check_incomplete",
    "check_matrix",
    "check_pair",
    "codes_and_weights",
    "observed_cells",
    "observed_range",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

EPSILON = float(np.finfo(float).eps)


def observed_cells(X: FloatArray) -> BoolArray:
    """Return the mask of observed cells: True where X is not NaN.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.

    Returns
    -------
    ndarray of bool of shape (n_samples, n_features)
        The mask; the package has no mask of the other polarity.
    """
    return ~np.isnan(X)


def codes_and_weights(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the codes among the observed cells of a column, and what each weighs.

    Parameters
    ----------
    values, weights : ndarray of shape (n_observed,)
        The cells and the weights of their rows.

    Returns
    -------
    codes, total_weights : ndarray of shape (n_codes,)
        The codes in ascending order and the sums of their rows' weights.
    """
    codes, places = np.unique(values, return_inverse=True)
    return codes, np.bincount(places, weights, minlength=codes.size).astype(float)


def check_matrix(X: ArrayLike, owner: str, *, name: str = "X") -> FloatArray:
    """Return X as a matrix of floats.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers, with NaN (or None) at the gaps.
    owner : str
        The function whose parameter it is, for the messages.
    name : str, default="X"
        The parameter's name, for the messages.

    Returns
    -------
    ndarray of float64 of shape (n_samples, n_features)
        A matrix; the input itself where it already is one.

    Raises
    ------
    TypeError
        If X is not numeric; numbers written as strings are not.
    ValueError
        If X is not a matrix with rows and columns.
    """
    try:
        dtype = np.asarray(X).dtype
        matrix = None if dtype.kind in "USVcmM" else np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric: {error}.") from error
    if matrix is None:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric. Got {dtype} instead.")
    if matrix.ndim != 2 or 0 in matrix.shape:
        got = f"an array of shape {matrix.shape}"
        must_be = "a matrix with at least one row and one column"
        raise ValueError(refusal_in_words(owner, name, must_be, got))
    return matrix


def check_pair(X: ArrayLike, Z: ArrayLike | None, owner: str) -> tuple[FloatArray, FloatArray]:
    """Return the rows on both sides of a kernel as matrices of floats with the same columns.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows with NaN at the gaps.
    Z : array-like of shape (n_other_rows, n_features) or None
        Other rows; None takes X.
    owner : str
        The function whose parameters they are, for the messages.

    Returns
    -------
    X, Z : ndarray of float64
        The matrices; one and the same array where Z is None.

    Raises
    ------
    TypeError
        If X or Z is not numeric.
    ValueError
        If one is not a matrix with rows and columns or holds an infinite value, or if they differ
        in their number of columns.
    """
    left = check_matrix(X, owner)
    _refuse_column(left, np.isinf(left), owner, "X", "finite or NaN")
    if Z is None:
        return left, left
    right = check_matrix(Z, owner, name="Z")
    if right.shape[1] != left.shape[1]:
        must_be = f"a matrix with as many columns as X, {left.shape[1]}"
        raise ValueError(refusal_in_words(owner, "Z", must_be, f"an array of shape {right.shape}"))
    _refuse_column(right, np.isinf(right), owner, "Z", "finite or NaN")
    return left, right


def check_incomplete(
    X: ArrayLike, owner: str, numeric: BoolArray | None = None, *, name: str = "X"
) -> FloatArray:
    """Return X as a matrix of floats that the solvers accept.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    owner : str
        The function whose parameter it is, for the messages.
    numeric : ndarray of bool of shape (n_features,), default=None
        The columns that must lie in [0, 1]; None means all. The others hold category codes,
        of which at least one must be observed.
    name : str, default="X"
        The parameter's name, for the messages.

    Returns
    -------
    ndarray of float64 of shape (n_samples, n_features)
        A matrix; the input itself where it already is one.

    Raises
    ------
    TypeError
        If X is not numeric.
    ValueError
        If X is not a matrix with rows and columns, or holds an infinite value, a numeric
        value outside [0, 1] or a categorical column without any observed code.
    """
    matrix = check_matrix(X, owner, name=name)
    columns = np.ones(matrix.shape[1], dtype=bool) if numeric is None else numeric
    _refuse_column(matrix, np.isinf(matrix), owner, name, "finite or NaN")
    outside = ((matrix < 0.0) | (matrix > 1.0)) & columns
    _refuse_column(matrix, outside, owner, name, "in [0, 1] or NaN")
    codeless = ~columns & np.isnan(matrix).all(axis=0)
    if codeless.any():
        column = int(np.flatnonzero(codeless)[0])
        must_be = "a table whose categorical columns each have an observed code"
        raise ValueError(refusal_in_words(owner, name, must_be, f"only NaN in column {column}"))
    return matrix


def _refuse_column(
    matrix: FloatArray, refused: BoolArray, owner: str, name: str, must_be: str
) -> None:
    if refused.any():
        row, column = (int(index) for index in np.argwhere(refused)[0])
        raise ValueError(
            f"The {name!r} parameter of {owner} must hold values that are {must_be}. "
            f"Got {float(matrix[row, column])!r} in row {row}, column {column} instead."
        )


@dataclass(frozen=True)
class ObservedRange:
    """The range of the observed cells of each column, and the map between it and [0, 1].

    Parameters
    ----------
    minimum, width : ndarray of shape (n_features,)
        Smallest observed value, and largest minus smallest, so rounded that their sum is not
        above the largest; 0 and 0 for a column without any observed value.
    """

    minimum: FloatArray
    width: FloatArray

    def to_unit(self, X: FloatArray) -> FloatArray:
        """Return X mapped so that the observed range becomes [0, 1]; constant columns become 0.

        Values outside the range, which only rows that were not there when the range was taken
        can have, land outside [0, 1].
        """
        unit = X - self.minimum
        unit /= np.where(self.width > 0.0, self.width, 1.0)
        # The largest value itself may land above 1, by rounding.
        unit[(unit > 1.0) & (unit <= 1.0 + 4.0 * EPSILON)] = 1.0
        return unit

    def from_unit(self, X: FloatArray) -> FloatArray:
        """Return X mapped back; values of [0, 1] land inside the observed range."""
        values = X * self.width
        values += self.minimum
        return values


def observed_range(X: FloatArray) -> ObservedRange:
    """Return the range of the observed cells of each column.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.

    Returns
    -------
    ObservedRange
        Minimum and width of every column.
    """
    observed = observed_cells(X)
    minimum = np.where(observed, X, np.inf).min(axis=0)
    maximum = np.where(observed, X, -np.inf).max(axis=0)
    known = observed.any(axis=0)
    minimum = np.where(known, minimum, 0.0)
    width = np.where(known, maximum - minimum, 0.0)
    # Rounded down where the sum would round to more than the largest value.
    width = np.where(minimum + width > maximum, np.nextafter(width, 0.0), width)
    return ObservedRange(minimum=minimum, width=width)
