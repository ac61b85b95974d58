"""What is printed when a run is over: warnings on stderr, a summary on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernimpute.report.facts import run_facts
from kernimpute.tables import TableImputation

__all__ = ["print_summary", "print_warnings"]

_MOST_COLUMNS = 60
"""Columns listed in the summary; a table with more gets a last line that counts the rest."""


def print_warnings(imputation: TableImputation) -> None:
    """Print each warning as one line on stderr.

    Parameters
    ----------
    imputation : TableImputation
        The filled table.
    """
    for warning in imputation.warnings:
        typer.echo("warning: " + " ".join(warning.split()), err=True)


def print_summary(imputation: TableImputation, outputs: Sequence[Path]) -> None:
    """Print what was done on stdout.

    Parameters
    ----------
    imputation : TableImputation
        The filled table.
    outputs : sequence of Path
        The files written.
    """
    # Without a terminal there is no width to keep to, and lines that wrap are hard to search.
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(_facts_table(imputation))
    if imputation.filled:
        console.print(_columns_table(imputation))
    for note in imputation.notes:
        console.print(Text(f"note: {note}"))
    for path in outputs:
        console.print(Text(f"wrote {path}"))


def _facts_table(imputation: TableImputation) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in run_facts(imputation):
        table.add_row(Text(name), Text(text))
    return table


def _columns_table(imputation: TableImputation) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("column")
    table.add_column("cells filled", justify="right")
    table.add_column("of its cells", justify="right")
    for name, count in list(imputation.filled.items())[:_MOST_COLUMNS]:
        share = 100.0 * count / imputation.n_rows
        table.add_row(Text(str(name)), str(count), f"{share:.1f} %")
    more = len(imputation.filled) - _MOST_COLUMNS
    if more > 0:
        rest = sum(list(imputation.filled.values())[_MOST_COLUMNS:])
        table.add_row(Text(f"and {more} more columns"), str(rest), "")
    return table
