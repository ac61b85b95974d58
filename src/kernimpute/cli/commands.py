"""The commands `impute`, `fit` and `apply`: parse, call, print.

The library is imported by the commands themselves, so that `--help` need not wait for it.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kernimpute.cli import options
from kernimpute.cli.errors import RefusedError, in_options, refusals

if TYPE_CHECKING:
    from kernimpute.cli.files import TableFile
    from kernimpute.cli.models import Model
    from kernimpute.cli.text import TextValues

Columns = dict[str, list[str] | None]


# ------------------------------------------------------------------------- impute


def impute(
    table: options.Table,
    output: options.FilledTable,
    target: options.Target = None,
    task: options.Task = options.TaskName.AUTO,
    ignore: options.Ignore = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    missing_values: options.MissingValues = None,
    guidance: options.Guidance = None,
    reference: options.Reference = None,
    seed: options.Seed = None,
    kernel: options.Kernel = None,
    C: options.Penalty = None,
    gamma: options.Gamma = None,
    eta: options.Eta = None,
    tol: options.Tol = None,
    max_iter: options.MaxIter = None,
    subset_size: options.SubsetSize = None,
    max_memory: options.MaxMemory = None,
    jobs: options.Jobs = None,
    scheduler: options.Scheduler = None,
    report: options.Report = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Fill the gaps of TABLE by what its columns know of each other, and write the result to OUT.

    Labels are used with --guidance only, which leaks them into the filled cells of their rows.
    Observed cells keep their text. In a CSV or TSV a column is numeric if more than half of its
    cells look like numbers; codes with leading zeros are categories.

    A folder of Parquet files is not read into memory, nor is a Parquet file of more than 20,000
    rows whose output is Parquet: a sample of the rows is fitted, and blocks of rows stream by.

    Example: `kernimpute impute patients.csv --target outcome -o filled.csv --ignore patient_id`
    """
    if jobs is not None and subset_size is None and scheduler is None:
        raise RefusedError("--jobs is for subsets and workers: give --subset-size or --scheduler.")
    columns = {"drop": drop, "ignore": ignore, "categorical": categorical}
    stop = {"tol": tol, "max_iter": max_iter}
    limits = {"subset_size": subset_size, "n_jobs": jobs, "max_memory": max_memory}
    chosen = {"guidance": guidance, "reference": reference, "random_state": seed}
    method = _method(target, kernel, gamma, **chosen, C=C, eta=eta, **stop, **limits)
    if guidance is None and report is None and _streams(table, output, scheduler):
        method |= {"task": task.value, "scheduler": scheduler, "force": force}
        _impute_stream(table, target, output, columns, missing_values or (), quiet, method)
        return
    if scheduler is not None or table.is_dir():
        what = "--scheduler is" if scheduler is not None else f"{table}: a folder of tables is"
        raise RefusedError(
            f"{what} for Parquet that is written as Parquet, without --guidance and --report."
        )

    from kernimpute.cli.files import (
        check_new_file,
        check_storable,
        open_table,
        table_extension,
        write_table,
    )
    from kernimpute.cli.summary import Progress
    from kernimpute.core.files import replacing
    from kernimpute.estimators.impute_table import TableWarning, impute_table
    from kernimpute.report import write_report

    extension = table_extension(output)
    outputs = [output] if report is None else [output, report]
    if report is not None and report.absolute() in (output.absolute(), table.absolute()):
        raise RefusedError(f"{report}: the report must be a file of its own.")
    file = open_table(table)
    for path in outputs:
        check_new_file(path, force=force)
    # A label that is not used is kept as it is, and never refused for what it holds.
    read_as = "classification" if guidance is None else task.value
    values, roles = _read(file, target, read_as, columns, missing_values or ())
    check_storable(output, file, values.frame, roles["drop"])
    with Progress(quiet=quiet) as progress, refusals():
        imputation = impute_table(
            values.frame, target, **roles, task=task.value, **method, callback=progress.callback
        )
    others = progress.warnings_but(TableWarning)
    imputation = replace(
        imputation,
        notes=(*values.notes, *imputation.notes),
        warnings=tuple(dict.fromkeys([*values.cautions, *imputation.warnings, *others])),
    )
    cells = {name: imputation.filled_cells(name) for name in imputation.filled}
    with replacing(*outputs) as temporary:
        write_table(temporary[0], extension, file, imputation.table, cells, values.decimals)
        if report is not None:
            write_report(temporary[1], imputation, source=str(table), **_origin(table))
    _print(
        quiet,
        imputation.warnings,
        imputation.facts,
        outputs,
        filled=imputation.filled,
        n_rows=imputation.n_rows,
        notes=imputation.notes,
    )


def _origin(table: Path) -> dict[str, str]:
    """Return the command line and the hash of the table, for a report."""
    with table.open("rb") as file:
        data_sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {"command": shlex.join(["kernimpute", *sys.argv[1:]]), "data_sha256": data_sha256}


def _impute_stream(
    table: Path,
    target: str | None,
    output: Path,
    columns: Columns,
    missing_values: Sequence[str],
    quiet: bool,
    method: dict[str, Any],
) -> None:
    """Fill a Parquet file, or a folder of such, block by block."""
    from kernimpute.cli.summary import Progress
    from kernimpute.estimators.impute_table import TableWarning
    from kernimpute.stream import impute_parquet
    from kernimpute.table.columns import marker_values
    from kernimpute.table.parquet import ParquetSource

    _check_stream(table, output, force=method["force"])
    with Progress(quiet=quiet) as progress, refusals(ImportError, OSError):
        roles = _column_roles(ParquetSource(table).names, target, columns)
        done = impute_parquet(
            table,
            output,
            target,
            missing_values=[value for text in missing_values for value in marker_values(text)],
            callback=lambda rows, of: progress.show(f"rows: {rows} of {of}"),
            **roles | method,
        )
    cautions = _without_half_unused(done.warnings, missing_values)
    cautions += progress.warnings_but(TableWarning)
    summary = {"filled": done.filled, "n_rows": done.n_rows, "notes": done.notes}
    _print(quiet, cautions, done.facts, [output], **summary)


def _without_half_unused(cautions: Iterable[str], missing_values: Iterable[str]) -> list[str]:
    """Drop the caution on a missing value as text where it occurs as a number, and vice versa."""
    from kernimpute.table.columns import marker_values

    left = list(cautions)
    for text in missing_values:
        unused = [f" the missing value {value!r}" for value in marker_values(text)]
        found = [caution for end in unused for caution in left if caution.endswith(end)]
        for caution in found[1:] if len(found) == len(unused) else found:
            left.remove(caution)
    return left


# ------------------------------------------------------------------------- fit


def fit(
    table: options.Table,
    output: options.NewModel,
    target: options.Target = None,
    task: options.Task = options.TaskName.AUTO,
    ignore: options.Ignore = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    missing_values: options.MissingValues = None,
    guidance: options.Guidance = None,
    reference: options.Reference = None,
    seed: options.Seed = None,
    kernel: options.Kernel = None,
    C: options.Penalty = None,
    gamma: options.Gamma = None,
    eta: options.Eta = None,
    tol: options.Tol = None,
    max_iter: options.MaxIter = None,
    subset_size: options.SubsetSize = None,
    max_memory: options.MaxMemory = None,
    jobs: options.Jobs = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from TABLE how to fill tables of its kind, and keep that in the file MODEL.

    `kernimpute apply` then fills further tables, without their labels. With --guidance, rows of
    TABLE without a label are not used. Columns are read as by `kernimpute impute`. MODEL holds rows
    of TABLE.

    Example: `kernimpute fit patients.csv --target outcome -o patients.skops --ignore patient_id`
    """
    from kernimpute.cli.files import check_new_file, open_table
    from kernimpute.cli.models import Model, model_path, write_model
    from kernimpute.cli.summary import Progress
    from kernimpute.estimators.impute_table import TableWarning, fit_table

    stop = {"tol": tol, "max_iter": max_iter}
    limits = {"subset_size": subset_size, "n_jobs": jobs, "max_memory": max_memory}
    chosen = {"guidance": guidance, "reference": reference, "random_state": seed}
    method = _method(target, kernel, gamma, **chosen, C=C, eta=eta, **stop, **limits)
    path = model_path(output)
    if path.absolute() == table.absolute():
        raise RefusedError(f"{path}: the model must be a file of its own.")
    file = open_table(table)
    check_new_file(path, force=force)
    columns = {"drop": drop, "ignore": ignore, "categorical": categorical}
    # A label that is not used is kept as it is, and never refused for what it holds.
    read_as = "classification" if guidance is None else task.value
    values, roles = _read(file, target, read_as, columns, missing_values or ())
    with Progress(quiet=quiet) as progress, refusals():
        fitted = fit_table(
            values.frame, target, **roles, task=task.value, **method, callback=progress.callback
        )
    model = Model(
        fitted.imputer,
        target=target,
        ignored=(*map(str, fitted.roles.ignored), *map(str, fitted.unseen)),
        dropped=tuple(map(str, fitted.roles.dropped)),
        missing_values=tuple(missing_values or ()),
        decimals={
            name: digits
            for name, digits in values.decimals.items()
            if name in fitted.roles.features and digits is not None
        },
    )
    write_model(model, path)
    _print(
        quiet,
        [*values.cautions, *fitted.warnings, *progress.warnings_but(TableWarning)],
        fitted.facts,
        [path],
        notes=[*values.notes, *fitted.notes],
    )


# ------------------------------------------------------------------------- apply


def apply(
    model: options.Model,
    new: options.NewRows,
    output: options.FilledTable,
    unknown: options.Unknown = options.UnknownName.KEEP,
    trust: options.Trust = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Fill the gaps of NEW by a MODEL of `kernimpute fit`, and write the result to OUT.

    Each row is filled on its own, without its label: a label column is left as it is. NEW must
    have the columns that the model was fitted to; others are kept as they are. Observed cells
    keep their text.

    Example: `kernimpute apply patients.skops new_patients.csv -o filled.csv`
    """
    from kernimpute.cli.files import (
        check_new_file,
        check_storable,
        open_table,
        read_as_fitted,
        table_extension,
        write_table,
    )
    from kernimpute.cli.models import read_model
    from kernimpute.cli.summary import Progress
    from kernimpute.core.files import replacing
    from kernimpute.estimators.impute_table import (
        cautions_of_rows,
        fill_rows,
        ignored_note,
        n_empty,
        share_of_cells,
        size_text,
    )

    fitted = read_model(model, trust=trust)
    if _streams(new, output):
        _apply_stream(model, fitted, new, output, unknown, force, quiet)
        return
    extension = table_extension(output)
    file = open_table(new)
    check_new_file(output, force=force)
    dropped = _check_columns(fitted, new, file.names)
    values = read_as_fitted(file, fitted.kinds, fitted.decimals, fitted.missing_values)
    check_storable(output, file, values.frame, dropped)
    start = time.perf_counter()
    with Progress(quiet=quiet) as progress, refusals():
        table = values.frame.drop(columns=dropped)
        rows = fill_rows(fitted.imputer, table, handle_unknown=unknown.value)
        written = {str(name): rows.table[name] for name in rows.cells}
        for name, *_ in rows.unknown:
            if rows.table[name].dtype == object:
                # Of a text file: Parquet holds no text beside booleans or numbers.
                written[str(name)] = rows.table[name].map(str)
        table = table.assign(**written)
    seconds = time.perf_counter() - start
    cautions = cautions_of_rows(rows.unknown, rows.n_far)
    cautions += [*_not_known(fitted, file.names), *progress.warnings_but()]
    n_rows, n_columns = table.shape
    counts = rows.counts
    facts = [
        ("table", size_text(n_rows, n_columns)),
        _model_fact(model, fitted),
        ("filled", share_of_cells(sum(counts.values()), n_rows * n_columns)),
        ("seconds", f"{seconds:.2f}"),
    ]
    ignored = [name for name in fitted.ignored if name in table.columns]
    notes = [*ignored_note(n_empty(table[ignored])), *_notes_of_roles(fitted, file.names)]
    with replacing(output) as (temporary,):
        write_table(temporary, extension, file, table, rows.cells, values.decimals)
    _print(quiet, cautions, facts, [output], filled=counts, n_rows=n_rows, notes=notes)


def _apply_stream(
    path: Path,
    model: Model,
    new: Path,
    output: Path,
    unknown: options.UnknownName,
    force: bool,
    quiet: bool,
) -> None:
    """Fill a Parquet file, or a folder of such, block by block by a model."""
    from kernimpute.cli.summary import Progress
    from kernimpute.estimators.impute_table import TableWarning
    from kernimpute.stream import transform_parquet
    from kernimpute.table.columns import marker_values
    from kernimpute.table.parquet import ParquetSource

    _check_stream(new, output, force=force)
    markers = [value for text in model.missing_values for value in marker_values(text)]
    imputer = model.imputer.set_params(
        missing_values=markers or float("nan"), handle_unknown=unknown.value
    )
    with Progress(quiet=quiet) as progress, refusals(OSError):
        names = ParquetSource(new).names
        dropped = _check_columns(model, new, names)
        done = transform_parquet(
            imputer,
            new,
            output,
            drop=dropped,
            force=force,
            callback=lambda rows, of: progress.show(f"rows: {rows} of {of}"),
        )
    cautions = [*done.warnings, *_not_known(model, names), *progress.warnings_but(TableWarning)]
    facts = [done.facts[0], _model_fact(path, model), *done.facts[1:]]
    notes = [*done.notes, *_notes_of_roles(model, names)]
    summary = {"filled": done.filled, "n_rows": done.n_rows, "notes": notes}
    _print(quiet, cautions, facts, [output], **summary)


def _check_columns(model: Model, new: Path, names: Sequence[str]) -> list[str]:
    """Return the columns that a model drops; refuse a table that lacks one that it needs."""
    from kernimpute.table.columns import listed

    lacking = [name for name in model.features if name not in names]
    if lacking:
        raise RefusedError(
            f"{new} must have the columns that the model was fitted to. Got a table without "
            f"{listed(lacking)}."
        )
    return [name for name in names if name in model.dropped]


def _not_known(model: Model, names: Sequence[str]) -> list[str]:
    """Return a caution on the columns that a model does not know, if there are any."""
    from kernimpute.table.columns import listed

    known = {*model.features, *model.ignored, *model.dropped, model.target}
    others = [name for name in names if name not in known]
    if not others:
        return []
    return [f"columns that the model does not know are kept as they are: {listed(others)}"]


def _model_fact(path: Path, model: Model) -> tuple[str, str]:
    """Return which model filled."""
    by = f", of kernimpute {model.version}" if model.version else ""
    is_used = model.target is not None and model.imputer._uses_labels
    return "model", f"{path}{by}{f', fitted to the label {model.target}' if is_used else ''}"


def _notes_of_roles(model: Model, names: Sequence[str]) -> list[str]:
    """Return what was done with the label column and with those that a model drops."""
    notes = []
    if model.target in names:
        notes.append(f"the label column {model.target} is kept as it is and not used")
    dropped = [name for name in names if name in model.dropped]
    if dropped:
        notes.append(f"left out, as the model says: {', '.join(dropped)}")
    return notes


# ------------------------------------------------------------------------- what they share


def _streams(table: Path, output: Path, scheduler: str | None = None) -> bool:
    """Return whether a table is filled block by block: Parquet to Parquet, and large."""
    if table.is_dir():
        return True
    if not (_is_parquet(table) and _is_parquet(output) and table.exists()):
        return False
    from kernimpute.stream import SAMPLE_ROWS
    from kernimpute.table.parquet import ParquetSource

    with refusals():
        return scheduler is not None or ParquetSource(table).n_rows > SAMPLE_ROWS


def _is_parquet(path: Path) -> bool:
    """Return whether a path is a Parquet file by its name."""
    return path.name.lower().endswith(".parquet")


def _check_stream(table: Path, output: Path, *, force: bool) -> None:
    """Refuse an output that exists, or that no folder can become."""
    from kernimpute.cli.files import check_replaceable, is_table_name

    check_replaceable(output, force=force)
    if table.is_dir() and is_table_name(output) and not _is_parquet(output):
        raise RefusedError(
            f"{output}: a folder gives a folder of Parquet files; give it a name without an "
            "extension."
        )


def _method(
    target: str | None, kernel: str | None, gamma: float | None, **given: object
) -> dict[str, Any]:
    """Return the parameters of the method that are given; the library has the defaults."""
    from kernimpute.core.kernels import make_kernel

    if given["guidance"] is not None and target is None:
        raise RefusedError("--guidance needs --target, the label column.")
    try:
        if gamma is not None:
            make_kernel(kernel or "gaussian", gamma)
    except ValueError as error:
        raise typer.BadParameter(
            f"the {kernel} kernel has no gamma.", param_hint="--gamma"
        ) from error
    parameters = {"kernel": kernel, "gamma": gamma, **given}
    # Names of choices are text to the library, and to its messages.
    return {
        name: str(value) if isinstance(value, StrEnum) else value
        for name, value in parameters.items()
        if value is not None
    }


def _column_roles(names: Sequence[str], target: str | None, columns: Columns) -> dict[str, Any]:
    """Return the columns that the options name, each value one name or several with commas."""
    from kernimpute.table.columns import check_column_names

    roles = {}
    with refusals():
        check_column_names("target", [] if target is None else [target], names)
        for role, values in columns.items():
            chosen: list[str] = []
            for value in values or ():
                is_name = value in names
                chosen += [value] if is_name else [part.strip() for part in value.split(",")]
            roles[role] = check_column_names(role, chosen, names)
    return roles


def _read(
    file: TableFile, target: str | None, task: str, columns: Columns, missing_values: Sequence[str]
) -> tuple[TextValues, dict[str, Any]]:
    """Return the values of a table and the roles of its columns."""
    from kernimpute.cli.files import read_labelled

    roles = _column_roles(file.names, target, columns)
    values = read_labelled(
        file,
        target,
        task,
        missing_values=missing_values,
        categorical=roles["categorical"],
        unused=(*roles["drop"], *roles["ignore"]),
    )
    index = (name for name in file.index if name not in roles["drop"])
    return values, {**roles, "ignore": tuple(dict.fromkeys([*roles["ignore"], *index]))}


def _print(
    quiet: bool, cautions: Iterable[str], facts: Any, outputs: Sequence[Path], **summary: Any
) -> None:
    """Print warnings and summary; the output is written, so nothing of this may fail the run."""
    from kernimpute.cli.summary import print_or_ignore, print_summary, print_warnings

    def print_all() -> None:
        print_warnings(map(in_options, cautions))
        if not quiet:
            summary["notes"] = map(in_options, summary["notes"])
            # A status tells which parameter to change.
            said = [(name, in_options(text) if name == "status" else text) for name, text in facts]
            print_summary(said, outputs, **summary)

    print_or_ignore(print_all)
