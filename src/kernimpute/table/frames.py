"""Tables of any library, and Parquet files, as pandas DataFrames, and the filled one as it came.

pandas passes as it is. Tables of polars, pyarrow and every other eager library that narwhals
knows go through Arrow: their columns arrive with `pandas.ArrowDtype`, so that no dtype is
guessed. Only columns in which something was filled go back, cast to the dtype that came.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kernimpute.core.arrays import BoolArray
from kernimpute.core.checks import refusal_in_words
from kernimpute.table.columns import (
    LARGEST_WHOLE,
    TableError,
    check_distinct_names,
    family_of,
    listed,
    the_column,
)

# ---------------------------------------------------------------------- in


def is_frame(X: object) -> bool:
    """Return whether X is an eager table with named columns; arrays and lists are none."""
    # narwhals would refuse repeated column names with a message of its own.
    if isinstance(X, (pd.DataFrame, pa.Table)):
        return True
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def check_in_memory(X: object, name: str, owner: str) -> None:
    """Refuse a lazy table, the parameter `name` of `owner`."""
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        kind, library = type(X).__name__, type(X).__module__.partition(".")[0]
        got = f"a lazy {kind} of {library}"
        must_be = "in memory: pass what its collect() or compute() returns"
        raise TypeError(refusal_in_words(owner, name, must_be, got))


def names_of(X: Any) -> list[Any]:
    """Return the names of a table's columns."""
    return list(X.column_names if isinstance(X, pa.Table) else X.columns)


def to_pandas(X: Any) -> pd.DataFrame:
    """Return a table or a matrix as a DataFrame, a DataFrame as it is; a matrix becomes floats."""
    if isinstance(X, pd.DataFrame):
        return X
    if not is_frame(X):
        return pd.DataFrame(_matrix(X), copy=False)
    table = X if isinstance(X, pa.Table) else nw.from_native(X).to_arrow()
    return _from_arrow(table, pd.ArrowDtype)


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame, dictionaries as categories, index columns included."""
    return _from_arrow(
        table, lambda kind: None if pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)
    )


def _from_arrow(table: pa.Table, dtype_of: Callable[[pa.DataType], Any]) -> pd.DataFrame:
    for place, name in enumerate(table.column_names):
        if pa.types.is_string_view(table.schema.field(place).type):
            # pandas knows no views of text.
            table = table.set_column(place, name, table.column(place).cast(pa.large_string()))
    return table.to_pandas(ignore_metadata=True, types_mapper=dtype_of)  # type: ignore[no-any-return]


def _matrix(X: Any) -> NDArray[Any]:
    """Return a matrix of floats, booleans or objects."""
    array = np.asarray(X)
    if array.dtype.kind in "US":
        # Once more from X itself, because NumPy has turned numbers beside text into text.
        array = np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise ValueError(
            f"The table must be an array of two dimensions. Got an array of shape {array.shape}."
        )
    if array.dtype.kind in "iu":
        for row, column in np.argwhere((array > LARGEST_WHOLE) | (array < -LARGEST_WHOLE)):
            value = int(array[row, column])
            if int(float(value)) != value:
                raise TableError(
                    f"{the_column(int(column))} must hold integers that floats hold, because an "
                    f"array of integers comes back as one of floats. Got {value}: pass a "
                    "DataFrame, whose columns of integers keep it."
                )
    is_wide = array.dtype.kind == "f" and array.dtype.itemsize > 8
    return array.astype(np.float64) if is_wide or array.dtype.kind in "iu" else array


# ---------------------------------------------------------------------- out


def like(X: Any, filled: pd.DataFrame, changed: BoolArray) -> Any:
    """Return a filled table in the container of the one that came in, X.

    `filled` is `to_pandas(X)` with gaps filled; it may lack columns, and new ones may follow.
    `changed` (n_columns,) says in which columns of X a cell was written; others are X's own.
    """
    if isinstance(X, pd.DataFrame):
        return filled
    if not is_frame(X):
        kind = _matrix(X).dtype.kind
        if kind in "fO":
            return filled.to_numpy(dtype=_matrix(X).dtype)
        if all(dtype.kind == "b" for dtype in filled.dtypes):
            return filled.to_numpy(dtype=bool)
        return filled.to_numpy(dtype=object if kind == "b" else None)
    own = names_of(X)
    kept = {name for name, is_changed in zip(own, changed, strict=True) if not is_changed}
    names = [str(name) for name in filled.columns]
    written = [name for name in names if name not in kept]
    if isinstance(X, pa.Table):
        return with_filled_columns(X, filled, written).select(names)
    table = nw.from_native(X, eager_only=True)
    types = table.head(0).to_arrow().schema
    arrays, casts = {}, []
    for name in written:
        type_ = types.field(name).type if name in own else pa.null()
        array = arrow_column(filled[name], type_)
        if not pa.types.is_null(type_) and _same_family(array.type, type_):
            dtype = table.schema[name]
            if isinstance(dtype, nw.Enum):
                both = [*dtype.categories, *filled[name].dropna().unique()]
                dtype = nw.Enum(dict.fromkeys(both))
            casts.append(nw.col(name).cast(dtype))
        is_dictionary = pa.types.is_dictionary(array.type)
        arrays[name] = array.cast(array.type.value_type) if is_dictionary else array
    if arrays:
        new = nw.from_arrow(pa.table(arrays), backend=table.implementation)
        table = table.with_columns(*new.with_columns(*casts).iter_columns())
    return table.select(names).to_native()


def with_filled_columns(table: pa.Table, frame: pd.DataFrame, names: Iterable[str]) -> pa.Table:
    """Return an Arrow table with some columns, old or new, taken from a DataFrame."""
    for name in names:
        place = table.schema.get_field_index(name)
        if place < 0:
            table = table.append_column(name, arrow_column(frame[name]))
        else:
            field = table.schema.field(place)
            values = arrow_column(frame[name], field.type)
            table = table.set_column(place, field.with_type(values.type), values)
    return table


def arrow_column(series: pd.Series, like: pa.DataType | None = None) -> pa.ChunkedArray:
    """Return a column as Arrow's, of the type that is asked for if that is of its family."""
    column = pa.array(series, from_pandas=not isinstance(series.dtype, pd.ArrowDtype))
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if like is None or pa.types.is_null(like) or not _same_family(column.type, like):
        return column
    if not pa.types.is_dictionary(like):
        return column.cast(like)
    # Arrow casts neither the index nor the values of every dictionary.
    array = column.unify_dictionaries().combine_chunks()
    fits = len(array.dictionary) <= np.iinfo(like.index_type.to_pandas_dtype()).max
    codes = array.indices.cast(like.index_type if fits else pa.int32())
    values = array.dictionary.cast(like.value_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, values, ordered=like.ordered)])


def _same_family(one: pa.DataType, other: pa.DataType) -> bool:
    return family_of(pd.ArrowDtype(one)) == family_of(pd.ArrowDtype(other))


def with_columns(
    frame: pd.DataFrame, names: Sequence[Hashable], columns: BoolArray
) -> pd.DataFrame:
    """Return a table with further columns of booleans, of shape (n_rows, n_further), at its end."""
    more = pd.DataFrame(columns, frame.index, pd.Index(list(names)))
    wide = pd.concat([frame, more], axis=1)
    wide.columns.names = frame.columns.names
    return wide


def as_library(table: Any, library: str) -> Any:
    """Return a table as one of the library that ``set_output`` names; an array stays."""
    # scikit-learn's own way to pandas makes Python objects of numbers beside text in polars, and
    # fails for pyarrow.
    if library == "default" or not is_frame(table):
        return table
    known = nw.from_native(table, eager_only=True)
    return known.to_pandas() if library == "pandas" else known.to_polars()


# ---------------------------------------------------------------------- Parquet, block by block

BLOCK_ROWS = 2**15  # that are read at once, by default


class ParquetSource:
    """A Parquet file, or the files of a folder in the order of their names, as one table."""

    def __init__(self, path: Path) -> None:
        """Find the files and their columns; refuse what is no table."""
        if not path.exists():
            raise FileNotFoundError(f"{path}: there is no such file or folder.")
        self.path, self.is_folder, self.files = path, path.is_dir(), [path]
        if self.is_folder:
            visible = (file for file in path.iterdir() if not file.name.startswith((".", "_")))
            self.files = sorted(visible, key=lambda file: file.name)
        for file in self.files:
            if self.is_folder and file.is_dir():
                raise TableError(
                    f"{path} must hold Parquet files only. Got the folder {file.name!r} in it: "
                    "partitions in folders are not read."
                )
        if not self.files:
            raise TableError(f"{path} must hold Parquet files. Got a folder without any.")
        self.schema = opened(self.files[0]).schema_arrow
        self.names: list[str] = self.schema.names
        self.index = index_names(self.schema)
        check_distinct_names(self.names, str(path))
        for file in self.files[1:]:
            schema = opened(file).schema_arrow
            if not schema.equals(self.schema):
                other = [str(field) for field in schema if field not in self.schema]
                raise TableError(
                    f"{file} must have the columns and types of {self.files[0].name}. "
                    f"Got {listed(other) if other else 'fewer, or another order'}."
                )
        self.n_rows = sum(opened(file).metadata.num_rows for file in self.files)
        if self.n_rows == 0:
            raise TableError(f"{path} must have at least one row. Got none.")

    def blocks(self, names: list[str]) -> Iterator[tuple[int, pa.Table]]:
        """Yield some columns block by block, each with the place of its first row."""
        first = 0
        for file in self.files:
            for block in blocks(opened(file), BLOCK_ROWS, names):
                # A name with a dot may be read for that of a nested column too.
                yield first, block.select(names)
                first += block.num_rows

    def first(self, most: int = 20_000) -> pd.DataFrame:
        """Return the first rows."""
        return self.take(np.arange(min(most, self.n_rows)), self.names)

    def take(self, rows: NDArray[np.intp], names: list[str]) -> pd.DataFrame:
        """Return some rows, in order, with some columns."""
        taken = []
        for first, block in self.blocks(names):
            own = slice(*np.searchsorted(rows, [first, first + block.num_rows]))
            taken.append(block.take(rows[own] - first))
        return as_frame(pa.concat_tables(taken))


def index_names(schema: pa.Schema) -> list[str]:
    """Return the columns that pandas wrote as an index."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in described if name in schema.names]


def opened(file: Path) -> pq.ParquetFile:
    """Return an open Parquet file, or refuse it."""
    try:
        # Buffered ahead, the whole file would stay in memory until it is closed.
        return pq.ParquetFile(file, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{file} is not a Parquet file that can be read: {reason}.") from error


def blocks(
    file: pq.ParquetFile, batch_rows: int, columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file in order, at least `batch_rows` at a time but for the last."""
    # Batches end where row groups do, which may be small.
    batches, n_rows = [], 0
    for batch in file.iter_batches(batch_rows, columns=columns):
        batches.append(batch)
        n_rows += batch.num_rows
        if n_rows >= batch_rows:
            yield pa.Table.from_batches(batches)
            batches, n_rows = [], 0
    if n_rows:
        yield pa.Table.from_batches(batches)


def compression(file: pq.ParquetFile) -> str:
    """Return how a file is compressed, by its first column."""
    metadata = file.metadata
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return "snappy"
    return str(metadata.row_group(0).column(0).compression).replace("UNCOMPRESSED", "none")
