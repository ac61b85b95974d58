"""From a table with a label column and gaps to the same table without gaps.

`impute_table` splits the label off, codes the other columns (`kernimpute.table_code`), fills the
rows that have a label with `kernimpute.imputation.impute`, fills the rows that have none as new
rows, and writes the result back into the table.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray

from kernimpute.columns import TableError, observed_in_table
from kernimpute.convergence import Callback, Status, overall
from kernimpute.estimators._filling import Filling, Settings, fill
from kernimpute.estimators._memory import check_memory
from kernimpute.estimators._subsets import stratified_subsets
from kernimpute.imputation import ImputationResult, impute
from kernimpute.kernels import Kernel
from kernimpute.labels import Task
from kernimpute.reference import Reference, reference_table
from kernimpute.roles import (
    TableLabels,
    column_roles,
    infer_task,
    left_as_found,
    table_labels,
)
from kernimpute.stage_two import RecoveredFeatures, recover_new_rows
from kernimpute.table_code import EncodedTable, encode_table
from kernimpute.table_rules import (
    check_dealing,
    check_kernel,
    check_max_memory,
    check_method,
    check_variant,
    column_facts,
    default_options,
    labels_of_table,
    n_empty,
    table_notes,
    unfinished_new_rows,
    unfinished_subsets,
    unused_markers,
)

__all__ = ["TableImputation", "TableWarning", "impute_table", "infer_task"]

FloatArray = NDArray[np.float64]
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
        the gamma of `kernimpute.labelled_rows.scaled_kernel`, if it is gaussian or laplacian.
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
        with one class, a column of a kind that is refused (`kernimpute.columns`), or
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
