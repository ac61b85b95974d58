"""Records: a Parquet file for each method of a unit of work, and the committed CSV of all.

A unit of work is the mapping of an experiment's axes to values, and holds all that its rows depend
on; a `Key` adds the experiment and the method. A part is written beside its place under a
temporary name and then renamed, so that it is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ArrowInvalid, csv

OUTCOME = (
    "status",
    "reason",
    "seconds",
    "peak_memory_mib",
    "warnings",
    "seed",
    "versions",
    "machine",
)
"""The columns that every row ends with: how it went, and on what."""


@dataclass(frozen=True)
class Key:
    """The experiment, unit and method that a part belongs to."""

    experiment: str  # The config's name
    unit: tuple[tuple[str, Any], ...]  # The axes and their values
    method: str  # The method

    @property
    def file_name(self) -> str:
        """The name of the part, hashed from the key; 1 and 1.0 are the same."""
        axes = {axis: _canonical(value) for axis, value in self.unit}
        text = json.dumps([self.experiment, self.method, axes], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24] + ".parquet"

    def write(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the part whole, or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist([{name: _plain(v) for name, v in row.items()} for row in rows])
        temporary = folder / f".{self.file_name}.{os.getpid()}.tmp"
        pq.write_table(table, temporary)
        os.replace(temporary, folder / self.file_name)


def _plain(value: Any) -> Any:
    """Return a value as plain Python; NumPy's scalars have `item`."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _canonical(value: Any) -> Any:
    """Return a value as it is hashed: 1 and 1.0 are equal, NaN is None."""
    value = _plain(value)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def clean(folder: Path) -> list[Path]:
    """Remove the temporary files of dead processes, and parts that can't be read."""
    removed = [
        path
        for path in folder.glob(".*.tmp")
        if not psutil.pid_exists(int(path.name.split(".")[-2]))
    ]
    removed += [path for path in folder.glob("*.parquet") if not _readable(path)]
    for path in removed:
        path.unlink(missing_ok=True)
    return removed


def _readable(path: Path) -> bool:
    try:
        pq.read_schema(path)
    except (pa.ArrowInvalid, OSError):
        return False
    return True


def status_of_parts(folder: Path) -> dict[str, str]:
    """Return how each part ended, by its file's name."""
    found = {}
    for path in folder.glob("*.parquet"):
        statuses = pq.read_table(path, columns=["status"]).column(0).to_pylist()
        found[path.name] = status_of(statuses)
    return found


def status_of(statuses: Sequence[str]) -> str:
    """Return how a part ended."""
    return "failed" if "failed" in statuses else statuses[0]


def read_parts(folder: Path) -> pd.DataFrame:
    """Return all rows of an experiment."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet")) if _readable(path)]
    if not tables:
        return pd.DataFrame()
    return sorted_rows(pa.concat_tables(tables, promote_options="permissive").to_pandas())


def sorted_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows sorted by experiment, axes and method; rows of one part keep their order."""
    names = list(rows.columns)
    leading = names[: names.index("method") + 1]
    return rows.sort_values(leading, kind="stable", ignore_index=True)


def rows_of_keys(rows: pd.DataFrame, keys: Iterable[Key]) -> pd.DataFrame:
    """Return the rows that belong to some keys."""
    wanted = {key.file_name for key in keys}
    kept = [name in wanted for name in file_names(rows)]
    return rows[kept].reset_index(drop=True)


def file_names(rows: pd.DataFrame) -> list[str]:
    """Return the name of the part that each row belongs to."""
    names = list(rows.columns)
    axes = names[1 : names.index("method")]
    return [
        Key(row["experiment"], tuple((axis, row[axis]) for axis in axes), row["method"]).file_name
        for row in rows[["experiment", *axes, "method"]].to_dict("records")
    ]


_COLUMNS = ("experiment", "method", *OUTCOME)
"""What all records have beside their axes and what was measured."""


def rows_of(keys: Iterable[Key], folder: Path, path: Path) -> pd.DataFrame:
    """Return the rows that an experiment asks for, from its records and else from its CSV.

    A folder with a part of the experiment hides none of the rows of the CSV.
    """
    keys = list(keys)
    rows = read_parts(folder)
    if path.is_file():
        there = set() if rows.empty else set(file_names(rows))
        lacking = [key for key in keys if key.file_name not in there]
        committed = rows_of_keys(read_records(path), lacking)
        rows = committed if rows.empty else pd.concat([rows, committed], ignore_index=True)
    return rows if rows.empty else sorted_rows(rows_of_keys(rows, keys))


def export_csv(rows: pd.DataFrame, path: Path) -> None:
    """Write rows as CSV: columns in their order, floats to the last bit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    rows.to_csv(temporary, index=False, lineterminator="\n")
    os.replace(temporary, path)


def read_csv(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV that `export_csv` wrote."""
    # One block, since the types of columns are those of the first block; and only an empty cell
    # is a missing value, since a word such as "None" may be a dataset's.
    blocks = csv.ReadOptions(block_size=path.stat().st_size + 1)
    cells = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    try:
        table = csv.read_csv(path, read_options=blocks, convert_options=cells)
        rows = pd.DataFrame(table.to_pandas())
    except (ArrowInvalid, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{path} must be a CSV of records; got: {reason}.") from None
    return rows


def read_records(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV, which must be records."""
    rows = read_csv(path)
    lacking = [name for name in _COLUMNS if name not in rows.columns]
    if lacking:
        raise ValueError(f"{path} must have the columns of records; it lacks {lacking}.")
    return rows


def rows_not_asked_for(path: Path, keys: Iterable[Key]) -> pd.DataFrame:
    """Return the rows of a CSV that an experiment does not ask for."""
    if not path.is_file():
        return pd.DataFrame()
    rows = read_records(path)
    wanted = {key.file_name for key in keys}
    return rows[[name not in wanted for name in file_names(rows)]]
