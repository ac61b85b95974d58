"""Records as CSV, which is committed: written whole, read to the last bit, and taken up again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pyarrow import ArrowInvalid, csv

from experiments.records import (
    OUTCOME,
    Key,
    clean,
    file_names,
    read_parts,
    rows_among,
    sorted_rows,
    status_of_parts,
)

_COLUMNS = ("experiment", "method", *OUTCOME)
"""What all records have beside their axes and what was measured."""


def rows_of(keys: Iterable[Key], folder: Path, path: Path) -> pd.DataFrame:
    """Return the rows that an experiment asks for: of its records, else of the committed CSV.

    A folder that holds a part of the experiment takes nothing from what is committed.
    """
    keys = list(keys)
    rows = read_parts(folder)
    if path.is_file():
        there = set() if rows.empty else set(file_names(rows))
        lacking = [key for key in keys if key.file_name not in there]
        committed = rows_among(read_records(path), lacking)
        rows = committed if rows.empty else pd.concat([rows, committed], ignore_index=True)
    return rows if rows.empty else sorted_rows(rows_among(rows, keys))


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


def known_parts(path: Path) -> dict[str, list[dict[Any, Any]]]:
    """Return the parts that a CSV knows."""
    rows = read_records(path)
    known: dict[str, list[dict[Any, Any]]] = {}
    for name, row in zip(file_names(rows), rows.to_dict("records"), strict=True):
        known.setdefault(name, []).append(row)
    return known


def import_parts(
    known: Mapping[str, Sequence[Mapping[Any, Any]]], folder: Path, keys: Iterable[Key]
) -> int:
    """Write the parts that are known and the folder lacks."""
    clean(folder)
    there = status_of_parts(folder)
    wanted = [key for key in keys if key.file_name in known and key.file_name not in there]
    for key in wanted:
        key.write(folder, known[key.file_name])
    return len(wanted)
