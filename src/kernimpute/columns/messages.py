"""What the user is told about a table that cannot be imputed as it is."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Hashable, Sequence
from numbers import Integral

import pandas as pd

__all__ = [
    "REMEDY",
    "TableError",
    "TableTypeError",
    "counted",
    "listed",
    "refused_column",
    "suggestion",
    "the_column",
]

REMEDY = "Drop it, or ignore it to keep it unused (--drop, --ignore)."
"""What can be done about a column that cannot be imputed."""


class TableError(ValueError):
    """A table, or one of its columns, that cannot be imputed as it is."""


class TableTypeError(TableError, TypeError):
    """A column whose cells are no values of a table, such as lists."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it needs it.

    Parameters
    ----------
    number : int
        The number.
    noun : str
        The noun, in the singular.

    Returns
    -------
    str
        For people.

    Examples
    --------
    >>> counted(1, "cell"), counted(2, "cell")
    ('1 cell', '2 cells')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def the_column(name: Hashable) -> str:
    """Return the start of a sentence about a column.

    Parameters
    ----------
    name : hashable
        Its name; an integer is taken for its index.

    Returns
    -------
    str
        The column, called by its name.

    Examples
    --------
    >>> the_column("age")
    "The 'age' column of the table"
    >>> the_column(2)
    "The table's column 2"
    """
    if isinstance(name, Integral):
        return f"The table's column {name}"
    return f"The {name!r} column of the table"


def refused_column(name: Hashable, got: str, remedy: str) -> str:
    """Return the sentences on a column of a kind that cannot be imputed.

    Parameters
    ----------
    name : hashable
        Its name.
    got : str
        What it holds.
    remedy : str
        What can be done about it.

    Returns
    -------
    str
        What the column is, must hold and holds, and the remedy.
    """
    return (
        f"{the_column(name)} must hold numbers, text, booleans or categories. "
        f"Got {got} instead. {remedy}"
    )


def listed(values: Collection[object] | pd.Index, most: int = 5) -> str:
    """Return values as a list for a message, cut where it gets long.

    Parameters
    ----------
    values : collection
        The values.
    most : int, default=5
        How many are shown.

    Returns
    -------
    str
        Their ``repr``, separated by commas.
    """
    shown = [repr(value) for value in list(values)[:most]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def suggestion(name: Hashable, columns: Sequence[Hashable]) -> str:
    """Return the end of the sentence on a column that does not exist.

    Parameters
    ----------
    name : hashable
        The name that no column has.
    columns : sequence of hashable
        The names of the table's columns.

    Returns
    -------
    str
        Close names, else all names.
    """
    by_text = {str(column): column for column in columns}
    folded = {text.casefold(): column for text, column in by_text.items()}
    close = difflib.get_close_matches(str(name).casefold(), list(folded), n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(folded[text]) for text in close) + "?"
    return f"The columns are: {listed(columns, most=12)}."
