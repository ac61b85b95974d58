"""What is decided for a labelled table where no option says it, and what its user is told.

Shared by tables that are filled at once and by those that are filled batch by batch, so that both
decide and say the same.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from pandas.api.types import is_float_dtype

from kernimpute.core.checks import (
    SMALLEST_SUBSET,
    Task,
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
from kernimpute.core.status import Callback, Status, overall
from kernimpute.estimators._filling import Filling, Settings, fill
from kernimpute.estimators._labels import Labels, read_labels
from kernimpute.estimators._memory import check_memory
from kernimpute.estimators._subsets import stratified_subsets
from kernimpute.joint.reference import Reference, reference_table
from kernimpute.methods.impute import VARIANTS, ImputationResult, impute
from kernimpute.methods.new_rows import recover_new_rows
from kernimpute.methods.recover import RecoveredFeatures
from kernimpute.table.code import EncodedTable, TableCode, encode_table
from kernimpute.table.columns import Column, TableError, observed_in_table
from kernimpute.table.roles import (
    TableLabels,
    codes_note,
    column_roles,
    has_few_values,
    infer_task,
    left_as_found,
    plain,
    table_labels,
)

__all__ = [
    "ColumnFacts",
    "TableImputation",
    "TableWarning",
    "check_dealing",
    "check_kernel",
    "check_max_memory",
    "check_method",
    "check_variant",
    "column_facts",
    "default_options",
    "ignored_note",
    "impute_table",
    "infer_task",
    "labels_of_table",
    "n_empty",
    "table_notes",
    "unfinished_new_rows",
    "unfinished_subsets",
    "unused_markers",
]

FloatArray = NDArray[np.float64]

_MOST_NAMED = 10
"""Ignored columns that a note names."""


@dataclass(frozen=True)
class ColumnFacts:
    """What is said of a column that is used.

    Parameters
    ----------
    column : Column
        How it is coded.
    n_gaps : int
        Cells that are filled.
    is_float : bool
        Whether its dtype is one of floats.
    has_few : bool
        Whether it is a column of few whole numbers, which may be codes.
    """

    column: Column
    n_gaps: int
    is_float: bool
    has_few: bool


def column_facts(series: pd.Series, column: Column, n_gaps: int) -> ColumnFacts:
    """Return what is said of a column.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The column.
    column : Column
        How it is coded.
    n_gaps : int
        Its gaps.

    Returns
    -------
    ColumnFacts
        The facts.
    """
    has_few = n_gaps > 0 and has_few_values(column, series)
    return ColumnFacts(column, n_gaps, is_float_dtype(series.dtype), has_few)


def labels_of_table(labels: TableLabels) -> Labels:
    """Return the labels of a table as subsets take them.

    Parameters
    ----------
    labels : TableLabels
        The labels of the rows that have one.

    Returns
    -------
    Labels
        Class codes, or the standardised target, to the last bit as `KernelImputer` has them; every
        row weighs 1.
    """
    values = labels.values if labels.numbers is None else labels.numbers
    return read_labels(
        values, values, None, task=labels.task, class_weight=None, owner="labels_of_table"
    )


def default_options(
    options: Mapping[str, Any], X: FloatArray, code: TableCode, labels: TableLabels
) -> dict[str, Any]:
    """Return kernel and eta by the rules for tables, where they are left open.

    Parameters
    ----------
    options : mapping of str to object
        The options of `kernimpute.estimators.impute_table.impute_table`.
    X : ndarray of shape (n_labelled, n_features)
        The coded rows that have a label, NaN at the gaps; read by columns and by blocks of rows.
    code : TableCode
        Their code.
    labels : TableLabels
        Their labels.

    Returns
    -------
    dict
        What is found: "kernel", "eta", both or neither.
    """
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
    """Refuse options of the method outside of their range, before the table is read.

    Parameters
    ----------
    owner : str
        The function whose parameters they are, for the messages.
    options : mapping of str to object
        "task", "reference" and the options of `kernimpute.impute` that tables have.

    Raises
    ------
    TypeError, ValueError
        If one is refused.
    """
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
    """Refuse options of subsets outside of their range.

    Parameters
    ----------
    owner : str
        The function whose parameters they are, for the messages.
    options : mapping of str to object
        "subset_size" and "max_models", each None or a number, "random_state" and "n_jobs".

    Raises
    ------
    TypeError, ValueError
        If one is refused.
    """
    for name, least in (("subset_size", SMALLEST_SUBSET), ("max_models", 1)):
        if options[name] is not None:
            check_integer(owner, name, options[name], least)
    check_integer(owner, "random_state", options["random_state"], 0)
    check_jobs(owner, options["n_jobs"])


def check_max_memory(owner: str, max_memory: float) -> None:
    """Refuse what is neither a share of the memory nor a number of bytes.

    Parameters
    ----------
    owner : str
        The function whose parameter it is, for the message.
    max_memory : float or int
        The parameter.

    Raises
    ------
    TypeError, ValueError
        If it is refused.
    """
    if isinstance(max_memory, Integral):
        check_integer(owner, "max_memory", max_memory, 1)
    else:
        check_real(owner, "max_memory", max_memory, 0.0, 1.0, high_included=True)


def check_variant(variant: str, code: TableCode) -> None:
    """Refuse the one variant that has no categories where a column needs them.

    Parameters
    ----------
    variant : str
        The variant.
    code : TableCode
        The columns that are used.

    Raises
    ------
    TableError
        If it is refused.
    """
    names = [column.name for column in code.features if column.kind == "category"]
    if names and variant == "released":
        raise TableError(
            "The released variant has no categories. Got the categorical columns "
            f"{', '.join(map(repr, names))}: use another variant, or drop or ignore these columns."
        )


def check_kernel(kernel: Kernel | str | None, code: TableCode) -> None:
    """Refuse a kernel without a categorical term where a column needs one.

    Parameters
    ----------
    kernel : Kernel, str or None
        The kernel.
    code : TableCode
        The columns that are used.

    Raises
    ------
    TableError
        If it is refused.
    """
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


def table_notes(
    columns: Sequence[ColumnFacts],
    unseen: Sequence[Hashable],
    ignored_gaps: Mapping[Hashable, int],
    n_unlabelled: int,
    has_new_rows: bool,
) -> list[str]:
    """Return what was done that one would not expect.

    Parameters
    ----------
    columns : sequence of ColumnFacts
        The columns that are used.
    unseen : sequence of hashable
        The columns that are left as found, for nothing is observed in them.
    ignored_gaps : mapping of hashable to int
        How many empty cells each ignored column has.
    n_unlabelled : int
        Rows without a label.
    has_new_rows : bool
        Whether some of them were filled.

    Returns
    -------
    list of str
        The notes.
    """
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


def n_empty(ignored: pd.DataFrame) -> dict[Hashable, int]:
    """Return how many cells of each ignored column hold nothing.

    Parameters
    ----------
    ignored : DataFrame of shape (n_rows, n_ignored)
        The columns; missing values that are named mean nothing in them.

    Returns
    -------
    dict of hashable to int
        The numbers.
    """
    n_gaps = (~observed_in_table(ignored)).sum(axis=0)
    return dict(zip(ignored.columns, n_gaps.tolist(), strict=True))


def ignored_note(ignored_gaps: Mapping[Hashable, int]) -> list[str]:
    """Return what is said of the empty cells of columns that are kept and not used.

    Parameters
    ----------
    ignored_gaps : mapping of hashable to int
        How many empty cells each ignored column has.

    Returns
    -------
    list of str
        A note, if there is such a cell.
    """
    gappy = {name: count for name, count in ignored_gaps.items() if count}
    if len(gappy) > _MOST_NAMED:
        n_cells = sum(gappy.values())
        return [f"empty cells stay in {len(gappy)} columns that are ignored: {n_cells}"]
    named = ", ".join(f"{name} ({count})" for name, count in gappy.items())
    return [f"empty cells stay in columns that are ignored: {named}"] if gappy else []


def unfinished_subsets(counts: Mapping[tuple[str, Status], int], n_subsets: int) -> list[str]:
    """Return a caution for each way in which subsets did not meet their stop rule.

    Parameters
    ----------
    counts : mapping of (str, Status) to int
        How many ended so, by stage and status.
    n_subsets : int
        How many there are.

    Returns
    -------
    list of str
        The cautions.
    """
    return [
        f"{stage} in {count} of {n_subsets} subsets: {status.value}"
        for (stage, status), count in counts.items()
    ]


def unfinished_new_rows(status: Status | None) -> list[str]:
    """Return a caution where the rows without a label did not meet their stop rule.

    Parameters
    ----------
    status : Status or None
        How their filling ended; None where there was none.

    Returns
    -------
    list of str
        The caution, or nothing.
    """
    if status is None or status.success:
        return []
    return [f"in the rows without a label: {status.value}"]


def unused_markers(table: pd.DataFrame, missing_values: Sequence[object]) -> list[str]:
    """Return a caution for each value that stands for a gap nowhere in a table.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        The table.
    missing_values : sequence of str or number
        The values.

    Returns
    -------
    list of str
        The cautions.
    """
    before = observed_in_table(table)
    return [
        f"no cell holds the missing value {marker!r}"
        for marker in missing_values
        if isinstance(marker, (str, int, float))
        and (observed_in_table(table, [marker]) == before).all()
    ]


BoolArray = NDArray[np.bool_]
OWNER = "impute_table"


class TableWarning(UserWarning):
    """Something in a table that the result should not be trusted without knowing."""


@dataclass(frozen=True)
class TableImputation:
    """A filled table and how it came about.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        The table without its dropped columns, gaps filled; observed cells, columns, order,
        index and dtypes as they came.
    target : hashable
        The label column.
    task : {"classification", "regression"}
        What the label is taken for.
    observed : ndarray of bool of shape (n_rows, n_columns)
        True where a cell of `table` came with it.
    filled : mapping of hashable to int
        How many cells were filled in each column that had gaps and lost them.
    n_unlabelled : int
        Rows without a label; their label is left missing.
    result : ImputationResult or None
        What `impute` returned on the rows with a label; None where no solver was needed.
    new_rows : RecoveredFeatures or None
        What was recovered in the rows without a label; None where there was nothing to.
    settings : mapping of str to object
        The options, as they were used.
    notes, warnings : tuple of str
        What was done that one would not expect, and what one should look at.
    seconds : float
        Wall-clock time.
    filling : Filling or None
        What came of the subsets, in place of `result`; None where all rows were filled at once.
    n_classes : int or None
        Number of classes; None for a regression.
    """

    table: pd.DataFrame
    target: Hashable
    task: Task
    observed: BoolArray
    filled: Mapping[Hashable, int]
    n_unlabelled: int
    result: ImputationResult | None
    new_rows: RecoveredFeatures | None
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    filling: Filling | None = None
    n_classes: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self.table)

    @property
    def n_filled(self) -> int:
        """Number of cells filled."""
        return sum(self.filled.values())

    @property
    def status(self) -> Status:
        """How the solvers ended: the first status that is no success, else that of the labelled."""
        parts = (self.result or self.filling, self.new_rows)
        return overall(part.status for part in parts if part is not None)

    def filled_cells(self, name: Hashable) -> BoolArray:
        """Return where a column was filled.

        Parameters
        ----------
        name : hashable
            A column of the table.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            True where the cell was a gap and is none any more.
        """
        if name not in self.filled:
            return np.zeros(self.n_rows, dtype=bool)
        position = [*self.table.columns].index(name)
        return np.asarray(~self.observed[:, position])


def impute_table(
    table: pd.DataFrame,
    target: Hashable,
    *,
    drop: Iterable[Hashable] = (),
    ignore: Iterable[Hashable] = (),
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    variant: str = "direct",
    kernel: Kernel | str | None = None,
    C: float = 1.0,
    eta: float | None = None,
    rho: float | None = None,
    radius: float | None = None,
    epsilon: float = 0.1,
    reference: Reference = None,
    tol: float | None = None,
    max_iter: int | None = None,
    subset_size: int | None = None,
    max_models: int | None = 10,
    max_memory: float = 0.75,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> TableImputation:
    """Return a labelled table with its gaps filled.

    Rows with a label are filled together, guided by their labels. Rows without a label are
    filled afterwards, each on its own and from the filled rows; their label is left missing.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        The table; it is never changed.
    target : hashable
        Name of the label column.
    drop : iterable of hashable, default=()
        Columns to leave out of the result.
    ignore : iterable of hashable, default=()
        Columns to keep as they are and not to use, such as identifiers.
    categorical : iterable of hashable, default=()
        Columns whose values are categories although they are numbers; the label may be one.
    missing_values : sequence of str or number, default=()
        Values that stand for a gap besides None, NaN, NaT and NA, in the label column too.
    task : {"auto", "classification", "regression"}, default="auto"
        What the label is; "auto" follows `infer_task`.
    variant : {"direct", "anchored", "paper", "appendix", "released"}, default="direct"
        The method, as in `kernimpute.impute`.
    kernel : Kernel, str or None, default=None
        The kernel, or the name of one; None is "gaussian". A kernel by name takes a quarter of
        the gamma of `kernimpute.core.rows.scaled_kernel`, if it is gaussian or laplacian.
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf). In regression the label is
        standardised first, so C and epsilon count in its standard deviations.
    eta : float or None, default=None
        Weight of the anchor, in (0, inf]. None is 16 C / (observed share of the cells) for
        "direct", 256 C / (observed share) if the label is a quantity; for the other variants as
        in `kernimpute.impute`.
    rho, radius : float or None, default=None
        The perturbation's, as in `kernimpute.learn_kernel`.
    epsilon : float, default=0.1
        Half width of the regression tube, in [0, inf).
    reference : None, "mean", "expected", array-like or fitted imputer, default=None
        As in `impute`, for the coded matrix of the rows with a label, of shape
        (n_labelled, n_features).
    tol, max_iter : float or None, int or None, default=None
        The stop rule, as in `kernimpute.impute`.
    subset_size : int or None, default=None
        Rows with a label imputed at once at the most, at least 10: more of them are dealt out to
        stratified subsets, as by `KernelImputer`. None takes all at once.
    max_models : int or None, default=10
        From the filled rows of how many subsets, at least 1, the rows without a label are filled
        at the most; None takes all.
    max_memory : float or int, default=0.75
        What the filling may take: a share of the free memory, a float in (0, 1], or bytes, an int.
    random_state : int, default=0
        Of the dealing, at least 0.
    n_jobs : int or None, default=None
        Subsets at the same time, as joblib counts; None takes what ``joblib.parallel_config``
        says. The result is the same.
    callback : callable or None, default=None
        Called with the `Record` of each round, where subsets run one after the other; a true
        answer stops the stage.

    Returns
    -------
    TableImputation
        The filled table, counts, notes and warnings, and the solver's own result.

    Raises
    ------
    TypeError, ValueError
        If an option is out of its range, or the table would not fit into `max_memory`.
    TableError
        If the table cannot be imputed as it is: no such column, no rows, no label, a label
        with one class, a column of a kind that is refused (`kernimpute.table.columns`), or
        categorical columns under a kernel without a term for them. Everything is refused
        before any solver runs.

    Warns
    -----
    TableWarning
        For each of the result's `warnings`.
    """
    start = time.perf_counter()
    options = {
        "variant": variant,
        "kernel": kernel,
        "C": C,
        "eta": eta,
        "rho": rho,
        "radius": radius,
        "epsilon": epsilon,
        "tol": tol,
        "max_iter": max_iter,
    }
    check_method(OWNER, {**options, "task": task, "reference": reference})
    subsets = _Subsets(subset_size, max_models, random_state, n_jobs)
    check_max_memory(OWNER, max_memory)
    roles = column_roles(table, target, drop, ignore, categorical)
    observed = observed_in_table(table, missing_values)
    at: dict[Hashable, int] = {name: position for position, name in enumerate(table.columns)}
    labelled = observed[:, at[target]]
    if task == "auto" and target in roles.categorical:
        task = "classification"
    labels = table_labels(table[[target]], labelled, task)
    seen = {name: bool(observed[labelled, at[name]].any()) for name in roles.features}
    used = [name for name in roles.features if seen[name]]
    unseen = [name for name in roles.features if not seen[name]]
    if not used:
        raise TableError(
            "The table must have a column, besides the label, with an observed value in a row "
            "that has a label. Got none."
        )
    as_category = [name for name in roles.categorical if name in used]
    encoded = encode_table(table[used], categorical=as_category, missing_values=missing_values)
    check_kernel(kernel, encoded.code)
    check_variant(variant, encoded.code)
    options |= default_options(options, encoded.matrix[labelled], encoded.code, labels)
    if np.isnan(encoded.matrix).any():
        n_labelled = int(labelled.sum())
        check_memory(
            OWNER,
            n_labelled,
            encoded.matrix.shape[1],
            variant,
            max_memory,
            [subsets.at_once(n_labelled)],
            [type(cast(Kernel, options["kernel"]))],
        )
    cautions = [
        *labels.cautions,
        *unused_markers(table, missing_values),
        *left_as_found(unseen, labelled),
        *encoded.code.cautions,
    ]

    done = _filled(encoded, labelled, labels, options, reference, subsets, callback)

    kept = [name for name in table.columns if name not in roles.dropped]
    n_gaps = {name: int((~observed[:, at[name]]).sum()) for name in used}
    filled = MappingProxyType({name: count for name, count in n_gaps.items() if count})
    ignored_gaps = n_empty(table[[*roles.ignored]])
    imputation = TableImputation(
        table=_written_back(table[kept], encoded.decode(done.X), filled),
        target=target,
        task=labels.task,
        observed=observed[:, [at[name] for name in kept]],
        filled=filled,
        n_unlabelled=int((~labelled).sum()),
        result=done.result,
        new_rows=done.new_rows,
        settings=MappingProxyType(
            {
                **options,
                "kernel": options["kernel"] if done.result is None else done.result.kernel,
                "categorical": tuple(as_category),
                "ignore": roles.ignored,
                "drop": roles.dropped,
                "missing_values": tuple(missing_values),
            }
        ),
        notes=_notes(encoded, n_gaps, unseen, ignored_gaps, labelled, done),
        warnings=tuple(dict.fromkeys([*cautions, *_unfinished(done)])),
        seconds=time.perf_counter() - start,
        filling=done.filling,
        n_classes=np.unique(labels.values).size if labels.task == "classification" else None,
    )
    for caution in imputation.warnings:
        warnings.warn(caution, TableWarning, stacklevel=2)
    return imputation


@dataclass(frozen=True)
class _Filled:
    """The coded matrix without gaps, and what the solvers returned."""

    X: FloatArray
    result: ImputationResult | None = None
    filling: Filling | None = None
    new_rows: RecoveredFeatures | None = None


def _filled(
    encoded: EncodedTable,
    labelled: BoolArray,
    labels: TableLabels,
    options: Mapping[str, Any],
    reference: Reference,
    subsets: _Subsets,
    callback: Callback | None,
) -> _Filled:
    """Return the coded matrix without gaps, and what the solvers returned.

    Parameters
    ----------
    encoded : EncodedTable
        The columns that are used.
    labelled : ndarray of bool of shape (n_rows,)
        True where a row has a label.
    labels : TableLabels
        The labels of these rows.
    options : mapping of str to object
        Options of `impute`.
    reference, callback
        As in `impute_table`.
    subsets : _Subsets
        How rows are dealt out.
    """
    X = encoded.matrix.copy()
    gaps = np.isnan(X)
    if not gaps.any():
        return _Filled(X)
    categorical = encoded.code.categorical
    result: ImputationResult | None = None
    filling: Filling | None = None
    if subsets.size is None or labels.values.size <= subsets.size:
        result = impute(
            X[labelled],
            labels.values,
            **options,
            task=labels.task,
            categorical=categorical,
            reference=reference,
            callback=callback,
        )
        kernel, training = result.kernel, result.X
        X[labelled] = training
    else:
        kernel = options["kernel"].with_categorical(categorical, X.shape[1])
        filling = _filled_by_subsets(
            X[labelled], labels, {**options, "kernel": kernel}, reference, subsets, callback
        )
        training = filling.X[filling.kept]
        X[labelled] = filling.X
    if not gaps[~labelled].any():
        return _Filled(X, result, filling)
    new_rows = recover_new_rows(X[~labelled], training, kernel=kernel, categorical=categorical)
    X[~labelled] = new_rows.X
    return _Filled(X, result, filling, new_rows)


@dataclass(frozen=True)
class _Subsets:
    """How rows are dealt out to subsets; see `impute_table`."""

    size: int | None
    max_models: int | None
    random_state: int
    n_jobs: int | None

    def at_once(self, n_rows: int) -> tuple[int, int]:
        """Return how many subsets are filled at the same time, and of how many rows."""
        largest = n_rows if self.size is None else min(n_rows, self.size)
        return min(effective_n_jobs(self.n_jobs), math.ceil(n_rows / largest)), largest

    def __post_init__(self) -> None:
        """Refuse numbers outside their range."""
        check_dealing(OWNER, {**vars(self), "subset_size": self.size})


def _filled_by_subsets(
    X: FloatArray,
    labels: TableLabels,
    options: Mapping[str, Any],
    reference: Reference,
    subsets: _Subsets,
    callback: Callback | None,
) -> Filling:
    """Return the rows that have a label filled, subset by subset."""
    kernel: Kernel = options["kernel"]
    dealt = labels_of_table(labels)
    is_expected = isinstance(reference, str) and reference == "expected"
    return fill(
        X,
        dealt,
        kernel,
        "expected" if is_expected else reference_table(X, kernel, reference, OWNER),
        stratified_subsets(dealt, subsets.size, subsets.random_state),
        Settings(**{name: value for name, value in options.items() if name != "kernel"}),
        max_models=subsets.max_models,
        n_jobs=subsets.n_jobs,
        progress=callback,
    )


# ---------------------------------------------------------------------- result


def _written_back(
    kept: pd.DataFrame, decoded: pd.DataFrame, filled: Mapping[Hashable, int]
) -> pd.DataFrame:
    """Return a copy of the kept columns in which the filled ones are the decoded ones."""
    table = kept.copy()
    for position, name in enumerate(table.columns):
        if name in filled:
            table.isetitem(position, decoded[name])  # type: ignore[arg-type]
    return table


def _notes(
    encoded: EncodedTable,
    n_gaps: Mapping[Hashable, int],
    unseen: Sequence[Hashable],
    ignored_gaps: Mapping[Hashable, int],
    labelled: BoolArray,
    done: _Filled,
) -> tuple[str, ...]:
    """Return what was done that one would not expect."""
    facts = [
        column_facts(encoded.frame[column.name], column, n_gaps[column.name])
        for column in encoded.code.columns
    ]
    n_unlabelled = int((~labelled).sum())
    notes = table_notes(facts, unseen, ignored_gaps, n_unlabelled, done.new_rows is not None)
    if done.result is not None and done.result.stage_one is not None:
        notes.extend(done.result.stage_one.trace.notes)
    if done.filling is not None:
        notes.extend(done.filling.trace.notes)
    return tuple(notes)


def _unfinished(done: _Filled) -> Iterator[str]:
    """Yield a caution for each solver that ended before its stop rule was met."""
    result, new_rows = done.result, done.new_rows
    if done.filling is not None:
        yield from unfinished_subsets(Counter(done.filling.unfinished), done.filling.n_subsets)
    if result is not None and not result.status.success:
        yield result.status.value
    yield from unfinished_new_rows(None if new_rows is None else new_rows.status)
