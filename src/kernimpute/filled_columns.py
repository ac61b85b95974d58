"""Numbers and codes back into the columns of a table.

Only gaps are written, and the column keeps its dtype, with two exceptions. A categorical dtype
gets the categories that were known when the code was learned. A dtype that cannot hold the fill
(pyarrow's null, a float column of gaps only that is to hold text) gives way to one that can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernimpute.columns import Column, Source, dictionary_values, source_of

__all__ = ["filled_column"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Cells = list[object] | FloatArray | NDArray[np.int64]

_EXACT = 2**53
"""Up to here a float holds every whole number."""
_CONSTANTS: dict[Source, object] = {
    "integer": 0,
    "float": 0.0,
    "boolean": False,
    "text": "missing",
    "object": "missing",
    "category": "missing",
    "dictionary": "missing",
    "null": 0.0,
}
"""What fills a column in which nothing was ever observed."""


def filled_column(
    series: pd.Series,
    gaps: BoolArray,
    column: Column,
    values: FloatArray | None,
    *,
    fill_empty: bool = False,
) -> pd.Series:
    """Return a column with its gaps written.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The column as it came; never changed.
    gaps : ndarray of bool of shape (n_rows,)
        Where to write.
    column : Column
        How it is coded.
    values : ndarray of shape (n_rows,) or None
        Numbers or codes, of which those at the gaps are read; None where the column is not one
        of the matrix's.
    fill_empty : bool, default=False
        Whether the gaps of a column in which nothing was observed get a constant: 0, False,
        "missing" or the first category.

    Returns
    -------
    Series of shape (n_rows,)
        `series` itself where there is nothing to write; else a new one with the same index,
        name and, but for new categories, dtype.

    Raises
    ------
    ValueError
        If a value at a gap is NaN or no category's code.
    """
    writes = bool(gaps.any()) and (column.kind != "empty" or fill_empty)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = _with_categories(series, column)
    if not writes:
        return series
    target = source_of(series.dtype)
    if column.kind == "empty":
        if target == "other":
            return series
        constant = _constant(series, gaps, column, target)
        cells: Cells = [constant] * int(gaps.sum())
    elif values is None:
        cells = [column.values[0]] * int(gaps.sum())
    else:
        cells = _cells(column, values[gaps], series, target)
    return _written(series, gaps, cells, column, target)


def _constant(series: pd.Series, gaps: BoolArray, column: Column, target: Source) -> object:
    """Return what fills a column in which nothing was observed."""
    if target == "object" and any(isinstance(value, str) for value in series[~gaps]):
        return _CONSTANTS["text"]
    levels = series.dtype.categories if isinstance(series.dtype, pd.CategoricalDtype) else ()
    constants = [
        *levels[:1],
        *column.levels[:1],
        *(_CONSTANTS[source] for source in (column.source, target) if source in _CONSTANTS),
    ]
    held = (constant for constant in constants if _can_hold(target, column, [constant]))
    return next(held, constants[0])


# ---------------------------------------------------------------------- what to write


def _cells(column: Column, values: FloatArray, series: pd.Series, target: Source) -> Cells:
    """Return what the numbers or codes at the gaps of a column stand for, of shape (n_gaps,)."""
    if np.isnan(values).any():
        raise ValueError(
            f"The 'X' parameter of EncodedTable.decode must hold no NaN at a gap. Got NaN in the "
            f"{column.name!r} column."
        )
    if column.kind == "category":
        return _categories_of(column, values)
    low, high = column.values
    if column.kind == "whole" or target == "integer":
        smallest, largest = _whole_bounds(low, high, series, target)
        as_integers = target == "integer" or isinstance(low, Integral)
        if max(abs(smallest), abs(largest)) <= _EXACT:
            whole = np.clip(np.rint(values), smallest, largest)
            return whole.astype(np.int64) if as_integers else whole
        # Python's integers, for a float does not hold every one of 64 bits.
        exact = [min(max(int(value), smallest), largest) for value in np.rint(values)]
        return [*exact] if as_integers else [float(value) for value in exact]
    return np.clip(values, float(low), float(high))  # type: ignore[arg-type]


def _categories_of(column: Column, values: FloatArray) -> list[object]:
    codes = np.rint(values)
    inside = (codes >= 0) & (codes < len(column.values)) & (np.abs(values - codes) < 1e-6)
    if not inside.all():
        raise ValueError(
            f"The 'X' parameter of EncodedTable.decode must hold codes in 0 … "
            f"{len(column.values) - 1} in the {column.name!r} column. "
            f"Got {float(values[~inside][0])!r} instead."
        )
    return [column.values[code] for code in codes.astype(int)]


def _whole_bounds(low: object, high: object, series: pd.Series, target: Source) -> tuple[int, int]:
    """Return the smallest and the largest whole number that may be filled."""
    # NumPy's integers go through int, for math rounds them by way of a float.
    smallest = int(low) if isinstance(low, Integral) else math.ceil(low)  # type: ignore[call-overload]
    largest = int(high) if isinstance(high, Integral) else math.floor(high)  # type: ignore[call-overload]
    if smallest > largest:
        # No whole number lies in between: the two next to the range.
        smallest, largest = largest, smallest
    if target == "integer":
        info = np.iinfo(_numpy_dtype(series))
        smallest, largest = (
            min(max(bound, int(info.min)), int(info.max)) for bound in (smallest, largest)
        )
    return smallest, largest


def _numpy_dtype(series: pd.Series) -> np.dtype:
    """Return NumPy's dtype of a column of integers."""
    dtype = series.dtype
    return dtype if isinstance(dtype, np.dtype) else dtype.numpy_dtype  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- writing it


def _written(
    series: pd.Series, gaps: BoolArray, cells: Cells, column: Column, target: Source
) -> pd.Series:
    """Return a copy of a column with its gaps written; index and other cells as before."""
    if not _can_hold(target, column, cells):
        if gaps.all():
            return _anew(series, cells, column)
        series, target = series.astype(object), "object"
    if target == "integer" and isinstance(cells, list) and not _fit_exactly(series, cells):
        series = series.astype("float64")
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = _with_more_categories(series, cells)
    array: Any
    if target == "dictionary":
        array = _dictionary(series, gaps, list(cells), column)
        return pd.Series(array, index=series.index, name=series.name)
    if isinstance(series.dtype, np.dtype):
        # pandas' wrapper of a NumPy array refuses Python's integers for its narrow ones.
        array = series.to_numpy(copy=True)
        as_objects = target == "object" or isinstance(cells, list)
        array[gaps] = _objects(list(cells)) if as_objects else cells
    else:
        array = series.array.copy()
        array[gaps] = cells.tolist() if isinstance(cells, np.ndarray) else cells
    return pd.Series(array, index=series.index, dtype=series.dtype, name=series.name)


def _anew(series: pd.Series, cells: Cells, column: Column) -> pd.Series:
    """Return a column that is filled throughout, of the dtype that its values ask for."""
    dtype = None
    if column.source == "category" and column.levels:
        dtype = pd.CategoricalDtype([*column.levels], ordered=column.ordered)
    return pd.Series(cells, index=series.index, dtype=dtype, name=series.name)


def _objects(cells: Sequence[object]) -> NDArray[np.object_]:
    """Return cells as an array of objects, also where they are sequences themselves."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _can_hold(target: Source, column: Column, cells: Cells) -> bool:
    """Return whether a family of dtypes holds what a column is filled with."""
    if target == "object":
        return True
    if target == "category":
        return column.categorical or column.kind == "empty"
    if isinstance(cells, np.ndarray):
        return target in ("integer", "float")
    return all(target in _holders(cell) for cell in set(cells))


def _holders(cell: object) -> tuple[Source, ...]:
    """Return the families of dtypes, besides objects and categories, that hold a value."""
    if isinstance(cell, (bool, np.bool_)):
        return ("boolean",)
    if isinstance(cell, str):
        return ("text", "dictionary")
    return ("integer", "float", "dictionary")


def _fit_exactly(series: pd.Series, cells: list[object]) -> bool:
    """Return whether a dtype of integers holds some numbers as they are."""
    info = np.iinfo(_numpy_dtype(series))
    return all(info.min <= cell <= info.max and int(cell) == cell for cell in cells)  # type: ignore[operator,call-overload]


def _with_categories(series: pd.Series, column: Column) -> pd.Series:
    """Return a categorical column with the code's categories first, then its own others."""
    if not column.levels:
        # The code has no order to impose: what is lacking goes to the end.
        return _with_more_categories(series, [*column.values] if column.categorical else [])
    known, own = set(column.levels), [*series.cat.categories]
    both = [*column.levels, *(value for value in own if value not in known)]
    if both == own and bool(series.cat.ordered) == column.ordered:
        return series
    return series.cat.set_categories(both, ordered=column.ordered)


def _with_more_categories(series: pd.Series, values: Cells) -> pd.Series:
    """Return a categorical column with the values that its categories lack behind them."""
    lacking = [value for value in dict.fromkeys(values) if value not in series.cat.categories]
    return series.cat.add_categories(lacking) if lacking else series


def _dictionary(series: pd.Series, gaps: BoolArray, cells: list[object], column: Column) -> Any:
    """Return an arrow dictionary column with its gaps written."""
    of = series.dtype.pyarrow_dtype  # type: ignore[union-attr]
    known = column.levels or (column.values if column.categorical else ())
    both = [*dict.fromkeys([*known, *dictionary_values(series), *cells])]
    values = series.array.astype(pd.ArrowDtype(of.value_type))
    values[gaps] = cells
    dictionary = pa.array(both, type=of.value_type)
    codes = pc.index_in(values.__arrow_array__().combine_chunks(), value_set=dictionary)
    fits = len(both) <= np.iinfo(of.index_type.to_pandas_dtype()).max
    array = pa.DictionaryArray.from_arrays(
        codes.cast(of.index_type if fits else pa.int32()), dictionary, ordered=of.ordered
    )
    return pd.array(array, dtype=pd.ArrowDtype(array.type))
