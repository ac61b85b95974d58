"""How a command ends: every error becomes one sentence on stderr and an exit code."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Iterator

import typer

EXIT_OK = 0
"""The output is written (also where the solver stopped early: a warning says so)."""
EXIT_REFUSED = 1
"""The input, its data or the output file is refused; nothing is written."""
EXIT_USAGE = 2
"""The command line itself is wrong: no such option, a value out of its range."""
EXIT_FAULT = 3
"""A fault of kernimpute; nothing is written."""
EXIT_INTERRUPTED = 130
"""Interrupted (Ctrl-C); nothing is written."""

# Typer bundles its own copy of click in some versions; all of them publish only this subclass.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class RefusedError(Exception):
    """Something that a command cannot work with; the message says what, and what to do."""


@contextlib.contextmanager
def refusals(*kinds: type[Exception]) -> Iterator[None]:
    """Turn what the library refuses into a `RefusedError` that names options."""
    refused: tuple[type[Exception], ...] = (ValueError, *kinds)
    try:
        yield
    except refused as error:
        raise RefusedError(in_options(str(error))) from error


def report_error(error: BaseException) -> int:
    """Print one line on stderr for an error, and return its exit code."""
    if isinstance(error, _UsageError):
        # Some versions of Typer check choices by a library that puts these words in front.
        message = str(getattr(error, "format_message", error.__str__)()).replace(
            "Value error, ", ""
        )
        context = getattr(error, "ctx", None)
        path = "kernimpute" if context is None else context.command_path
        return _ended(EXIT_USAGE, f"{message} (see {path} --help)")
    if isinstance(error, RefusedError):
        return _ended(EXIT_REFUSED, str(error))
    if isinstance(error, MemoryError):
        return _ended(EXIT_REFUSED, str(error) or "not enough memory for a table of this size.")
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return _ended(EXIT_INTERRUPTED, "interrupted; no output was written.")
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has left, and the output file is written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
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


# ------------------------------------------------------- Python's words, and the command line's

_OPTIONS = {"n_jobs": "--jobs", "handle_unknown": "--unknown", "random_state": "--seed"} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "target task ignore drop categorical missing_values guidance reference kernel C gamma eta "
        "tol max_iter subset_size max_memory scheduler report output force trust"
    ).split()
}
"""From a parameter of the library to the option that sets it."""
_NAMED = re.compile(
    # "The 'eta' parameter of impute_table", "subset_size=500", "drop: the label", "in drop",
    # "(b) tol is below", "max_memory".
    rf"The '(?P<parameter>{'|'.join(_OPTIONS)})' parameter of \w+"
    rf"|\b(?P<assigned>{'|'.join(_OPTIONS)})=(?P<value>'[^']*'|[\w.+-]*\w)?"
    rf"|^(?P<first>{'|'.join(_OPTIONS)})(?=: )"
    r"|(?:(?<=\bin )|(?<=\bas ))(?P<listed>drop|ignore|categorical)\b"
    r"|(?<=\) )(?P<cause>tol|eta)(?= is )"
    rf"|(?<![\w'-])(?P<bare>{'|'.join(name for name in _OPTIONS if '_' in name)})\b(?!')"
)
_GROUPS = ("parameter", "assigned", "first", "listed", "cause", "bare")


def in_options(message: str) -> str:
    """Return a message of the library with options in place of Python's parameters.

    >>> in_options("The 'eta' parameter of impute_table must be positive: pass subset_size=500.")
    '--eta must be positive: pass --subset-size 500.'
    """

    def option(match: re.Match[str]) -> str:
        name = _OPTIONS[next(match[group] for group in _GROUPS if match[group])]
        value = (match["value"] or "").strip("'")
        return name if value in ("", "True") else f"{name} {value}"

    return _NAMED.sub(option, message)
