"""Checks of what callers give to an `owner`, a function or class; and how much memory is free."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil
from numpy.typing import ArrayLike, NDArray

from kernimpute.core.arrays import BoolArray, FloatArray

EPSILON = float(np.finfo(float).eps)

SMALLEST_SUBSET = 10
"""Fewest rows that may be asked for as the size of a subset."""


def refusal(owner: str, name: str, must_be: str, got: object) -> str:
    """Return the sentence that refuses a parameter, and shows what was got."""
    return refusal_in_words(owner, name, must_be, repr(got))


def refusal_in_words(owner: str, name: str, must_be: str, got: str) -> str:
    """Return the sentence that refuses a parameter, and describes what was got."""
    return f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead."


def check_real(
    owner: str,
    name: str,
    value: object,
    low: float,
    *,
    low_included: bool = False,
    inf_included: bool = False,
) -> float:
    """Return a real number above `low` as a float; refuse booleans."""
    left, right = "[" if low_included else "(", "]" if inf_included else ")"
    must_be = f"a float in {left}{low:g}, inf{right}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(refusal(owner, name, must_be, value))
    try:
        number = float(value)
    except OverflowError:
        number = math.nan
    above = number >= low if low_included else number > low
    if not above or (math.isinf(number) and not inf_included):
        raise ValueError(refusal(owner, name, must_be, value))
    return number


def check_integer(owner: str, name: str, value: object, low: int) -> int:
    """Return an integer of at least `low` as an int; refuse booleans."""
    must_be = f"an int in [{low}, inf)"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(refusal(owner, name, must_be, value))
    if value < low:
        raise ValueError(refusal(owner, name, must_be, value))
    return int(value)


def check_choice(owner: str, name: str, value: object, choices: Collection[str]) -> str:
    """Return one of the named choices."""
    if not (isinstance(value, Hashable) and isinstance(value, str) and value in choices):
        listed = ", ".join(repr(choice) for choice in sorted(choices))
        raise ValueError(refusal(owner, name, f"one of {listed}", value))
    return value


def observed_cells(X: FloatArray) -> BoolArray:
    """Return the mask of observed cells: True where X is not NaN."""
    return ~np.isnan(X)


def codes_and_weights(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct codes among observed cells, ascending, and the weight of each."""
    codes, places = np.unique(values, return_inverse=True)
    return codes, np.bincount(places, weights, minlength=codes.size).astype(float)


def unmasked(values: Any) -> Any:
    """Return a masked array as a plain one with NaN at its gaps; all else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    data, mask = np.ma.getdata(values), np.ma.getmaskarray(values)
    if not mask.any():
        return data
    # A float holds no integer beyond 2^53 exactly, and no boolean.
    is_small = data.dtype.kind in "iu" and float(np.abs(data.astype(float)).max()) < 2.0**53
    plain = data.astype(float if is_small else data.dtype if data.dtype.kind == "f" else object)
    plain[mask] = np.nan
    return plain


def as_floats(values: ArrayLike, owner: str, name: str, *, copy: bool = False) -> FloatArray:
    """Return numbers as floats; text, dates and ragged lists are refused."""
    values = unmasked(values)
    try:
        dtype = np.asarray(values).dtype
        if dtype.kind not in "USVcmM":
            return np.array(values, dtype=float) if copy else np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {name!r} parameter of {owner} must be numeric: {error}.") from error
    raise TypeError(refusal_in_words(owner, name, "numeric", str(dtype)))


def check_matrix(X: ArrayLike, owner: str) -> FloatArray:
    """Return numbers, with NaN or None at the gaps, as a matrix of floats without a copy."""
    matrix = as_floats(X, owner, "X")
    if matrix.ndim != 2 or 0 in matrix.shape:
        must_be = "a matrix with at least one row and one column"
        got = f"an array of shape {matrix.shape}"
        raise ValueError(refusal_in_words(owner, "X", must_be, got))
    return matrix


def check_incomplete(X: ArrayLike, owner: str, numeric: BoolArray) -> FloatArray:
    """Return rows that the solvers accept: numeric columns in [0, 1], the others with a code."""
    matrix = check_matrix(X, owner)
    _refuse_cells(matrix, np.isinf(matrix), owner, "finite or NaN")
    outside = ((matrix < 0.0) | (matrix > 1.0)) & numeric
    _refuse_cells(matrix, outside, owner, "in [0, 1] or NaN")
    codeless = ~numeric & np.isnan(matrix).all(axis=0)
    if codeless.any():
        column = int(np.flatnonzero(codeless)[0])
        must_be = "a table whose categorical columns each have an observed code"
        raise ValueError(refusal_in_words(owner, "X", must_be, f"only NaN in column {column}"))
    return matrix


def _refuse_cells(matrix: FloatArray, refused: BoolArray, owner: str, must_be: str) -> None:
    if refused.any():
        row, column = (int(index) for index in np.argwhere(refused)[0])
        raise ValueError(
            f"The 'X' parameter of {owner} must hold values that are {must_be}. "
            f"Got {float(matrix[row, column])!r} in row {row}, column {column} instead."
        )


@dataclass(frozen=True)
class ObservedRange:
    """The range of the observed cells of each column, and the map between it and [0, 1]."""

    minimum: FloatArray  # (n_features,); 0 for a column without any observed value
    width: FloatArray  # (n_features,), rounded so that minimum + width is at most the maximum

    def to_unit(self, X: FloatArray) -> FloatArray:
        """Return X mapped so that the observed range becomes [0, 1]; constant columns become 0."""
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
    """Return the range of the observed cells of each column."""
    observed = observed_cells(X)
    known = observed.any(axis=0)
    maximum = np.where(observed, X, -np.inf).max(axis=0)
    minimum = np.where(known, np.where(observed, X, np.inf).min(axis=0), 0.0)
    width = np.where(known, maximum - minimum, 0.0)
    # Rounded down where the sum would round to more than the largest value.
    width = np.where(minimum + width > maximum, np.nextafter(width, 0.0), width)
    return ObservedRange(minimum=minimum, width=width)


Task = Literal["classification", "regression"]
"""What the labels are."""

MOST_CLASSES = 10
"""Whole-number labels with more distinct values than this count as a quantity."""


def plain_labels(y: ArrayLike, owner: str) -> NDArray[np.generic]:
    """Return labels without gaps as an array of numbers, booleans or text, in their shape."""
    labels = np.asarray(unmasked(y))
    if labels.dtype.kind == "O":
        cells = labels.ravel().tolist()
        has_gaps = any(is_gap(label) for label in cells)
        if not has_gaps and len({isinstance(label, str) for label in cells}) > 1:
            raise TypeError(refusal_in_words(owner, "y", "of one kind", "text and other labels"))
        # Labels of one kind get its dtype: [True, False] become booleans, [1, 2] integers.
        labels = labels if has_gaps else np.array(cells).reshape(labels.shape)
    else:
        has_gaps = labels.dtype.kind == "f" and bool(np.isnan(labels).any())
    if has_gaps:
        raise ValueError(
            f"The 'y' parameter of {owner} must be complete, without NaN or None. Got gaps "
            "instead: leave out the rows without a label."
        )
    if labels.dtype.kind not in "biufUT":
        must_be = "made of numbers, booleans or text"
        dates = ": make numbers of dates, such as days" if labels.dtype.kind in "mM" else ""
        raise TypeError(refusal_in_words(owner, "y", must_be + dates, str(labels.dtype)))
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError(refusal_in_words(owner, "y", "finite", "an infinite value"))
    return labels


def infer_task(labels: NDArray[np.generic]) -> Task:
    """Return what labels are taken for: text and booleans for classes; see `task_of_numbers`."""
    is_number = labels.dtype.kind in "iuf"
    return task_of_numbers(labels.astype(float)) if is_number else "classification"


def task_of_numbers(labels: FloatArray) -> Task:
    """Return "regression" but for whole numbers of two values, or of at most ten that recur."""
    if (labels != np.rint(labels)).any():
        return "regression"
    distinct = np.unique(labels).size
    few = distinct <= MOST_CLASSES and 2 * distinct <= labels.size
    return "classification" if distinct <= 2 or few else "regression"


def classes_recur(n_classes: int, n_labels: int) -> bool:
    """Return whether labels can be classes: at most 300, beyond 20 of three rows on average."""
    return n_classes <= min(300, max(20, n_labels // 3))


def is_gap(label: object) -> bool:
    """Return whether a label is None, NaN, NaT or pandas' NA, which refuses to be compared."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def check_sample_weight(owner: str, sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return the weights of rows, finite, nonnegative and not all 0; None weights every row 1."""
    if sample_weight is None:
        return np.ones(n_samples)
    name = "sample_weight"
    weights = as_floats(sample_weight, owner, name, copy=True)
    must_be = ""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(weights.sum())
    refused = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)).ravel())
    if weights.shape != (n_samples,):
        must_be = f"of shape ({n_samples},), one weight a row"
        got = f"an array of shape {weights.shape}"
    elif refused.size:
        must_be = "finite and nonnegative"
        got = f"{float(weights[refused[0]])!r} in row {refused[0]}"
    elif not 0.0 < total < np.inf:
        must_be = "positive for one row at least, and finite in sum"
        got = "only zeros" if total == 0.0 else "a sum that overflows"
    if must_be:
        raise ValueError(refusal_in_words(owner, name, must_be, got))
    return weights


CONTROL_GROUPS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)
"""Files that limit a container, of control groups of version 2 and of version 1."""


def free_memory() -> int:
    """Return the bytes that this process may still take: of the machine, and of its container."""
    free = int(psutil.virtual_memory().available)
    for names in CONTROL_GROUPS:
        try:
            limit, used, figures = (Path("/sys/fs/cgroup", name).read_text() for name in names)
            # The cache of files is dropped when somebody wants its memory.
            cached = int(dict(map(str.split, figures.splitlines())).get("inactive_file", 0))
            free = min(free, max(0, int(limit) - int(used) + cached))
        except (OSError, ValueError):
            # No such file, or no limit ("max").
            continue
    return free
