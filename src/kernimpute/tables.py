"""From a table with a label column and gaps to the same table without gaps.

`impute_table` splits the label off, codes the other columns (`kernimpute.table_code`), fills the
rows that have a label with `kernimpute.imputation.impute`, fills the rows that have none as new
rows, and writes the result back into the table.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_float_dtype

from kernimpute.columns import TableError, observed_in_table
from kernimpute.convergence import Callback, Status
from kernimpute.imputation import ImputationResult, impute
from kernimpute.kernels import KERNELS, Kernel
from kernimpute.labels import Task
from kernimpute.parameters import check_choice
from kernimpute.reference import Reference
from kernimpute.roles import (
    TableLabels,
    column_roles,
    infer_task,
    left_as_found,
    looks_like_codes,
    plain,
    table_labels,
)
from kernimpute.rules import (
    SMOOTH,
    anchor_weight,
    default_kernel,
    imputer_eta,
    number_of_machines,
)
from kernimpute.stage_two import RecoveredFeatures, recover_new_rows
from kernimpute.table_code import EncodedTable, TableCode, encode_table

__all__ = ["TableImputation", "TableWarning", "impute_table", "infer_task"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


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
        """How the solver ended on the rows with a label."""
        return Status.NOTHING_MISSING if self.result is None else self.result.status

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
    callback : callable or None, default=None
        Called with the `Record` of each round; a true answer stops the stage.

    Returns
    -------
    TableImputation
        The filled table, counts, notes and warnings, and the solver's own result.

    Raises
    ------
    TypeError, ValueError
        If an option is out of its range.
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
    check_choice("impute_table", "task", task, ("auto", "classification", "regression"))
    roles = column_roles(table, target, drop, ignore, categorical)
    observed = observed_in_table(table, missing_values)
    at: dict[Hashable, int] = {name: position for position, name in enumerate(table.columns)}
    labelled = observed[:, at[target]]
    if task == "auto" and target in roles.categorical:
        task = "classification"
    labels = table_labels(table[[target]], labelled, task)
    seen = {name: bool(observed[labelled, at[name]].any()) for name in roles.features}
    used = [name for name in roles.features if seen[name]]
    if not used:
        raise TableError(
            "The table must have a column, besides the label, with an observed value in a row "
            "that has a label. Got none."
        )
    as_category = [name for name in roles.categorical if name in used]
    encoded = encode_table(table[used], categorical=as_category, missing_values=missing_values)
    _check_kernel(kernel, encoded)
    _check_variant(variant, encoded)
    options |= _defaults(options, encoded.matrix[labelled], encoded.code, labels)
    cautions = [
        *labels.cautions,
        *_unused_markers(table, missing_values),
        *left_as_found([name for name in roles.features if not seen[name]], labelled),
        *encoded.code.cautions,
    ]

    X, result, new_rows = _filled(encoded, labelled, labels, options, reference, callback)

    kept = [name for name in table.columns if name not in roles.dropped]
    n_gaps = {name: int((~observed[:, at[name]]).sum()) for name in used}
    filled = MappingProxyType({name: count for name, count in n_gaps.items() if count})
    imputation = TableImputation(
        table=_written_back(table[kept], encoded.decode(X), filled),
        target=target,
        task=labels.task,
        observed=observed[:, [at[name] for name in kept]],
        filled=filled,
        n_unlabelled=int((~labelled).sum()),
        result=result,
        new_rows=new_rows,
        settings=MappingProxyType(
            {
                **options,
                "kernel": kernel if result is None else result.kernel,
                "categorical": tuple(as_category),
                "ignore": roles.ignored,
                "drop": roles.dropped,
                "missing_values": tuple(missing_values),
            }
        ),
        notes=_notes(encoded, filled, labelled, result, new_rows is not None),
        warnings=tuple(dict.fromkeys([*cautions, *_unfinished(result, new_rows)])),
        seconds=time.perf_counter() - start,
    )
    for caution in imputation.warnings:
        warnings.warn(caution, TableWarning, stacklevel=2)
    return imputation


def _filled(
    encoded: EncodedTable,
    labelled: BoolArray,
    labels: TableLabels,
    options: Mapping[str, Any],
    reference: Reference,
    callback: Callback | None,
) -> tuple[FloatArray, ImputationResult | None, RecoveredFeatures | None]:
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
    """
    X = encoded.matrix.copy()
    gaps = np.isnan(X)
    if not gaps.any():
        return X, None, None
    result = impute(
        X[labelled],
        labels.values,
        **options,
        task=labels.task,
        categorical=encoded.code.categorical,
        reference=reference,
        callback=callback,
    )
    X[labelled] = result.X
    if not gaps[~labelled].any():
        return X, result, None
    new_rows = recover_new_rows(
        X[~labelled], result.X, kernel=result.kernel, categorical=encoded.code.categorical
    )
    X[~labelled] = new_rows.X
    return X, result, new_rows


def _defaults(
    options: Mapping[str, Any], X: FloatArray, code: TableCode, labels: TableLabels
) -> dict[str, Any]:
    """Return kernel and eta by the rules for tables, where they are left open."""
    found: dict[str, Any] = {}
    task = labels.task
    n_classes = np.unique(labels.values).size if task == "classification" else None
    kernel, C = options["kernel"], options["C"]
    if kernel is None or isinstance(kernel, str):
        columns = tuple(int(column) for column in np.flatnonzero(code.categorical))
        found["kernel"] = default_kernel(kernel or "gaussian", X, columns, part=SMOOTH)
    # What is no penalty is refused by `impute`, in its words.
    if options["eta"] is None and options["variant"] == "direct" and _is_positive(C):
        factor = number_of_machines(n_classes) * imputer_eta(task)
        found["eta"] = anchor_weight(float(C), X, factor, np.ones(X.shape[0]))
    return found


def _is_positive(value: object) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and 0.0 < float(value) < math.inf  # type: ignore[arg-type]


def _check_variant(variant: str, encoded: EncodedTable) -> None:
    """Refuse the one variant that has no categories where a column needs them."""
    names = [column.name for column in encoded.code.features if column.kind == "category"]
    if names and variant == "released":
        raise TableError(
            "The released variant has no categories. Got the categorical columns "
            f"{', '.join(map(repr, names))}: use another variant, or drop or ignore these columns."
        )


def _check_kernel(kernel: Kernel | str | None, encoded: EncodedTable) -> None:
    """Refuse a kernel without a categorical term where a column needs one."""
    if kernel is None:
        return
    if isinstance(kernel, str):
        kind = KERNELS[check_choice("impute_table", "kernel", kernel, KERNELS)]
    else:
        kind = type(kernel)
    names = [column.name for column in encoded.code.features if column.kind == "category"]
    if names and not kind.is_distance:
        raise TableError(
            f"The {kind.__name__.lower()} kernel has no term for categories. Got the "
            f"categorical columns {', '.join(map(repr, names))}: use the gaussian or the "
            "laplacian kernel, or drop or ignore these columns."
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
    filled: Mapping[Hashable, int],
    labelled: BoolArray,
    result: ImputationResult | None,
    has_new_rows: bool,
) -> tuple[str, ...]:
    """Return what was done that one would not expect."""
    notes = []
    if not filled:
        notes.append("the table has no gap to fill: it is returned unchanged")
    if not labelled.all():
        how = ", filled as new rows from those that have one" if has_new_rows else ""
        count = int((~labelled).sum())
        notes.append(f"rows without a label: {count}{how}; the label is left missing")
    constant = [column for column in encoded.code.columns if column.kind == "constant"]
    if constant:
        listed = ", ".join(f"{column.name} = {plain(column.values[0])}" for column in constant)
        notes.append(f"columns with one observed value were not used: {listed}")
    whole = [
        column.name
        for column in encoded.code.columns
        if column.kind == "whole" and column.name in filled
    ]
    rounded = [str(name) for name in whole if is_float_dtype(encoded.frame[name].dtype)]
    if rounded:
        notes.append(
            "filled with whole numbers, because every observed value is one: " + ", ".join(rounded)
        )
    notes.extend(looks_like_codes(encoded.code, encoded.frame, filled))
    if result is not None and result.stage_one is not None:
        notes.extend(result.stage_one.trace.notes)
    return tuple(notes)


def _unfinished(
    result: ImputationResult | None, new_rows: RecoveredFeatures | None
) -> Iterator[str]:
    """Yield a caution for each solver that ended before its stop rule was met."""
    if result is not None and not result.status.success:
        yield result.status.value
    if new_rows is not None and not new_rows.status.success:
        yield f"in the rows without a label: {new_rows.status.value}"


def _unused_markers(table: pd.DataFrame, missing_values: Sequence[object]) -> list[str]:
    """Return a caution for the values that stand for a gap nowhere in the table."""
    before = observed_in_table(table)
    return [
        f"no cell holds the missing value {marker!r}"
        for marker in missing_values
        if isinstance(marker, (str, int, float))
        and (observed_in_table(table, [marker]) == before).all()
    ]
