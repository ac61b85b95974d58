"""What a run prints: progress and warnings on stderr, a summary on stdout."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import typer

from kernimpute.core.status import Record

_MOST_COLUMNS = 60
"""Columns listed in the summary; of a wider table a last line counts the rest."""


class Progress:
    """A context that shows rounds on a terminal, in one line, and keeps the warnings for later."""

    def __init__(self, *, quiet: bool) -> None:
        # The stream is None where the caller has closed it.
        self._is_shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._caught = warnings.catch_warnings(record=True)
        self._messages: list[warnings.WarningMessage] | None = None

    def __enter__(self) -> Self:
        """Begin to keep warnings."""
        self._messages = self._caught.__enter__()
        warnings.simplefilter("default")
        return self

    def __exit__(self, *exception: Any) -> None:
        """Clear the line."""
        self._caught.__exit__(*exception)
        self.show("")

    def callback(self, record: Record) -> bool:
        """Show a round, and let the solver continue."""
        self.show(progress_text(record))
        return False

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self._is_shown:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def warnings_but(self, *kinds: type[Warning]) -> list[str]:
        """Return the warnings of other kinds than these, without the imputer's name."""
        return [
            str(one.message).removeprefix("KernelImputer: ")
            for one in self._messages or ()
            if not issubclass(one.category, kinds)
        ]


def progress_text(record: Record) -> str:
    """Return stage, round, objective and certificate, as far as a round has them.

    >>> progress_text(Record(iteration=7, objective=12.5, gap=0.002, stage="Stage I"))
    'Stage I: round 7, objective 12.5, gap 0.002'
    """
    parts = [f"{record.stage or 'solving'}: round {record.iteration}"]
    if not math.isnan(record.objective):
        parts.append(f"objective {record.objective:.6g}")
    if not math.isnan(record.gap):
        # The one-stage variant is certified by the slope that is left, not by a gap.
        parts.append(f"{'slope' if record.stage == 'direct' else 'gap'} {record.gap:.2g}")
    return ", ".join(parts)


def print_or_ignore(print_all: Callable[[], None]) -> None:
    """Print once the output is written: a closed stdout must not change the exit code."""
    try:
        print_all()
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError, SystemExit, KeyboardInterrupt):
        if sys.stdout is not None:
            # Else what is left in the buffer fails again when Python exits.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_warnings(cautions: Iterable[str]) -> None:
    """Print each warning once, as one line on stderr."""
    for caution in dict.fromkeys(cautions):
        typer.echo("warning: " + " ".join(caution.split()), err=True)


def print_summary(
    facts: Iterable[tuple[str, str]],
    outputs: Iterable[Path],
    *,
    filled: Mapping[Hashable, int] | None = None,
    n_rows: int = 0,
    notes: Iterable[str] = (),
) -> None:
    """Print what was done; `filled` counts the filled cells of each column that has such."""
    rows = list(facts)
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {text}" for name, text in rows]
    if filled:
        lines.extend(["", *_columns(filled, n_rows), ""])
    lines.extend(f"note: {note}" for note in notes)
    lines.extend(f"wrote {path}" for path in outputs)
    typer.echo("\n".join(lines))


def _columns(filled: Mapping[Hashable, int], n_rows: int) -> list[str]:
    """Return a table of the columns that were filled, as lines."""
    rows = [("column", "cells filled", "of its cells")]
    for name, count in list(filled.items())[:_MOST_COLUMNS]:
        rows.append((str(name), str(count), f"{100.0 * count / n_rows:.1f} %"))
    if len(filled) > _MOST_COLUMNS:
        rest = list(filled.values())[_MOST_COLUMNS:]
        rows.append((f"and {len(rest)} more columns", str(sum(rest)), ""))
    width = max(len(name) for name, _, _ in rows)
    return [f"{name:<{width}}  {count:>12}  {share:>12}".rstrip() for name, count, share in rows]
