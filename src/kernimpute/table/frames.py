"""Containers of tables: any of them as a pandas DataFrame, and the filled one as what came in.

pandas, polars and pyarrow tables, every other eager table that narwhals knows, and arrays.
Tables of other libraries go through arrow: their columns arrive with `pandas.ArrowDtype`, so that
no dtype is guessed, and only columns in which something was filled go back.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from kernimpute.table.columns import TableError, check_distinct_names, the_column

__all__ = [
    "as_frame",
    "as_library",
    "check_names",
    "is_frame",
    "like",
    "to_pandas",
    "with_columns",
    "with_filled_columns",
]

BoolArray = NDArray[np.bool_]

_EXACT = 2**53
"""Up to here a float holds every whole number."""


def is_frame(X: object) -> bool:
    """Return whether X is a table with named columns.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool
        True for pandas, polars and pyarrow tables and any other eager one that narwhals knows;
        False for arrays, lists and lazy tables.
    """
    if isinstance(X, (pd.DataFrame, pa.Table)):
        # narwhals refuses their repeated column names, for which we have our own sentence.
        return True
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def check_names(X: Any, owner: str) -> None:
    """Refuse a table of which two columns have one name.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        What `is_frame` takes.
    owner : str
        What got the table, for the message.

    Raises
    ------
    TableError
        If a name repeats.
    """
    names = X.column_names if isinstance(X, pa.Table) else X.columns
    check_distinct_names(list(names), owner)


def to_pandas(X: Any) -> pd.DataFrame:
    """Return a table or an array as a DataFrame.

    Parameters
    ----------
    X : table or array-like of shape (n_rows, n_columns)
        What `is_frame` takes, or a matrix.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        X itself where it is one. Columns of other tables have `pandas.ArrowDtype`. Columns of
        arrays are numbered; integers and wide floats become float64, text becomes objects,
        other dtypes stay.

    Raises
    ------
    TypeError
        If X is a table that is not there yet, such as a polars LazyFrame.
    ValueError
        If X is an array of other than two dimensions, or of integers one of which no float
        holds; a table with a column of integers keeps them.
    """
    if isinstance(X, pd.DataFrame):
        return X
    if isinstance(X, pa.Table):
        return _from_arrow(X)
    table = nw.from_native(X, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        raise TypeError(
            "The table must be in memory. Got a lazy "
            f"{type(X).__module__.split('.')[0]} {type(X).__name__}: collect it first."
        )
    if isinstance(table, nw.DataFrame):
        return _from_arrow(table.to_arrow())
    return pd.DataFrame(_array(X), copy=False)


def like(X: Any, filled: pd.DataFrame, changed: BoolArray | None = None) -> Any:
    """Return a filled table in the container of the one that came in.

    Parameters
    ----------
    X : table or array-like of shape (n_rows, n_columns)
        What came in.
    filled : DataFrame of shape (n_rows, n_columns_out)
        `to_pandas(X)` with gaps filled; columns may lack, and new ones of booleans may follow.
    changed : ndarray of bool of shape (n_columns,) or (n_rows, n_columns), default=None
        Which columns of X, or which of its cells, were written; None means to compare.

    Returns
    -------
    table or ndarray of shape (n_rows, n_columns_out)
        For pandas, `filled` itself. For other tables one of the same library and dtypes, whose
        columns without a written cell are X's own; a dtype with fixed categories gains those
        that were filled and that it lacks. For arrays an array: of X's dtype where it is of
        floats, objects, or of booleans that are all known; else float64 or object.
    """
    if isinstance(X, pd.DataFrame):
        return filled
    if not is_frame(X):
        return _array_like(_array(X), filled)
    before = to_pandas(X)
    written = _written_columns(before, filled, changed)
    if isinstance(X, pa.Table):
        return _arrow_like(X, before, filled, written)
    return _narwhals_like(nw.from_native(X, eager_only=True), before, filled, written)


def with_columns(
    frame: pd.DataFrame, names: Sequence[Hashable], columns: BoolArray
) -> pd.DataFrame:
    """Return a table with further columns at its end.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table.
    names : sequence of hashable of length n_further
        Names of the further columns, none of them the table's.
    columns : ndarray of bool of shape (n_rows, n_further)
        What they hold.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns + n_further)
        The table, in one copy however many columns there are.
    """
    index = frame.columns
    labels: pd.Index[Any] = pd.Index(list(names), name=index.name)
    if isinstance(index, pd.MultiIndex):
        labels = pd.MultiIndex.from_tuples(list(names), names=index.names)  # type: ignore[arg-type]
    further = pd.DataFrame(columns, index=frame.index, columns=labels)
    return pd.concat([frame, further], axis=1)


def as_library(table: Any, library: str) -> Any:
    """Return a table as one of the library that scikit-learn's ``set_output`` names.

    scikit-learn's own way to pandas goes through rows of Python objects where the table is of
    polars, so that numbers beside text end as objects, and fails where it is of pyarrow.

    Parameters
    ----------
    table : table or ndarray of shape (n_rows, n_columns)
        What `like` returns.
    library : {"default", "pandas", "polars"}
        The library; "default" is the table's own.

    Returns
    -------
    table or ndarray of shape (n_rows, n_columns)
        The table with its columns as that library has them, numbers as numbers; an array as it
        is, for it has no columns to keep.
    """
    if library == "default" or not is_frame(table):
        return table
    known = nw.from_native(table, eager_only=True)
    return known.to_pandas() if library == "pandas" else known.to_polars()


# ---------------------------------------------------------------------- in


def _from_arrow(table: pa.Table) -> pd.DataFrame:
    columns = [_without_views(column) for column in table.columns]
    known = pa.table(columns, names=table.column_names)
    return known.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)  # type: ignore[no-any-return]


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its views of text, which pandas doesn't know, as text."""
    of = column.type
    if pa.types.is_string_view(of):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(of) and pa.types.is_string_view(of.value_type):
        return _with_dictionary_of(column, pa.large_string())
    return column


def _with_dictionary_of(column: pa.ChunkedArray, value_type: pa.DataType) -> pa.ChunkedArray:
    """Return a dictionary column with the values of its dictionary as another type."""
    of = pa.dictionary(column.type.index_type, value_type, column.type.ordered)
    chunks = [
        pa.DictionaryArray.from_arrays(
            chunk.indices, chunk.dictionary.cast(value_type), ordered=of.ordered
        )
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, type=of)


def _array(X: Any) -> NDArray[Any]:
    """Return a matrix as an array of floats, booleans or objects."""
    array = np.asarray(X)
    if array.dtype.kind in "US":
        # From the cells themselves: NumPy has turned numbers among the text of a list into text.
        array = np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise ValueError(
            f"The table must be an array of two dimensions. Got an array of shape {array.shape}."
        )
    if array.dtype.kind in "iu":
        _refuse_inexact(array)
        return array.astype(np.float64)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array


def _refuse_inexact(array: NDArray[Any]) -> None:
    """Refuse integers that no float holds: as floats, observed cells would change."""
    if array.dtype.itemsize < 8:
        return
    for row, column in np.argwhere((array > _EXACT) | (array < -_EXACT)):
        value = int(array[row, column])
        if int(float(value)) != value:
            raise TableError(
                f"{the_column(int(column))} must hold integers that floats hold, as an array of "
                f"integers comes back as one of floats. Got {value}: pass a DataFrame, whose "
                "columns of integers keep it."
            )


# ---------------------------------------------------------------------- out


def _array_like(array: NDArray[Any], filled: pd.DataFrame) -> NDArray[Any]:
    if array.dtype.kind in "fO":
        return filled.to_numpy(dtype=array.dtype)
    if all(dtype.kind == "b" for dtype in filled.dtypes):
        return filled.to_numpy(dtype=bool)
    return filled.to_numpy(dtype=object if array.dtype.kind == "b" else None)


def _written_columns(
    before: pd.DataFrame, filled: pd.DataFrame, changed: BoolArray | None
) -> set[str]:
    """Return the names of the columns of `filled` that are not those of `before`."""
    if changed is not None:
        cells = np.asarray(changed, dtype=bool).reshape(-1, before.shape[1])
        kept = {
            name
            for name, is_written in zip(before.columns, cells.T, strict=True)
            if not is_written.any()
        }
    else:
        kept = {
            name
            for name in before.columns
            if name in filled.columns and before[name].equals(filled[name])
        }
    return {name for name in filled.columns if name not in kept}


def _arrow_like(
    X: pa.Table, before: pd.DataFrame, filled: pd.DataFrame, written: set[str]
) -> pa.Table:
    columns, fields = [], []
    for name in filled.columns:
        own = X.schema.field(name) if name in X.schema.names else None
        if name not in written:
            columns.append(X.column(name))
            fields.append(own)
            continue
        values = _arrow_column(filled[name])
        if own is not None and _same_family(before[name].dtype, filled[name].dtype):
            if not pa.types.is_dictionary(own.type):
                values = values.cast(own.type)
            elif own.type.value_type != values.type.value_type:
                values = _with_dictionary_of(values, own.type.value_type)
        columns.append(values)
        fields.append(own.with_type(values.type) if own else pa.field(str(name), values.type))
    return pa.table(columns, schema=pa.schema(fields, metadata=X.schema.metadata))


def _narwhals_like(
    X: nw.DataFrame[Any], before: pd.DataFrame, filled: pd.DataFrame, written: set[str]
) -> Any:
    names = [str(name) for name in filled.columns]
    arrays = {}
    for name in filled.columns:
        if name in written:
            values = _arrow_column(filled[name])
            is_dictionary = pa.types.is_dictionary(values.type)
            arrays[str(name)] = (
                pa.chunked_array([chunk.dictionary_decode() for chunk in values.chunks])
                if is_dictionary
                else values
            )
    if not arrays:
        return X.select(names).to_native()
    new = nw.from_arrow(pa.table(arrays), backend=X.implementation)
    schema = X.schema
    casts = [
        nw.col(name).cast(_dtype_for(schema[name], filled[name]))
        for name in arrays
        if name in schema and _same_family(before[name].dtype, filled[name].dtype)
    ]
    new = new.with_columns(*casts) if casts else new
    return X.with_columns(*[new.get_column(name) for name in arrays]).select(names).to_native()


def _same_family(before: object, after: object) -> bool:
    """Return whether a filled column can have the dtype that it came with."""
    types = [dtype.pyarrow_dtype for dtype in (before, after) if isinstance(dtype, pd.ArrowDtype)]
    return before == after or (len(types) == 2 and all(map(pa.types.is_dictionary, types)))


def _dtype_for(dtype: Any, series: pd.Series) -> Any:
    """Return a dtype of narwhals, with the categories of a filled column where they are fixed."""
    if not isinstance(dtype, nw.Enum):
        return dtype
    lacking = [value for value in series.unique() if value not in dtype.categories]
    return nw.Enum([*dtype.categories, *lacking]) if lacking else dtype


def _arrow_column(series: pd.Series) -> pa.ChunkedArray:
    """Return a column as arrow's, gaps as null."""
    column = pa.array(series, from_pandas=not isinstance(series.dtype, pd.ArrowDtype))
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame.

    Parameters
    ----------
    table : pyarrow.Table of shape (n_rows, n_columns)
        The table.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        Its columns, index columns included, with Arrow's own types; dictionaries as categories.
    """
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, types_mapper=_pandas_type)
    return frame


def _pandas_type(kind: pa.DataType) -> pd.ArrowDtype | None:
    return None if pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)


def with_filled_columns(table: pa.Table, frame: pd.DataFrame, names: Iterable[str]) -> pa.Table:
    """Return an Arrow table with some columns taken from a DataFrame.

    Parameters
    ----------
    table : pyarrow.Table of shape (n_rows, n_columns)
        The table.
    frame : DataFrame of shape (n_rows, n_frame_columns)
        The same rows, filled.
    names : iterable of str
        The columns to take.

    Returns
    -------
    pyarrow.Table of shape (n_rows, n_columns)
        The table; its types are those that came, but for a column of gaps only, without a type.
    """
    for name in names:
        place = table.column_names.index(name)
        column = table.schema.field(place)
        values = pa.Array.from_pandas(frame[name])
        if pa.types.is_null(column.type):
            column = column.with_type(values.type)
        if values.type != column.type:
            values = values.cast(column.type)
        table = table.set_column(place, column, values)
    return table
