"""The options that several commands have: their types, their checks and their words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernimpute.cli.errors import RefusedError
from kernimpute.columns import TableError, check_column_names
from kernimpute.estimators._subsets import SMALLEST_SUBSET
from kernimpute.kernels import Kernel, make_kernel

__all__ = [
    "CategoricalOption",
    "DropOption",
    "EtaOption",
    "ForceOption",
    "GammaOption",
    "IgnoreOption",
    "JobsOption",
    "KernelName",
    "KernelOption",
    "MaxIterOption",
    "MissingValuesOption",
    "PenaltyOption",
    "QuietOption",
    "SubsetSizeOption",
    "TableArgument",
    "TargetOption",
    "TaskName",
    "TaskOption",
    "TolOption",
    "VariantName",
    "VariantOption",
    "chosen_kernel",
    "column_list",
    "column_lists",
]


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


def _not_negative(value: float | None) -> float | None:
    if value is not None and not 0.0 <= value < math.inf:
        raise typer.BadParameter(f"{value:g} is not a number of at least 0.")
    return value


def _jobs(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("0 is no number of jobs: 1 or more, or -1 for all cores.")
    return value


TableArgument = Annotated[
    Path,
    typer.Argument(
        help="The table: .csv, .tsv (also .gz), .parquet or .arff; for impute with --subset-size "
        "also a folder of .parquet."
    ),
]
TargetOption = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The label column.")
]
TaskOption = Annotated[
    TaskName, typer.Option(help="What the label is; auto decides by its values.")
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Keep this column as it is and do not use it (identifiers). Repeatable; also a,b,c.",
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Leave this column out of what is written. Repeatable; also a,b,c."
    ),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="These numbers are codes. Repeatable; also a,b,c."),
]
MissingValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="A cell with this text is a gap, besides empty cells, NA, NaN and null. Repeatable.",
    ),
]
VariantOption = Annotated[VariantName, typer.Option(help="Which form of the method.")]
KernelOption = Annotated[
    KernelName, typer.Option(help="The kernel; gaussian or laplacian for categories.")
]
PenaltyOption = Annotated[
    float, typer.Option("--C", callback=_positive, help="The penalty of the classifier.")
]
GammaOption = Annotated[
    float | None,
    typer.Option(
        callback=_positive,
        help="The kernel's gamma; by default a quarter of 2 / (expected distance of two rows).",
    ),
]
EtaOption = Annotated[
    float | None,
    typer.Option(
        callback=_positive_or_infinite,
        help=(
            "Pull towards the column means, up to inf; by default 16 C / (observed share), 256 C / "
            "(observed share) for a quantity; the norm of the coefficients for what is not direct."
        ),
    ),
]
TolOption = Annotated[
    float | None,
    typer.Option(
        callback=_not_negative,
        help="Stop where the gap (direct: the slope) is below this; by default the variant's own.",
    ),
]
MaxIterOption = Annotated[
    int | None,
    typer.Option(min=1, help="Stop after so many rounds; by default the variant's own number."),
]
SubsetSizeOption = Annotated[
    int | None,
    typer.Option(
        min=SMALLEST_SUBSET, help="Impute larger tables by subsets of at most so many rows."
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "--n-jobs",
        callback=_jobs,
        help="Subsets at the same time; -1: one a core. By default 1.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no summary; warnings stay.")
]


def chosen_kernel(name: str, gamma: float | None) -> Kernel | str:
    """Return the kernel; its name alone, where gamma is to be fitted to the table.

    Parameters
    ----------
    name : str
        The kernel's name.
    gamma : float or None
        Its gamma.

    Returns
    -------
    Kernel or str
        The kernel, or its name.

    Raises
    ------
    typer.BadParameter
        If the kernel has no gamma.
    """
    if gamma is None:
        return str(name)
    try:
        return make_kernel(str(name), gamma)
    except ValueError as error:
        raise typer.BadParameter(
            f"the {name} kernel has no gamma.", param_hint="--gamma"
        ) from error


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


def column_lists(
    names: Sequence[str],
    target: str,
    drop: Sequence[str] | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the columns that are dropped, ignored and categorical.

    Parameters
    ----------
    names : sequence of str
        The table's columns.
    target : str
        The label column.
    drop, ignore, categorical : sequence of str or None
        What the options say.

    Returns
    -------
    dropped, ignored, codes : tuple of str
        The names.

    Raises
    ------
    RefusedError
        If one of them, or the target, is no column.
    """
    dropped = column_list("--drop", drop, names)
    ignored = column_list("--ignore", ignore, names)
    codes = column_list("--categorical", categorical, names)
    try:
        check_column_names("--target", [target], names)
    except TableError as error:
        raise RefusedError(str(error)) from error
    return dropped, ignored, codes
