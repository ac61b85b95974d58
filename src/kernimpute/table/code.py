"""Numbers and codes back into the columns of a table.

Only gaps are written, and the column keeps its dtype, with two exceptions. A categorical dtype
gets the categories that were known when the code was learned. A dtype that cannot hold the fill
(pyarrow's null, a float column of gaps only that is to hold text) gives way to one that can.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernimpute.core.checks import ObservedRange, check_choice, observed_range, refusal
from kernimpute.table.columns import (
    Column,
    Source,
    TableError,
    Whole,
    check_column_names,
    check_table,
    column_codes,
    dictionary_values,
    listed,
    observed_in_table,
    read_column,
    source_of,
)

__all__ = [
    "EncodedTable",
    "IndicatorColumn",
    "TableCode",
    "checked_range",
    "encode_table",
    "filled_column",
    "indicator_columns",
    "joined_code",
    "learn_code",
    "to_codes",
    "to_indicators",
]

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


IndicatorColumn = tuple[int, int | None]
"""The position of a matrix's column, and the code that is indicated; None for numbers."""


def indicator_columns(n_categories: Sequence[int]) -> tuple[IndicatorColumn, ...]:
    """Return what each column of the indicator matrix holds.

    Parameters
    ----------
    n_categories : sequence of int of length n_features
        How many categories each column of the matrix has; 0 for numbers.

    Returns
    -------
    tuple of (int, int or None)
        The position in the matrix and the code, or None for numbers.

    Examples
    --------
    >>> indicator_columns([0, 3, 2])
    ((0, None), (1, 0), (1, 1), (1, 2), (2, 1))
    """
    columns: list[IndicatorColumn] = []
    for position, count in enumerate(n_categories):
        if count == 0:
            columns.append((position, None))
        else:
            columns.extend((position, code) for code in range(int(count == 2), count))
    return tuple(columns)


def to_indicators(matrix: FloatArray, columns: Sequence[IndicatorColumn]) -> FloatArray:
    """Return a matrix of numbers and codes with indicators for its codes.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_features)
        Numbers and codes, NaN at the gaps.
    columns : sequence of (int, int or None) of length n_indicators
        From `indicator_columns`.

    Returns
    -------
    ndarray of shape (n_rows, n_indicators)
        Numbers, and 1 where a row has the category or else 0; NaN at the gaps.
    """
    indicators = np.empty((len(matrix), len(columns)))
    for place, (position, code) in enumerate(columns):
        values = matrix[:, position]
        if code is not None:
            values = np.where(np.isnan(values), np.nan, values == code)
        indicators[:, place] = values
    return indicators


def to_codes(
    indicators: FloatArray,
    matrix: FloatArray,
    columns: Sequence[IndicatorColumn],
    reference: FloatArray | None = None,
) -> FloatArray:
    """Return a matrix of numbers and codes with its gaps filled from indicators.

    Parameters
    ----------
    indicators : ndarray of shape (n_rows, n_indicators)
        Filled: no NaN.
    matrix : ndarray of shape (n_rows, n_features)
        Numbers and codes, NaN at the gaps; its observed cells are kept.
    columns : sequence of (int, int or None) of length n_indicators
        From `indicator_columns`.
    reference : ndarray of shape (n_rows, n_indicators), default=None
        The indicators before labels moved them.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        At a gap of a category, the one with the largest indicator, the first of equal ones.
        With a reference, a category leaves the reference's own largest only for one whose
        indicator gained more than half the range relative to it.
    """
    filled = matrix.copy()
    for position, places in _places(columns):
        gaps = np.isnan(matrix[:, position])
        if not gaps.any():
            continue
        now = indicators[gaps][:, places]
        if columns[places[0]][1] is None:
            filled[gaps, position] = now[:, 0]
            continue
        now = _one_each(now)
        if reference is not None:
            before = _one_each(reference[gaps][:, places])
            largest = np.eye(before.shape[1])[before.argmax(axis=1)]
            now = largest + 2.0 * (now - before)
        filled[gaps, position] = now.argmax(axis=1)
    return filled


def _places(columns: Sequence[IndicatorColumn]) -> Iterator[tuple[int, list[int]]]:
    """Yield each of the matrix's columns with the places of its indicators."""
    places: dict[int, list[int]] = {}
    for place, (position, _) in enumerate(columns):
        places.setdefault(position, []).append(place)
    yield from places.items()


def _one_each(indicators: FloatArray) -> FloatArray:
    """Return one indicator for each category, of shape (n_gaps, n_categories), where two share."""
    if indicators.shape[1] > 1:
        return indicators
    return np.hstack([1.0 - indicators, indicators])


Unknown = tuple[Hashable, tuple[object, ...], int]

_MANY_CATEGORIES = 20
"""A column with more categories than this looks like an identifier, if most of them are seen once,
or like a quantity, if they are numbers with a unit."""
_QUANTITY = re.compile(
    r"[<>≤≥~≈]?=? ?[-+−]? ?(?P<currency>[$€£¥]?) ?"
    r"(?!0\d)(?:\d{1,3}(?:[,.' ]\d{3})+|\d+|(?=[.,]\d))(?:[.,]\d+)?"
    r" ?(?P<unit>(?:[^\W\d_]|[%‰°$€£¥])(?:\D|(?<=m)[23])*|)"
)
"""A number, its thousands apart or not, with a unit or without; zeros in front make it a code, and
further digits a date or a range."""
_LOOKED_AT = 1000
"""Categories of a column that are looked at for a unit."""
_SAME_UNIT = 0.9
"""Share of them that must be numbers, most of which have one and the same unit."""


@dataclass(frozen=True)
class TableCode:
    """How the rows of a table become a matrix; it holds ranges and categories, no rows.

    Parameters
    ----------
    columns : tuple of Column
        How each column of the table is coded, in the table's order.
    scale : ObservedRange
        The map between the matrix's columns and [0, 1]; the identity for category codes.
    cautions : tuple of str
        What the user should know about the table before trusting the result.
    """

    columns: tuple[Column, ...]
    scale: ObservedRange
    cautions: tuple[str, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns of the table."""
        return len(self.columns)

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns of the matrix, in order."""
        return tuple(column for column in self.columns if column.in_matrix)

    @property
    def categorical(self) -> BoolArray:
        """The mask of the matrix's columns that hold category codes, of shape (n_features,)."""
        return np.array([column.kind == "category" for column in self.features], dtype=bool)

    @property
    def left_missing(self) -> tuple[Hashable, ...]:
        """The names of the columns in which nothing is observed, so that gaps stay gaps."""
        return tuple(column.name for column in self.columns if column.kind == "empty")

    @property
    def indicator_columns(self) -> tuple[IndicatorColumn, ...]:
        """What each column of the indicator matrix holds: (position in the matrix, code).

        The code is None for numbers. A column of two categories has one indicator, of the
        second.
        """
        return indicator_columns(
            [len(column.values) * (column.kind == "category") for column in self.features]
        )

    def encode(
        self,
        frame: pd.DataFrame,
        *,
        missing_values: Sequence[object] = (),
        handle_unknown: str = "error",
    ) -> EncodedTable:
        """Return rows with the matrix that stands for them.

        Parameters
        ----------
        frame : DataFrame of shape (n_rows, n_columns)
            Rows with the columns of the table, in its order; it is never changed. No row is
            fine.
        missing_values : sequence of str or number, default=()
            Values that stand for a gap besides None, NaN, NaT and NA.
        handle_unknown : {"error", "missing"}, default="error"
            What a category is that the table did not hold.

        Returns
        -------
        EncodedTable
            The rows; numbers outside the range of the code land outside [0, 1].

        Raises
        ------
        TypeError
            If `frame` is not a DataFrame.
        TableError
            If the columns differ, a column holds another kind of values or an infinite one, or
            a category is unknown and to be refused.
        """
        check_table(frame, may_be_empty=True)
        check_choice("TableCode.encode", "handle_unknown", handle_unknown, ("error", "missing"))
        names, own = list(frame.columns), [column.name for column in self.columns]
        if names != own:
            raise TableError(_different_columns(names, own))
        observed = observed_in_table(frame, missing_values)
        return _encoded(frame, observed, self, unknown_is_gap=handle_unknown == "missing")

    def to_indicators(self, matrix: FloatArray) -> FloatArray:
        """Return a matrix with indicators for its category codes.

        Parameters
        ----------
        matrix : ndarray of shape (n_rows, n_features)
            Numbers and codes, NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_rows, n_indicators)
            Numbers and indicators, NaN in each indicator of a gap.
        """
        return to_indicators(matrix, self.indicator_columns)

    def to_codes(
        self, indicators: FloatArray, matrix: FloatArray, reference: FloatArray | None = None
    ) -> FloatArray:
        """Return a matrix with its gaps filled from indicators.

        Parameters
        ----------
        indicators : ndarray of shape (n_rows, n_indicators)
            Filled: no NaN.
        matrix : ndarray of shape (n_rows, n_features)
            Numbers and codes, NaN at the gaps; its observed cells are kept.
        reference : ndarray of shape (n_rows, n_indicators), default=None
            The indicators before labels moved them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            At a gap of a category, the one with the largest indicator, the first of equal
            ones. With a reference, a category leaves the reference's own largest only for one
            whose indicator gained more than half the range relative to it.

        Raises
        ------
        ValueError
            If `indicators` holds NaN.
        """
        if np.isnan(indicators).any():
            raise ValueError(
                refusal("TableCode.to_codes", "indicators", "an array without NaN", np.nan)
            )
        return to_codes(indicators, matrix, self.indicator_columns, reference)


@dataclass(frozen=True)
class EncodedTable:
    """Rows of a table and the matrix that stands for them.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The rows as they came.
    code : TableCode
        How they are coded.
    observed : ndarray of bool of shape (n_rows, n_columns)
        True where a cell is observed, and of a known category.
    matrix : ndarray of shape (n_rows, n_features)
        One column for each column of the table that is neither constant nor empty, in the
        table's order: numbers in [0, 1] (rows that the code was not learned from may leave
        it), category codes 0, 1, …, NaN at the gaps.
    unknown : tuple of (hashable, tuple, int)
        For each column with categories that the code does not know, and that count as gaps:
        its name, these categories, and how many cells held them.
    """

    frame: pd.DataFrame
    code: TableCode
    observed: BoolArray
    matrix: FloatArray
    unknown: tuple[Unknown, ...] = ()

    def decode(self, X: FloatArray, *, fill_empty: bool = False) -> pd.DataFrame:
        """Return the rows with their gaps filled from a matrix.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The matrix with its gaps filled; what stands at observed cells is not read.
        fill_empty : bool, default=False
            Whether the gaps of a column in which nothing was observed when the code was learned
            are filled too: with 0, False, "missing" or the first category, by its dtype.

        Returns
        -------
        DataFrame of shape (n_rows, n_columns)
            A copy of the rows with the same columns, order, index and dtypes; a categorical
            dtype has the code's categories, followed by its own others. Gaps are left only in
            the columns that `TableCode.left_missing` names.

        Raises
        ------
        ValueError
            If X has another shape than the matrix, or holds NaN or no category's code at a
            gap.
        """
        X = np.asarray(X, dtype=float)
        if X.shape != self.matrix.shape:
            must_be = f"an array of shape {self.matrix.shape}"
            raise ValueError(refusal("EncodedTable.decode", "X", must_be, X.shape))
        filled = self.frame.copy()
        numbers = self.code.scale.from_unit(X)
        feature = 0
        for position, column in enumerate(self.code.columns):
            series = self.frame.iloc[:, position]
            gaps = ~self.observed[:, position]
            values = numbers[:, feature] if column.in_matrix else None
            written = filled_column(series, gaps, column, values, fill_empty=fill_empty)
            if written is not series:
                filled.isetitem(position, written)  # type: ignore[arg-type]
            feature += column.in_matrix
        return filled


def learn_code(
    frame: pd.DataFrame,
    *,
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
    ranges: Mapping[Hashable, tuple[float, float]] | None = None,
    whole: Whole = "values",
) -> TableCode:
    """Return how a table becomes a matrix.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table, without the label; it is never changed.
    categorical : iterable of hashable, default=()
        Names of columns whose values are categories although they are numbers.
    missing_values : sequence of str or number, default=()
        Values that stand for a gap besides None, NaN, NaT and NA.
    ranges : mapping of hashable to (float, float), default=None
        For the named columns of numbers, the range that is scaled to [0, 1] and that their
        fills keep to; the others have their observed range.
    whole : {"values", "dtype"}, default="values"
        Which numbers are filled with whole ones. "values": where every observed value is
        whole, whatever the dtype, for an integer column with gaps is a float column in pandas.
        "dtype": where the dtype is of integers, or the objects all are.

    Returns
    -------
    TableCode
        The code.

    Raises
    ------
    TypeError
        If `frame` is not a DataFrame.
    TableError
        If it has no rows, column names that repeat, an infinite value, a column of a kind that
        cannot be imputed, or a declared range that is none or does not hold the values; the
        message names the column.
    """
    check_table(frame)
    observed = observed_in_table(frame, missing_values)
    return _learned(frame, observed, categorical, ranges or {}, whole)


def encode_table(
    frame: pd.DataFrame,
    *,
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
) -> EncodedTable:
    """Return a table with the matrix that stands for it, by a code learned from it.

    Parameters
    ----------
    frame, categorical, missing_values
        As in `learn_code`.

    Returns
    -------
    EncodedTable
        The table, its matrix and how to get back.

    Raises
    ------
    TypeError, TableError
        As `learn_code` does.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 40, None], "pet": ["cat", None, "dog"]})
    >>> encoded = encode_table(table)
    >>> encoded.matrix
    array([[ 0.,  0.],
           [ 1., nan],
           [nan,  1.]])
    >>> encoded.decode(np.array([[0.0, 0.0], [1.0, 1.0], [0.26, 1.0]]))
        age  pet
    0  20.0  cat
    1  40.0  dog
    2  25.0  dog
    """
    check_table(frame)
    observed = observed_in_table(frame, missing_values)
    code = _learned(frame, observed, categorical, {}, "values")
    return _encoded(frame, observed, code)


def _learned(
    frame: pd.DataFrame,
    observed: BoolArray,
    categorical: Iterable[Hashable],
    ranges: Mapping[Hashable, tuple[float, float]],
    whole: Whole,
) -> TableCode:
    names = list(frame.columns)
    check_choice("learn_code", "whole", whole, ("values", "dtype"))
    as_category = set(check_column_names("categorical", categorical, names))
    check_column_names("feature_range", ranges, names)
    columns = tuple(
        read_column(
            frame.iloc[:, position],
            observed[:, position],
            name,
            as_category=name in as_category,
            bounds=checked_range(ranges[name], "ranges", "learn_code") if name in ranges else None,
            whole=whole,
        )
        for position, name in enumerate(names)
    )
    return joined_code(columns, [int(count) for count in observed.sum(axis=0)])


def joined_code(columns: Sequence[Column], n_observed: Sequence[int]) -> TableCode:
    """Return the code of a table whose columns were read one by one.

    Parameters
    ----------
    columns : sequence of Column
        How each column is coded, in the table's order.
    n_observed : sequence of int
        How many cells of each are observed.

    Returns
    -------
    TableCode
        The code.
    """
    return TableCode(tuple(columns), _scale(columns), _cautions(columns, n_observed))


def checked_range(pair: Any, parameter: str, owner: str) -> tuple[float, float]:
    """Return the two ends of a declared range.

    Parameters
    ----------
    pair : array-like of shape (2,)
        What was given for it.
    parameter, owner : str
        The parameter that declares it and what has that parameter, for the message.

    Returns
    -------
    tuple of (float, float)
        The ends; integers stay such, for a float does not hold every one of 64 bits.

    Raises
    ------
    TableError
        If it is not two finite numbers, the smaller first, whose difference is finite.
    """
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not low < high or not np.isfinite(high - low):
        raise TableError(
            f"The {parameter!r} parameter of {owner} must hold pairs of finite numbers "
            f"low < high. Got {pair!r} instead."
        )
    ends = (int(end) if isinstance(end, Integral) else float(end) for end in pair)
    return next(ends), next(ends)


def _scale(columns: Sequence[Column]) -> ObservedRange:
    """Return the range of the numbers, and the identity for category codes."""
    ends = [
        (0.0, 1.0) if column.kind == "category" else column.values
        for column in columns
        if column.in_matrix
    ]
    return observed_range(np.array(ends, dtype=float).reshape(-1, 2).T)


def _encoded(
    frame: pd.DataFrame, observed: BoolArray, code: TableCode, *, unknown_is_gap: bool = False
) -> EncodedTable:
    raw = np.empty((len(frame), len(code.features)))
    unknown: list[Unknown] = []
    feature = 0
    for position, column in enumerate(code.columns):
        seen = observed[:, position]
        codes, unseen = column_codes(
            frame.iloc[:, position], seen, column, unknown_is_gap=unknown_is_gap
        )
        if unseen:
            known = ~np.isnan(codes)
            unknown.append((column.name, unseen, int((seen & ~known).sum())))
            observed[:, position] = known
        if column.in_matrix:
            raw[:, feature] = codes
            feature += 1
    return EncodedTable(frame, code, observed, code.scale.to_unit(raw), tuple(unknown))


# ---------------------------------------------------------------------- what the user is told


def _cautions(columns: Sequence[Column], counts: Sequence[int]) -> tuple[str, ...]:
    """Return what looks like a mistake in columns of categories."""
    identifiers, quantities, alike = [], [], []
    for column, n_observed in zip(columns, counts, strict=True):
        if column.kind != "category":
            continue
        n_categories = len(column.values)
        if n_categories > _MANY_CATEGORIES and _are_quantities(column.values):
            quantities.append(f"{column.name} ({n_categories} such as {column.values[0]!r})")
        if n_categories > _MANY_CATEGORIES and 2 * n_categories > n_observed:
            identifiers.append(f"{column.name} ({n_categories} in {n_observed} observed cells)")
            continue
        groups = ["/".join(group) for group in _alike(column.values)]
        if groups:
            alike.append(f"{column.name} ({', '.join(groups)})")
    found = []
    if identifiers:
        found.append(
            "so many categories look like an identifier, to be dropped or ignored: "
            + ", ".join(identifiers)
        )
    if quantities:
        found.append(
            "categories look like numbers with a unit, which are read as numbers where they stand "
            f"alone: {', '.join(quantities)}"
        )
    if alike:
        found.append(
            "categories that differ only in letter case or blanks count as different: "
            + ", ".join(alike)
        )
    return tuple(found)


def _are_quantities(categories: Sequence[object]) -> bool:
    """Return whether nearly all are numbers, most of them with one and the same unit."""
    looked_at = categories[:: -(-len(categories) // _LOOKED_AT)]
    read = [_QUANTITY.fullmatch(" ".join(str(value).split())) for value in looked_at]
    matches = [match for match in read if match]
    units = Counter(match["currency"] + match["unit"].casefold() for match in matches)
    n_bare = units.pop("", 0)
    return (
        len(units) == 1 and units.total() > n_bare and len(matches) >= _SAME_UNIT * len(looked_at)
    )


def _alike(categories: Sequence[object]) -> list[list[str]]:
    """Return the groups of categories that differ only in letter case or outer blanks."""
    groups: dict[str, list[str]] = {}
    for value in categories:
        if isinstance(value, str):
            groups.setdefault(value.strip().casefold(), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def _different_columns(names: Sequence[Hashable], own: Sequence[Hashable]) -> str:
    lacking = [name for name in own if name not in names]
    extra = [name for name in names if name not in own]
    if lacking:
        got = f"Got a table without {listed(lacking)}."
    elif extra:
        got = f"Got {listed(extra)} besides."
    else:
        got = "Got them in another order."
    return f"The rows must have the columns of the table that was encoded. {got}"
