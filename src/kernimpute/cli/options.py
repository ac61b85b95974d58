"""The options that several commands have: their types, their checks and their help.

`--help` imports this: nothing here may import NumPy or what fills tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class TaskName(StrEnum):
    """What the label is."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class GuidanceName(StrEnum):
    """How labels guide the fills: the variants of the paper's method."""

    DIRECT = "direct"
    ANCHORED = "anchored"
    PAPER = "paper"
    APPENDIX = "appendix"
    RELEASED = "released"


class ReferenceName(StrEnum):
    """What fills without guidance, and what guidance starts from."""

    JOINT = "joint"
    MEAN = "mean"


class UnknownName(StrEnum):
    """What is done with a category that the model does not know."""

    KEEP = "keep"
    ERROR = "error"


@dataclass(frozen=True)
class Reading:
    """How the cells of a table file are read; each text for all columns, or COLUMN=TEXT."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing_values: tuple[str, ...] = ()
    keep_values: tuple[str, ...] = ()


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


def _kernel(name: str | None) -> str | None:
    from kernimpute.core.kernels import KERNELS

    if name is not None and name not in KERNELS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, KERNELS))}.")
    return name


def _delimiter(value: str | None) -> str | None:
    character = {"\\t": "\t", "tab": "\t"}.get(value or "", value)
    if character is not None and (len(character) != 1 or character in '"\r\n'):
        raise typer.BadParameter(f"{value!r} is not one character, or tab.")
    return character


def _decimal(value: str | None) -> str | None:
    if value not in (None, ".", ","):
        raise typer.BadParameter(f"{value!r} is not '.' or ','.")
    return value


def _encoding(value: str | None) -> str | None:
    try:
        "".encode(value or "utf-8")
    except (LookupError, ValueError) as error:
        raise typer.BadParameter(f"{value!r} is not an encoding of Python.") from error
    return value


_is_positive = _must_be("a positive number", lambda value: 0.0 < value < math.inf)

Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="The table: .csv, .tsv, .jsonl (also .gz, .zst), .xlsx, .parquet or .feather; - for "
        "standard input; a folder of .parquet for impute only.",
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        help="What `kernimpute fit` wrote, or a KernelImputer that `kernimpute.save` did.",
        metavar="MODEL",
    ),
]
NewRows = Annotated[
    Path,
    typer.Argument(
        metavar="NEW",
        help="The rows: a table file as for `fit`, - for standard input, or a folder of .parquet.",
    ),
]
FilledTable = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="The filled table to write; - for CSV on standard output.",
    ),
]
PredictedTable = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="The rows with predictions to write.")
]
NewModel = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="The model to write; .skops is added to a bare name.",
    ),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE.html", help="Also write a report.")]
Mask = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write a table of the rows and columns of OUT: True where a cell was filled, "
        "else False.",
    ),
]
Draws = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="M",
        help="Also write M tables whose gaps are drawn at random, beside OUT: out.1.csv, ...",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="The label column: never filled, and used with --guidance only. By default every "
        "column is filled and used.",
    ),
]
Task = Annotated[
    TaskName, typer.Option(help="What the label is, with --guidance; auto decides by its values.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Keep this column as it is and do not use it (identifiers). Repeatable; also a,b,c.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Do not use this column, and leave it out of what is written. Repeatable; also a,b,c.",
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="These numbers are codes. Repeatable; also a,b,c. auto: those of columns of at most "
        "ten whole numbers that each occur twice on average.",
    ),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="A cell with this text is a gap, besides empty cells, NA, NaN and null; "
        "COLUMN=TEXT: in one column. Repeatable.",
    ),
]
KeepValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Cells of text columns with this text, such as NA, are no gaps; COLUMN=TEXT: in one "
        "column. Repeatable.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        callback=_delimiter,
        help="What separates the cells of a text file, such as ; or tab. By default what its "
        "header does. With it the file may have any extension.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK", callback=_decimal, help="Decimal mark: . or ,; by default a point."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=_encoding,
        help="Encoding of a text file, such as latin-1; by default UTF-8, or UTF-16 by its mark.",
    ),
]
Guidance = Annotated[
    GuidanceName | None,
    typer.Option(
        help="Let labels guide the fills of their rows, by a variant of the paper's method; by "
        "default they do not. --task, and the options from --kernel to --max-memory, are for "
        "guidance and refused without it."
    ),
]
Reference = Annotated[
    ReferenceName | None,
    typer.Option(
        help="What fills gaps, and what guidance starts from: a joint normal of all columns, which "
        "is the default, or column means."
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of all that is random; by default 0.")
]
Kernel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=_kernel,
        help="A kernel of `kernimpute.kernels`, such as linear; by default gaussian.",
    ),
]
Penalty = Annotated[
    float | None,
    typer.Option("--C", callback=_is_positive, help="The penalty of the machine; by default 1."),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        callback=_is_positive,
        help="The kernel's gamma; by default a quarter of 2 / (expected distance of two rows).",
    ),
]
Eta = Annotated[
    float | None,
    typer.Option(
        callback=_must_be("a positive number", lambda value: value > 0.0),
        help=(
            "Pull towards the reference, up to inf. By default 16 C / (observed share), for a "
            "quantity 256 C / (observed share); for other guidance than direct the norm of the "
            "coefficients."
        ),
    ),
]
Tol = Annotated[
    float | None,
    typer.Option(
        callback=_must_be("a number of at least 0", lambda value: 0.0 <= value < math.inf),
        help="Stop where the gap (direct: the slope) is below this; by default the guidance's own.",
    ),
]
MaxIter = Annotated[
    int | None,
    typer.Option(min=1, help="Stop after so many rounds; by default the guidance's own number."),
]
SubsetSize = Annotated[
    int | None,
    # As `core.checks.SMALLEST_SUBSET`.
    typer.Option(min=10, help="Impute larger tables by subsets of at most so many rows."),
]
MaxMemory = Annotated[
    float | None,
    typer.Option(
        callback=_must_be("a share in (0, 1]", lambda value: 0.0 < value <= 1.0),
        help="Share of the free memory that may be taken; by default 0.75.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "--n-jobs",
        callback=_jobs,
        help="With --subset-size, subsets at the same time; for impute with --scheduler local, its "
        "worker processes. -1: one a core.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Fill the files of a Parquet folder on Dask's workers: local, or tcp://host:port.",
    ),
]
Predict = Annotated[
    bool,
    typer.Option(
        "--predict",
        help="Also learn to predict the label, for `kernimpute predict`; --task says what it is.",
    ),
]
Unknown = Annotated[
    UnknownName,
    typer.Option(help="Categories that the model does not know: keep and not use, or refuse."),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Open MODEL even if it holds types that kernimpute does not know, which can run code.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no summary; warnings stay.")
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Also write the summary as JSON; - for standard output, in place of the text.",
    ),
]
