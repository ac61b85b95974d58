"""``python -m experiments.panel_a run fills | run prediction | run large | summary``."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.panel_a.problems import (
    LARGE_TABLES,
    REPETITIONS,
    SETTINGS,
    TABLES,
    Kind,
    data_folder,
)
from experiments.panel_commands import (
    CORES,
    RESULTS,
    TABLES_FOLDER,
    Folder,
    Jobs,
    Methods,
    Names,
    Redo,
    Tables,
    check,
    run_all,
    write_all,
)

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

Settings = Annotated[
    Names, typer.Option("--setting", help="Only this one, such as mcar:0.5; may be repeated.")
]
Repetitions = Annotated[int, typer.Option(min=1, max=REPETITIONS, help="Of the splits.")]


@app.command("run")
def run_command(
    kind: Annotated[Kind, typer.Argument(help="What is measured.")],
    methods: Methods = None,
    redo: Redo = None,
    settings: Settings = None,
    tables: Tables = None,
    repetitions: Repetitions = REPETITIONS,
    jobs: Jobs = CORES,
    results: Folder = RESULTS / "panel_a",
) -> None:
    """Measure fills or predictions of new rows; what is written is not run again."""
    # Only a run needs the methods.
    from experiments.panel_a.run import KNOWN, MEASURED, METHODS

    methods = [*dict.fromkeys([*(methods or []), *(redo or [])])] or list(METHODS[kind])
    by_name = {f"{mechanism}:{rate}": (mechanism, rate) for mechanism, rate in SETTINGS[kind]}
    check("method", methods, KNOWN[kind])
    check("setting", settings or [], by_name)
    known = LARGE_TABLES if kind == "large" else TABLES
    check("table", tables or [], known)
    if data_folder() is None:
        typer.echo("The tables must be installed first, by `make panel-data`.", err=True)
        raise typer.Exit(1)
    asked = (
        (table, *by_name[setting], repetition, method)
        for repetition in range(repetitions)
        for setting in settings or by_name
        for table in tables or known
        for method in methods
    )
    run_all(MEASURED[kind], results, asked, methods, redo or [], jobs)


@app.command("summary")
def summary_command(results: Folder = RESULTS / "panel_a", tables: Folder = TABLES_FOLDER) -> None:
    """Write the tables that docs/panel_a.md includes."""
    from experiments.panel_a import summary

    write_all(summary.tables(results), tables)


if __name__ == "__main__":
    app(prog_name="python -m experiments.panel_a")
