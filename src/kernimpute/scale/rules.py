"""What `impute_parquet` decides for a labelled table where no option says it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_float_dtype

from kernimpute.core.checks import (
    SMALLEST_SUBSET,
    check_choice,
    check_integer,
    check_jobs,
    check_real,
    refusal,
    refusal_in_words,
)
from kernimpute.core.kernels import KERNELS, Kernel
from kernimpute.core.rows import (
    SMOOTH,
    anchor_weight,
    default_kernel,
    imputer_eta,
    number_of_machines,
)
from kernimpute.core.status import Status
from kernimpute.estimators._subsets import Labels, read_labels
from kernimpute.estimators.impute_table import ignored_note
from kernimpute.methods.impute import VARIANTS
from kernimpute.table.code import TableCode
from kernimpute.table.columns import Column, TableError
from kernimpute.table.roles import TableLabels, codes_note, has_few_values, plain

__all__ = [
    "ColumnFacts",
    "check_dealing",
    "check_kernel",
    "check_method",
    "check_variant",
    "column_facts",
    "default_options",
    "labels_of_table",
    "table_notes",
    "unfinished_subsets",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnFacts:
    """What is said of a column that is used."""

    column: Column
    n_gaps: int
    is_float: bool
    has_few: bool


def column_facts(series: pd.Series, column: Column, n_gaps: int) -> ColumnFacts:
    """Return what is said of a column."""
    has_few = n_gaps > 0 and has_few_values(column, series)
    return ColumnFacts(column, n_gaps, is_float_dtype(series.dtype), has_few)


def table_notes(
    columns: Sequence[ColumnFacts],
    unseen: Sequence[Hashable],
    ignored_gaps: Mapping[Hashable, int],
    n_unlabelled: int,
    has_new_rows: bool,
) -> list[str]:
    """Return what was done that one would not expect."""
    notes = []
    gappy = [facts.column for facts in columns if facts.n_gaps]
    if not gappy:
        other = " other" if unseen or any(ignored_gaps.values()) else ""
        notes.append(f"the table has no{other} gap to fill: it is returned unchanged")
    elif all(column.kind == "constant" for column in gappy):
        notes.append(
            "nothing was learned, for the gaps that can be filled are all in columns with one "
            f"observed value, which fills them: {', '.join(str(column.name) for column in gappy)}"
        )
    notes.extend(ignored_note(ignored_gaps))
    if n_unlabelled:
        how = ", filled as new rows from those that have one" if has_new_rows else ""
        notes.append(f"rows without a label: {n_unlabelled}{how}; the label is left missing")
    constant = [facts.column for facts in columns if facts.column.kind == "constant"]
    if constant:
        listed = ", ".join(f"{column.name} = {plain(column.values[0])}" for column in constant)
        notes.append(f"columns with one observed value were not used: {listed}")
    rounded = [
        facts.column.name
        for facts in columns
        if facts.column.kind == "whole" and facts.n_gaps and facts.is_float
    ]
    if rounded:
        notes.append(
            "filled with whole numbers, because every observed value is one: "
            + ", ".join(map(str, rounded))
        )
    few: list[Hashable] = [facts.column.name for facts in columns if facts.has_few]
    return [*notes, *codes_note(few)]


def labels_of_table(labels: TableLabels) -> Labels:
    """Return the labels of a table as subsets take them."""
    values = labels.values if labels.numbers is None else labels.numbers
    return read_labels(
        values, values, None, task=labels.task, class_weight=None, owner="labels_of_table"
    )


def default_options(
    options: Mapping[str, Any], X: FloatArray, code: TableCode, labels: TableLabels
) -> dict[str, Any]:
    """Return kernel and eta by the rules for tables, where they are left open."""
    found: dict[str, Any] = {}
    n_classes = np.unique(labels.values).size if labels.task == "classification" else None
    kernel, C = options["kernel"], options["C"]
    if kernel is None or isinstance(kernel, str):
        columns = tuple(int(column) for column in np.flatnonzero(code.categorical))
        found["kernel"] = default_kernel(kernel or "gaussian", X, columns, part=SMOOTH)
    if options["eta"] is None and options["variant"] == "direct":
        factor = number_of_machines(n_classes) * imputer_eta(labels.task)
        found["eta"] = anchor_weight(float(C), X, factor, np.ones(X.shape[0]))
    return found


def check_method(owner: str, options: Mapping[str, Any]) -> None:
    """Refuse options of the method outside of their range, before the table is read."""
    variant, kernel, reference = options["variant"], options["kernel"], options["reference"]
    check_choice(owner, "task", options["task"], ("auto", "classification", "regression"))
    check_choice(owner, "variant", variant, VARIANTS)
    if isinstance(kernel, str):
        check_choice(owner, "kernel", kernel, KERNELS)
    elif kernel is not None and not isinstance(kernel, Kernel):
        raise TypeError(refusal(owner, "kernel", "a Kernel or the name of one", kernel))
    check_real(owner, "C", options["C"], 0.0)
    check_real(owner, "epsilon", options["epsilon"], 0.0, low_included=True)
    for name in ("eta", "rho"):
        if options[name] is not None:
            check_real(owner, name, options[name], 0.0, high_included=True)
    for name in ("radius", "tol"):
        if options[name] is not None:
            check_real(owner, name, options[name], 0.0, low_included=True)
    if options["max_iter"] is not None:
        check_integer(owner, "max_iter", options["max_iter"], 0)
    if variant == "direct" and isinstance(reference, str) and reference == "expected":
        must_be = "a table, such as 'mean', for variant='direct', which moves one"
        raise ValueError(refusal_in_words(owner, "reference", must_be, "'expected', a kernel,"))


def check_dealing(owner: str, options: Mapping[str, Any]) -> None:
    """Refuse options of subsets outside of their range."""
    for name, least in (("subset_size", SMALLEST_SUBSET), ("max_models", 1)):
        if options[name] is not None:
            check_integer(owner, name, options[name], least)
    check_integer(owner, "random_state", options["random_state"], 0)
    check_jobs(owner, options["n_jobs"])


def check_variant(variant: str, code: TableCode) -> None:
    """Refuse the one variant that has no categories where a column needs them."""
    names = [column.name for column in code.features if column.kind == "category"]
    if names and variant == "released":
        raise TableError(
            "The released variant has no categories. Got the categorical columns "
            f"{', '.join(map(repr, names))}: use another variant, or drop or ignore these columns."
        )


def check_kernel(kernel: Kernel | str | None, code: TableCode) -> None:
    """Refuse a kernel without a categorical term where a column needs one."""
    if kernel is None:
        return
    kind = KERNELS[kernel] if isinstance(kernel, str) else type(kernel)
    names = [column.name for column in code.features if column.kind == "category"]
    if names and not kind.is_distance:
        raise TableError(
            f"The {kind.__name__.lower()} kernel has no term for categories. Got the "
            f"categorical columns {', '.join(map(repr, names))}: use the gaussian or the "
            "laplacian kernel, or drop or ignore these columns."
        )


def unfinished_subsets(counts: Mapping[tuple[str, Status], int], n_subsets: int) -> list[str]:
    """Return a caution for each way in which subsets did not meet their stop rule."""
    return [
        f"{stage} in {count} of {n_subsets} subsets: {status.value}"
        for (stage, status), count in counts.items()
    ]
