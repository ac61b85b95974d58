"""The command line: ``python -m experiments.panel_a run fills | run prediction | summary``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated

import joblib
import typer
from rich.console import Console
from rich.progress import track

from experiments.panel_a.problems import REPETITIONS, SETTINGS, TABLES, Kind, data_folder
from experiments.words import counted

RESULTS = Path(__file__).parents[1] / "results" / "panel_a"
TABLES_FOLDER = Path(__file__).parents[1] / "results" / "tables"

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

Names = list[str] | None
Methods = Annotated[Names, typer.Option("--method", help="Only this method; may be repeated.")]
Redo = Annotated[Names, typer.Option(help="Forget this method's rows, and run it again.")]
Settings = Annotated[
    Names, typer.Option("--setting", help="Only this one, such as mcar:0.5; may be repeated.")
]
Tables = Annotated[Names, typer.Option("--table", help="Only this table; may be repeated.")]
Repetitions = Annotated[int, typer.Option(min=1, max=REPETITIONS, help="Of the splits.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes, one thread of linear algebra each.")]
Folder = Annotated[Path, typer.Option(help="Where rows, or tables, are written.")]
CORES = joblib.cpu_count(only_physical_cores=True)


@app.command("run")
def run_command(
    kind: Annotated[Kind, typer.Argument(help="What is measured.")],
    methods: Methods = None,
    redo: Redo = None,
    settings: Settings = None,
    tables: Tables = None,
    repetitions: Repetitions = REPETITIONS,
    jobs: Jobs = CORES,
    results: Folder = RESULTS,
) -> None:
    """Measure fills or predictions of new rows; what is written is not run again."""
    # Only a run needs the methods.
    from experiments.panel_a.run import KNOWN, METHODS, forget, measure, runs_left

    methods = [*dict.fromkeys([*(methods or []), *(redo or [])])] or list(METHODS[kind])
    by_name = {f"{mechanism}:{rate}": (mechanism, rate) for mechanism, rate in SETTINGS[kind]}
    _check("method", methods, KNOWN[kind])
    _check("setting", settings or [], by_name)
    _check("table", tables or [], TABLES)
    if data_folder() is None:
        typer.echo("The tables must be installed first, by `make panel-data`.", err=True)
        raise typer.Exit(1)
    forget(kind, results, redo or [], only_failed=False)
    # What failed may have been mended.
    forget(kind, results, methods, only_failed=True)
    chosen = [by_name[name] for name in settings or by_name]
    runs = runs_left(kind, results, chosen, methods, tables or TABLES, repetitions)
    typer.echo(f"{counted(len(runs), 'run')} to do; rows go to {results}.")
    for _ in track(
        measure(kind, results, runs, jobs),
        description=kind,
        total=len(runs),
        console=Console(stderr=True),
    ):
        pass


@app.command("summary")
def summary_command(results: Folder = RESULTS, tables: Folder = TABLES_FOLDER) -> None:
    """Write the tables that docs/panel_a.md includes."""
    from experiments.panel_a.summary import write_tables

    for path in write_tables(results, tables):
        typer.echo(f"Written: {path}.")


def _check(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"A {what} must be one of {', '.join(known)}; got {name!r}.")


if __name__ == "__main__":
    app(prog_name="python -m experiments.panel_a")
