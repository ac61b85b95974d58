"""Tables that `kernimpute impute` fills in memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from kernimpute.cli.choices import column_lists
from kernimpute.cli.errors import RefusedError, refused_fit
from kernimpute.cli.formats import table_format
from kernimpute.cli.progress import Progress
from kernimpute.cli.readers import TableFile, read_labelled_table, read_source, refuse_folder
from kernimpute.cli.summary import print_summary, print_warnings, said_of_done
from kernimpute.cli.writers import check_output, check_writable, write_table
from kernimpute.core.files import replacing
from kernimpute.estimators.impute_table import TableImputation, TableWarning, impute_table
from kernimpute.report import write_report
from kernimpute.report.facts import run_facts

__all__ = ["impute_in_memory"]


def impute_in_memory(
    table: Path,
    target: str,
    output: Path,
    *,
    report: Path | None,
    drop: Sequence[str] | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
    missing_values: Sequence[str] | None,
    force: bool,
    quiet: bool,
    task: str,
    **options: Any,
) -> None:
    """Fill a table, and say what was done.

    Parameters
    ----------
    table : Path
        A file.
    target : str
        The label column.
    output : Path
        What to write.
    report : Path or None
        The report to write.
    drop, ignore, categorical, missing_values : sequence of str or None
        What the options say.
    force : bool
        Whether existing files may be replaced.
    quiet : bool
        Whether only warnings are printed.
    task : str
        What the label is.
    **options : object
        The others of `kernimpute.impute_table`.

    Raises
    ------
    RefusedError
        If the table can't be filled as it is.
    """
    refuse_folder(table)
    output_format = table_format(output)
    outputs = [output] if report is None else [output, report]
    if report is not None and report.absolute() in (output.absolute(), table.absolute()):
        raise RefusedError(f"{report}: the report must be a file of its own.")
    source = read_source(table)
    for path in outputs:
        check_output(path, force=force)
    dropped, ignored, codes = column_lists(source.names, target, drop, ignore, categorical)
    file = read_labelled_table(
        table,
        source,
        target,
        task,
        missing_values=missing_values,
        categorical=codes,
        unused=(*dropped, *ignored),
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
            task=task,
            **options,
            callback=progress.callback,
        )
    others = [str(each.message) for each in caught if not issubclass(each.category, TableWarning)]
    imputation = _with_remarks(imputation, file, others)
    with replacing(*outputs) as temporary:
        write_table(temporary[0], output_format, imputation, file)
        if report is not None:
            write_report(temporary[1], imputation, source=str(table))

    def say() -> None:
        print_warnings(imputation.warnings)
        if not quiet:
            print_summary(
                run_facts(imputation),
                outputs,
                filled=imputation.filled,
                n_rows=imputation.n_rows,
                notes=imputation.notes,
            )

    said_of_done(say)


def _imputed(frame: pd.DataFrame, target: str, **options: Any) -> TableImputation:
    """Return the filled table; what it refuses is refused here in the same words."""
    try:
        return impute_table(frame, target, **options)
    except ValueError as error:
        raise refused_fit(error) from error


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
