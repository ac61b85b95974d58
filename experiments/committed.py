"""Records as CSV, which is committed: written whole, read to the last bit, and taken up again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from pyarrow import csv

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

__all__ = ["export_csv", "import_csv", "read_csv", "rows_of"]


def rows_of(keys: Iterable[Key], folder: Path, path: Path) -> pd.DataFrame:
    """Return the rows that an experiment asks for: of its records, else of the committed CSV.

    A folder that holds a part of the experiment takes nothing from what is committed.

    Parameters
    ----------
    keys : iterable of Key
        What the experiment asks for.
    folder : Path
        Its records.
    path : Path
        Its CSV, which may be absent.

    Returns
    -------
    DataFrame
        The rows, sorted; empty where there is neither.
    """
    keys = list(keys)
    rows = read_parts(folder)
    if path.is_file():
        there = set() if rows.empty else set(file_names(rows))
        lacking = [key for key in keys if key.file_name not in there]
        committed = rows_among(read_csv(path), lacking)
        rows = committed if rows.empty else pd.concat([rows, committed], ignore_index=True)
    return rows if rows.empty else sorted_rows(rows_among(rows, keys))


def export_csv(rows: pd.DataFrame, path: Path) -> None:
    """Write rows as CSV: columns in their order, floats to the last bit.

    Parameters
    ----------
    rows : DataFrame
        Rows as `read_parts` gives them.
    path : Path
        The file; its folder is made where it is absent.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    rows.to_csv(temporary, index=False, lineterminator="\n")
    os.replace(temporary, path)


def read_csv(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV that `export_csv` wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    DataFrame
        The rows, floats to the last bit.
    """
    # One block, since the types of columns are those of the first block; and only an empty cell
    # is a missing value, since a word such as "None" may be a dataset's.
    blocks = csv.ReadOptions(block_size=path.stat().st_size + 1)
    cells = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    table = csv.read_csv(path, read_options=blocks, convert_options=cells)
    return pd.DataFrame(table.to_pandas())


def import_csv(path: Path, folder: Path, keys: Iterable[Key]) -> int:
    """Write the parts that a CSV knows and the folder lacks.

    Parameters
    ----------
    path : Path
        A CSV that `export_csv` wrote.
    folder : Path
        The experiment's folder; cleaned before.
    keys : iterable of Key
        What is wanted; other rows of the CSV are left alone.

    Returns
    -------
    int
        How many parts were written.

    Raises
    ------
    ValueError
        If the file has other columns than records have.
    """
    rows = read_csv(path)
    lacking = [name for name in ("experiment", "method", *OUTCOME) if name not in rows.columns]
    if lacking:
        raise ValueError(f"{path} must have the columns of records; it lacks {lacking}.")
    known: dict[str, list[dict[Any, Any]]] = {}
    for name, row in zip(file_names(rows), rows.to_dict("records"), strict=True):
        known.setdefault(name, []).append(row)
    clean(folder)
    there = status_of_parts(folder)
    wanted = [key for key in keys if key.file_name in known and key.file_name not in there]
    for key in wanted:
        key.write(folder, known[key.file_name])
    return len(wanted)
