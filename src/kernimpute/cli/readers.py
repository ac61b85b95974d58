"""Reading a table file: first its cells and names, then its columns as values."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kernimpute.cli.arff_tables import ArffTable, parse_arff, read_attributes
from kernimpute.cli.errors import RefusedError
from kernimpute.cli.formats import Format, table_format
from kernimpute.cli.text_columns import TextColumn, read_columns, reads_as_number
from kernimpute.cli.text_tables import TextTable, parse_text
from kernimpute.table.columns import observed_in_table
from kernimpute.table.frames import as_frame

__all__ = ["ArrowTable", "Source", "TableFile", "read_labelled_table", "read_source", "read_table"]


@dataclass(frozen=True)
class ArrowTable:
    """A Parquet file.

    Parameters
    ----------
    table : pyarrow.Table
        Its columns, index columns included.
    index : tuple of str
        The columns that pandas wrote as an index.
    """

    table: pa.Table
    index: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.table.column_names)


Source = TextTable | ArffTable | ArrowTable
"""The cells of a file as it holds them."""


@dataclass(frozen=True)
class TableFile:
    """A table file as values.

    Parameters
    ----------
    source : TextTable, ArffTable or ArrowTable
        Its cells as it holds them.
    format : Format
        Its format.
    frame : DataFrame of shape (n_rows, n_columns)
        Its values, missing at the gaps; columns that are not used may be text.
    index : tuple of str
        Columns that are an index: kept, and not used.
    columns : mapping of str to TextColumn
        How each column of a text format was read.
    notes, cautions : tuple of str
        What was decided in reading, and what looks like a mistake.
    """

    source: Source
    format: Format
    frame: pd.DataFrame
    index: tuple[str, ...] = ()
    columns: Mapping[str, TextColumn] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


def refuse_folder(path: Path) -> None:
    """Refuse a folder where one file is read whole.

    Parameters
    ----------
    path : Path
        What is to be read.

    Raises
    ------
    RefusedError
        If it is a folder.
    """
    if path.is_dir():
        raise RefusedError(
            f"{path} is a directory, not a table: only `impute` with --subset-size takes one, of "
            "Parquet files."
        )


def read_source(path: Path) -> Source:
    """Return the cells of a table file.

    Parameters
    ----------
    path : Path
        The file; its extension says the format.

    Returns
    -------
    TextTable, ArffTable or ArrowTable
        The cells.

    Raises
    ------
    RefusedError
        If there is no such file, it is of no format of ours, or it is malformed.
    """
    refuse_folder(path)
    form = table_format(path)
    if not path.exists():
        raise RefusedError(f"{path}: there is no such file.")
    if form.name == "parquet":
        return _read_parquet(path)
    text = _read_text(path, form)
    return (
        parse_arff(text, str(path))
        if form.name == "arff"
        else parse_text(text, form.delimiter, str(path))
    )


def read_labelled_table(
    path: Path,
    source: Source,
    target: str,
    task: str,
    *,
    missing_values: Collection[str] | None,
    categorical: Collection[str],
    unused: Collection[str],
) -> TableFile:
    """Return a table file as values, its label column read as what it is there for.

    Parameters
    ----------
    path, source
        As in `read_table`.
    target : str
        The label column, which is read even if it is not used further.
    task : str
        What the label is; that of a classification is a category.
    missing_values : collection of str or None
        Texts that stand for a gap.
    categorical, unused : collection of str
        As in `read_table`, of all columns.

    Returns
    -------
    TableFile
        The values.

    Raises
    ------
    RefusedError
        If a cell cannot be read.
    """
    return read_table(
        path,
        source,
        missing_values=missing_values or (),
        categorical=[*categorical, *([target] if task == "classification" else [])],
        unused=[name for name in unused if name != target],
    )


def read_table(
    path: Path,
    source: Source,
    *,
    missing_values: Collection[str] = (),
    categorical: Collection[str] = (),
    unused: Collection[str] = (),
) -> TableFile:
    """Return a table file as values.

    Parameters
    ----------
    path : Path
        The file, for its format and the messages.
    source : TextTable, ArffTable or ArrowTable
        Its cells.
    missing_values : collection of str, default=()
        Texts that stand for a gap; one that is a number stands for that number, too.
    categorical : collection of str, default=()
        Columns whose values are categories, whatever they look like.
    unused : collection of str, default=()
        Columns that are dropped or only carried along.

    Returns
    -------
    TableFile
        The values.

    Raises
    ------
    RefusedError
        If a cell cannot be read; names line, column and text.
    """
    form = table_format(path)
    options = {"missing_values": missing_values, "categorical": categorical, "unused": unused}
    if isinstance(source, ArrowTable):
        return _arrow_values(source, form, missing_values, {*unused, *source.index})
    notes: list[str] = []
    if isinstance(source, ArffTable):
        columns, cautions = read_attributes(source, str(path), **options)
    else:
        columns, notes, cautions = read_columns(source, str(path), **options)
        notes, cautions = [*source.notes, *notes], [*source.cautions, *cautions]
    frame = pd.DataFrame({name: column.values for name, column in columns.items()})
    return TableFile(source, form, frame, (), columns, tuple(notes), tuple(cautions))


def _read_text(path: Path, form: Format) -> str:
    try:
        data = path.read_bytes()
        if form.compressed:
            data = gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RefusedError(f"{path} is not a gzip file: {error}.") from error
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}.") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RefusedError(
            f"{path} is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}. Save it "
            "as UTF-8."
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise RefusedError(f"{path} is not text: it holds a zero byte on line {line}.")
    return text


def _read_parquet(path: Path) -> ArrowTable:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise RefusedError(f"{path} is not a Parquet file that can be read: {reason}.") from error
    names = table.column_names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        listed = ", ".join(map(repr, repeated))
        raise RefusedError(f"{path}: the columns {listed} occur more than once: rename one.")
    if table.num_rows == 0 or not names:
        raise RefusedError(f"{path} has columns and no rows.")
    described = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return ArrowTable(table, tuple(name for name in described if name in names))


def _arrow_values(
    source: ArrowTable, form: Format, missing_values: Collection[str], unused: set[str]
) -> TableFile:
    """Return the values of a Parquet file, every type kept; a gap of the user's is a null."""
    frame = as_frame(source.table)
    cautions = []
    used = [name for name in frame.columns if name not in unused]
    before = observed_in_table(frame[used])
    gaps = np.zeros(before.shape, dtype=bool)
    for marker in missing_values:
        text = marker.strip()
        markers = [text, float(text)] if reads_as_number(text) else [text]
        found = before & ~observed_in_table(frame[used], markers)
        if not found.any():
            cautions.append(f"no cell holds the missing value {marker!r}")
        gaps |= found
    for place, name in enumerate(used):
        if gaps[:, place].any():
            frame[name] = frame[name].mask(gaps[:, place])
    notes = [f"kept and not used, for it is the index: {name}" for name in source.index]
    return TableFile(source, form, frame, source.index, {}, tuple(notes), tuple(cautions))
