"""What a command says: progress and warnings on stderr, a summary on stdout, errors in one line."""

# `--help` imports this: nothing here may import NumPy.

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import typer

from kernimpute import __version__

if TYPE_CHECKING:
    from kernimpute.cli.options import Output
    from kernimpute.core.status import Record

# docs/cli.md says what each code means.
EXIT_REFUSED, EXIT_USAGE, EXIT_FAULT, EXIT_INTERRUPTED = 1, 2, 3, 130

# Typer bundles its own copy of click in some versions; all of them publish only this subclass.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class StoppedError(Exception):
    """An interrupt after which something is written; the message says what."""

    code = EXIT_INTERRUPTED


class RefusedError(Exception):
    """Something that a command cannot work with; the message says what, and what to do."""

    code = EXIT_REFUSED


@contextlib.contextmanager
def refusals(*kinds: type[Exception]) -> Iterator[None]:
    """Turn what the library refuses into a `RefusedError` that names options."""
    refused: tuple[type[Exception], ...] = (ValueError, *kinds)
    try:
        yield
    except refused as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise RefusedError(in_options(str(error))) from error


def report_error(error: BaseException) -> int:
    """Print one line on stderr for an error, and return its exit code."""
    if isinstance(error, _UsageError):
        # Some versions of Typer check choices by a library that puts these words in front.
        text = str(getattr(error, "format_message", error.__str__)()).replace("Value error, ", "")
        path = getattr(getattr(error, "ctx", None), "command_path", "kernimpute")
        return _ended(EXIT_USAGE, f"{text} (see {path} --help)")
    if isinstance(error, (RefusedError, StoppedError)):
        return _ended(error.code, str(error))
    if isinstance(error, MemoryError):
        return _ended(EXIT_REFUSED, str(error) or "not enough memory for a table of this size.")
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return _ended(EXIT_INTERRUPTED, "interrupted; no output was written.")
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has left, and the output file is written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _ended(EXIT_REFUSED, f"{where}{error.strerror or error}.")
    if not isinstance(error, Exception):
        raise error
    if os.environ.get("KERNIMPUTE_TRACEBACK"):
        traceback.print_exception(error)
    return _ended(
        EXIT_FAULT,
        f"a fault of kernimpute ({type(error).__name__}: {error}); set KERNIMPUTE_TRACEBACK=1 to "
        "see where, and report it.",
    )


def _ended(code: int, message: str) -> int:
    typer.echo("kernimpute: " + " ".join(message.split()), err=True)
    return code


_OPTIONS = {
    "n_jobs": "--jobs",
    "handle_unknown": "--unknown",
    "random_state": "--seed",
    "n_draws": "--draws",
} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "target task ignore drop categorical missing_values guidance reference kernel C gamma eta "
        "tol max_iter subset_size max_memory scheduler report output force trust methods folds "
        "repeats margin max_rows time_limit resume groups"
    ).split()
}
"""From a parameter of the library to the option that sets it."""
_NAMED = re.compile(
    # "The 'eta' parameter of impute_table", "subset_size=500", "drop: the label", "in drop",
    # "(b) tol is below", "max_memory".
    rf"The '({'|'.join(_OPTIONS)})' parameter of \w+"
    rf"|\b({'|'.join(_OPTIONS)})=(?P<value>'[^']*'|[\w.+-]*\w)?"
    rf"|^({'|'.join(_OPTIONS)})(?=: )"
    r"|(?:(?<=\bin )|(?<=\bas ))(drop|ignore|categorical)\b"
    r"|(?<=\) )(tol|eta)(?= is )"
    rf"|(?<![\w'-])({'|'.join(name for name in _OPTIONS if '_' in name)})\b(?!')"
)


def in_options(message: str) -> str:
    """Return a message of the library with options in place of Python's parameters.

    >>> in_options("The 'eta' parameter of impute_table must be positive: pass subset_size=500.")
    '--eta must be positive: pass --subset-size 500.'
    """

    def option(match: re.Match[str]) -> str:
        name = _OPTIONS[next(filter(None, match.groups()))]
        value = (match["value"] or "").strip("'")
        return name if value in ("", "True") else f"{name} {value}"

    return _NAMED.sub(option, message)


_MANY_ROWS = {True: 3_000, False: 20_000}
"""Rows from which a table gets a hint, with guidance and without."""
_MOST_COLUMNS = 60
"""Columns listed in the summary; of a wider table a last line counts the rest."""


class Progress:
    """A context that shows rounds on a terminal, in one line, and keeps the warnings for later."""

    def __init__(self, *, quiet: bool) -> None:
        # The stream is None where the caller has closed it.
        self._quiet = quiet
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
        """Show stage, round, objective and certificate, and let the solver continue."""
        parts = [f"{record.stage or 'solving'}: round {record.iteration}"]
        if record.note == "compiling":
            parts = [f"{record.stage}: {record.note}"]
        if not math.isnan(record.objective):
            parts.append(f"objective {record.objective:.6g}")
        if not math.isnan(record.gap):
            # The one-stage variant is certified by the slope that is left, not by a gap.
            parts.append(f"{'slope' if record.stage == 'direct' else 'gap'} {record.gap:.2g}")
        self.show(", ".join(parts))
        return False

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self._is_shown:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def hint(self, n_rows: int, method: Mapping[str, Any]) -> None:
        """Say how a large table would take less time, before the work."""
        is_guided = "guidance" in method
        how = "as a Parquet file it would be fitted to a sample and filled block by block"
        if is_guided:
            how = "--subset-size 500 takes less time and memory"
        if not self._quiet and n_rows > _MANY_ROWS[is_guided] and "subset_size" not in method:
            typer.echo(f"note: {n_rows} rows are fitted at once: {how}", err=True)

    def rows(self, done: int, of: int) -> None:
        """Show how many rows are done."""
        self.show(f"rows: {done} of {of}")

    def warnings_but(self, *kinds: type[Warning]) -> list[str]:
        """Return the warnings of other kinds than these, without the estimator's name."""
        return [
            re.sub(r"^Kernel\w+: ", "", str(one.message))
            for one in self._messages or ()
            if not issubclass(one.category, kinds)
        ]


@dataclass(frozen=True)
class Summary:
    """What a run did, in words and numbers."""

    facts: Sequence[tuple[str, str]]  # "seconds" is one of them
    outputs: Sequence[Path]
    n_rows: int
    notes: Sequence[str]
    warnings: Sequence[str]
    filled: Mapping[Hashable, int]  # cells, by column

    @classmethod
    def of(cls, done: Any, outputs: Sequence[Path], more: Sequence[str] = ()) -> Self:
        """Return that of a `TableImputation` or `ParquetImputation`, with more warnings."""
        cautions = [*done.warnings, *more]
        return cls(done.facts, outputs, done.n_rows, done.notes, cautions, done.filled)

    def as_text(self, *more: Path | None) -> str:
        """Return it for people, who are told of further files too."""
        lines = aligned(self.facts, left=(0, 1))
        rows = [
            (str(c), f"{n}", f"{100.0 * n / self.n_rows:.1f} %") for c, n in self.filled.items()
        ]
        if rest := [*self.filled.values()][_MOST_COLUMNS:]:
            rows[_MOST_COLUMNS:] = [(f"and {len(rest)} more columns", f"{sum(rest)}", "")]
        if rows:
            rows.insert(0, ("column", "cells filled", "of its cells"))
            lines += ["", *aligned(rows, left=(0,)), ""]
        lines.extend(f"note: {note}" for note in self.notes)
        written = (path for path in (*self.outputs, *more) if path not in (None, Path("-")))
        lines.extend(f"wrote {path}" for path in written)
        return "\n".join(lines)

    def as_json(self) -> str:
        """Return it for programs."""
        facts = dict(self.facts)
        filled = {str(name): count for name, count in self.filled.items()}
        document = {
            "version": __version__,
            "seconds": float(facts.pop("seconds")),
            "n_rows": self.n_rows,
            "n_filled": sum(filled.values()),
            "filled": filled,
            "facts": facts,
            "notes": [*self.notes],
            "warnings": [*self.warnings],
            "outputs": [*map(str, self.outputs)],
        }
        return dumps(document, indent=2, allow_nan=False)


def print_done(done: Summary, how: Output) -> None:
    """Print warnings and summary; the output is written, so nothing of this may fail the run."""
    from kernimpute.core.files import replacing

    def print_all() -> None:
        # A status tells which parameter to change.
        facts = [
            (name, in_options(text) if name == "status" else text) for name, text in done.facts
        ]
        lines = [" ".join(in_options(one).split()) for one in done.warnings]
        cautions = [*{line.rstrip("."): line for line in lines}.values()]
        said = replace(done, facts=facts, notes=[*map(in_options, done.notes)], warnings=cautions)
        for caution in cautions:
            typer.echo(f"warning: {caution}", err=True)
        if how.json == Path("-"):
            typer.echo(said.as_json())
            return
        if how.json is not None:
            try:
                with replacing(how.json) as (temporary,):
                    temporary.write_text(f"{said.as_json()}\n", encoding="utf-8")
            except OSError as error:
                typer.echo(f"warning: {error.filename}: {error.strerror}", err=True)
        if not how.quiet:
            # Standard output is for the table alone, where it is written there.
            typer.echo(said.as_text(how.json), err=Path("-") in done.outputs)

    print_or_ignore(print_all)


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


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Return rows of cells as lines, all columns but the `left` ones aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if place in left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
