"""The command line: ``python -m experiments run | export | table | figure | overview | list``.

It parses, calls and prints. Exit codes: 0 done; 1 refused, or all that was run failed; 2 the
command line itself is wrong; 130 interrupted.
"""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import joblib
import pandas as pd
import typer
from joblib.externals.loky.process_executor import TerminatedWorkerError

from experiments.config import Config, config_names, load_config
from experiments.files import data_folder
from experiments.plan import Part, Plan, keys_of, make_plan
from experiments.records import export_csv, read_parts, rows_not_asked_for, rows_of, rows_of_keys
from experiments.runner import run
from experiments.words import counted, some_of

HERE = Path(__file__).parent
RECORDS = HERE / "records"
"""Where parts are kept, a folder for each experiment; not committed."""
RESULTS = HERE / "results"
"""Where what is committed lies: CSV, tables and figures."""

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

ConfigName = Annotated[str, typer.Argument(help="A config's name, or the path of a YAML file.")]
Records = Annotated[Path, typer.Option(help="Folder of the records of all experiments.")]
Results = Annotated[Path, typer.Option(help="Folder of what is committed.")]


def _says_why(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that ends with one sentence instead of a traceback."""

    @wraps(command)
    def call(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (ValueError, OSError, ImportError) as error:
            typer.echo(_sentence(error), err=True)
            raise typer.Exit(1) from None

    return call


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"'{error.filename}' must be readable and writable; got: {error.strerror}."
    return " ".join(str(error).split())


@app.command("run")
@_says_why
def run_command(
    config: ConfigName,
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes, one thread of linear algebra each.")
    ] = joblib.cpu_count(only_physical_cores=True),
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the datasets; else KERNIMPUTE_DATA, else OpenML.")
    ] = None,
    records: Records = RECORDS,
    retry_failed: Annotated[bool, typer.Option(help="Run again what failed.")] = False,
    methods: Annotated[
        list[str] | None, typer.Option(help="Only this method; may be given again.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Only this dataset; may be given again.")
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Only so many of the first repetitions.")
    ] = None,
) -> None:
    """Run what an experiment lacks; what is written is not run again."""
    loaded = load_config(config)
    folder = records / loaded.name
    part = Part(_given(methods), _given(datasets), repetitions)
    data = data_folder(data_dir)
    plan = make_plan(loaded, folder, part=part, retry_failed=retry_failed)
    # Only a run needs the datasets and the progress bar.
    from experiments.progress import progress_bars
    from experiments.runner import check_conditions

    check_conditions(plan, data)
    folder.mkdir(parents=True, exist_ok=True)
    _tell_plan(plan)
    if not plan.work:
        return
    began = time.perf_counter()
    counts: Counter[str] = Counter()
    try:
        with progress_bars(plan), warnings.catch_warnings():
            # Workers whose memory grew are replaced between two units, which is no news.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            for ended in run(plan, data_dir=data, jobs=jobs):
                counts.update(ended)
    except KeyboardInterrupt:
        # A second Ctrl-C would only interrupt the ending of processes that are ending.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        typer.echo(f"Stopped. What is done is in {folder}; the same command goes on.", err=True)
        raise typer.Exit(130) from None
    except TerminatedWorkerError:
        typer.echo(
            f"A process was ended from outside, most often for want of memory. What is done is in "
            f"{folder}; the same command goes on, with fewer --jobs if memory is short.",
            err=True,
        )
        raise typer.Exit(1) from None
    minutes = (time.perf_counter() - began) / 60.0
    ways = ", ".join(f"{counts[way]} {way}" for way in ("done", "failed", "skipped"))
    typer.echo(f"{loaded.name}: {ways} in {minutes:.1f} minutes.")
    if counts["failed"]:
        rows = read_parts(folder)
        _tell_failures(rows_of_keys(rows, keys_of(loaded)))
        # A run of two selection rules counts as failed where one of them did.
        if not (rows_of_keys(rows, plan.keys)["status"] == "done").any():
            raise typer.Exit(1)


def _given(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def _tell_plan(plan: Plan) -> None:
    """Print what there is to do, and how many of the known runs failed."""
    runs = "nothing to do"
    if plan.work:
        units = counted(len(plan.work), "unit")
        runs = (
            f"{counted(plan.n_left, 'run')} to do ({counted(plan.n_methods, 'method')} in {units})"
        )
    typer.echo(f"{plan.config.name}: {runs}, {plan.n_known} known; records in {plan.folder}.")
    if plan.n_failed:
        typer.echo(f"Of the known runs {plan.n_failed} failed; --retry-failed runs these again.")


def _tell_failures(rows: pd.DataFrame) -> None:
    """Print why methods failed, each reason once with its count."""
    failed = rows[rows["status"] == "failed"]
    for (method, reason), group in failed.groupby(["method", "reason"], sort=True):
        typer.echo(f"  {method}: {reason} ({counted(len(group), 'row')})")


def _rows_of(config: Config, records: Path, results: Path) -> pd.DataFrame:
    """Return an experiment's rows: of the records, else of the committed CSV."""
    folder, path = records / config.name, results / f"{config.name}.csv"
    rows = rows_of(keys_of(config), folder, path)
    if rows.empty:
        there = [str(place) for place in (folder, path) if place.exists()]
        got = f"there are neither records in {folder} nor {path}"
        if there:
            got = f"no row that the config asks for is in {' or '.join(there)}"
        raise ValueError(f"{config.name} must be run first: {got}.")
    return rows


@app.command("export")
@_says_why
def export_command(
    config: ConfigName,
    records: Records = RECORDS,
    results: Results = RESULTS,
    drop: Annotated[
        bool, typer.Option(help="Drop rows of the CSV that the config does not ask for.")
    ] = False,
) -> None:
    """Write an experiment's rows as RESULTS/CONFIG.csv, which is committed."""
    loaded = load_config(config)
    rows, path = _rows_of(loaded, records, results), results / f"{loaded.name}.csv"
    lost = rows_not_asked_for(path, keys_of(loaded))
    if len(lost) and not drop:
        datasets = f" on {some_of(lost['dataset'])}" if "dataset" in lost else ""
        raise ValueError(
            f"{path} holds {counted(len(lost), 'row')} that the config {config} does not ask for, "
            f"of {some_of(lost['method'])}{datasets}; --drop leaves them out."
        )
    export_csv(rows, path)
    typer.echo(f"{counted(len(rows), 'row')} written to {path}.")


@app.command("table")
@_says_why
def table_command(
    config: ConfigName, records: Records = RECORDS, results: Results = RESULTS
) -> None:
    """Write an experiment's tables as Markdown and LaTeX into RESULTS."""
    from experiments.tables import has_tables, write_tables

    loaded = load_config(config)
    if not has_tables(loaded):
        typer.echo(f"{loaded.name} has no tables: the kind {loaded.kind} is shown as figures.")
        return
    _tell_written(write_tables(loaded, _rows_of(loaded, records, results), results))


@app.command("figure")
@_says_why
def figure_command(
    config: ConfigName, records: Records = RECORDS, results: Results = RESULTS
) -> None:
    """Draw an experiment's figures into RESULTS."""
    from experiments.figures import FIGURES, figures_of, write_figures

    loaded = load_config(config)
    if not figures_of(loaded):
        typer.echo(f"{loaded.name} has no figures; those that have: {', '.join(FIGURES)}.")
        return
    _tell_written(write_figures(loaded, _rows_of(loaded, records, results), results))


@app.command("overview")
@_says_why
def overview_command(results: Results = RESULTS) -> None:
    """Write the tables that sum up all that is committed, which docs/paper_results.md includes."""
    from experiments.tables.overview import write_overview

    _tell_written(write_overview(results))


def _tell_written(paths: list[Path]) -> None:
    for path in paths:
        typer.echo(f"Written: {path}.")


@app.command("list")
@_says_why
def list_command() -> None:
    """List the configs there are."""
    width = max(map(len, config_names()))
    for name in config_names():
        typer.echo(f"{name:{width}}  {load_config(name).description}")


if __name__ == "__main__":
    try:
        app(prog_name="python -m experiments")
    except KeyboardInterrupt:
        sys.exit(130)
