"""What every table must be: a DataFrame with rows, its columns told apart by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import pandas as pd

from kernimpute.columns.messages import TableError, listed, suggestion

__all__ = ["check_column_names", "check_distinct_names", "check_table"]


def check_table(frame: pd.DataFrame, *, may_be_empty: bool = False) -> None:
    """Refuse what is not a table with rows and distinct column names.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table.
    may_be_empty : bool, default=False
        Whether a table without rows passes.

    Raises
    ------
    TypeError
        If it is not a DataFrame.
    TableError
        If it has no rows, or two columns of one name.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"The table must be a pandas DataFrame. Got {type(frame).__name__}.")
    check_distinct_names(frame.columns)
    if not may_be_empty and len(frame) == 0:
        raise TableError("The table must have at least one row. Got a table without rows.")


def check_distinct_names(names: Iterable[Hashable], owner: str | None = None) -> None:
    """Refuse a table of which two columns have one name.

    Parameters
    ----------
    names : iterable of hashable
        The names of its columns.
    owner : str, default=None
        What got the table, for the message.

    Raises
    ------
    TableError
        If a name repeats.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        whose = "the table" if owner is None else f"the table that {owner} got"
        raise TableError(
            f"The columns of {whose} must have distinct names. Got {listed(repeated)} more "
            "than once: rename the copies."
        )


def check_column_names(
    option: str, names: Iterable[Hashable], columns: Sequence[Hashable]
) -> tuple[Hashable, ...]:
    """Return the names, each of which must be a column of the table.

    Parameters
    ----------
    option : str
        The option that names them, for the message.
    names : iterable of hashable, or str
        The names; a string is one name.
    columns : sequence of hashable
        The names of the table's columns.

    Returns
    -------
    tuple of hashable
        The names, each once.

    Raises
    ------
    TableError
        If the table has no such column; close names are suggested.
    """
    chosen = tuple(dict.fromkeys([names] if isinstance(names, str) else names))
    for name in chosen:
        if name not in columns:
            raise TableError(f"{option}: there is no column {name!r}. {suggestion(name, columns)}")
    return chosen
