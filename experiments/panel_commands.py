"""What the command lines of the panels share, and that of the panels of folds, B and R."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated

import joblib
import typer
from rich.console import Console
from rich.progress import track

from experiments.files import data_folder
from experiments.panel_runs import Measured, Run, forget, measure, runs_left
from experiments.tables.grid import Table, write_markdown
from experiments.words import counted, joined

RESULTS = Path(__file__).parent / "results"
TABLES_FOLDER = RESULTS / "tables"
SEEDS = 3

Names = list[str] | None
Methods = Annotated[Names, typer.Option("--method", help="Only this method; may be repeated.")]
Redo = Annotated[Names, typer.Option(help="Forget this method's rows, and run it again.")]
Tables = Annotated[Names, typer.Option("--table", help="Only this table; may be repeated.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes, one thread of linear algebra each.")]
Folder = Annotated[Path, typer.Option(help="Where rows, or tables, are written.")]
CORES = joblib.cpu_count(only_physical_cores=True)


def check(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is not known."""
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"A {what} must be one of {', '.join(known)}; got {name!r}.")


def run_all(
    measured: Measured,
    results: Path,
    asked: Iterable[Run],
    methods: list[str],
    redo: list[str],
    jobs: int,
) -> None:
    """Make the runs that are not written, and say how many they are."""
    forget(measured, results, redo, only_failed=False)
    # What failed may have been mended.
    forget(measured, results, methods, only_failed=True)
    runs = runs_left(measured, results, asked)
    typer.echo(f"{counted(len(runs), 'run')} to do; rows go to {results}.")
    for _ in track(
        measure(measured, results, runs, jobs),
        description=measured.name,
        total=len(runs),
        console=Console(stderr=True),
    ):
        pass


def write_all(tables: Iterable[Table], folder: Path) -> None:
    """Write tables as Markdown, and say where."""
    for path in write_markdown(tables, folder):
        typer.echo(f"Written: {path}.")


def command_line(panel: str) -> typer.Typer:
    """Return the command line of a panel of folds."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

    @app.command("run")
    def run_command(
        methods: Methods = None,
        redo: Redo = None,
        tables: Tables = None,
        seeds: Annotated[int, typer.Option(min=1, max=SEEDS, help="Cuts into folds.")] = SEEDS,
        jobs: Jobs = CORES,
        results: Folder = RESULTS / panel,
        data_dir: Annotated[
            Path | None, typer.Option(help="Folder of the files; else KERNIMPUTE_DATA.")
        ] = None,
    ) -> None:
        """Measure predictions of new rows; what is written is not run again."""
        # Only a run needs the methods.
        problems = import_module(f"experiments.{panel}.problems")
        run = import_module(f"experiments.{panel}.run")

        methods = [*dict.fromkeys([*(methods or []), *(redo or [])])] or list(run.METHODS)
        check("method", methods, run.KNOWN)
        check("table", tables or [], problems.TABLES)
        data = data_folder(data_dir)
        here = problems.tables_here(data)
        absent = [name for name in tables or problems.TABLES if name not in here]
        if absent:
            typer.echo(
                f"Left out, because they are not there: {joined(absent)}. Tables come with `make "
                "panel-data`, files from the folder that --data-dir or KERNIMPUTE_DATA names."
            )
        asked = (
            (table, seed, fold, method)
            for seed in range(seeds)
            for method in methods
            for table in here
            if not tables or table in tables
            for fold in range(problems.FOLDS)
        )
        run_all(run.measured(data), results, asked, methods, redo or [], jobs)

    @app.command("summary")
    def summary_command(results: Folder = RESULTS / panel, tables: Folder = TABLES_FOLDER) -> None:
        """Write the tables that docs/panel_b.md includes."""
        summary = import_module(f"experiments.{panel}.summary")
        write_all(summary.tables(results), tables)

    return app
