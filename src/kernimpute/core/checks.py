"""Checks of what callers give: parameters, rows, labels, memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Literal

import numpy as np
import psutil
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MOST_CLASSES",
    "ObservedRange",
    "SMALLEST_SUBSET",
    "Task",
    "check_choice",
    "check_incomplete",
    "check_integer",
    "check_jobs",
    "check_matrix",
    "check_pair",
    "check_real",
    "check_sample_weight",
    "codes_and_weights",
    "free_memory",
    "infer_task",
    "is_gap",
    "observed_cells",
    "observed_range",
    "plain_labels",
    "refusal",
    "refusal_in_words",
    "task_of_numbers",
]

SMALLEST_SUBSET = 10
"""Fewest rows that may be asked for as the size of a subset."""


def refusal(owner: str, name: str, must_be: str, got: object) -> str:
    """Return the sentence with which a parameter is refused.

    Parameters
    ----------
    owner : str
        The function or class whose parameter it is.
    name : str
        The parameter.
    must_be : str
        What it must be, as the end of the clause "must be …".
    got : object
        What was passed; shown by its ``repr``.

    Returns
    -------
    str
        One sentence and what was got instead.

    Examples
    --------
    >>> refusal("Gaussian", "gamma", "a float in (0, inf)", -1.0)
    "The 'gamma' parameter of Gaussian must be a float in (0, inf). Got -1.0 instead."
    """
    return refusal_in_words(owner, name, must_be, repr(got))


def refusal_in_words(owner: str, name: str, must_be: str, got: str) -> str:
    """Return the sentence of `refusal` for what is better described than shown.

    Parameters
    ----------
    owner, name, must_be : str
        As in `refusal`.
    got : str
        What was passed, as the end of the clause "Got … instead".

    Returns
    -------
    str
        One sentence and what was got instead.

    Examples
    --------
    >>> refusal_in_words("impute", "X", "a matrix", "an array of shape (3,)")
    "The 'X' parameter of impute must be a matrix. Got an array of shape (3,) instead."
    """
    return f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead."


def check_real(
    owner: str,
    name: str,
    value: object,
    low: float,
    high: float = math.inf,
    *,
    low_included: bool = False,
    high_included: bool = False,
) -> float:
    """Return `value` as a float inside an interval.

    Parameters
    ----------
    owner, name : str
        Whose parameter, and which; for the message.
    value : object
        The value to check; booleans are refused.
    low, high : float
        Ends of the interval.
    low_included, high_included : bool, default=False
        Whether the ends belong to the interval.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If `value` is not a real number.
    ValueError
        If it lies outside the interval.
    """
    left, right = "[" if low_included else "(", "]" if high_included else ")"
    must_be = f"a float in {left}{low:g}, {high:g}{right}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(refusal(owner, name, must_be, value))
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(refusal(owner, name, must_be, value)) from error
    above = number >= low if low_included else number > low
    below = number <= high if high_included else number < high
    if not (above and below):
        raise ValueError(refusal(owner, name, must_be, value))
    return number


def check_integer(owner: str, name: str, value: object, low: int) -> int:
    """Return `value` as an int that is at least `low`.

    Parameters
    ----------
    owner, name : str
        Whose parameter, and which; for the message.
    value : object
        The value to check; booleans are refused.
    low : int
        The smallest value allowed.

    Returns
    -------
    int
        The value.

    Raises
    ------
    TypeError
        If `value` is not an integer.
    ValueError
        If it is below `low`.
    """
    must_be = f"an int in [{low}, inf)"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(refusal(owner, name, must_be, value))
    if value < low:
        raise ValueError(refusal(owner, name, must_be, value))
    return int(value)


def check_jobs(owner: str, n_jobs: object) -> int | None:
    """Return a number of jobs as joblib counts.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the message.
    n_jobs : object
        The value to check.

    Returns
    -------
    int or None
        The value.

    Raises
    ------
    TypeError, ValueError
        If it is neither None nor an integer other than 0.
    """
    if n_jobs is None:
        return None
    must_be = "None or an int other than 0"
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(refusal(owner, "n_jobs", must_be, n_jobs))
    if n_jobs == 0:
        raise ValueError(refusal(owner, "n_jobs", must_be, n_jobs))
    return int(n_jobs)


def check_choice(owner: str, name: str, value: object, choices: Collection[str]) -> str:
    """Return `value` if it is one of the named choices.

    Parameters
    ----------
    owner, name : str
        Whose parameter, and which; for the message.
    value : object
        The value to check.
    choices : collection of str
        The names allowed.

    Returns
    -------
    str
        The value.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    if not (isinstance(value, Hashable) and isinstance(value, str) and value in choices):
        listed = ", ".join(repr(choice) for choice in sorted(choices))
        raise ValueError(refusal(owner, name, f"one of {listed}", value))
    return value


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


def check_sample_weight(
    owner: str, sample_weight: ArrayLike | None, n_samples: int, *, name: str = "sample_weight"
) -> FloatArray:
    """Return the weights of rows, or refuse them.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the messages.
    sample_weight : array-like of shape (n_samples,) or None
        Finite, nonnegative and not all 0; a weight w counts as w copies of the row. None weights
        every row 1.
    n_samples : int
        Number of rows.
    name : str, default="sample_weight"
        The parameter's name, for the messages.

    Returns
    -------
    ndarray of shape (n_samples,)
        The weights.

    Raises
    ------
    TypeError, ValueError
        If the weights are not as described.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        dtype = np.asarray(sample_weight).dtype
        weights = None if dtype.kind in "USVcmM" else np.array(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric: {error}.") from error
    if weights is None:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric. Got {dtype} instead.")
    if weights.shape != (n_samples,):
        got = f"an array of shape {weights.shape}"
        must_be = f"of shape ({n_samples},), one weight a row"
        raise ValueError(f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead.")
    refused = ~(np.isfinite(weights) & (weights >= 0.0))
    if refused.any():
        row = int(np.flatnonzero(refused)[0])
        raise ValueError(
            f"The {name!r} parameter of {owner} must be finite and nonnegative. "
            f"Got {float(weights[row])!r} in row {row} instead."
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 0.0 < total < np.inf:
        must_be = "positive for one row at least, and finite in sum"
        got = "only zeros" if total == 0.0 else "a sum that overflows"
        raise ValueError(f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead.")
    return weights


Task = Literal["classification", "regression"]
"""What the labels are."""

MOST_CLASSES = 10
"""Whole-number labels with more distinct values than this are a quantity, unless told."""


def plain_labels(y: ArrayLike, owner: str) -> NDArray[np.generic]:
    """Return labels as an array of numbers, booleans or text, without gaps.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels; objects of one kind get that kind's dtype.
    owner : str
        The function whose parameter they are, for the messages.

    Returns
    -------
    ndarray
        The labels; of the shape that came.

    Raises
    ------
    TypeError
        If they are of mixed kinds, or of a kind that is no label.
    ValueError
        If one is missing or infinite.
    """
    labels = np.asarray(y)
    if labels.dtype.kind == "O":
        cells = labels.ravel().tolist()
        if any(is_gap(label) for label in cells):
            raise ValueError(_gap_refusal(owner))
        if len({isinstance(label, str) for label in cells}) > 1:
            raise TypeError(
                f"The 'y' parameter of {owner} must be of one kind. Got text and other labels "
                "instead."
            )
        # Of one kind, they get its type: [True, False] as booleans, [1, 2] as integers.
        labels = np.array(cells).reshape(labels.shape)
    if labels.dtype.kind not in "biufUT":
        must_be = "made of numbers, booleans or text"
        raise TypeError(
            f"The 'y' parameter of {owner} must be {must_be}. Got {labels.dtype} instead."
        )
    if labels.dtype.kind == "f":
        if np.isnan(labels).any():
            raise ValueError(_gap_refusal(owner))
        if np.isinf(labels).any():
            raise ValueError(
                f"The 'y' parameter of {owner} must be finite. Got an infinite value instead."
            )
    return labels


def infer_task(labels: NDArray[np.generic]) -> Task:
    """Return what labels are taken for when the caller doesn't say.

    Text and booleans are classes. So are whole numbers with two distinct values, or with at most
    ten of which each occurs twice or more on average. Other numbers are a quantity, for
    regression.

    Parameters
    ----------
    labels : ndarray of shape (n_labels,)
        The labels, without gaps.

    Returns
    -------
    {"classification", "regression"}
        The task.

    Examples
    --------
    >>> infer_task(np.array(["no", "yes", "no"]))
    'classification'
    >>> infer_task(np.array([1.0, 2.0, 2.0]))
    'classification'
    >>> infer_task(np.array([0.5, 2.0, 2.0]))
    'regression'
    """
    if labels.dtype.kind not in "iuf":
        return "classification"
    return task_of_numbers(labels.astype(float))


def task_of_numbers(labels: NDArray[np.float64]) -> Task:
    """Return what labels that are numbers are taken for; see `infer_task`.

    Parameters
    ----------
    labels : ndarray of shape (n_labels,)
        The labels, without gaps.

    Returns
    -------
    {"classification", "regression"}
        The task.
    """
    if (labels != np.rint(labels)).any():
        return "regression"
    distinct = np.unique(labels).size
    few = distinct <= MOST_CLASSES and 2 * distinct <= labels.size
    return "classification" if distinct <= 2 or few else "regression"


def is_gap(label: object) -> bool:
    """Return whether a label is None, NaN, NaT or pandas' NA, which refuses to be compared."""
    if label is None:
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):
        return True


def _gap_refusal(owner: str) -> str:
    return (
        f"The 'y' parameter of {owner} must be complete, without NaN or None. Got gaps instead: "
        "rows without a label are filled as new rows, after a fit to the others."
    )


def free_memory() -> int:
    """Return the bytes that this process may still take: of the machine, and of its group."""
    free = int(psutil.virtual_memory().available)
    limit, used = (
        _group_bytes("memory.max", "memory/memory.limit_in_bytes"),
        _group_bytes("memory.current", "memory/memory.usage_in_bytes"),
    )
    if limit is not None and used is not None:
        free = min(free, max(0, limit - used + _dropped_when_wanted()))
    return free


def _dropped_when_wanted() -> int:
    """Return the bytes of files that the control group holds only as long as nobody wants them."""
    for name in ("memory.stat", "memory/memory.stat"):
        try:
            lines = Path("/sys/fs/cgroup", name).read_text().splitlines()
        except OSError:
            continue
        figures = dict(line.split(maxsplit=1) for line in lines if " " in line)
        return int(figures.get("inactive_file", 0))
    return 0


def _group_bytes(*names: str) -> int | None:
    """Return a figure of the control group, which a container is limited by; None without one."""
    for name in names:
        try:
            return int(Path("/sys/fs/cgroup", name).read_text())
        except (OSError, ValueError):
            continue
    return None
