"""The options that several commands have: their types, their checks and their words.

The program imports this before it knows what is asked for: nothing here imports what fills tables.
"""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernimpute.core.checks import SMALLEST_SUBSET

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
    "MaxMemoryOption",
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


def _share(value: float | None) -> float | None:
    if value is not None and not 0.0 < value <= 1.0:
        raise typer.BadParameter(f"{value:g} is not a share in (0, 1].")
    return value


MaxMemoryOption = Annotated[
    float | None,
    typer.Option(
        callback=_share, help="Share of the free memory that may be taken; by default 0.75."
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
