"""The options of the commands: their types, their checks and their help, in groups."""

# `--help` imports this: nothing here may import NumPy or what fills tables.

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

TaskName = StrEnum("TaskName", ["AUTO", "CLASSIFICATION", "REGRESSION"])
GuidanceName = StrEnum("GuidanceName", ["DIRECT", "ANCHORED", "PAPER", "APPENDIX", "RELEASED"])
ReferenceName = StrEnum("ReferenceName", ["JOINT", "MEAN"])
UnknownName = StrEnum("UnknownName", ["KEEP", "ERROR"])


def option(
    text: str, *names: str, default: Any = None, kind: Any = typer.Option, **more: Any
) -> Any:
    """Return a dataclass's field for an option with a help text; a list is repeatable."""
    metadata = {"option": kind(default, *names, help=text, **more)}
    if isinstance(default, list):
        return field(default_factory=list, metadata=metadata)
    return field(default=default, metadata=metadata)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with each parameter that is a dataclass spread out into its options."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command, eval_str=True).parameters.values():
        one = one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        if not is_dataclass(one.annotation):
            parameters.append(one)
            continue
        groups[one.name], types = one.annotation, get_type_hints(one.annotation)
        for part in fields(one.annotation):
            kind, default = types[part.name], part.metadata["option"]
            parameters.append(one.replace(name=part.name, annotation=kind, default=default))

    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{part.name: values.pop(part.name) for part in fields(group)})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _check(is_right: Callable[[Any], bool], problem: str) -> Callable[[Any], Any]:
    """Return a check of a value for the parser."""

    def checked(value: Any) -> Any:
        if value is not None and not is_right(value):
            shown = repr(value) if isinstance(value, str) else f"{value:g}"
            raise typer.BadParameter(f"{shown} is {problem}.")
        return value

    return checked


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


def _encoding(value: str | None) -> str | None:
    try:
        "".encode(value or "utf-8")
    except (LookupError, ValueError) as error:
        raise typer.BadParameter(f"{value!r} is not an encoding of Python.") from error
    return value


_is_positive = _check(lambda value: 0.0 < value < math.inf, "not a positive number")


Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="The table: .csv, .tsv, .jsonl (also .gz, .zst), .xlsx, .parquet or .feather; - for "
        "standard input; a folder of .parquet for impute only.",
    ),
]
NewTable = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="OUT", help="The table to write; - for CSV on standard output."
    ),
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


@dataclass(frozen=True)
class Label:
    """The label column, and what it is."""

    target: str | None = option(
        "The label column: never filled, and no help in filling without --guidance.",
        "--target",
        "-t",
        metavar="COLUMN",
    )
    task: TaskName = option(
        "What the label is, with --guidance; auto decides by its values.", default=TaskName.AUTO
    )


@dataclass(frozen=True)
class Columns:
    """The columns that are not used, and those of codes; as they are typed."""

    ignore: list[str] = option(
        "Keep this column and do not use it (identifiers). Repeatable; also a,b,c.",
        default=[],
        metavar="COLUMN",
    )
    drop: list[str] = option(
        "Do not use this column, nor write it. Repeatable; also a,b,c.",
        default=[],
        metavar="COLUMN",
    )
    categorical: list[str] = option(
        "These numbers are codes; auto: all columns of few whole numbers. Repeatable; also a,b,c.",
        default=[],
        metavar="COLUMN",
    )


@dataclass(frozen=True)
class Format:
    """How the cells of a text file are written."""

    delimiter: str | None = option(
        "What separates the cells of a text file of any extension, such as ; or tab.",
        metavar="CHARACTER",
        callback=_delimiter,
    )
    decimal: str | None = option(
        "Decimal mark: . or ,; by default a point.",
        metavar="MARK",
        callback=_check(lambda mark: mark in (".", ","), "not '.' or ','"),
    )
    encoding: str | None = option(
        "Encoding of a text file, such as latin-1; by default UTF-8.",
        metavar="NAME",
        callback=_encoding,
    )


@dataclass(frozen=True)
class Reading(Format):
    """How the cells of a table file are read; each text for all columns, or COLUMN=TEXT."""

    missing_values: list[str] = option(
        "A cell with this text is missing too; COLUMN=TEXT: in one column. Repeatable.",
        default=[],
        metavar="TEXT",
    )
    keep_values: list[str] = option(
        "Text such as NA is a value in columns of text; COLUMN=TEXT: in one. Repeatable.",
        default=[],
        metavar="TEXT",
    )


@dataclass(frozen=True)
class Method:
    """Parameters of `KernelImputer`, by their names there; None leaves its own default."""

    guidance: GuidanceName | None = option(
        "Let labels guide the fills of their rows. --task, and the options from --kernel to "
        "--max-memory, are for guidance and refused without it."
    )
    reference: ReferenceName | None = option(
        "What fills missing cells, and what guidance starts from: a joint normal or column means."
    )
    random_state: int | None = option("Seed of all that is random; by default 0.", "--seed", min=0)
    kernel: str | None = option(
        "The kernel, such as linear; by default gaussian.", metavar="NAME", callback=_kernel
    )
    C: float | None = option("The penalty of the SVM; by default 1.", "--C", callback=_is_positive)
    gamma: float | None = option(
        "The kernel's gamma; by default a quarter of 2 / (expected distance of two rows).",
        callback=_is_positive,
    )
    eta: float | None = option(
        "Pull towards the reference, up to inf; by default by C and the share of observed cells.",
        callback=_check(lambda value: value > 0.0, "not a positive number"),
    )
    tol: float | None = option(
        "Stop when the duality gap (direct: the slope) is below this.",
        callback=_check(lambda value: 0.0 <= value < math.inf, "not a number of at least 0"),
    )
    max_iter: int | None = option("Stop after so many rounds.", min=1)
    subset_size: int | None = option(
        "Fill larger tables by subsets of at most so many rows.", min=10
    )
    max_memory: float | None = option(
        "Share of the free memory that may be taken; by default 0.75.",
        callback=_check(lambda value: 0.0 < value <= 1.0, "not a share in (0, 1]"),
    )
    n_jobs: int | None = option(
        "Subsets at the same time, or workers of --scheduler local; -1: one a core.",
        "--jobs",
        "--n-jobs",
        callback=_check(bool, "no number of jobs: 1 or more, or -1 for all cores"),
    )

    def given(self) -> dict[str, Any]:
        """Return what is given; names of choices as text, because messages quote them."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return {name: str(one) if isinstance(one, StrEnum) else one for name, one in given.items()}


@dataclass(frozen=True)
class Beside:
    """What `impute` writes beside the filled table."""

    report: Path | None = option("Also write a report.", metavar="FILE.html")
    mask: Path | None = option(
        "Also write a table like OUT: True where a cell was filled, else False.", metavar="FILE"
    )
    draws: int | None = option(
        "Also write M tables with missing cells drawn at random: out.1.csv, ...", metavar="M", min=1
    )


@dataclass(frozen=True)
class Use:
    """Which model is used, and how."""

    model: Path = option(
        "What `kernimpute fit` wrote, or a KernelImputer that `kernimpute.save` did.",
        default=...,
        kind=typer.Argument,
        metavar="MODEL",
    )
    new: Path = option(
        "The rows: a table file as for `fit`, - for standard input, or a folder of .parquet.",
        default=...,
        kind=typer.Argument,
        metavar="NEW",
    )
    output: Path = option(
        "The table to write; - for CSV on standard output.",
        "--output",
        "-o",
        default=...,
        metavar="OUT",
    )
    unknown: UnknownName = option(
        "Unknown categories: keep and not use, or refuse.", default=UnknownName.KEEP
    )
    trust: bool = option(
        "Open MODEL even if it holds unknown types, which can run code.", "--trust", default=False
    )


@dataclass(frozen=True)
class Output:
    """How files are written, and what is said of them."""

    force: bool = option("Replace existing files.", "--force", default=False)
    quiet: bool = option("No progress, no summary; warnings stay.", "--quiet", "-q", default=False)
    json: Path | None = option(
        "Also write the summary as JSON; - for standard output, in place of the text.",
        metavar="FILE",
    )
