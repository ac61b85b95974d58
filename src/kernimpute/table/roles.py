"""What the columns of a labelled table are there for, and what its label is.

Each column is the target (the label), a feature (used and filled), ignored (kept as it is and
not used) or dropped (left out of the result). A row whose label is a gap is unlabelled.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.core.checks import Task, classes_recur, task_of_numbers
from kernimpute.table.code import encode_table
from kernimpute.table.columns import TableError, check_column_names


@dataclass(frozen=True)
class ColumnRoles:
    """The names of a table's columns by role; those in `categorical` may be numbers."""

    features: tuple[Hashable, ...]
    dropped: tuple[Hashable, ...]
    ignored: tuple[Hashable, ...]
    categorical: tuple[Hashable, ...]


@dataclass(frozen=True)
class TableLabels:
    """The labels of the rows that have one, as the solver takes them."""

    values: NDArray[np.generic]  # Classes; or numbers, centred, in standard deviations.
    task: Task
    cautions: tuple[str, ...]
    numbers: FloatArray | None = None  # In their own unit; None for classes.


def column_roles(
    names: Sequence[Hashable],
    target: Hashable | None,
    drop: Iterable[Hashable],
    ignore: Iterable[Hashable],
    categorical: Iterable[Hashable],
    index: Iterable[Hashable] = (),
) -> ColumnRoles:
    """Return the roles of a table's columns; refuse names that do not exist or contradict.

    Without a target every column that is not named is a feature, but for those of an index.
    """
    labels = [] if target is None else [target]
    check_column_names("target", labels, names)
    dropped = check_column_names("drop", drop, names)
    ignored = check_column_names("ignore", ignore, names)
    for option, chosen in (("drop", dropped), ("ignore", ignored)):
        if {*labels} & {*chosen}:
            raise TableError(f"{option}: the label column {target!r} is needed.")
    both = [name for name in dropped if name in ignored]
    if both:
        raise TableError(f"The column {both[0]!r} is both in drop and in ignore: name it in one.")
    ignored += tuple(name for name in index if name not in {*labels, *dropped, *ignored})
    features = tuple(name for name in names if name not in {*labels, *dropped, *ignored})
    if not features:
        besides = " besides the label" if labels else ""
        raise TableError(f"The table must have a column{besides} to use. Got none.")
    return ColumnRoles(
        features, dropped, ignored, check_column_names("categorical", categorical, names)
    )


def table_labels(column: pd.DataFrame, labelled: BoolArray, task: str) -> TableLabels:
    """Return the labels in a label column of shape (n_rows, 1); refuse what can guide nothing.

    `labelled` of shape (n_rows,) is True where a row has a label. With task "auto" text, booleans
    and categories are classes; for numbers see `core.checks.infer_task`.
    """
    name = column.columns[0]
    n_labelled = int(labelled.sum())
    if n_labelled == 0:
        raise TableError(f"The label column {name!r} must hold labels. Got gaps only.")
    rows = column[labelled]
    labels = rows.iloc[:, 0]
    try:
        chosen: Task = "regression" if task == "regression" else "classification"
        if task == "auto" and encode_table(rows).code.columns[0].kind in ("number", "whole"):
            chosen = task_of_numbers(np.asarray(labels, dtype=float))
        encoded = encode_table(rows, categorical=[name] if chosen == "classification" else ())
    except TableError as error:
        # A label, such as a date, cannot be dropped or ignored, as a column may be.
        refused = str(error).partition(" instead.")[0]
        raise TableError(
            f"{refused} instead. Turn this label into numbers, such as days, or into a "
            "categorical column if its values are classes."
        ) from error
    classes, cautions = encoded.code.columns[0].values, encoded.code.cautions
    example, codes = plain(classes[0]), encoded.matrix
    if not codes.shape[1]:
        what = "two classes" if chosen == "classification" else "two values"
        raise TableError(
            f"The label column {name!r} must hold at least {what}. Got "
            f"{example!r} in all {n_labelled} rows that have a label: a label with one class can "
            "guide nothing."
        )
    if chosen == "regression":
        if encoded.code.categorical[0]:
            remedy = "use task='classification'"
            if str(example)[:1].isdigit():
                remedy = f"make numbers of them, with a point before decimals, or {remedy}"
            raise TableError(
                f"The label column {name!r} must hold numbers for regression. Got "
                f"{labels.dtype} values such as {example!r}: {remedy}."
            )
        values = (codes[:, 0] - codes.mean()) / codes.std()
        return TableLabels(values, chosen, cautions, labels.to_numpy(dtype=float))
    if len(classes) == n_labelled > 2 or not classes_recur(len(classes), n_labelled):
        raise TableError(
            f"The label column {name!r} must hold classes that recur. Got {len(classes)} distinct "
            f"values in {n_labelled} rows: is it an identifier, or a quantity (task='regression')?"
        )
    names = np.array(classes)
    if names.dtype.kind == "O" or (names.dtype.kind == "f" and (names != np.rint(names)).any()):
        # The solver takes fractions for a quantity and cannot sort objects, but it takes text.
        names = np.array([str(name) for name in classes])
    return TableLabels(names[codes[:, 0].astype(int)], chosen, cautions)


# ---------------------------------------------------------------------- what the user is told


def left_as_found(names: Sequence[Hashable], labelled: BoolArray) -> list[str]:
    """Return a caution that names the columns in which nothing can be learned, if there are any."""
    where = "" if labelled.all() else " in the rows that have a label"
    left = f"{'column' if len(names) == 1 else 'columns'} left as found"
    because = f"because nothing is observed{where}: {', '.join(map(repr, names))}"
    return [f"{left}, {because}"] if names else []


def codes_note(names: Sequence[Hashable]) -> list[str]:
    """Return a note on columns of few whole numbers, which may be codes."""
    note = "columns of few whole numbers are filled with the nearest of these; name codes as "
    note += "categorical if their order means nothing: "
    return [note + ", ".join(map(str, names))] if names else []


def plain(value: object) -> object:
    """Return a NumPy scalar as Python's own, for messages."""
    return value.item() if isinstance(value, np.generic) else value
