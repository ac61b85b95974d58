"""Writing the filled table: only the filled cells differ from the file that was read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype

from kernimpute.cli.arff_tables import ArffTable, Attribute, arff_quoted, unquoted
from kernimpute.cli.errors import RefusedError
from kernimpute.cli.formats import Format
from kernimpute.cli.readers import ArrowTable, TableFile
from kernimpute.cli.text_tables import TextTable, cell_text, quoted
from kernimpute.table.frames import with_filled_columns

__all__ = ["FilledTable", "check_output", "check_replaced", "check_writable", "write_table"]


class FilledTable(Protocol):
    """A filled table: what `write_table` needs to know of it."""

    @property
    def table(self) -> pd.DataFrame:
        """The table without its dropped columns, of shape (n_rows, n_columns)."""

    @property
    def filled(self) -> Mapping[Hashable, int]:
        """How many cells were filled in each column that has such."""

    def filled_cells(self, name: Hashable) -> NDArray[np.bool_]:
        """Return where a column was filled, of shape (n_rows,)."""


def check_output(path: Path, *, force: bool) -> None:
    """Refuse an output that cannot be written, before any work is done.

    Parameters
    ----------
    path : Path
        The file to write.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    RefusedError
        If the file exists and may not be replaced, or its directory is none or is read-only.
    """
    folder = path.parent
    if not folder.is_dir():
        raise RefusedError(f"{path}: there is no directory {str(folder)!r}.")
    if path.is_dir():
        raise RefusedError(f"{path} is a directory.")
    check_replaced(path, force=force)
    if not os.access(folder, os.W_OK):
        raise RefusedError(f"{path}: the directory {str(folder)!r} cannot be written to.")


def check_replaced(path: Path, *, force: bool) -> None:
    """Refuse an output that exists and may not be replaced.

    Parameters
    ----------
    path : Path
        What is to be written.
    force : bool
        Whether it may be replaced.

    Raises
    ------
    RefusedError
        If it may not.
    """
    if path.exists() and not force:
        raise RefusedError(f"{path} exists: give another name, or --force to replace it.")


def check_writable(form: Format, file: TableFile, dropped: Sequence[str]) -> None:
    """Refuse a column that the output's format cannot hold, before any work is done.

    Parameters
    ----------
    form : Format
        The output's format.
    file : TableFile
        The table.
    dropped : sequence of str
        The columns that are not written.

    Raises
    ------
    RefusedError
        If a column cannot be written.
    """
    if form.name == "parquet" or not isinstance(file.source, ArrowTable):
        return
    for column in file.source.table.schema:
        if column.name not in dropped and pa.types.is_nested(column.type):
            raise RefusedError(
                f"column {column.name!r} holds {column.type} values, which {form.name.upper()} "
                f"cannot hold: drop it (--drop '{column.name}') or write Parquet."
            )


def write_table(path: Path, form: Format, filled: FilledTable, file: TableFile) -> None:
    """Write a filled table.

    Parameters
    ----------
    path : Path
        The file to write.
    form : Format
        Its format.
    filled : FilledTable
        The filled table.
    file : TableFile
        The file that it was read from: cells that were not filled are written as it spells
        them, as far as the format allows.
    """
    if form.name == "parquet":
        pq.write_table(_arrow(filled, file), path)
        return
    text = _arff(filled, file) if form.name == "arff" else _delimited(filled, file, form)
    data = text.encode("utf-8")
    # Without a time in it, the same table gives the same bytes.
    path.write_bytes(gzip.compress(data, mtime=0) if form.compressed else data)


# ---------------------------------------------------------------------- delimited text


def _delimited(filled: FilledTable, file: TableFile, form: Format) -> str:
    source, delimiter, newline, mark = file.source, form.delimiter, "\n", ""
    same = isinstance(source, TextTable) and file.format.name == form.name
    if isinstance(source, TextTable):
        newline, mark = source.newline, "\ufeff" if source.byte_order_mark else ""
        delimiter = source.delimiter if same else delimiter
    names = [str(name) for name in filled.table.columns]
    columns = []
    for name in names:
        if same and isinstance(source, TextTable):
            place = source.names.index(name)
            cells = [row[place] for row in source.rows]
            spelled = file.columns[name].cells
            for row, text in _filled_texts(filled, file, name):
                cells[row] = spelled.get(text, quoted(text, delimiter))
            columns.append([source.header[place], *cells])
        else:
            texts = _texts(filled, file, name)
            columns.append(
                [quoted("" if text is None else text, delimiter) for text in [name, *texts]]
            )
    lines = [delimiter.join(cells) for cells in zip(*columns, strict=True)]
    return mark + newline.join(lines) + newline


def _texts(filled: FilledTable, file: TableFile, name: str) -> list[str | None]:
    """Return the cells of a column as text, None at the gaps that are left, of length n_rows."""
    values = filled.table[name]
    gaps = np.asarray(values.isna(), dtype=bool)
    source = file.source
    if isinstance(source, ArrowTable):
        texts: list[str | None] = [
            None if gap else _plain_text(value) for value, gap in zip(values, gaps, strict=True)
        ]
        return texts
    place = source.names.index(name)
    if isinstance(source, TextTable):
        read = [cell_text(row[place]) for row in source.rows]
    else:
        read = [unquoted(row[place]) for row in source.rows]
    texts = [None if gap else text for text, gap in zip(read, gaps, strict=True)]
    for row, text in _filled_texts(filled, file, name):
        texts[row] = text
    return texts


def _filled_texts(filled: FilledTable, file: TableFile, name: str) -> Iterator[tuple[int, str]]:
    """Yield the row and the text of each cell of a column that was filled."""
    rows = np.flatnonzero(filled.filled_cells(name))
    spell = file.columns[name].spell
    for row, value in zip(rows, filled.table[name].iloc[rows], strict=True):
        yield int(row), spell(value)


def _plain_text(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    return str(value)


# ---------------------------------------------------------------------- ARFF


def _arff(filled: FilledTable, file: TableFile) -> str:
    source = file.source
    names = [str(name) for name in filled.table.columns]
    columns: list[list[str]] = []
    if isinstance(source, ArffTable):
        dropped = {
            attribute.header_line for attribute in source.attributes if attribute.name not in names
        }
        lines = list(source.header)
        for name in names:
            place = source.names.index(name)
            cells = [row[place] for row in source.rows]
            written = dict(_filled_texts(filled, file, name))
            for row, text in written.items():
                bare = cells[row].strip()
                cells[row] = cells[row].replace(bare, arff_quoted(text))
            columns.append(cells)
            attribute = source.attributes[place]
            lacking = dict.fromkeys(written.values())
            if attribute.kind == "nominal" and not lacking.keys() <= set(attribute.categories):
                lines[attribute.header_line] = _declaring_more(attribute, lines, lacking)
        header = [line for place, line in enumerate(lines) if place not in dropped]
    else:
        header = ["@RELATION kernimpute", ""]
        for name in names:
            texts = _texts(filled, file, name)
            declared = _declaration(filled.table[name], texts)
            header.append(f"@ATTRIBUTE {arff_quoted(name)} {declared}")
            columns.append(["?" if text is None else arff_quoted(text) for text in texts])
        header += ["", "@DATA"]
    rows = [",".join(cells) for cells in zip(*columns, strict=True)]
    return "\n".join([*header, *rows]) + "\n"


def _declaring_more(attribute: Attribute, lines: Sequence[str], texts: Iterable[str]) -> str:
    """Return the line that declares a nominal attribute, with the values that it lacks."""
    before, brace, after = lines[attribute.header_line].rpartition("}")
    lacking = [arff_quoted(text) for text in texts if text not in attribute.categories]
    return before + "".join(f",{text}" for text in lacking) + brace + after


def _declaration(values: pd.Series, texts: Sequence[str | None]) -> str:
    """Return the type of a column: a number, or the values that it may take."""
    dtype = values.dtype
    if (is_integer_dtype(dtype) or is_float_dtype(dtype)) and not is_bool_dtype(dtype):
        return "NUMERIC"
    if isinstance(dtype, pd.CategoricalDtype):
        allowed = [_plain_text(category) for category in dtype.categories]
    else:
        allowed = sorted({text for text in texts if text is not None})
    return "{" + ",".join(map(arff_quoted, allowed)) + "}"


# ---------------------------------------------------------------------- Parquet


def _arrow(filled: FilledTable, file: TableFile) -> pa.Table:
    """Return the filled table for Parquet: the columns that were not filled as they came."""
    frame = filled.table
    if not isinstance(file.source, ArrowTable):
        return pa.Table.from_pandas(frame, preserve_index=False)
    table = file.source.table
    kept = [str(name) for name in frame.columns]
    table = table.drop_columns([name for name in table.column_names if name not in kept])
    return with_filled_columns(table, frame, map(str, filled.filled))
