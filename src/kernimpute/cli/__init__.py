"""The command line: the program `kernimpute`, its commands and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from kernimpute import __version__
from kernimpute.cli.commands import apply, fit, impute, predict
from kernimpute.cli.compare import compare
from kernimpute.cli.messages import EXIT_INTERRUPTED, EXIT_USAGE, report_error

__all__ = ["app", "run"]

app = typer.Typer(
    name="kernimpute",
    add_completion=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for command in (impute, compare, fit, predict, apply):
    app.command()(command)


def _show_version(is_asked_for: bool) -> None:
    if is_asked_for:
        typer.echo(f"kernimpute {__version__}")
        raise typer.Exit()


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
    """Fill the missing cells of a table, predict from such rows, and tell whether filling helps.

    Exit codes: 0 done; 1 the table, the model, the output file or contradictory options are
    refused; 2 the command line cannot be read; 3 a fault of kernimpute; 130 interrupted, 143 by
    SIGTERM. Every code but 0 leaves no output file, but an interrupted `compare` does.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(EXIT_USAGE)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program on arguments, by default the process's own, and return its exit code."""
    command = typer.main.get_command(app)
    given = None if arguments is None else list(arguments)
    try:
        # Outside of its standalone mode the parser returns the code of an early exit, and of an
        # interruption, instead of raising it.
        code = command.main(args=given, prog_name="kernimpute", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
    except BaseException as error:
        return report_error(error)
    return code if isinstance(code, int) else 0
