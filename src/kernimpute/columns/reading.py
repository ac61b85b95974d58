"""How a column is coded: its kind, and the values that may fill it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.columns.dtypes import Source, dictionary_values, source_of
from kernimpute.columns.kinds import finite_numbers, is_category
from kernimpute.columns.messages import REMEDY, TableError, the_column
from kernimpute.stored import as_given, as_stored

__all__ = ["Column", "Whole", "read_column"]

BoolArray = NDArray[np.bool_]
Kind = Literal["number", "whole", "category", "constant", "empty"]
Whole = Literal["values", "dtype"]


@dataclass(frozen=True)
class Column:
    """How one column of a table is coded.

    Parameters
    ----------
    name : hashable
        Its name.
    kind : {"number", "whole", "category", "constant", "empty"}
        What it holds; "whole" is a number whose fills are whole numbers.
    values : tuple
        By kind: the smallest and the largest number that may be filled; the categories, in the
        order of their codes; the one observed value; nothing.
    source : {"integer", "float", "boolean", "text", "object", "category", "dictionary", \
            "null", "other"}, default="object"
        The family of its dtype.
    categorical : bool, default=False
        Whether its values are categories, which a constant's may be too.
    levels : tuple, default=()
        Every category of a category or dictionary dtype, observed or not, in its order.
    ordered : bool, default=False
        Whether these are ordered.
    """

    name: Hashable
    kind: Kind
    values: tuple[object, ...] = ()
    source: Source = "object"
    categorical: bool = False
    levels: tuple[object, ...] = ()
    ordered: bool = False

    @property
    def in_matrix(self) -> bool:
        """Whether the column is one of the matrix's."""
        return self.kind not in ("constant", "empty")

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields as files can hold them: categories may be pandas' own scalars."""
        return as_stored(dict(self.__dict__))  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields of a saved column."""
        self.__dict__.update(as_given(state))


def read_column(
    series: pd.Series,
    observed: BoolArray,
    name: Hashable,
    *,
    as_category: bool = False,
    bounds: tuple[float, float] | None = None,
    whole: Whole = "values",
) -> Column:
    """Return how a column is coded.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The column.
    observed : ndarray of bool of shape (n_rows,)
        True where it is observed.
    name : hashable
        Its name.
    as_category : bool, default=False
        Whether its values are categories although they are numbers.
    bounds : (float, float), default=None
        The range of its fills; None means the observed one.
    whole : {"values", "dtype"}, default="values"
        Which fills are rounded: where every observed value is whole, or where the dtype is of
        integers or the objects all are.

    Returns
    -------
    Column
        The column.

    Raises
    ------
    TableError
        If its kind cannot be imputed, it holds an infinite value, its range is beyond floats,
        or `bounds` is given for categories or does not hold its values.
    """
    source, levels, ordered = source_of(series.dtype), *_levels(series)
    if not observed.any():
        return Column(name, "empty", (), source, False, levels, ordered)
    present = series[observed]
    if is_category(series, present, name, as_category):
        if bounds is not None:
            raise TableError(
                f"{the_column(name)} must hold numbers for its range to be declared. Got "
                f"{series.dtype} values."
            )
        values = _categories(present, levels if _is_ranked(series) else ())
        kind: Kind = "constant" if len(values) == 1 else "category"
        return Column(name, kind, values, source, True, levels, ordered)
    numbers = finite_numbers(present, name)
    low, high = int(numbers.argmin()), int(numbers.argmax())
    smallest, largest = _scalar(present.iloc[low]), _scalar(present.iloc[high])
    if bounds is not None:
        _refuse_outside(name, bounds, float(numbers[low]), float(numbers[high]))
    if numbers[low] == numbers[high]:
        return Column(name, "constant", (smallest,), source)
    if np.isinf(float(numbers[high]) - float(numbers[low])):
        raise TableError(
            f"{the_column(name)} must span a range that a float can hold. Got "
            f"{float(numbers[low])!r} to {float(numbers[high])!r}. {REMEDY}"
        )
    integers = source == "integer" or (
        source == "object" and all(isinstance(value, Integral) for value in present)
    )
    is_whole = integers or (whole == "values" and bool(np.all(numbers == np.rint(numbers))))
    if bounds is not None:
        smallest, largest = bounds
        if integers:
            # A range of whole numbers, of which the fills are to be.
            smallest, largest = math.ceil(bounds[0]), math.floor(bounds[1])
    return Column(name, "whole" if is_whole else "number", (smallest, largest), source)


def _levels(series: pd.Series) -> tuple[tuple[object, ...], bool]:
    """Return all categories of a column's dtype, and whether they are ordered."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return tuple(dtype.categories), bool(dtype.ordered)
    if source_of(dtype) == "dictionary":
        return dictionary_values(series), bool(dtype.pyarrow_dtype.ordered)  # type: ignore[union-attr]
    return (), False


def _is_ranked(series: pd.Series) -> bool:
    """Return whether a column's dtype, rather than its values, says which category is first."""
    return isinstance(series.dtype, pd.CategoricalDtype) or _levels(series)[1]


def _refuse_outside(
    name: Hashable, bounds: tuple[float, float], smallest: float, largest: float
) -> None:
    if smallest < bounds[0] or largest > bounds[1]:
        outside = smallest if smallest < bounds[0] else largest
        raise TableError(
            f"{the_column(name)} must hold numbers in its declared range "
            f"[{bounds[0]}, {bounds[1]}]. Got {outside!r}."
        )


def _scalar(value: object) -> object:
    """Return a number as one of Python's or NumPy's own, so that it can be stored anywhere."""
    if isinstance(value, (int, float, np.generic)):
        return value
    return float(value)  # type: ignore[arg-type]


def _categories(present: pd.Series, levels: tuple[object, ...]) -> tuple[object, ...]:
    """Return the observed categories: in the order of the dtype's levels, else sorted."""
    unique = list(present.unique())
    if levels:
        seen = set(unique)
        return tuple(value for value in levels if value in seen)
    try:
        return tuple(sorted(unique))
    except TypeError:
        return tuple(sorted(unique, key=lambda value: (type(value).__name__, str(value))))
