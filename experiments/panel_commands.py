"""What the command lines of the panels share."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated

import joblib
import typer
from rich.console import Console
from rich.progress import track

from experiments.panel_runs import Measured, Run, forget, measure, runs_left
from experiments.tables.grid import Table, write_markdown
from experiments.words import counted

RESULTS = Path(__file__).parent / "results"
TABLES_FOLDER = RESULTS / "tables"

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
