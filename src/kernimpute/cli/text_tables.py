"""CSV and TSV files cell by cell, as they are spelled.

A `TextTable` holds every cell with its quotes and blanks. On writing, the gaps that were filled
are replaced and everything else is copied, so that a comparison of the two files shows the
filled cells and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernimpute.cli.errors import RefusedError
from kernimpute.table.columns import counted

__all__ = ["TextTable", "cell_text", "parse_text", "quoted"]


@dataclass(frozen=True)
class TextTable:
    """A delimited text file, cell by cell as it is spelled.

    Parameters
    ----------
    header : tuple of str
        The names' cells as they are spelled.
    names : tuple of str
        The columns' names.
    rows : list of list of str
        The cells of each row as they are spelled.
    lines : list of int
        The line on which each row begins.
    delimiter, newline : str
        What separates cells, and rows.
    byte_order_mark : bool
        Whether the file begins with one.
    notes, cautions : tuple of str
        What the user should know of how the file was read.
    """

    header: tuple[str, ...]
    names: tuple[str, ...]
    rows: list[list[str]] = field(repr=False)
    lines: list[int] = field(repr=False)
    delimiter: str
    newline: str
    byte_order_mark: bool = False
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


def parse_text(text: str, delimiter: str, source: str) -> TextTable:
    """Return the cells of a delimited text.

    Parameters
    ----------
    text : str
        The file's text.
    delimiter : str
        What separates cells. A comma gives way to a semicolon if the header has only these.
    source : str
        The file's name, for the messages.

    Returns
    -------
    TextTable
        The cells.

    Raises
    ------
    RefusedError
        If there is no header, no row, a row with more or fewer cells than the header, an empty
        line between rows, a quote that is not closed, or a name that repeats.
    """
    if not text.strip():
        raise RefusedError(f"{source} is empty: a table needs a header and rows.")
    first_line = re.split(r"\r\n|\n|\r", text, maxsplit=1)[0]
    notes = []
    byte_order_mark = text.startswith("\ufeff")
    text = text.removeprefix("\ufeff")
    if delimiter == "," and "," not in first_line and ";" in first_line:
        delimiter = ";"
        notes.append("cells are separated by semicolons")
    cells, lines = _cells(text, delimiter, source)
    while cells and cells[-1] == [""]:
        del cells[-1], lines[-1]
    header, rows = cells[0], cells[1:]
    if not rows:
        raise RefusedError(f"{source} has a header and no rows.")
    for row, line in zip(rows, lines[1:], strict=True):
        if len(row) != len(header):
            got = "is empty" if row == [""] else f"has {counted(len(row), 'cell')}"
            raise RefusedError(f"{source}, line {line} {got} where the header has {len(header)}.")
    names, cautions = _names(header, source)
    newline = re.search(r"\r\n|\n|\r", text)
    return TextTable(
        header=tuple(header),
        names=names,
        rows=rows,
        lines=lines[1:],
        delimiter=delimiter,
        newline=newline.group() if newline else "\n",
        byte_order_mark=byte_order_mark,
        notes=tuple(notes),
        cautions=cautions,
    )


def _cells(text: str, delimiter: str, source: str) -> tuple[list[list[str]], list[int]]:
    """Return the cells of every row as they are spelled, and the line each row begins on."""
    apart = re.escape(delimiter)
    pattern = re.compile(
        rf'("(?:[^"]|"")*+"|[^"{apart}\r\n][^{apart}\r\n]*|)({apart}|\r\n|\n|\r|\Z)'
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    row: list[str] = []
    line, begin, position = 1, 1, 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            raise RefusedError(f"{source}, line {line}: a quote is not closed, or text follows it.")
        cell, end = match.groups()
        row.append(cell)
        if cell.startswith('"'):
            line += len(re.findall(r"\r\n|\n|\r", cell))
        position = match.end()
        if end != delimiter:
            rows.append(row)
            lines.append(begin)
            row = []
            line += 1
            begin = line
    if row:
        # The text ends with a delimiter: the last cell is an empty one.
        rows.append([*row, ""])
        lines.append(begin)
    return rows, lines


def _names(header: Sequence[str], source: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns' names; a column without one is named after its place."""
    names, cautions = [], []
    for place, cell in enumerate(header, start=1):
        name = cell_text(cell)
        if not name:
            name = f"unnamed_{place}"
            cautions.append(
                f"column {place} has no name and is called {name!r} here: if it numbers the "
                f"rows, --ignore {name}"
            )
        names.append(name)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        listed = ", ".join(map(repr, repeated))
        raise RefusedError(
            f"{source}: the header names {listed} more than once: rename the copies."
        )
    return tuple(names), tuple(cautions)


def cell_text(cell: str) -> str:
    """Return what a cell says: without its quotes and outer blanks.

    Parameters
    ----------
    cell : str
        The cell as it is spelled.

    Returns
    -------
    str
        Its text.
    """
    if cell.startswith('"'):
        cell = cell[1:-1].replace('""', '"')
    return cell.strip()


def quoted(value: str, delimiter: str) -> str:
    """Return a value as a cell, in quotes where it needs them.

    Parameters
    ----------
    value : str
        The value.
    delimiter : str
        What separates cells.

    Returns
    -------
    str
        The cell's text.

    Examples
    --------
    >>> quoted('5" pipe, long', ",")
    '"5"" pipe, long"'
    """
    if value != value.strip() or any(mark in value for mark in (delimiter, '"', "\r", "\n")):
        return '"' + value.replace('"', '""') + '"'
    return value
