"""Parquet tables: a file, or a folder of files, read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kernimpute.table.columns import TableError, check_distinct_names, listed
from kernimpute.table.frames import as_frame

BLOCK_ROWS = 2**15
"""Rows that are read at once, by default."""


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file, or the files of a folder in the order of their names, as one table.

    Files whose names begin with a dot or an underscore do not count.
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
            schema = opened(file).schema_arrow
            if not schema.equals(self.schema):
                other = [str(field) for field in schema if field not in self.schema]
                raise TableError(
                    f"{file} must have the columns and types of {self.files[0].name}. "
                    f"Got {listed(other) if other else 'fewer, or another order'}."
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
        """Names, types and metadata of the columns, from the first file."""
        return opened(self.files[0]).schema_arrow

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.schema.names)

    @property
    def index(self) -> list[str]:
        """The columns that pandas wrote as an index."""
        return index_names(self.schema)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(opened(file).metadata.num_rows for file in self.files)

    def first(self, most: int = 20_000) -> pd.DataFrame:
        """Return the first rows."""
        return self.take(np.arange(min(most, self.n_rows)), self.names)

    def take(self, rows: NDArray[np.intp], names: list[str]) -> pd.DataFrame:
        """Return some rows, in order, with some columns."""
        taken = []
        first = 0
        for file in self.files:
            for block in blocks(opened(file), BLOCK_ROWS, names):
                last = first + block.num_rows
                chosen = rows[slice(*np.searchsorted(rows, [first, last]))]
                # A name with a dot may be read for that of a nested column too.
                taken.append(block.select(names).take(chosen - first))
                first = last
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
    batches: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in file.iter_batches(batch_rows, columns=columns):
        batches.append(batch)
        n_rows += batch.num_rows
        if n_rows >= batch_rows:
            yield pa.Table.from_batches(batches)
            batches, n_rows = [], 0
    if n_rows:
        yield pa.Table.from_batches(batches)


def count_empty(column: pa.ChunkedArray) -> int:
    """Return how many cells hold nothing, or NaN."""
    return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)


def compression(file: pq.ParquetFile) -> str:
    """Return how a file is compressed, by its first column."""
    metadata = file.metadata
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return "snappy"
    codec = metadata.row_group(0).column(0).compression
    return "none" if codec == "UNCOMPRESSED" else str(codec)
