"""Arrow tables as pandas', every type kept, and filled columns back into Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pyarrow as pa

__all__ = ["as_frame", "with_filled_columns"]


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
