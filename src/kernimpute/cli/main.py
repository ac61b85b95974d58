"""The program `kernimpute`: its commands, and how each of its ends becomes an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from kernimpute import __version__
from kernimpute.cli.apply import apply_command
from kernimpute.cli.errors import (
    EXIT_FAULT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_REFUSED,
    EXIT_USAGE,
    InterruptedRunError,
    RefusedError,
)
from kernimpute.cli.fit import fit_command
from kernimpute.cli.impute import impute_command

__all__ = ["app", "run"]

app = typer.Typer(
    name="kernimpute",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("impute")(impute_command)
app.command("fit")(fit_command)
app.command("apply")(apply_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernimpute {__version__}")
        raise typer.Exit()


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What the parser raises; Typer brings its own copy of click in some versions, and publishes
only this subclass in all of them."""


@app.callback(invoke_without_command=True)
def program(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Fill the missing cells of a labelled table so that it becomes easier to classify.

    Exit codes: 0 done; 1 the table, the model, the output file or contradictory options are
    refused; 2 the command line cannot be read; 3 a fault of kernimpute; 130 interrupted. Whatever
    is not 0 leaves no output file.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(EXIT_USAGE)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The command line after the program's name; None takes the process's own.

    Returns
    -------
    int
        0 done; 1 refused; 2 usage; 3 a fault of kernimpute; 130 interrupted. Every code but 0
        comes with one line on stderr.
    """
    command = typer.main.get_command(app)
    given = None if arguments is None else list(arguments)
    try:
        # Outside its standalone mode the parser returns an early exit's code instead of raising
        # it, and an interruption counts as one.
        code = command.main(args=given, prog_name="kernimpute", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
    except _UsageError as error:
        # Some versions of Typer check choices by a library that begins so.
        message = str(getattr(error, "format_message", error.__str__)()).replace(
            "Value error, ", ""
        )
        context = getattr(error, "ctx", None)
        path = "kernimpute" if context is None else context.command_path
        return _ended(EXIT_USAGE, f"{message} (see {path} --help)")
    except RefusedError as error:
        return _ended(EXIT_REFUSED, str(error))
    except MemoryError as error:
        return _ended(EXIT_REFUSED, str(error) or "not enough memory for a table of this size.")
    except InterruptedRunError as error:
        return _ended(EXIT_INTERRUPTED, f"interrupted; {error}")
    except (KeyboardInterrupt, typer.Abort):
        return _ended(EXIT_INTERRUPTED, "interrupted; no output was written.")
    except BrokenPipeError:
        # Whoever read our output has left; what is written is written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _ended(EXIT_REFUSED, f"{where}{error.strerror or error}.")
    except Exception as error:
        if os.environ.get("KERNIMPUTE_TRACEBACK"):
            traceback.print_exc()
        what = " ".join(f"{type(error).__name__}: {error}".split())
        advice = "set KERNIMPUTE_TRACEBACK=1 to see where, and report it."
        return _ended(EXIT_FAULT, f"a fault of kernimpute ({what}); {advice}")
    return code if isinstance(code, int) else EXIT_OK


def _ended(code: int, message: str) -> int:
    """Print one line on stderr and return the code."""
    typer.echo("kernimpute: " + " ".join(message.split()), err=True)
    return code
