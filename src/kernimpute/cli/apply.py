"""The command `kernimpute apply`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernimpute.cli.options import ForceOption, QuietOption

__all__ = ["UnknownName", "apply_command"]


class UnknownName(StrEnum):
    """What is done with a category that the model does not know."""

    ERROR = "error"
    MISSING = "missing"


def apply_command(
    model: Annotated[
        Path,
        typer.Argument(
            help="What `kernimpute fit` wrote, or a KernelImputer that `kernimpute.save` did.",
            metavar="MODEL",
        ),
    ],
    new: Annotated[
        Path,
        typer.Argument(
            help="The rows to fill: .csv, .tsv (also .gz), .parquet or .arff.", metavar="NEW"
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The filled table to write.")
    ],
    unknown: Annotated[
        UnknownName,
        typer.Option(help="Categories that the model does not know: refuse, or fill like gaps."),
    ] = UnknownName.ERROR,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Open MODEL even if that can run any code: a pickle, types of others."
        ),
    ] = False,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fill the gaps of NEW by a MODEL of `kernimpute fit`, and write the result to OUT.

    Each row is filled on its own, without its label: a label column is left as it is. NEW must
    have the columns that the model was fitted to; others are kept as they are. Observed cells
    keep their text.

    Example: `kernimpute apply patients.skops new_patients.csv -o filled.csv`
    """
    from kernimpute.cli.applying import apply_model

    apply_model(
        model,
        new,
        output,
        fill_unknown=unknown is UnknownName.MISSING,
        trust=trust,
        force=force,
        quiet=quiet,
    )
