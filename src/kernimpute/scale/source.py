"""Parquet files as one table, read by columns and by row groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kernimpute.table.columns import TableError, check_distinct_names
from kernimpute.table.frames import as_frame

__all__ = ["ParquetSource", "slices"]

SLICE_ROWS = 2**16
"""Rows that are coded at once: a row group may be larger than the memory has copies for."""


def slices(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of a table in pieces of `SLICE_ROWS` at the most.

    Parameters
    ----------
    table : pyarrow.Table of shape (n_rows, n_columns)
        The table.

    Yields
    ------
    pyarrow.Table
        The pieces, in order, without a copy.
    """
    for first in range(0, table.num_rows, SLICE_ROWS):
        yield table.slice(first, SLICE_ROWS)


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file, or the files of a folder, as one table.

    Parameters
    ----------
    path : Path
        The file or the folder. In a folder the files count in the order of their names; those
        that begin with a dot or an underscore do not.

    Raises
    ------
    FileNotFoundError
        If there is nothing.
    TableError
        If a file can't be read or has other columns than the first, or there is no row.
    """

    path: Path

    def __post_init__(self) -> None:
        """Refuse what is no table."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path}: there is no such file or folder.")
        if not self.files:
            raise TableError(f"{self.path} must hold Parquet files. Got a folder without any.")
        check_distinct_names(self.schema.names, str(self.path))
        for file in self.files[1:]:
            schema = _opened(file).schema_arrow
            if not schema.equals(self.schema):
                raise TableError(
                    f"{file} must have the columns and types of {self.files[0].name}. "
                    f"Got {_difference(schema, self.schema)}."
                )
        if self.n_rows == 0:
            raise TableError(f"{self.path} must have at least one row. Got none.")

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files, in order."""
        if not self.is_folder:
            return (self.path,)
        visible = (file for file in self.path.iterdir() if not file.name.startswith((".", "_")))
        files = tuple(sorted(visible, key=lambda file: file.name))
        folders = [file for file in files if file.is_dir()]
        if folders:
            raise TableError(
                f"{self.path} must hold Parquet files only. Got the folder {folders[0].name!r} in "
                "it: partitions in folders are not read."
            )
        return files

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, with what the first file says of them."""
        return _opened(self.files[0]).schema_arrow

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.schema.names)

    @property
    def index(self) -> tuple[str, ...]:
        """The columns that pandas wrote as an index."""
        described = (self.schema.pandas_metadata or {}).get("index_columns", [])
        return tuple(name for name in described if name in self.names)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(_opened(file).metadata.num_rows for file in self.files)

    def column(self, name: str) -> pd.DataFrame:
        """Return one column, whole.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        DataFrame of shape (n_rows, 1)
            The column.
        """
        # A name with a dot may be read for that of a nested column too.
        parts = [_opened(file).read(columns=[name]).select([name]) for file in self.files]
        return as_frame(pa.concat_tables(parts))

    def row_groups(self, file: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the row groups of a file.

        Parameters
        ----------
        file : Path
            One of the files.
        columns : sequence of str or None, default=None
            The columns to read; None reads all.

        Yields
        ------
        pyarrow.Table
            The row groups, in order.
        """
        opened = _opened(file)
        for place in range(opened.num_row_groups):
            table = opened.read_row_group(place, columns=columns)
            yield table if columns is None else table.select(columns)


def _opened(file: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{file} is not a Parquet file that can be read: {reason}.") from error


def _difference(schema: pa.Schema, expected: pa.Schema) -> str:
    """Return the first column in which a schema is another than the one expected, and how."""
    for field in expected:
        if field.name not in schema.names:
            return f"no column {field.name!r}"
        got = schema.field(schema.names.index(field.name))
        if got.type != field.type:
            return f"the column {field.name!r} of type {got.type} where {field.type} is expected"
        if got.nullable != field.nullable:
            which = ("may", "may not") if got.nullable else ("may not", "may")
            return f"a column {field.name!r} that {which[0]} have gaps where it {which[1]}"
    further = Counter(schema.names) - Counter(expected.names)
    if further:
        return f"a further column {next(iter(further))!r}"
    pairs = zip(schema.names, expected.names, strict=False)
    found, sought = next((got, name) for got, name in pairs if got != name)
    return f"the same in another order, {found!r} in the place of {sought!r}"
