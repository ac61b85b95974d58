"""Table files: reading one as values, and writing it back with nothing changed but its gaps."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kernimpute import stream
from kernimpute.cli.messages import RefusedError, refusals
from kernimpute.cli.text import (
    LARGEST_INTEGER,
    TextTable,
    TextValues,
    infer_values,
    parse_text,
    read_values_as,
    spelled,
    write_text,
)
from kernimpute.core.arrays import BoolArray
from kernimpute.core.checks import free_memory
from kernimpute.table.columns import (
    Column,
    check_column_names,
    is_number,
    marker_values,
    observed_in_table,
)
from kernimpute.table.frames import as_frame, with_filled_columns
from kernimpute.table.parquet import ParquetSource

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t", ".parquet": ""}
"""The delimiter by extension; Parquet has none."""
_TEXT_MEMORY = 30
"""Bytes that a table takes for each byte of its text file: measured on 20 columns of numbers."""
_GZIP_RATIO = 10
"""Bytes of text that a byte of a .gz file is taken for; only reading it tells the number."""

Columns = dict[str, list[str] | None]
"""The names that options give the roles of columns, as they are typed."""


@dataclass(frozen=True)
class TableFile:
    """A table file as it stands: the cells of a text, or the columns of a Parquet file."""

    path: Path
    cells: TextTable | pa.Table
    index: tuple[str, ...] = ()  # The columns that pandas wrote as an index.

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(
            self.cells.names if isinstance(self.cells, TextTable) else self.cells.column_names
        )


def table_extension(path: Path) -> str:
    """Return the extension of a table file, which need not exist."""
    for extension in _DELIMITERS:
        if path.name.lower().endswith(extension):
            return extension
    raise RefusedError(f"{path}: the extension must be one of {', '.join(_DELIMITERS)}.")


def is_table_name(path: Path) -> bool:
    """Return whether a path has the extension of a table file."""
    return any(path.name.lower().endswith(extension) for extension in _DELIMITERS)


# ------------------------------------------------------------------------- reading


def open_table(path: Path) -> TableFile:
    """Return the cells of a table file; its extension says the format."""
    if path.is_dir():
        raise RefusedError(
            f"{path} is a directory, not a table: only impute and apply take one, of Parquet files."
        )
    extension = table_extension(path)
    if not path.exists():
        raise RefusedError(f"{path}: there is no such file.")
    if extension != ".parquet":
        _check_memory(path)
        return TableFile(
            path, parse_text(_decoded_text(path, extension), _DELIMITERS[extension], str(path))
        )
    with refusals():
        source = ParquetSource(path)
        return TableFile(path, pq.read_table(path), tuple(source.index))


def read_labelled(
    file: TableFile,
    target: str | None,
    task: str,
    *,
    missing_values: Collection[str],
    categorical: Collection[str],
    unused: Collection[str],
) -> TextValues:
    """Return the values of a table; the label column is read as what it is there for."""
    unused = {name for name in unused if name != target}
    if not isinstance(file.cells, TextTable):
        return _parquet_values(file, missing_values, unused)
    return infer_values(
        file.cells,
        str(file.path),
        missing_values=missing_values,
        categorical=[
            *categorical,
            *([target] if target is not None and task == "classification" else []),
        ],
        unused=unused,
    )


def read_as_fitted(
    file: TableFile,
    kinds: Mapping[str, Column],
    decimals: Mapping[str, int],
    missing_values: Collection[str],
) -> TextValues:
    """Return the values of a table, its columns of the kinds that a model knows."""
    if not isinstance(file.cells, TextTable):
        return _parquet_values(file, missing_values, set(file.names) - set(kinds))
    return read_values_as(file.cells, str(file.path), kinds, decimals, missing_values)


def _check_memory(path: Path) -> None:
    """Refuse a text file that would not fit into memory, and tell how to stream it."""
    size = path.stat().st_size * (_GZIP_RATIO if path.name.lower().endswith(".gz") else 1)
    need, free = _TEXT_MEMORY * size, free_memory()
    if need > free:
        to_parquet = (
            "import pyarrow.dataset as d; "
            f"d.write_dataset(d.dataset({str(path)!r}, format='csv'), 'parts', format='parquet')"
        )
        raise RefusedError(
            f"{path} would take about {need / 2**30:.3g} GiB of memory, and {free / 2**30:.3g} GiB "
            "are free: write it as Parquet, which is filled block by block. A CSV becomes the "
            f'folder parts by python -c "{to_parquet}"'
        )


def _decoded_text(path: Path, extension: str) -> str:
    data = path.read_bytes()
    try:
        if extension.endswith(".gz"):
            data = gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RefusedError(f"{path} is not a gzip file: {error}.") from error
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


def _parquet_values(
    file: TableFile, missing_values: Collection[str], unused: set[str]
) -> TextValues:
    """Return the values of a Parquet file, every type kept, with the missing values as nulls."""
    frame = as_frame(file.cells)
    cautions = []
    used = [name for name in frame.columns if name not in {*unused, *file.index}]
    before = observed_in_table(frame[used])
    gaps = np.zeros(before.shape, dtype=bool)
    for marker in missing_values:
        found = before & ~observed_in_table(frame[used], marker_values(marker))
        if not found.any():
            cautions.append(f"no cell holds the missing value {marker!r}")
        gaps |= found
    for place, name in enumerate(used):
        if gaps[:, place].any():
            frame[name] = frame[name].mask(gaps[:, place])
    notes = tuple(f"kept and not used, because it is the index: {name}" for name in file.index)
    return TextValues(frame, {}, notes, tuple(cautions))


# ------------------------------------------------------------------------- writing


def check_new_file(path: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    folder = path.parent
    if not folder.is_dir():
        raise RefusedError(f"{path}: there is no directory {str(folder)!r}.")
    if path.is_dir():
        raise RefusedError(f"{path} is a directory.")
    check_replaceable(path, force=force)
    if not os.access(folder, os.W_OK):
        raise RefusedError(f"{path}: the directory {str(folder)!r} cannot be written to.")


def check_replaceable(path: Path, *, force: bool) -> None:
    """Refuse an output that exists and may not be replaced."""
    if path.exists() and not force:
        raise RefusedError(f"{path} exists: give another name, or --force to replace it.")


def check_storable(
    path: Path, file: TableFile, frame: pd.DataFrame, dropped: Collection[str]
) -> None:
    """Refuse a column that the output's format cannot hold, before any work is done."""
    if isinstance(file.cells, TextTable):
        if table_extension(path) == ".parquet":
            _check_integers(frame.drop(columns=[*dropped]))
        return
    if table_extension(path) == ".parquet":
        return
    for column in file.cells.schema:
        if column.name not in dropped and pa.types.is_nested(column.type):
            raise RefusedError(
                f"column {column.name!r} holds {column.type} values, which a text file cannot "
                f"hold: drop it (--drop '{column.name}') or write Parquet."
            )


def _check_integers(frame: pd.DataFrame) -> None:
    """Refuse whole numbers that Parquet cannot hold, because floats would not tell them apart."""
    for name, column in frame.items():
        if column.dtype == object and any(
            is_number(value) and abs(value) > LARGEST_INTEGER for value in column
        ):
            raise RefusedError(
                f"column {name!r} holds whole numbers beyond 64 bits, which Parquet cannot hold: "
                "write CSV, or ignore the column, which keeps it as text."
            )


def write_table(
    path: Path,
    extension: str,
    file: TableFile,
    filled: pd.DataFrame,
    cells: Mapping[Hashable, BoolArray],
    decimals: Mapping[str, int | None],
) -> None:
    """Write the filled rows of a file, without its dropped columns.

    Cells that were not filled are copied from the file that was read. `cells` says for each
    column with fills which they are, shape (n_rows,); `decimals` how they are written.
    """
    if extension == ".parquet":
        pq.write_table(_filled_parquet(file, filled, cells), path)
        return
    delimiter, newline, mark = _DELIMITERS[extension], "\n", ""
    if isinstance(file.cells, TextTable):
        newline, mark = file.cells.newline, "\ufeff" if file.cells.byte_order_mark else ""
        if extension.removesuffix(".gz") == table_extension(file.path).removesuffix(".gz"):
            delimiter = file.cells.delimiter
    columns = [
        _column_texts(file, name, filled[name], cells.get(name), decimals.get(str(name)))
        for name in filled.columns
    ]
    data = write_text(columns, delimiter, newline, mark).encode("utf-8")
    # Without a time in it, the same table gives the same bytes.
    path.write_bytes(gzip.compress(data, mtime=0) if extension.endswith(".gz") else data)


def _column_texts(
    file: TableFile, name: Hashable, values: pd.Series, gaps: BoolArray | None, decimals: int | None
) -> list[str]:
    """Return a column's name and cells as text."""
    if not isinstance(file.cells, TextTable):
        is_gap = np.array(values.isna())
        shown = ("" if gap else str(value) for value, gap in zip(values, is_gap, strict=True))
        return [str(name), *shown]
    place = file.cells.names.index(str(name))
    texts = file.cells.cells(place)
    # A category is written as its first cell has it, outer blanks included.
    is_text = not pd.api.types.is_numeric_dtype(values.dtype)
    exact = {text.strip(): text for text in reversed(texts)} if is_text else {}
    for row in () if gaps is None else np.flatnonzero(gaps):
        text = spelled(values.iloc[row], decimals)
        texts[row] = exact.get(text, text)
    return [file.cells.header[place], *texts]


def _filled_parquet(file: TableFile, filled: pd.DataFrame, cells: Collection[Hashable]) -> pa.Table:
    """Return the filled table for Parquet; columns without fills are as they came."""
    if isinstance(file.cells, TextTable):
        _check_integers(filled)
        return pa.Table.from_pandas(filled, preserve_index=False)
    kept = set(map(str, filled.columns))
    table = file.cells.drop_columns([name for name in file.names if name not in kept])
    return with_filled_columns(table, filled, map(str, cells))


# ------------------------------------------------------------------------- by the options


def streams(table: Path, output: Path, scheduler: str | None = None) -> bool:
    """Return whether a table is filled block by block: Parquet to Parquet, and large."""
    if table.is_dir():
        return True
    if not (_is_parquet(table) and _is_parquet(output) and table.exists()):
        return False
    with refusals():
        return scheduler is not None or ParquetSource(table).n_rows > stream.SAMPLE_ROWS


def check_stream_output(table: Path, output: Path, *, force: bool) -> None:
    """Refuse an output that exists, or that no folder can become."""
    check_replaceable(output, force=force)
    if table.is_dir() and is_table_name(output) and not _is_parquet(output):
        raise RefusedError(
            f"{output}: a folder gives a folder of Parquet files; give it a name without an "
            "extension."
        )


def _is_parquet(path: Path) -> bool:
    """Return whether a path is a Parquet file by its name."""
    return path.name.lower().endswith(".parquet")


def column_roles(names: Sequence[str], target: str | None, columns: Columns) -> dict[str, Any]:
    """Return the columns that the options name, each value one name or several with commas."""
    roles = {}
    with refusals():
        check_column_names("target", [] if target is None else [target], names)
        for role, values in columns.items():
            chosen: list[str] = []
            for value in values or ():
                is_name = value in names
                chosen += [value] if is_name else [part.strip() for part in value.split(",")]
            roles[role] = check_column_names(role, chosen, names)
    return roles


def read_with_roles(
    file: TableFile, target: str | None, task: str, columns: Columns, missing_values: Sequence[str]
) -> tuple[TextValues, dict[str, Any]]:
    """Return the values of a table and the roles of its columns."""
    roles = column_roles(file.names, target, columns)
    values = read_labelled(
        file,
        target,
        task,
        missing_values=missing_values,
        categorical=roles["categorical"],
        unused=(*roles["drop"], *roles["ignore"]),
    )
    index = (name for name in file.index if name not in roles["drop"])
    return values, {**roles, "ignore": tuple(dict.fromkeys([*roles["ignore"], *index]))}
