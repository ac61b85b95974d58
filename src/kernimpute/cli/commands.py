"""The commands `impute`, `fit` and `apply`: parse, call, print.

The library is imported by the commands themselves, so that `--help` need not wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kernimpute.cli import options
from kernimpute.cli.errors import InterruptedRunError, RefusedError, in_options, refusals

if TYPE_CHECKING:
    from kernimpute.cli.files import TableFile
    from kernimpute.cli.text import TextValues

__all__ = ["apply", "fit", "impute"]

Columns = dict[str, list[str] | None]


# ------------------------------------------------------------------------- impute


def impute(
    table: options.Table,
    target: options.Target,
    output: options.FilledTable,
    task: options.Task = options.TaskName.AUTO,
    ignore: options.Ignore = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    missing_values: options.MissingValues = None,
    variant: options.Variant = options.VariantName.DIRECT,
    kernel: options.Kernel = "gaussian",
    C: options.Penalty = 1.0,
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
    """Fill the gaps of TABLE, guided by its label column, and write the result to OUT.

    Rows without a label are filled as new rows. Observed cells keep their text. In a CSV or TSV
    a column is numeric if more than half of its cells look like numbers; codes with leading
    zeros are categories.

    With --subset-size, a Parquet file or a folder of them is filled without being read into memory
    if the output is Parquet, too. Start an interrupted run again and it continues.

    Example: `kernimpute impute patients.csv --target outcome -o filled.csv --ignore patient_id`
    """
    for option, value in {"--jobs": jobs, "--scheduler": scheduler}.items():
        if subset_size is None and value is not None:
            raise RefusedError(f"{option} is for subsets: give --subset-size, too.")
    columns = {"drop": drop, "ignore": ignore, "categorical": categorical}
    stop = {"tol": tol, "max_iter": max_iter}
    limits = {"subset_size": subset_size, "n_jobs": jobs, "max_memory": max_memory}
    method = _method(variant, kernel, gamma, C=C, eta=eta, **stop, **limits)
    if subset_size is not None and _is_parquet(table) and (_is_parquet(output) or table.is_dir()):
        for option, given in {"--report": report, "--max-memory": max_memory}.items():
            if given is not None:
                raise RefusedError(
                    f"{option} is for tables in memory, and with --subset-size Parquet is not "
                    "read into memory: leave one of them out."
                )
        method |= {"task": task.value, "scheduler": scheduler, "force": force}
        _impute_out_of_core(table, target, output, columns, missing_values or (), quiet, method)
        return
    if scheduler is not None:
        raise RefusedError("--scheduler is for tables that are read and written as Parquet.")

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
    values, roles = _read(file, target, task, columns, missing_values or ())
    check_storable(output, file, roles["drop"])
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
            write_report(temporary[1], imputation, source=str(table))
    _print(
        quiet,
        imputation.warnings,
        imputation.facts,
        outputs,
        filled=imputation.filled,
        n_rows=imputation.n_rows,
        notes=imputation.notes,
    )


def _impute_out_of_core(
    table: Path,
    target: str,
    output: Path,
    columns: Columns,
    missing_values: Sequence[str],
    quiet: bool,
    method: dict[str, Any],
) -> None:
    """Fill a Parquet file, or a folder of such, subset by subset and without reading it whole."""
    from kernimpute.cli.files import check_replaceable, is_table_name
    from kernimpute.cli.summary import Progress, parquet_facts
    from kernimpute.estimators.impute_table import TableWarning
    from kernimpute.scale import impute_parquet
    from kernimpute.scale.source import ParquetSource
    from kernimpute.table.columns import marker_values

    check_replaceable(output, force=method["force"])
    if table.is_dir() and is_table_name(output) and not _is_parquet(output):
        raise RefusedError(
            f"{output}: a folder gives a folder of Parquet files; give it a name without an "
            "extension."
        )
    with Progress(quiet=quiet) as progress, refusals(ImportError, OSError):
        roles = _column_roles(ParquetSource(table).names, target, columns)
        if "://" in (method["scheduler"] or ""):
            progress.show(f"waiting for the scheduler at {method['scheduler']}")
        try:
            imputation = impute_parquet(
                table,
                target,
                output,
                missing_values=[value for text in missing_values for value in marker_values(text)],
                callback=lambda done: progress.show(f"subsets: {done.n_done} of {done.n_subsets}"),
                **roles | method,
            )
        except KeyboardInterrupt as error:
            notes = getattr(error, "__notes__", [])
            if not notes:
                raise
            raise InterruptedRunError(" ".join(notes)) from error
    cautions = _without_half_unused(imputation.warnings, missing_values)
    cautions += progress.warnings_but(TableWarning)
    _print(
        quiet,
        cautions,
        parquet_facts(imputation),
        [output],
        filled=imputation.filled,
        n_rows=imputation.n_rows,
        notes=imputation.notes,
    )


def _without_half_unused(cautions: Iterable[str], missing_values: Iterable[str]) -> list[str]:
    """Drop the caution on a missing value as text where it occurs as a number, and vice versa."""
    from kernimpute.table.columns import marker_values

    left = list(cautions)
    for text in missing_values:
        unused = [f"no cell holds the missing value {value!r}" for value in marker_values(text)]
        found = [caution for caution in unused if caution in left]
        for caution in found[1:] if len(found) == len(unused) else found:
            left.remove(caution)
    return left


# ------------------------------------------------------------------------- fit


def fit(
    table: options.Table,
    target: options.Target,
    output: options.NewModel,
    task: options.Task = options.TaskName.AUTO,
    ignore: options.Ignore = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    missing_values: options.MissingValues = None,
    variant: options.Variant = options.VariantName.DIRECT,
    kernel: options.Kernel = "gaussian",
    C: options.Penalty = 1.0,
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

    `kernimpute apply` then fills further tables, without their labels. Rows of TABLE without a
    label are not used. Columns are read as by `kernimpute impute`. MODEL holds rows of TABLE.

    Example: `kernimpute fit patients.csv --target outcome -o patients.skops --ignore patient_id`
    """
    from kernimpute.cli.files import check_new_file, open_table
    from kernimpute.cli.models import Model, model_path, write_model
    from kernimpute.cli.summary import Progress
    from kernimpute.estimators.impute_table import TableWarning, fit_table

    stop = {"tol": tol, "max_iter": max_iter}
    limits = {"subset_size": subset_size, "n_jobs": jobs, "max_memory": max_memory}
    method = _method(variant, kernel, gamma, C=C, eta=eta, **stop, **limits)
    path = model_path(output)
    if path.absolute() == table.absolute():
        raise RefusedError(f"{path}: the model must be a file of its own.")
    file = open_table(table)
    check_new_file(path, force=force)
    columns = {"drop": drop, "ignore": ignore, "categorical": categorical}
    values, roles = _read(file, target, task, columns, missing_values or ())
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
    unknown: options.Unknown = options.UnknownName.ERROR,
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
    from kernimpute.cli.models import fill_by_model, read_model
    from kernimpute.cli.summary import Progress, size_fact
    from kernimpute.core.files import replacing
    from kernimpute.estimators.impute_table import ignored_note, n_empty, share_of_cells
    from kernimpute.table.columns import listed

    extension = table_extension(output)
    fitted = read_model(model, trust=trust)
    file = open_table(new)
    check_new_file(output, force=force)
    lacking = [name for name in fitted.features if name not in file.names]
    if lacking:
        raise RefusedError(
            f"{new} must have the columns that the model was fitted to. Got a table without "
            f"{listed(lacking)}."
        )
    dropped = [name for name in file.names if name in fitted.dropped]
    check_storable(output, file, dropped)
    values = read_as_fitted(file, fitted.kinds, fitted.decimals, fitted.missing_values)
    start = time.perf_counter()
    with Progress(quiet=quiet) as progress, refusals():
        table = values.frame.drop(columns=dropped)
        rows, not_known = fill_by_model(fitted, table)
        table = table.assign(**{str(name): rows.table[name] for name in rows.cells})
    seconds = time.perf_counter() - start
    unknowns = [
        f"{name!r}: {listed(list(found.unique()))} in {len(found)} of its cells"
        for name, found in not_known.items()
    ]
    if unknowns and unknown is options.UnknownName.ERROR:
        raise RefusedError(
            f"{new} holds categories that the model does not know ({'; '.join(unknowns)}): correct "
            "them, or pass --unknown missing to fill these cells like gaps."
        )
    cautions = [
        f"categories that the model does not know are filled like gaps: {one}" for one in unknowns
    ]
    known = {*fitted.features, *fitted.ignored, *fitted.dropped, fitted.target}
    others = [name for name in file.names if name not in known]
    if others:
        cautions.append(
            f"columns that the model does not know are kept as they are: {listed(others)}"
        )
    cautions += progress.warnings_but()
    n_rows, n_columns = table.shape
    by = f", of kernimpute {fitted.version}" if fitted.version else ""
    label = f", fitted to the label {fitted.target}" if fitted.target else ""
    counts = rows.counts
    facts = [
        size_fact(n_rows, n_columns),
        ("model", f"{model}{by}{label}"),
        ("filled", share_of_cells(sum(counts.values()), n_rows * n_columns)),
        ("seconds", f"{seconds:.2f}"),
    ]
    ignored = [name for name in fitted.ignored if name in table.columns]
    notes = ignored_note(n_empty(table[ignored]))
    if fitted.target in file.names:
        notes.append(f"the label column {fitted.target} is kept as it is and not used")
    if dropped:
        notes.append(f"left out, as the model says: {', '.join(dropped)}")
    with replacing(output) as (temporary,):
        write_table(temporary, extension, file, table, rows.cells, values.decimals)
    _print(quiet, cautions, facts, [output], filled=counts, n_rows=n_rows, notes=notes)


# ------------------------------------------------------------------------- what they share


def _is_parquet(path: Path) -> bool:
    """Return whether a path is a Parquet file by its name, or a folder, which may hold some."""
    return path.is_dir() or path.name.lower().endswith(".parquet")


def _method(
    variant: options.VariantName, kernel: str, gamma: float | None, **given: float | None
) -> dict[str, Any]:
    """Return the parameters of the method that are given; the library has the defaults."""
    from kernimpute.core.kernels import make_kernel

    try:
        # A kernel by its name takes its gamma from the table.
        made = kernel if gamma is None else make_kernel(kernel, gamma)
    except ValueError as error:
        raise typer.BadParameter(
            f"the {kernel} kernel has no gamma.", param_hint="--gamma"
        ) from error
    parameters = {name: value for name, value in given.items() if value is not None}
    return {"variant": variant.value, "kernel": made, **parameters}


def _column_roles(names: Sequence[str], target: str, columns: Columns) -> dict[str, Any]:
    """Return the columns that the options name, each value one name or several with commas."""
    from kernimpute.table.columns import check_column_names

    roles = {}
    with refusals():
        check_column_names("target", [target], names)
        for role, values in columns.items():
            chosen: list[str] = []
            for value in values or ():
                is_name = value in names
                chosen += [value] if is_name else [part.strip() for part in value.split(",")]
            roles[role] = check_column_names(role, chosen, names)
    return roles


def _read(
    file: TableFile,
    target: str,
    task: options.TaskName,
    columns: Columns,
    missing_values: Sequence[str],
) -> tuple[TextValues, dict[str, Any]]:
    """Return the values of a labelled table and the roles of its columns."""
    from kernimpute.cli.files import read_labelled

    roles = _column_roles(file.names, target, columns)
    values = read_labelled(
        file,
        target,
        task.value,
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
