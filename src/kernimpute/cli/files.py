"""Table files: reading one as values, and writing it back with nothing changed but its gaps."""

from __future__ import annotations

import codecs
import contextlib
import datetime
import gzip
import importlib.util
import io
import json
import os
import secrets
import sys
import tempfile
import warnings
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from kernimpute import stream
from kernimpute.cli.messages import RefusedError, refusals
from kernimpute.cli.options import Columns, Reading
from kernimpute.cli.text import (
    LARGEST_INTEGER,
    TextStyle,
    TextTable,
    TextValues,
    by_column,
    infer_values,
    parse_text,
    spelled,
    text_of_values,
    write_text,
)
from kernimpute.core.arrays import BoolArray
from kernimpute.core.checks import free_memory
from kernimpute.core.files import replacing
from kernimpute.table.code import learn_code
from kernimpute.table.columns import (
    GapValues,
    check_column_names,
    check_distinct_names,
    is_number,
    listed,
    marker_values,
    observed_in_table,
)
from kernimpute.table.frames import ParquetSource, as_frame, index_names, with_filled_columns

STANDARD = Path("-")
"""Standard input where a table is read, and standard output where one is written, as CSV."""
_DELIMITERS = {".csv": None, ".tsv": "\t"}
"""The kinds of delimited text; None is what the header's cells are separated by."""
_ARROW_KINDS = {".parquet": "Parquet", ".feather": "Feather"}
_COMPRESSED = {".gz": ("gzip", b"\x1f\x8b"), ".zst": ("zstd", b"\x28\xb5\x2f\xfd")}
"""Name and first bytes of each compression."""
_EXTENSIONS = (
    *(kind + end for kind in (*_DELIMITERS, ".jsonl") for end in ("", *_COMPRESSED)),
    *(".xlsx", *_ARROW_KINDS),
)
_ONE_OF = ".csv, .tsv, .jsonl (each also with .gz or .zst), .xlsx, .parquet, .feather"
_MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"PK\x03\x04": ".xlsx", b"{": ".jsonl"}
"""How files of these kinds begin; standard input without such a beginning is CSV."""
_TO_PARQUET = "python -c \"import pandas; pandas.read_{}('{{0}}').to_parquet('{{1}}.parquet')\""
_CONVERSIONS = {
    **{f".{end}": _TO_PARQUET.format(end) for end in ("json", "orc")},
    **{".dta": _TO_PARQUET.format("stata"), ".sav": _TO_PARQUET.format("spss")},
    **dict.fromkeys((".sas7bdat", ".xpt"), _TO_PARQUET.format("sas")),
    **{".pkl": _TO_PARQUET.format("pickle"), ".h5": _TO_PARQUET.format("hdf")},
    **dict.fromkeys((".xls", ".ods"), "soffice --headless --convert-to xlsx {0}"),
    **dict.fromkeys((".db", ".sqlite"), "sqlite3 -csv -header {0} 'SELECT * FROM t' > {1}.csv"),
    ".rds": "Rscript -e \"write.csv(readRDS('{0}'), '{1}.csv', row.names = FALSE)\"",
    **{".zip": "unzip {0}", ".bz2": "bunzip2 {0}", ".xz": "unxz {0}"},
}
"""By extension, the command that converts a file that is not read."""
_TEXT_MEMORY = 30
"""Bytes that a table takes for each byte of its text file: measured on 20 columns of numbers."""
_COMPRESSION_RATIO = 10
"""Bytes of text that a compressed byte is taken for; only reading it tells the number."""
_EXCEL_ROWS = 2**20


@dataclass(frozen=True)
class TableFile:
    """A table file as it stands: the cells of a text, or the columns of a Parquet file."""

    source: str  # What messages call it.
    kind: str  # Its extension, without that of a compression.
    cells: TextTable | pa.Table
    index: tuple[str, ...] = ()  # The columns that pandas wrote as an index.

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(
            self.cells.names if isinstance(self.cells, TextTable) else self.cells.column_names
        )


def arrow_file(path: Path, frame: pd.DataFrame) -> TableFile:
    """Return a table of Python's as one that was read."""
    return TableFile(str(path), ".parquet", pa.Table.from_pandas(frame, preserve_index=False))


def table_extension(path: Path) -> str:
    """Return the extension of a table file, which need not exist."""
    if path == STANDARD:
        return ".csv"
    for extension in _EXTENSIONS:
        if path.name.lower().endswith(extension):
            return extension
    remedy = ""
    if path.exists():
        remedy = " With --delimiter, such as --delimiter ';', a text file may have any other."
    if path.exists() and (command := _CONVERSIONS.get(path.suffix.lower())):
        remedy = f" This file is converted by: {command.format(path, path.stem)}"
    raise RefusedError(f"{path}: the extension must be one of {_ONE_OF}.{remedy}")


def is_table_name(path: Path) -> bool:
    """Return whether a path has the extension of a table file."""
    return path.name.lower().endswith(_EXTENSIONS)


def _kind_of(extension: str) -> str:
    return extension.removesuffix(".gz").removesuffix(".zst")


def open_table(path: Path, reading: Reading) -> TableFile:
    """Return the cells of a table file; its extension, or how standard input begins, counts."""
    if path.is_dir():
        raise RefusedError(
            f"{path} is a directory, not a table: impute, apply and predict take one, of Parquet."
        )
    source = str(path)
    if path == STANDARD:
        source = "standard input"
        data = _decompressed(sys.stdin.buffer.read() if sys.stdin else b"", source)
        kind = next((kind for begin, kind in _MAGIC.items() if data.startswith(begin)), ".csv")
    else:
        is_other = reading.delimiter is not None and not is_table_name(path)
        kind = ".csv" if is_other else _kind_of(table_extension(path))
        if not path.exists():
            raise RefusedError(f"{path}: there is no such file.")
        if kind in (*_DELIMITERS, ".jsonl"):
            _check_memory(path)
        data = _decompressed(path.read_bytes(), source, path.suffix.lower())
    if kind not in _DELIMITERS and (reading.delimiter or reading.encoding):
        raise RefusedError(f"{source}: --delimiter and --encoding are for .csv, .tsv and the like.")
    if kind in _ARROW_KINDS:
        table = _arrow_table(io.BytesIO(data), kind, source)
        return TableFile(source, kind, table, tuple(index_names(table.schema)))
    decimal = reading.decimal or "."
    if kind == ".xlsx":
        return TableFile(source, kind, _sheet(data, source, decimal))
    text, encoding = _decoded(data, source, reading.encoding)
    if kind == ".jsonl":
        return TableFile(source, kind, _json_lines(text, source, decimal))
    delimiter = reading.delimiter or _DELIMITERS[kind]
    cells = parse_text(text, source, delimiter, encoding=encoding, decimal=decimal)
    return TableFile(source, kind, cells)


def missing_by_column(given: Iterable[str], names: Iterable[str]) -> dict[str, list[object]]:
    """Return the values that are gaps in each column that has such, numbers as numbers too."""
    return {
        name: [value for text in texts for value in marker_values(text)]
        for name, texts in by_column(given, names).items()
        if texts
    }


def _check_memory(path: Path) -> None:
    """Refuse a text file that would not fit into memory, and tell how to stream it."""
    is_compressed = path.suffix.lower() in (".gz", ".zst")
    size = path.stat().st_size * (_COMPRESSION_RATIO if is_compressed else 1)
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


def _decompressed(data: bytes, source: str, extension: str = "") -> bytes:
    """Return what was compressed, as the extension or the first bytes say."""
    for end, (name, begin) in _COMPRESSED.items():
        if extension == end or data.startswith(begin):
            try:
                return bytes(pa.CompressedInputStream(pa.BufferReader(data), name).read())
            except OSError as error:
                raise RefusedError(f"{source} is not a {name} file: {error}.") from error
    return data


def _decoded(data: bytes, source: str, encoding: str | None) -> tuple[str, str]:
    """Return a text and its encoding, which a byte-order mark says before all else."""
    for begin, kind in _MAGIC.items():
        if data.startswith(begin) and kind != ".jsonl":
            raise RefusedError(f"{source} is not text but begins like {kind}: rename it so.")
    marks = {codecs.BOM_UTF8: "utf-8"}
    marks |= {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    marked = (name for mark, name in marks.items() if data.startswith(mark))
    used = next(marked, encoding or "utf-8")
    try:
        text = data.decode(used)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = "UTF-8" if used == "utf-8" else used
        raise RefusedError(
            f"{source} is not {name} text: byte 0x{data[error.start]:02x} on line {line}. Save it "
            "as UTF-8, or name its encoding, such as --encoding latin-1."
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise RefusedError(
            f"{source} is not text: it holds a zero byte on line {line}. If it is UTF-16, say "
            "--encoding utf-16-le or utf-16-be."
        )
    return text, used


def _arrow_table(data: io.BytesIO, kind: str, source: str) -> pa.Table:
    """Return the table of a Parquet or Feather file."""
    try:
        if kind == ".parquet":
            table = pq.ParquetFile(data).read()
        else:
            table = feather.read_table(data, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise RefusedError(
            f"{source} is not a {_ARROW_KINDS[kind]} file that can be read: {reason}."
        ) from error
    with refusals():
        check_distinct_names(table.column_names, source)
    if table.num_rows == 0:
        raise RefusedError(f"{source} must have at least one row. Got none.")
    return table


def _sheet(data: bytes, source: str, decimal: str) -> TextTable:
    """Return the first sheet of an Excel file that holds anything, its first row as the header."""
    check_excel(source)
    given: dict[str, Any] = {"header": None, "dtype": object, "engine": "openpyxl"}
    given |= {"na_values": [""], "keep_default_na": False, "sheet_name": None}
    try:
        with warnings.catch_warnings():
            # About styles, which do not count here.
            warnings.simplefilter("ignore")
            sheets = pd.read_excel(io.BytesIO(data), **given)
    # Of the archive, of XML or of a sheet: openpyxl has no error of its own.
    except Exception as error:
        raise RefusedError(f"{source} is not an Excel file that can be read: {error}.") from error
    names = [name for name, sheet in sheets.items() if sheet.size]
    if not names:
        raise RefusedError(f"{source} is empty: a table needs a header and rows.")
    sheet = sheets[names[0]]
    header, *rows = sheet.astype(object).where(sheet.notna(), None).to_numpy().tolist()
    n_names = len(header) - header.count(None)
    if n_names < len(header) - 1:
        raise RefusedError(
            f"{source}: the first row of the sheet {names[0]!r} must name the columns. Got "
            f"{n_names} names for {len(header)} columns: delete what stands above or beside them."
        )
    others = f"only the sheet {names[0]!r} is read and written, not {listed(names[1:])}"
    lines = [*range(2, len(rows) + 2)]
    return text_of_values(source, header, rows, lines, decimal, (others,) if names[1:] else ())


def _json_lines(text: str, source: str, decimal: str) -> TextTable:
    """Return a table of JSON objects, one a line; what an object lacks is a gap."""
    objects: dict[int, dict[str, object]] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        try:
            one = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise RefusedError(f"{source}, line {number} is not JSON: {error}.") from error
        if isinstance(one, dict):
            objects[number] = one
        elif line.strip():
            raise RefusedError(
                f"{source}, line {number} must be an object, {{...}}. Got {line[:40]!r}."
            )
    names = [*dict.fromkeys(name for one in objects.values() for name in one)]
    if not names:
        raise RefusedError(f"{source} is empty: a table needs names and rows.")
    rows = [[one.get(name) for name in names] for one in objects.values()]
    return text_of_values(source, names, rows, [*objects], decimal)


def arrow_values(file: TableFile, reading: Reading, unused: set[str]) -> TextValues:
    """Return the values of an Arrow table, every type kept, with the missing values as nulls."""
    frame = as_frame(file.cells)
    cautions = []
    used = [name for name in frame.columns if name not in {*unused, *file.index}]
    before = observed_in_table(frame[used])
    gaps = np.zeros(before.shape, dtype=bool)
    for given in reading.missing_values:
        found = before & ~observed_in_table(frame[used], missing_by_column([given], used))
        if not found.any():
            cautions.append(f"no cell holds the missing value {given!r}")
        gaps |= found
    for place, name in enumerate(used):
        if gaps[:, place].any():
            frame[name] = frame[name].mask(gaps[:, place])
    notes = tuple(f"kept and not used, because it is the index: {name}" for name in file.index)
    return TextValues(frame, {}, notes, tuple(cautions))


def check_excel(path: object) -> None:
    """Refuse Excel files where what reads and writes them is not installed."""
    if importlib.util.find_spec("openpyxl") is None:
        raise RefusedError(f"{path}: Excel files need `pip install 'kernimpute[excel]'`.")


@contextlib.contextmanager
def replacing_outputs(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Give a temporary file for each output, and put all in place if the block ends well."""
    standard = Path(tempfile.gettempdir(), f"kernimpute.{secrets.token_hex(8)}")
    try:
        with replacing(*(standard if path == STANDARD else path for path in paths)) as temporary:
            yield temporary
        if standard.exists():
            sys.stdout.buffer.write(standard.read_bytes())
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Whoever read our output has left; else Python would try again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        standard.unlink(missing_ok=True)


def _check_new_file(path: Path, *, force: bool, is_folder: bool = False) -> None:
    """Refuse a file or folder that cannot be written, before any work is done."""
    if path == STANDARD and not is_folder:
        if sys.stdout is None:
            raise RefusedError("standard output is closed.")
        return
    folder = path.parent
    if not folder.is_dir():
        raise RefusedError(f"{path}: there is no directory {str(folder)!r}.")
    if path.is_dir() and not is_folder:
        raise RefusedError(f"{path} is a directory.")
    if path.exists() and not force:
        raise RefusedError(f"{path} exists: give another name, or --force to replace it.")
    if not os.access(folder, os.W_OK):
        raise RefusedError(f"{path}: the directory {str(folder)!r} cannot be written to.")


def check_outputs(
    read: Iterable[Path],
    written: Iterable[Path],
    beside: Mapping[str, Path | None],
    *,
    force: bool,
    is_folder: bool = False,
    resumed: Path | None = None,
) -> None:
    """Refuse files that cannot be written, and such `beside` others that are one of them."""
    taken = {path.absolute() for path in read if path != STANDARD}
    for path in written:
        _check_new_file(path, force=force, is_folder=is_folder)
        taken.add(path.absolute())
    for what, own in beside.items():
        if own is not None:
            if own.absolute() in taken:
                name = "standard output" if own == STANDARD else own
                raise RefusedError(f"{name}: the {what} must be a file of its own.")
            _check_new_file(own, force=force or own == resumed)
            taken.add(own.absolute())


def check_storable(
    path: Path, file: TableFile, frame: pd.DataFrame, dropped: Collection[str]
) -> None:
    """Refuse what the output's format cannot hold, before any work is done."""
    kind = _kind_of(table_extension(path))
    if kind == ".xlsx":
        check_excel(path)
        if len(frame) >= _EXCEL_ROWS:
            raise RefusedError(f"{path}: a sheet has at most {_EXCEL_ROWS} rows: write CSV.")
    if isinstance(file.cells, TextTable):
        for name, column in frame.items() if kind in _ARROW_KINDS else ():
            is_large = (is_number(value) and abs(value) > LARGEST_INTEGER for value in column)
            if name not in dropped and column.dtype == object and any(is_large):
                raise RefusedError(
                    f"column {name!r} holds whole numbers beyond 64 bits, which Parquet cannot "
                    "hold: write CSV, or ignore the column, which keeps it as text."
                )
        return
    for column in file.cells.schema if kind not in _ARROW_KINDS else ():
        if column.name not in dropped and pa.types.is_nested(column.type):
            raise RefusedError(
                f"column {column.name!r} holds {column.type} values, which a text file cannot "
                f"hold: drop it (--drop '{column.name}') or write Parquet."
            )


def write_table(
    path: Path,
    extension: str,
    file: TableFile,
    filled: pd.DataFrame,
    cells: Mapping[Hashable, BoolArray] = MappingProxyType({}),
    decimals: Mapping[str, int | None] = MappingProxyType({}),
) -> None:
    """Write the filled rows of a file; other cells than the filled `cells` are copied from it."""
    kind = _kind_of(extension)
    if kind in _ARROW_KINDS:
        if isinstance(file.cells, TextTable):
            for name, column in filled.select_dtypes(object).items():
                # Parquet holds no text beside booleans or numbers.
                if any(isinstance(value, str) for value in column):
                    filled = filled.assign(**{str(name): column.map(str, na_action="ignore")})
            table = pa.Table.from_pandas(filled, preserve_index=False)
        else:
            # Columns without fills are as they came.
            kept = file.cells.select([name for name in filled.columns if name in file.names])
            table = with_filled_columns(kept, filled, map(str, cells))
            table = with_columns(table, filled.drop(columns=kept.column_names))
        if kind == ".parquet":
            pq.write_table(table, path)
        else:
            feather.write_feather(table, str(path))
        return
    as_text = kind in _DELIMITERS
    columns = [
        _column(file, name, own, cells.get(name), decimals.get(str(name)), as_text=as_text)
        for name, own in filled.items()
    ]
    if kind == ".xlsx":
        path.write_bytes(_excel(zip(*columns, strict=True)))
        return
    if kind == ".jsonl":
        header, *rows = zip(*columns, strict=True)
        objects = (dict(zip(header, row, strict=True)) for row in rows)
        lines = (json.dumps(one, ensure_ascii=False, default=str) + "\n" for one in objects)
        data = "".join(lines).encode()
    else:
        style = file.cells.style if isinstance(file.cells, TextTable) else TextStyle()
        if kind != file.kind:
            mark, _, _ = style.prefix.partition("sep=")
            style = replace(style, delimiter=_DELIMITERS[kind] or ",", prefix=mark)
        try:
            data = write_text(columns, style).encode(style.encoding)
        except UnicodeEncodeError as error:
            fill = error.object[error.start]
            raise RefusedError(
                f"{fill!r}, in a fill, has no place in {style.encoding}: save the table as UTF-8."
            ) from error
    if extension.endswith(".gz"):
        # Without a time in it, the same table gives the same bytes.
        data = gzip.compress(data, mtime=0)
    elif extension.endswith(".zst"):
        data = pa.Codec("zstd").compress(data, asbytes=True)
    path.write_bytes(data)


def with_columns(table: pa.Table, added: pd.DataFrame) -> pa.Table:
    """Return an Arrow table with further columns."""
    for name in added.columns:
        table = table.append_column(str(name), pa.array(added[name]))
    return table


def _column(
    file: TableFile,
    name: Hashable,
    values: pd.Series,
    gaps: BoolArray | None,
    decimals: int | None,
    *,
    as_text: bool,
) -> list[Any]:
    """Return a column's name and cells, which are text or, in a sheet or JSON, values."""
    # Python's own values, None at the gaps.
    shown: list[Any] = [
        None if is_gap else value.item() if isinstance(value, np.generic) else value
        for value, is_gap in zip(values.astype(object), values.isna(), strict=True)
    ]
    if str(name) not in file.names and as_text:
        mark = file.cells.style.decimal if isinstance(file.cells, TextTable) else "."
        shown = [f"{one:.8g}".replace(".", mark) if type(one) is float else one for one in shown]
    if str(name) not in file.names or not isinstance(file.cells, TextTable):
        if as_text:
            shown = ["" if value is None else str(value) for value in shown]
        return [str(name), *shown]
    place = file.cells.names.index(str(name))
    texts = file.cells.cells(place)
    own: list[Any] = texts if as_text else shown
    if file.cells.values and not as_text:
        own = [row[place] for row in file.cells.values]
    rows = [] if gaps is None else np.flatnonzero(gaps).tolist()
    is_text = as_text or (bool(rows) and all(isinstance(one, str) for one in np.delete(own, rows)))
    # A category is written as its first cell has it, outer blanks included.
    pairs = zip(reversed(texts), reversed(own), strict=True) if rows else ()
    exact = {text.strip(): value for text, value in pairs}
    for row in rows:
        fill = shown[row]
        if not is_number(fill):
            own[row] = exact.get(str(fill), str(fill) if is_text else fill)
        elif is_text:
            own[row] = spelled(fill, decimals, file.cells.style.decimal)
        else:
            own[row] = round(float(fill), decimals) if decimals else fill
    return [file.cells.header[place], *own]


def _excel(rows: Iterable[tuple[Any, ...]]) -> bytes:
    """Return an Excel file of one sheet."""
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book, data = Workbook(), io.BytesIO()
    own = (int, float, datetime.date, datetime.time, type(None))
    for row, values in enumerate(rows, start=1):
        for column, value in enumerate(values, start=1):
            is_own = isinstance(value, own) and getattr(value, "tzinfo", None) is None
            try:
                cell = book.active.cell(row, column, value if is_own else str(value))
            except IllegalCharacterError as error:
                raise RefusedError(f"A sheet cannot hold control characters: {value!r}.") from error
            if not is_own:
                # Else "=1+1" would become a formula.
                cell.data_type = "s"
    book.save(data)
    return data.getvalue()


def streams(table: Path, output: Path, scheduler: str | None = None) -> bool:
    """Return whether a table is filled block by block: Parquet to Parquet, and large."""
    is_parquet = [path.name.lower().endswith(".parquet") for path in (table, output)]
    if table.is_dir():
        if is_table_name(output) and not is_parquet[1]:
            raise RefusedError(
                f"{output}: a folder gives a folder of Parquet files; give it a name without an "
                "extension."
            )
        return True
    if not (all(is_parquet) and table.exists()):
        return False
    with refusals():
        return scheduler is not None or ParquetSource(table).n_rows > stream.SAMPLE_ROWS


def column_roles(names: Sequence[str], target: str | None, columns: Columns) -> dict[str, Any]:
    """Return the columns that the options name, each value one name or several with commas."""
    roles: dict[str, Any] = {"auto": False}  # Whether there are `codes` besides.
    with refusals():
        check_column_names("target", [] if target is None else [target], names)
        for role, values in vars(columns).items():
            chosen: list[str] = []
            for value in values:
                is_name = value in names
                chosen += [value] if is_name else [part.strip() for part in value.split(",")]
            if role == "categorical" and "auto" in chosen and "auto" not in names:
                roles["auto"] = True
                chosen = [name for name in chosen if name != "auto"]
            roles[role] = check_column_names(role, chosen, names)
    return roles


def codes(
    frame: pd.DataFrame,
    target: str | None,
    roles: Mapping[str, Any],
    missing_values: GapValues = (),
) -> tuple[str, ...]:
    """Return the used columns of few whole numbers that are not named as categorical."""
    known = {target, *roles["drop"], *roles["ignore"], *roles["categorical"]}
    used = [name for name in frame.columns if name not in known]
    with refusals():
        code = learn_code(frame[used], missing_values=missing_values)
    return tuple(str(column.name) for column in code.columns if column.few)


def read_with_roles(
    file: TableFile, target: str | None, task: str, columns: Columns, reading: Reading
) -> tuple[TextValues, dict[str, Any]]:
    """Return the values of a table and the roles of its columns."""
    roles = column_roles(file.names, target, columns)
    index = (name for name in file.index if name not in roles["drop"])
    roles["ignore"] = tuple(dict.fromkeys([*roles["ignore"], *index]))
    unused = {*roles["drop"], *roles["ignore"]} - {target}
    if isinstance(file.cells, TextTable):
        # The label column is read as what it is there for.
        as_classes = [target] if target is not None and task == "classification" else []
        named = [*roles["categorical"], *as_classes]
        values = infer_values(file.cells, reading, categorical=named, unused=unused)
    else:
        values = arrow_values(file, reading, unused)
    if roles.pop("auto"):
        found = codes(values.frame, target, roles)
        roles["categorical"] += found
        note = f"codes, by --categorical auto: {', '.join(found) or 'none'}"
        values = replace(values, notes=(*values.notes, note))
    return values, roles
