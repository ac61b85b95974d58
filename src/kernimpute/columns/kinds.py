"""Numbers or categories: what the observed cells of a column are, and what is neither."""

from __future__ import annotations

import re
from collections.abc import Hashable
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.columns.dtypes import source_of
from kernimpute.columns.messages import (
    REMEDY,
    TableError,
    TableTypeError,
    refused_column,
    the_column,
)

__all__ = ["finite_numbers", "is_category"]

FloatArray = NDArray[np.float64]

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}.*)?)?$")


def is_category(
    series: pd.Series,
    present: pd.Series,
    name: Hashable,
    as_category: bool = False,
    dates_pass: bool = False,
) -> bool:
    """Return whether a column holds categories rather than numbers.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The column.
    present : Series of shape (n_observed,)
        Its observed cells; at least one.
    name : hashable
        Its name.
    as_category : bool, default=False
        Whether numbers are categories in it.
    dates_pass : bool, default=False
        Whether text that is all dates is text like any other.

    Returns
    -------
    bool
        True for categories, False for numbers.

    Raises
    ------
    TableError
        If it holds neither.
    """
    dtype, source = series.dtype, source_of(series.dtype)
    if source in ("category", "boolean"):
        return True
    if source in ("integer", "float"):
        return as_category
    if source == "object":
        return _objects_are_categories(present, name, as_category, dates_pass)
    if source in ("text", "dictionary"):
        if not (as_category or dates_pass):
            _refuse_dates(present, name)
        return True
    if isinstance(dtype, pd.SparseDtype):
        remedy = "Make it dense with `.sparse.to_dense()`."
        raise TableError(refused_column(name, f"{dtype} values", remedy))
    raise TableError(refused_column(name, f"{dtype} values", REMEDY))


def _refuse_dates(present: pd.Series, name: Hashable) -> None:
    """Refuse a column of text whose every cell is a date: a most frequent one fills no gap."""
    if not all(_ISO_DATE.match(str(text).strip()) for text in present):
        return
    remedy = f"{REMEDY[:-1]}; or name it as categorical if its dates are classes."
    raise TableError(refused_column(name, f"dates such as {present.iloc[0]!r}", remedy))


def _objects_are_categories(
    present: pd.Series, name: Hashable, as_category: bool, dates_pass: bool
) -> bool:
    kinds = set(map(type, present))
    booleans = {kind for kind in kinds if issubclass(kind, (bool, np.bool_))}
    text = {kind for kind in kinds if issubclass(kind, str)}
    numbers = {kind for kind in kinds if issubclass(kind, Real)} - booleans
    if kinds == text and not (as_category or dates_pass):
        _refuse_dates(present, name)
    if kinds in (booleans, text):
        return True
    if kinds == numbers:
        return as_category
    if as_category and kinds == booleans | text | numbers:
        return True
    got = " and ".join(sorted(kind.__name__ for kind in kinds)) + " values"
    if kinds == booleans | text | numbers:
        remedy = "Name it as categorical, or list the stray values as missing_values."
        raise TableError(refused_column(name, got, remedy))
    # The clause is the one by which scikit-learn's checks know this refusal.
    got = f"{got}, where the argument must be a string or a real number,"
    raise TableTypeError(refused_column(name, got, REMEDY))


def finite_numbers(present: pd.Series, name: Hashable) -> FloatArray:
    """Return the observed numbers of a column as floats.

    Parameters
    ----------
    present : Series of shape (n_observed,)
        The numbers.
    name : hashable
        The column's name.

    Returns
    -------
    ndarray of shape (n_observed,)
        The same numbers.

    Raises
    ------
    TableError
        If one is infinite.
    """
    try:
        numbers = np.asarray(present, dtype=float)
    except OverflowError:
        numbers = np.array([np.inf])
    infinite = np.isinf(numbers)
    if infinite.any():
        raise TableError(
            f"{the_column(name)} must hold finite numbers. Got "
            f"{float(numbers[infinite][0])!r} in {int(infinite.sum())} of its cells: is it a gap? "
            "List it in missing_values (--missing-values)."
        )
    return numbers
