"""The command line of the panels of folds, B and R."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from experiments.files import data_folder
from experiments.panel_b.problems import FOLDS, SEEDS
from experiments.panel_commands import (
    CORES,
    RESULTS,
    TABLES_FOLDER,
    Folder,
    Jobs,
    Methods,
    Redo,
    Tables,
    check,
    run_all,
    write_all,
)
from experiments.words import joined


def command_line(panel: str) -> typer.Typer:
    """Return the command line of a panel."""
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
            for fold in range(FOLDS)
        )
        run_all(run.measured(data), results, asked, methods, redo or [], jobs)

    @app.command("summary")
    def summary_command(results: Folder = RESULTS / panel, tables: Folder = TABLES_FOLDER) -> None:
        """Write the tables that docs/panel_b.md includes."""
        summary = import_module(f"experiments.{panel}.summary")
        write_all(summary.tables(results), tables)

    return app
