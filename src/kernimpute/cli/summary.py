"""What is printed when a run is over: warnings on stderr, a summary on stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import TextIO

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_summary", "print_warnings", "said_of_done"]

_MOST_COLUMNS = 60
"""Columns listed in the summary; a table with more gets a last line that counts the rest."""


def said_of_done(say: Callable[[], None]) -> None:
    """Say something of what is written; that nobody hears it does not undo what is written.

    Parameters
    ----------
    say : callable
        Prints it.
    """
    try:
        say()
        # None where the caller has closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError, SystemExit, KeyboardInterrupt):
        # What is still in the buffer would fail again at the end of the process.
        if sys.stdout is not None:
            _to_nowhere(sys.stdout)


def _to_nowhere(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_warnings(warnings: Iterable[str]) -> None:
    """Print each warning as one line on stderr.

    Parameters
    ----------
    warnings : iterable of str
        What one should look at.
    """
    for warning in warnings:
        typer.echo("warning: " + " ".join(warning.split()), err=True)


def print_summary(
    facts: Iterable[tuple[str, str]],
    outputs: Iterable[Path],
    *,
    filled: Mapping[Hashable, int] | None = None,
    n_rows: int = 0,
    notes: Iterable[str] = (),
) -> None:
    """Print what was done on stdout.

    Parameters
    ----------
    facts : iterable of (str, str)
        Names and texts.
    outputs : iterable of Path
        The files written.
    filled : mapping of hashable to int, default=None
        How many cells were filled in each column that has such.
    n_rows : int, default=0
        Rows of the table that they are of.
    notes : iterable of str, default=()
        What was done that one would not expect.
    """
    # Without a terminal there is no width to keep to, and lines that wrap are hard to search.
    console = Console(width=None if sys.stdout and sys.stdout.isatty() else 160, highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(Text(name), Text(text))
    console.print(table)
    if filled:
        console.print(_columns_table(filled, n_rows))
    for note in notes:
        console.print(Text(f"note: {note}"))
    for path in outputs:
        console.print(Text(f"wrote {path}"))


def _columns_table(filled: Mapping[Hashable, int], n_rows: int) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("column")
    table.add_column("cells filled", justify="right")
    table.add_column("of its cells", justify="right")
    for name, count in list(filled.items())[:_MOST_COLUMNS]:
        table.add_row(Text(str(name)), str(count), f"{100.0 * count / n_rows:.1f} %")
    more = len(filled) - _MOST_COLUMNS
    if more > 0:
        rest = sum(list(filled.values())[_MOST_COLUMNS:])
        table.add_row(Text(f"and {more} more columns"), str(rest), "")
    return table
