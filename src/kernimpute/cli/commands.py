"""The commands `impute`, `fit`, `predict` and `apply`: parse, call, print.

The library is imported by the commands themselves, so that `--help` need not wait for it.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kernimpute.cli import options
from kernimpute.cli.messages import Progress, RefusedError, Summary, print_done, refusals

if TYPE_CHECKING:
    from kernimpute.cli.files import Columns

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
    keep_values: options.KeepValues = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
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
    mask: options.Mask = None,
    draws: options.Draws = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = None,
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
    texts = tuple(missing_values or ()), tuple(keep_values or ())
    reading = options.Reading(delimiter, decimal, encoding, *texts)

    from kernimpute.cli.files import streams

    in_memory = {"--guidance": guidance, "--report": report, "--mask": mask, "--draws": draws}
    needed = [option for option, value in in_memory.items() if value is not None]
    if not needed and streams(table, output, scheduler):
        _check_json(json, force, [table], output)
        method |= {"task": task.value, "scheduler": scheduler, "force": force}
        done = _impute_stream(table, target, output, columns, reading, quiet, method)
    elif scheduler is not None or table.is_dir():
        what = "--scheduler is" if scheduler is not None else f"{table}: a folder of tables is"
        raise RefusedError(
            f"{what} for Parquet that is written as Parquet, without {', '.join(in_memory)}."
        )
    else:
        # A label that is not used is kept as it is, and never refused for what it holds.
        read_as = "classification" if guidance is None else task.value
        method |= {"task": task.value, "n_draws": draws or 0}
        beside = {"report": report, "mask": mask, "JSON": json}
        done = _impute_in_memory(
            table, target, output, columns, reading, read_as, method, beside, force, quiet
        )
    print_done(done, quiet=quiet, json=json)


def _impute_in_memory(
    table: Path,
    target: str | None,
    output: Path,
    columns: Columns,
    reading: options.Reading,
    read_as: str,
    method: dict[str, Any],
    beside: dict[str, Path | None],
    force: bool,
    quiet: bool,
) -> Summary:
    """Fill a table that is read whole; write it, its draws, report and mask."""
    import pyarrow as pa

    from kernimpute.cli.files import (
        TableFile,
        check_new_file,
        check_own_file,
        check_storable,
        open_table,
        read_with_roles,
        replacing_outputs,
        table_extension,
        write_table,
    )
    from kernimpute.estimators.impute_table import TableWarning, impute_table
    from kernimpute.report import write_report

    extension = table_extension(output)
    report, mask = beside["report"], beside["mask"]
    draws = [_numbered(output, extension, k + 1) for k in range(method["n_draws"])]
    outputs = [output, *draws, *(path for path in (report, mask) if path is not None)]
    if mask is not None:
        table_extension(mask)
    file = open_table(table, reading)
    taken = [output, *draws]
    for path in taken:
        check_new_file(path, force=force)
    for what, own in beside.items():
        if own is not None:
            check_own_file(what, own, [table], taken, force=force)
            taken.append(own)
    values, roles = read_with_roles(file, target, read_as, columns, reading)
    check_storable(output, file, values.frame, roles["drop"])
    with Progress(quiet=quiet) as progress, refusals():
        progress.hint(len(values.frame), method)
        imputation = impute_table(
            values.frame, target, **roles, **method, callback=progress.callback
        )
    others = progress.warnings_but(TableWarning)
    imputation = replace(
        imputation,
        notes=(*values.notes, *imputation.notes),
        warnings=tuple(dict.fromkeys([*values.cautions, *imputation.warnings, *others])),
    )
    cells = {name: imputation.filled_cells(name) for name in imputation.filled}
    done = Summary(
        facts=imputation.facts,
        outputs=outputs,
        n_rows=imputation.n_rows,
        notes=imputation.notes,
        warnings=imputation.warnings,
        filled=imputation.filled,
    )
    with replacing_outputs(*outputs) as temporary:
        place = dict(zip(outputs, temporary, strict=True))
        for path, filled in zip(
            [output, *draws], [imputation.table, *imputation.draws], strict=True
        ):
            write_table(place[path], extension, file, filled, cells, values.decimals)
        if report is not None:
            write_report(place[report], imputation, source=file.source, **_origin(table))
        if mask is not None:
            frame = imputation.filled_cells().reset_index(drop=True)
            whole = TableFile(
                str(mask), ".parquet", pa.Table.from_pandas(frame, preserve_index=False)
            )
            write_table(place[mask], table_extension(mask), whole, frame, {}, {})
    return done


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
        data_sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {"command": command, "data_sha256": data_sha256}


def _impute_stream(
    table: Path,
    target: str | None,
    output: Path,
    columns: Columns,
    reading: options.Reading,
    quiet: bool,
    method: dict[str, Any],
) -> Summary:
    """Fill a Parquet file, or a folder of such, block by block."""
    from kernimpute.cli.files import check_stream_output, codes, column_roles, missing_by_column
    from kernimpute.estimators.impute_table import TableWarning
    from kernimpute.stream import impute_parquet
    from kernimpute.table.frames import ParquetSource

    check_stream_output(table, output, force=method["force"])
    with Progress(quiet=quiet) as progress, refusals(ImportError, OSError):
        source = ParquetSource(table)
        markers = missing_by_column(reading.missing_values, source.names)
        roles = column_roles(source.names, target, columns)
        if roles.pop("auto"):
            roles["categorical"] += codes(source.first(), target, roles, markers)
        done = impute_parquet(
            table,
            output,
            target,
            missing_values=markers,
            callback=progress.rows,
            **roles | method,
        )
    return Summary(
        facts=done.facts,
        outputs=[output],
        n_rows=done.n_rows,
        notes=done.notes,
        warnings=[*done.warnings, *progress.warnings_but(TableWarning)],
        filled=done.filled,
    )


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
    keep_values: options.KeepValues = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
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
    predict: options.Predict = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = None,
) -> None:
    """Learn from TABLE how to fill tables of its kind, and keep that in the file MODEL.

    `kernimpute apply` then fills further tables, without their labels. With --predict, `kernimpute
    predict` predicts the label of further rows. With --guidance, rows of TABLE without a label are
    not used. Columns are read as by `kernimpute impute`. MODEL holds rows of TABLE.

    Example: `kernimpute fit patients.csv --target outcome -o patients.skops --ignore patient_id`
    """
    if predict and target is None:
        raise RefusedError("--predict needs --target, the label column.")
    stop = {"tol": tol, "max_iter": max_iter}
    limits = {"subset_size": subset_size, "n_jobs": jobs, "max_memory": max_memory}
    chosen = {"guidance": guidance, "reference": reference, "random_state": seed}
    method = _method(target, kernel, gamma, **chosen, C=C, eta=eta, **stop, **limits)
    columns = {"drop": drop, "ignore": ignore, "categorical": categorical}

    from kernimpute.cli.models import fit_model, model_path

    texts = tuple(missing_values or ()), tuple(keep_values or ())
    reading = options.Reading(delimiter, decimal, encoding, *texts)
    _check_json(json, force, [table], model_path(output))
    given = (table, output, target, task.value, columns, reading, method)
    done = fit_model(*given, predict=predict, force=force, quiet=quiet)
    print_done(done, quiet=quiet, json=json)


# ------------------------------------------------------------------------- predict


def predict(
    model: options.Model,
    new: options.NewRows,
    output: options.PredictedTable,
    unknown: options.Unknown = options.UnknownName.KEEP,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    trust: options.Trust = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = None,
) -> None:
    """Write the label that a MODEL of `kernimpute fit --predict` predicts beside the rows of NEW.

    The column `predicted_LABEL` holds the class or the quantity, `probability_LABEL_CLASS` the
    probability of each class. Rows may have gaps, which stay. All cells keep their text.

    Example: `kernimpute predict patients.skops new_patients.csv -o predicted.csv`
    """
    from kernimpute.cli.models import predict_by_model

    _check_json(json, force, [model, Path(f"{model}.skops"), new], output)

    reading = options.Reading(delimiter, decimal, encoding)
    done = predict_by_model(model, new, output, reading, unknown.value, trust, force, quiet)
    print_done(done, quiet=quiet, json=json)


# ------------------------------------------------------------------------- apply


def apply(
    model: options.Model,
    new: options.NewRows,
    output: options.FilledTable,
    unknown: options.Unknown = options.UnknownName.KEEP,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    trust: options.Trust = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = None,
) -> None:
    """Fill the gaps of NEW by a MODEL of `kernimpute fit`, and write the result to OUT.

    Each row is filled on its own, without its label: a label column is left as it is. NEW must
    have the columns that the model was fitted to; others are kept as they are. Observed cells
    keep their text.

    Example: `kernimpute apply patients.skops new_patients.csv -o filled.csv`
    """
    from kernimpute.cli.models import apply_model

    _check_json(json, force, [model, Path(f"{model}.skops"), new], output)

    reading = options.Reading(delimiter, decimal, encoding)
    done = apply_model(model, new, output, reading, unknown.value, trust, force, quiet)
    print_done(done, quiet=quiet, json=json)


# ------------------------------------------------------------------------- what they share


def _check_json(path: Path | None, force: bool, read: Sequence[Path], output: Path) -> None:
    """Refuse a file for the summary that is one of the others, or cannot be written."""
    from kernimpute.cli.files import check_own_file

    if path is not None:
        check_own_file("JSON", path, read, [output], force=force)


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
