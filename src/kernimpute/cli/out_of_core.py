"""Parquet tables that `kernimpute impute` fills without holding them in memory."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernimpute.cli.choices import column_lists
from kernimpute.cli.errors import InterruptedRunError, RefusedError
from kernimpute.cli.formats import FORMATS
from kernimpute.cli.progress import Progress
from kernimpute.cli.summary import print_summary, print_warnings, said_of_done
from kernimpute.cli.text_columns import reads_as_number
from kernimpute.cli.writers import check_replaced
from kernimpute.core.kernels import Kernel
from kernimpute.estimators.impute_table import TableWarning
from kernimpute.report.facts import kernel_text, rounds
from kernimpute.scale import ParquetImputation, SubsetsDone, impute_parquet
from kernimpute.scale.source import ParquetSource
from kernimpute.table.columns import counted

__all__ = ["impute_out_of_core"]


def impute_out_of_core(
    table: Path,
    target: str,
    output: Path,
    *,
    drop: Sequence[str] | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
    missing_values: Sequence[str] | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Fill a Parquet table subset by subset, and say what was done.

    Parameters
    ----------
    table : Path
        A Parquet file, or a folder of such.
    target : str
        The label column.
    output : Path
        What to write.
    drop, ignore, categorical, missing_values : sequence of str or None
        What the options say.
    quiet : bool
        Whether only warnings are printed.
    **options : object
        The others of `kernimpute.scale.impute_parquet`.

    Raises
    ------
    RefusedError
        If the table can't be filled as it is.
    InterruptedRunError
        If the run is interrupted and can be taken up again.
    """
    with warnings.catch_warnings(record=True) as caught, Progress(quiet=quiet) as progress:
        warnings.simplefilter("default")

        def show(done: SubsetsDone) -> None:
            progress.show(f"subsets: {done.n_done} of {done.n_subsets}")

        try:
            _check_names(table, output, force=options["force"])
            names = ParquetSource(table).names
            dropped, ignored, codes = column_lists(names, target, drop, ignore, categorical)
            if "://" in (options["scheduler"] or ""):
                progress.show(f"waiting for the scheduler at {options['scheduler']}")
            imputation = impute_parquet(
                table,
                target,
                output,
                drop=dropped,
                ignore=ignored,
                categorical=codes,
                missing_values=_markers(missing_values or ()),
                callback=show,
                **options,
            )
        except (ImportError, OSError, ValueError) as error:
            raise RefusedError(str(error)) from error
        except KeyboardInterrupt as error:
            notes = getattr(error, "__notes__", [])
            if not notes:
                raise
            raise InterruptedRunError(" ".join(notes)) from error
    others = [str(each.message) for each in caught if not issubclass(each.category, TableWarning)]

    def say() -> None:
        print_warnings(dict.fromkeys([*_once(imputation.warnings, missing_values or ()), *others]))
        if not quiet:
            print_summary(
                _facts(imputation),
                [output],
                filled=imputation.filled,
                n_rows=imputation.n_rows,
                notes=imputation.notes,
            )

    said_of_done(say)


def _check_names(table: Path, output: Path, *, force: bool) -> None:
    """Refuse an output that has the name of something else than what it will be."""
    check_replaced(output, force=force)
    text_format = any(output.name.lower().endswith(extension) for extension in FORMATS)
    if table.is_dir() and text_format and not output.name.lower().endswith(".parquet"):
        raise RefusedError(
            f"{output}: a folder gives a folder of Parquet files; give it a name without an "
            "extension."
        )


def _markers(texts: Sequence[str]) -> list[object]:
    """Return the values that texts stand for: themselves, and the numbers that they spell."""
    markers: list[object] = []
    for text in texts:
        stripped = text.strip()
        markers.append(stripped)
        if reads_as_number(stripped):
            markers.append(float(stripped))
    return markers


def _once(cautions: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the cautions; of a text that is a number, none as long as one of the two occurs."""
    left = list(cautions)
    for markers in map(_markers, ([text] for text in texts)):
        said = [f"no cell holds the missing value {marker!r}" for marker in markers]
        unused = [caution for caution in said if caution in left]
        for caution in unused[1:] if len(unused) == len(said) else unused:
            left.remove(caution)
    return left


def _facts(imputation: ParquetImputation) -> list[tuple[str, str]]:
    """Return the facts of a run, as pairs of name and text."""
    n_cells = imputation.n_rows * imputation.n_columns
    size = f"{counted(imputation.n_rows, 'row')}, {counted(imputation.n_columns, 'column')}"
    share = 100.0 * imputation.n_filled / n_cells
    label = f"{imputation.target} ({imputation.task}"
    if imputation.n_classes is not None:
        label += f", {imputation.n_classes} classes"
    facts = [
        ("table", size),
        ("label", f"{label})"),
        ("filled", f"{imputation.n_filled} of {n_cells} cells ({share:.3g} %)"),
    ]
    if imputation.n_unlabelled:
        facts.append(("rows without a label", str(imputation.n_unlabelled)))
    if imputation.n_subsets:
        kernel = imputation.settings["kernel"]
        assert isinstance(kernel, Kernel)
        facts.append(("method", f"{imputation.settings['variant']}, {kernel_text(kernel)}"))
        reused = f", {imputation.n_reused} of an earlier run" if imputation.n_reused else ""
        facts.append(("subsets", f"{imputation.n_subsets}{reused}"))
        measure = "slope" if imputation.settings["variant"] == "direct" else "gap"
        known = "" if math.isnan(imputation.gap) else f", {measure} {imputation.gap:.3g}"
        facts.append(("solver", f"at the most {rounds(imputation.n_iter)}{known}"))
    # The causes that some statuses go on to list are among the warnings.
    facts.append(("status", imputation.status.value.partition(" Causes:")[0]))
    facts.append(("seconds", f"{imputation.seconds:.2f}"))
    return facts
