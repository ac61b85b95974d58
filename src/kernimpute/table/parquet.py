"""Parquet tables: a file, or a folder of files, read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kernimpute.table.columns import TableError, check_distinct_names, listed
from kernimpute.table.frames import as_frame

BLOCK_ROWS = 2**15
"""Rows that are read at once, by default."""


class ParquetSource:
    """A Parquet file, or the files of a folder in the order of their names, as one table.

    Files whose names begin with a dot or an underscore do not count.
    """

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


def compression(file: pq.ParquetFile) -> str:
    """Return how a file is compressed, by its first column."""
    metadata = file.metadata
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return "snappy"
    return str(metadata.row_group(0).column(0).compression).replace("UNCOMPRESSED", "none")
