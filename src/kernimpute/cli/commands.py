"""The commands `impute`, `fit`, `predict` and `apply`: they import the library, not `--help`."""

from __future__ import annotations

import hashlib
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kernimpute.cli import options
from kernimpute.cli.messages import Progress, RefusedError, Summary, print_done, refusals


@options.grouped
def impute(
    table: options.Table,
    output: options.NewTable,
    label: options.Label,
    columns: options.Columns,
    reading: options.Reading,
    method: options.Method,
    beside: options.Beside,
    how: options.Output,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Fill the files of a Parquet folder on Dask's workers: local, or tcp://host:port.",
        ),
    ] = None,
) -> None:
    """Fill the missing cells of TABLE from the observed cells of their rows, and write OUT.

    Labels are used with --guidance only, which leaks them into the filled cells of their rows.
    Observed cells keep their text. In a CSV or TSV a column is numeric if more than half of its
    cells look like numbers; codes with leading zeros are categories.

    A folder of Parquet files is not read into memory, nor is a Parquet file of more than 20,000
    rows whose output is Parquet: a sample of the rows is fitted, and blocks of rows stream by.

    Example: `kernimpute impute patients.csv --target outcome -o filled.csv --ignore patient_id`
    """
    if method.n_jobs is not None and method.subset_size is None and scheduler is None:
        raise RefusedError("--jobs is for subsets and workers: give --subset-size or --scheduler.")
    _check_method(label, method)

    from kernimpute.cli import files
    from kernimpute.estimators.impute_table import TableWarning, impute_table
    from kernimpute.report import write_report
    from kernimpute.stream import impute_parquet
    from kernimpute.table.frames import ParquetSource

    # 1. Large Parquet tables stream.
    needs_memory = method.guidance or beside.report or beside.mask or beside.draws
    if not needs_memory and files.streams(table, output, scheduler):
        is_folder, beside_it = table.is_dir(), {"JSON": how.json}
        files.check_outputs([table], [output], beside_it, force=how.force, is_folder=is_folder)
        with Progress(quiet=how.quiet) as progress, refusals(ImportError, OSError):
            source = ParquetSource(table)
            markers = files.missing_by_column(reading.missing_values, source.names)
            roles = files.column_roles(source.names, label.target, columns)
            if roles.pop("auto"):
                roles["categorical"] += files.codes(source.first(), label.target, roles, markers)
            given = {**roles, **method.given(), "task": label.task.value}
            done = impute_parquet(
                table,
                output,
                label.target,
                missing_values=markers,
                scheduler=scheduler,
                force=how.force,
                callback=progress.rows,
                **given,
            )
        print_done(Summary.of(done, [output], progress.warnings_but(TableWarning)), how)
        return
    if scheduler is not None or table.is_dir():
        what = "--scheduler is" if scheduler is not None else f"{table}: a folder of tables is"
        raise RefusedError(
            f"{what} for Parquet that is written as Parquet, without --guidance, --report, --mask, "
            "--draws."
        )
    # 2. Others are read whole, once it is clear that everything can be written.
    extension, report, mask = files.table_extension(output), beside.report, beside.mask
    n_draws = beside.draws or 0
    tables = [output, *(_numbered(output, extension, k + 1) for k in range(n_draws))]
    if mask is not None:
        files.table_extension(mask)
    file = files.open_table(table, reading)
    others = {"report": report, "mask": mask, "JSON": how.json}
    files.check_outputs([table], tables, others, force=how.force)
    # A label that is not used is kept as it is, and never refused for what it holds.
    read_as = "classification" if method.guidance is None else label.task.value
    values, roles = files.read_with_roles(file, label.target, read_as, columns, reading)
    files.check_storable(output, file, values.frame, roles["drop"])
    # 3. They are filled, and written with report, mask and draws.
    given = {**roles, **method.given(), "task": label.task.value, "n_draws": n_draws}
    with Progress(quiet=how.quiet) as progress, refusals():
        progress.hint(len(values.frame), given)
        imputation = impute_table(values.frame, label.target, callback=progress.callback, **given)
    cautions = [*values.cautions, *imputation.warnings, *progress.warnings_but(TableWarning)]
    imputation = replace(
        imputation,
        notes=(*values.notes, *imputation.notes),
        warnings=tuple(dict.fromkeys(cautions)),
    )
    cells = {name: imputation.filled_cells(name) for name in imputation.filled}
    outputs = [*tables, *(path for path in (report, mask) if path is not None)]
    with files.replacing_outputs(*outputs) as temporary:
        place = dict(zip(outputs, temporary, strict=True))
        for path, filled in zip(tables, [imputation.table, *imputation.draws], strict=True):
            files.write_table(place[path], extension, file, filled, cells, values.decimals)
        if report is not None:
            write_report(place[report], imputation, source=file.source, **_origin(table))
        if mask is not None:
            frame = imputation.filled_cells().reset_index(drop=True)
            made, extension = files.arrow_file(mask, frame), files.table_extension(mask)
            files.write_table(place[mask], extension, made, frame)
    print_done(Summary.of(imputation, outputs), how)


def _numbered(path: Path, extension: str, number: int) -> Path:
    """Return the file of a draw: out.1.csv for out.csv."""
    if path == Path("-"):
        raise RefusedError("--draws writes files beside --output, which must be one.")
    stem, given = path.name[: -len(extension)], path.name[-len(extension) :]
    return path.with_name(f"{stem}.{number}{given}")


def _origin(table: Path) -> dict[str, str]:
    """Return the command line and the hash of the table, for a report."""
    command = shlex.join(["kernimpute", *sys.argv[1:]])
    if not table.is_file():  # Standard input.
        return {"command": command}
    with table.open("rb") as file:
        return {"command": command, "data_sha256": hashlib.file_digest(file, "sha256").hexdigest()}


@options.grouped
def fit(
    table: options.Table,
    output: options.NewModel,
    label: options.Label,
    columns: options.Columns,
    reading: options.Reading,
    method: options.Method,
    how: options.Output,
    predict: Annotated[
        bool,
        typer.Option(
            "--predict",
            help="Also learn to predict the label, for `kernimpute predict`; --task says what it "
            "is.",
        ),
    ] = False,
) -> None:
    """Learn from TABLE how to fill tables of its kind, and keep that in the file MODEL.

    `kernimpute apply` then fills further tables, without their labels. With --predict, `kernimpute
    predict` predicts the label of further rows. With --guidance, rows of TABLE without a label are
    not used. Columns are read as by `kernimpute impute`. MODEL holds rows of TABLE.

    Example: `kernimpute fit patients.csv --target outcome -o patients.skops --ignore patient_id`
    """
    if predict and label.target is None:
        raise RefusedError("--predict needs --target, the label column.")
    _check_method(label, method)

    from kernimpute.cli.models import fit_model

    print_done(fit_model(table, output, label, columns, reading, method, predict, how), how)


def _check_method(label: options.Label, method: options.Method) -> None:
    """Refuse options of the method that do not go together, before the library is imported."""
    from kernimpute.core.kernels import make_kernel

    if method.guidance is not None and label.target is None:
        raise RefusedError("--guidance needs --target, the label column.")
    try:
        if method.gamma is not None:
            make_kernel(method.kernel or "gaussian", method.gamma)
    except ValueError as error:
        problem = f"the {method.kernel} kernel has no gamma."
        raise typer.BadParameter(problem, param_hint="--gamma") from error


@options.grouped
def predict(use: options.Use, form: options.Format, how: options.Output) -> None:
    """Write the label that a MODEL of `kernimpute fit --predict` predicts beside the rows of NEW.

    The column `predicted_LABEL` holds the class or the quantity, `probability_LABEL_CLASS` the
    probability of each class. Rows may have missing cells, which stay. All cells keep their text.

    Example: `kernimpute predict patients.skops new_patients.csv -o predicted.csv`
    """
    from kernimpute.cli.models import use_model

    print_done(use_model(use, form, how, predict=True), how)


@options.grouped
def apply(use: options.Use, form: options.Format, how: options.Output) -> None:
    """Fill the missing cells of NEW by a MODEL of `kernimpute fit`, and write OUT.

    Each row is filled on its own, without its label: a label column is left as it is. NEW must
    have the columns that the model was fitted to; others are kept as they are. Observed cells
    keep their text.

    Example: `kernimpute apply patients.skops new_patients.csv -o filled.csv`
    """
    from kernimpute.cli.models import use_model

    print_done(use_model(use, form, how, predict=False), how)
