"""What `kernimpute fit` does: a table's rows, an imputer fitted to them, and the file of it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.cli.choices import column_lists
from kernimpute.cli.errors import RefusedError, refused_fit
from kernimpute.cli.models import Model, model_path, write_model
from kernimpute.cli.progress import Progress
from kernimpute.cli.readers import TableFile, read_labelled_table, read_source
from kernimpute.cli.summary import print_summary, print_warnings, said_of_done
from kernimpute.cli.writers import check_output
from kernimpute.estimators import KernelImputer
from kernimpute.report.facts import kernel_text, rounds
from kernimpute.table.columns import counted, observed_in_table
from kernimpute.table.roles import column_roles, left_as_found, looks_like_codes, table_labels

__all__ = ["fit_model"]

_LARGEST_WHOLE = 2.0**53
"""Up to here a float holds every whole number."""


def fit_model(
    table: Path,
    target: str,
    output: Path,
    *,
    drop: Sequence[str] | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
    missing_values: Sequence[str] | None,
    task: str,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit an imputer to a table, write it, and say what was done.

    Parameters
    ----------
    table : Path
        A file.
    target : str
        The label column.
    output : Path
        The model to write.
    drop, ignore, categorical, missing_values : sequence of str or None
        What the options say.
    task : str
        What the label is.
    force : bool
        Whether an existing file may be replaced.
    quiet : bool
        Whether only warnings are printed.
    **options : object
        Parameters of `kernimpute.KernelImputer`.

    Raises
    ------
    RefusedError
        If the table can't be used as it is.
    """
    path = model_path(output)
    if path.absolute() == table.absolute():
        raise RefusedError(f"{path}: the model must be a file of its own.")
    source = read_source(table)
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
    kept = [*ignored, *(name for name in file.index if name not in dropped)]
    imputer = KernelImputer(**options)
    with warnings.catch_warnings(record=True) as caught, Progress(quiet=quiet) as progress:
        warnings.simplefilter("default")
        imputer._callback = progress.callback
        try:
            rows = _training_rows(file, target, dropped, kept, codes, task)
            codes_used = [name for name in rows.X.columns if name in codes]
            imputer.set_params(task=rows.task, categorical_features=codes_used or "from_dtype")
            start = time.perf_counter()
            imputer.fit(rows.X, rows.y)
            seconds = time.perf_counter() - start
        except ValueError as error:
            raise refused_fit(error) from error
        finally:
            del imputer._callback
    model = Model(
        imputer,
        target=target,
        ignored=(*kept, *rows.empty),
        dropped=dropped,
        missing_values=tuple(missing_values or ()),
        decimals={
            name: file.columns[name].decimals
            for name in rows.X.columns
            if name in file.columns and pd.api.types.is_numeric_dtype(rows.X[name].dtype)
        },
    )
    write_model(model, path)

    def say() -> None:
        said = [str(each.message).removeprefix("KernelImputer: ") for each in caught]
        print_warnings(dict.fromkeys([*file.cautions, *rows.cautions, *said]))
        if not quiet:
            facts = _facts(file, target, rows, imputer, seconds)
            codes_note = looks_like_codes(imputer._code, rows.X, list(rows.X.columns))
            print_summary(facts, [path], notes=[*file.notes, *rows.notes, *codes_note])

    said_of_done(say)


# ------------------------------------------------------------------ the rows


@dataclass(frozen=True)
class _TrainingRows:
    """The rows with a label, as the imputer takes them.

    Parameters
    ----------
    X : DataFrame of shape (n_labelled, n_features)
        The columns that are used.
    y : ndarray of shape (n_labelled,)
        The labels.
    task : {"classification", "regression"}
        What they are.
    n_unlabelled : int
        Rows that have none.
    empty : tuple of str
        Columns in which nothing is observed.
    cautions, notes : tuple of str
        What looks like a mistake, and what was done that one would not expect.
    """

    X: pd.DataFrame
    y: NDArray[np.generic]
    task: str
    n_unlabelled: int
    empty: tuple[str, ...]
    cautions: tuple[str, ...]
    notes: tuple[str, ...]


def _training_rows(
    file: TableFile,
    target: str,
    dropped: Sequence[str],
    ignored: Sequence[str],
    codes: Sequence[str],
    task: str,
) -> _TrainingRows:
    frame = file.frame
    roles = column_roles(frame, target, dropped, ignored, codes)
    labelled = observed_in_table(frame[[target]])[:, 0]
    if task == "auto" and target in roles.categorical:
        task = "classification"
    labels = table_labels(frame[[target]], labelled, task)
    y = labels.values
    if labels.task == "regression":
        # As they are, for the imputer finds their mean and spread itself.
        y = frame.loc[labelled, target].to_numpy(dtype=float)
    X = frame.loc[labelled, list(roles.features)]
    seen = dict(zip(X.columns, observed_in_table(X).T, strict=True))
    empty = [name for name, observed in seen.items() if not observed.any()]
    X = X.drop(columns=empty)
    if not X.shape[1]:
        raise RefusedError(
            "The table must have a column, besides the label, with an observed value in a row "
            "that has a label. Got none."
        )
    if file.columns:
        X = pd.DataFrame({name: _whole_as_integers(X[name]) for name in X.columns})
    count = int((~labelled).sum())
    return _TrainingRows(
        X=X,
        y=y,
        task=labels.task,
        n_unlabelled=count,
        empty=tuple(map(str, empty)),
        cautions=(*labels.cautions, *left_as_found(empty, labelled)),
        notes=(f"rows without a label: {count}, not used",) if count else (),
    )


def _whole_as_integers(column: pd.Series) -> pd.Series:
    """Return a column of text's numbers as integers where all are whole, for whole fills."""
    if column.dtype != np.dtype(float):
        return column
    present = column.dropna()
    is_whole = bool((present == np.rint(present)).all() and (present.abs() < _LARGEST_WHOLE).all())
    return column.astype("Int64") if is_whole else column


# ------------------------------------------------------------------ what is said of it


def _facts(
    file: TableFile, target: Hashable, rows: _TrainingRows, imputer: Any, seconds: float
) -> list[tuple[str, str]]:
    n_rows, n_columns = file.frame.shape
    n_gaps = int((~observed_in_table(rows.X)).sum())
    label = f"{target} ({rows.task}"
    if rows.task == "classification":
        label += f", {len(imputer.classes_)} classes"
    facts = [
        ("table", f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"),
        ("label", f"{label})"),
    ]
    if rows.n_unlabelled:
        facts.append(("rows without a label", f"{rows.n_unlabelled}, not used"))
    share = 100.0 * n_gaps / rows.X.size
    facts.append(("gaps", f"{n_gaps} of {rows.X.size} cells that are used ({share:.3g} %)"))
    facts.append(("method", f"{imputer.variant}, {kernel_text(imputer.kernel_)}"))
    if imputer.n_subsets_ > 1:
        facts.append(("subsets", str(imputer.n_subsets_)))
    shown = "slope {:.3g} of the start's" if imputer.variant == "direct" else "gap {:.3g}"
    known = "" if math.isnan(imputer.gap_) else ", " + shown.format(imputer.gap_)
    facts.append(("solver", f"{rounds(imputer.n_iter_)}{known}"))
    # The causes that some statuses go on to list are among the warnings.
    facts.append(("status", imputer.status_.value.partition(" Causes:")[0]))
    facts.append(("seconds", f"{seconds:.2f}"))
    return facts
