"""The command `kernimpute impute`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.formats import table_format
from kernimpute.cli.progress import Progress
from kernimpute.cli.readers import TableFile, read_source, read_table
from kernimpute.cli.summary import print_summary, print_warnings
from kernimpute.cli.writers import check_output, check_writable, write_table
from kernimpute.columns import TableError, check_column_names
from kernimpute.files import replacing
from kernimpute.kernels import Kernel, make_kernel
from kernimpute.report import write_report
from kernimpute.tables import TableImputation, TableWarning, impute_table

__all__ = ["KernelName", "TaskName", "VariantName", "column_list", "impute_command"]


class TaskName(StrEnum):
    """What the label is."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class VariantName(StrEnum):
    """The variants of the method."""

    DIRECT = "direct"
    ANCHORED = "anchored"
    PAPER = "paper"
    APPENDIX = "appendix"
    RELEASED = "released"


class KernelName(StrEnum):
    """The kernels, as in `kernimpute.kernels.KERNELS`."""

    GAUSSIAN = "gaussian"
    LAPLACIAN = "laplacian"
    LINEAR = "linear"
    POLYNOMIAL = "polynomial"
    SIGMOID = "sigmoid"
    CHI2 = "chi2"


def _positive(value: float | None) -> float | None:
    if value is not None and not 0.0 < value < math.inf:
        raise typer.BadParameter(f"{value:g} is not a positive number.")
    return value


def _positive_or_infinite(value: float | None) -> float | None:
    return value if value == math.inf else _positive(value)


def impute_command(
    table: Annotated[
        Path, typer.Argument(help="The table: .csv, .tsv (also .gz), .parquet or .arff.")
    ],
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COLUMN", help="The label column.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The filled table to write.")
    ],
    task: Annotated[
        TaskName, typer.Option(help="What the label is; auto decides by its values.")
    ] = TaskName.AUTO,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Keep this column as it is and do not use it (identifiers). Repeatable; also "
            "a,b,c.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Leave this column out of OUT. Repeatable; also a,b,c."
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="These numbers are codes. Repeatable; also a,b,c."),
    ] = None,
    missing_values: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A cell with this text is a gap, besides empty cells, NA, NaN and null. "
            "Repeatable.",
        ),
    ] = None,
    variant: Annotated[
        VariantName, typer.Option(help="Which form of the method.")
    ] = VariantName.DIRECT,
    kernel: Annotated[
        KernelName, typer.Option(help="The kernel; gaussian or laplacian for categories.")
    ] = KernelName.GAUSSIAN,
    C: Annotated[
        float, typer.Option("--C", callback=_positive, help="The penalty of the classifier.")
    ] = 1.0,
    gamma: Annotated[
        float | None,
        typer.Option(callback=_positive, help="The kernel's gamma; by default from the data."),
    ] = None,
    eta: Annotated[
        float | None,
        typer.Option(
            callback=_positive_or_infinite,
            help="Pull towards the column means, up to inf; by default from the data.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="The seed of what is random: nothing, in these variants.")
    ] = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a report.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no summary; warnings stay.")
    ] = False,
) -> None:
    """Fill the gaps of TABLE, guided by its label column, and write the result to OUT.

    Rows without a label are filled as new rows. Observed cells keep their text. In a CSV or TSV
    a column is numeric if more than half of its cells look like numbers; codes with leading
    zeros are categories.

    Example: `kernimpute impute patients.csv --target outcome -o filled.csv --ignore patient_id`
    """
    made = _kernel(kernel, gamma)
    output_format = table_format(output)
    outputs = [output] if report is None else [output, report]
    if report is not None and report.absolute() in (output.absolute(), table.absolute()):
        raise RefusedError(f"{report}: the report must be a file of its own.")
    source = read_source(table)
    for path in outputs:
        check_output(path, force=force)
    dropped, ignored, codes = (
        column_list(option, given, source.names)
        for option, given in (
            ("--drop", drop),
            ("--ignore", ignore),
            ("--categorical", categorical),
        )
    )
    try:
        check_column_names("--target", [target], source.names)
    except TableError as error:
        raise RefusedError(str(error)) from error
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
            variant=variant.value,
            kernel=made,
            C=C,
            eta=eta,
            callback=progress.callback,
        )
    others = [str(each.message) for each in caught if not issubclass(each.category, TableWarning)]
    imputation = _with_remarks(imputation, file, others)
    with replacing(*outputs) as temporary:
        write_table(temporary[0], output_format, imputation, file)
        if report is not None:
            write_report(temporary[1], imputation, source=str(table))
    print_warnings(imputation)
    if not quiet:
        print_summary(imputation, outputs)


def column_list(option: str, given: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that an option names.

    Parameters
    ----------
    option : str
        The option, for the message.
    given : sequence of str or None
        Its values: each a column's name, or several names separated by commas.
    names : sequence of str
        The table's columns.

    Returns
    -------
    tuple of str
        The names.

    Raises
    ------
    RefusedError
        If there is no such column.

    Examples
    --------
    >>> column_list("--drop", ["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    chosen: list[str] = []
    for value in given or ():
        parts = [part.strip() for part in value.split(",")]
        chosen.extend([value] if value in names or len(parts) == 1 else parts)
    try:
        return tuple(str(name) for name in check_column_names(option, chosen, names))
    except TableError as error:
        raise RefusedError(str(error)) from error


def _kernel(name: str, gamma: float | None) -> Kernel | str:
    """Return the kernel; its name alone, where gamma is to be fitted to the table."""
    if gamma is None:
        return str(name)
    try:
        return make_kernel(str(name), gamma)
    except ValueError as error:
        raise typer.BadParameter(
            f"the {name} kernel has no gamma.", param_hint="--gamma"
        ) from error


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
