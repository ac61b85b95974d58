"""The options that several commands have: their types, their checks and their help.

`--help` imports this: nothing here may import NumPy or what fills tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernimpute.cli.errors import refusals

__all__ = [
    "CategoricalOption",
    "DropOption",
    "EtaOption",
    "ForceOption",
    "GammaOption",
    "IgnoreOption",
    "JobsOption",
    "KernelOption",
    "MaxIterOption",
    "MaxMemoryOption",
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
    "named_columns",
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


def _must_be(
    what: str, is_right: Callable[[float], bool]
) -> Callable[[float | None], float | None]:
    """Return a check of a number for the parser."""

    def checked(value: float | None) -> float | None:
        if value is not None and not is_right(value):
            raise typer.BadParameter(f"{value:g} is not {what}.")
        return value

    return checked


def _jobs(value: int | None) -> int | None:
    if value == 0:
        raise typer.BadParameter("0 is no number of jobs: 1 or more, or -1 for all cores.")
    return value


def _kernel(name: str) -> str:
    from kernimpute.core.kernels import KERNELS

    if name not in KERNELS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, KERNELS))}.")
    return name


_is_positive = _must_be("a positive number", lambda value: 0.0 < value < math.inf)

TableArgument = Annotated[
    Path,
    typer.Argument(
        help="The table: .csv, .tsv (also .gz) or .parquet; for impute with --subset-size also a "
        "folder of .parquet."
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
    str,
    typer.Option(
        metavar="NAME",
        callback=_kernel,
        help="A kernel of `kernimpute.kernels`, such as gaussian or linear; gaussian or laplacian "
        "for categories.",
    ),
]
PenaltyOption = Annotated[
    float, typer.Option("--C", callback=_is_positive, help="The penalty of the classifier.")
]
GammaOption = Annotated[
    float | None,
    typer.Option(
        callback=_is_positive,
        help="The kernel's gamma; by default a quarter of 2 / (expected distance of two rows).",
    ),
]
EtaOption = Annotated[
    float | None,
    typer.Option(
        callback=_must_be("a positive number", lambda value: value > 0.0),
        help=(
            "Pull towards the column means, up to inf; by default 16 C / (observed share), 256 C / "
            "(observed share) for a quantity; the norm of the coefficients for what is not direct."
        ),
    ),
]
TolOption = Annotated[
    float | None,
    typer.Option(
        callback=_must_be("a number of at least 0", lambda value: 0.0 <= value < math.inf),
        help="Stop where the gap (direct: the slope) is below this; by default the variant's own.",
    ),
]
MaxIterOption = Annotated[
    int | None,
    typer.Option(min=1, help="Stop after so many rounds; by default the variant's own number."),
]
SubsetSizeOption = Annotated[
    int | None,
    # As `core.checks.SMALLEST_SUBSET`.
    typer.Option(min=10, help="Impute larger tables by subsets of at most so many rows."),
]
MaxMemoryOption = Annotated[
    float | None,
    typer.Option(
        callback=_must_be("a share in (0, 1]", lambda value: 0.0 < value <= 1.0),
        help="Share of the free memory that may be taken; by default 0.75.",
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


def named_columns(
    option: str, given: Sequence[str] | None, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns that an option names, each value one name or several with commas.

    >>> named_columns("--drop", ["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    from kernimpute.table.columns import check_column_names

    chosen: list[str] = []
    for value in given or ():
        chosen.extend([value] if value in names else [part.strip() for part in value.split(",")])
    with refusals():
        return tuple(map(str, check_column_names(option, chosen, names)))
