"""The command `kernimpute impute`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.formats import table_format
from kernimpute.cli.options import (
    CategoricalOption,
    DropOption,
    EtaOption,
    ForceOption,
    GammaOption,
    IgnoreOption,
    JobsOption,
    KernelName,
    KernelOption,
    MaxIterOption,
    MissingValuesOption,
    PenaltyOption,
    QuietOption,
    SubsetSizeOption,
    TableArgument,
    TargetOption,
    TaskName,
    TaskOption,
    TolOption,
    VariantName,
    VariantOption,
    chosen_kernel,
    column_lists,
)
from kernimpute.cli.out_of_core import impute_out_of_core, is_parquet
from kernimpute.cli.progress import Progress
from kernimpute.cli.readers import TableFile, read_source, read_table, refuse_folder
from kernimpute.cli.summary import print_summary, print_warnings
from kernimpute.cli.writers import check_output, check_writable, write_table
from kernimpute.files import replacing
from kernimpute.report import write_report
from kernimpute.report.facts import run_facts
from kernimpute.tables import TableImputation, TableWarning, impute_table

__all__ = ["impute_command"]


def impute_command(
    table: TableArgument,
    target: TargetOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The filled table to write.")
    ],
    task: TaskOption = TaskName.AUTO,
    ignore: IgnoreOption = None,
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    missing_values: MissingValuesOption = None,
    variant: VariantOption = VariantName.DIRECT,
    kernel: KernelOption = KernelName.GAUSSIAN,
    C: PenaltyOption = 1.0,
    gamma: GammaOption = None,
    eta: EtaOption = None,
    tol: TolOption = None,
    max_iter: MaxIterOption = None,
    subset_size: SubsetSizeOption = None,
    jobs: JobsOption = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Fill subsets of a Parquet table on Dask's workers: local, or tcp://host:port.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a report.")
    ] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fill the gaps of TABLE, guided by its label column, and write the result to OUT.

    Rows without a label are filled as new rows. Observed cells keep their text. In a CSV or TSV
    a column is numeric if more than half of its cells look like numbers; codes with leading
    zeros are categories.

    With --subset-size, a Parquet file, or a folder of such, is not held in memory if it is written
    as one; a run that was interrupted goes on if it is started again.

    Example: `kernimpute impute patients.csv --target outcome -o filled.csv --ignore patient_id`
    """
    made = chosen_kernel(kernel, gamma)
    if subset_size is None and (jobs is not None or scheduler is not None):
        raise RefusedError("--jobs and --scheduler are for subsets: give --subset-size, too.")
    method = {"variant": variant.value, "kernel": made, "C": C, "eta": eta}
    limits = {"tol": tol, "max_iter": max_iter, "subset_size": subset_size, "n_jobs": jobs}
    if subset_size is not None and is_parquet(table) and (is_parquet(output) or table.is_dir()):
        if report is not None:
            raise RefusedError(
                "--report needs the table in memory, where --subset-size does not hold one of "
                "Parquet: leave one of them out."
            )
        impute_out_of_core(
            table,
            target,
            output,
            drop=drop,
            ignore=ignore,
            categorical=categorical,
            missing_values=missing_values,
            quiet=quiet,
            task=task.value,
            **method,
            **limits,
            scheduler=scheduler,
            force=force,
        )
        return
    if scheduler is not None:
        raise RefusedError("--scheduler is for tables that are read and written as Parquet.")
    refuse_folder(table)
    output_format = table_format(output)
    outputs = [output] if report is None else [output, report]
    if report is not None and report.absolute() in (output.absolute(), table.absolute()):
        raise RefusedError(f"{report}: the report must be a file of its own.")
    source = read_source(table)
    for path in outputs:
        check_output(path, force=force)
    dropped, ignored, codes = column_lists(source.names, target, drop, ignore, categorical)
    file = read_table(
        table,
        source,
        missing_values=missing_values or (),
        categorical=[*codes, *([target] if task is TaskName.CLASSIFICATION else [])],
        unused=[name for name in (*dropped, *ignored) if name != target],
    )
    check_writable(output_format, file, dropped)
    with warnings.catch_warnings(record=True) as caught, Progress(quiet=quiet) as progress:
        warnings.simplefilter("default")
        imputation = _imputed(
            file.frame,
            target,
            drop=dropped,
            ignore=[*ignored, *(name for name in file.index if name not in dropped)],
            categorical=codes,
            task=task.value,
            **method,
            **limits,
            callback=progress.callback,
        )
    others = [str(each.message) for each in caught if not issubclass(each.category, TableWarning)]
    imputation = _with_remarks(imputation, file, others)
    with replacing(*outputs) as temporary:
        write_table(temporary[0], output_format, imputation, file)
        if report is not None:
            write_report(temporary[1], imputation, source=str(table))
    print_warnings(imputation.warnings)
    if not quiet:
        print_summary(
            run_facts(imputation),
            outputs,
            filled=imputation.filled,
            n_rows=imputation.n_rows,
            notes=imputation.notes,
        )


def _imputed(frame: pd.DataFrame, target: str, **options: Any) -> TableImputation:
    """Return the filled table; what it refuses is refused here in the same words."""
    try:
        return impute_table(frame, target, **options)
    except ValueError as error:
        raise RefusedError(str(error)) from error


def _with_remarks(
    imputation: TableImputation, file: TableFile, others: Sequence[str]
) -> TableImputation:
    """Return the imputation with what was noticed in reading the file, and below."""
    cautions = (*file.cautions, *imputation.warnings, *others)
    return replace(
        imputation,
        notes=(*file.notes, *imputation.notes),
        warnings=tuple(dict.fromkeys(cautions)),
    )
