"""`impute_table`: fill a table in one call, by the roles of its columns."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from kernimpute.core.arrays import BoolArray
from kernimpute.core.checks import Task, check_choice, check_integer, refusal
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import Callback, Status
from kernimpute.estimators._base import USED_BY, FittedRows, count_far, far_caution, within_reach
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.joint.fills import JointReference
from kernimpute.table.code import (
    EncodedTable,
    Unknown,
    codes_note,
    left_as_found,
    plain,
    table_labels,
    unknown_cells,
)
from kernimpute.table.columns import (
    LARGEST_WHOLE,
    Column,
    ColumnRoles,
    GapValues,
    TableError,
    as_number,
    check_table,
    column_roles,
    counted,
    family_of,
    markers_of,
    observed_in_table,
)

Facts = tuple[tuple[str, str], ...]
_UNLABELLED = "rows without a label"
_MOST_NAMED = 10  # ignored columns in a note


class TableWarning(UserWarning):
    """Something about a table that one should know before trusting the result."""


@dataclass(frozen=True)
class FittedTable:
    """An imputer fitted to the rows of a table, and what was found in the table."""

    imputer: KernelImputer  # fitted to the columns `roles.features`
    rows: FittedRows  # all rows, or where labels are used those that have one
    roles: ColumnRoles  # features are those with an observed value in such a row
    unseen: tuple[Hashable, ...]  # columns without such a value, which are left as they are
    target: Hashable | None
    task: Task | None  # None where labels are not used
    labelled: BoolArray  # (n_rows,): False where the label is missing
    observed: BoolArray  # (n_rows, n_columns of the table)
    facts: Facts  # size, label, gaps, method and how the solver ended, for people
    notes: tuple[str, ...]  # what was done that one would not expect
    warnings: tuple[str, ...]  # what one should look at


@dataclass(frozen=True)
class FilledRows:
    """Rows with their gaps filled by an imputer that was fitted to a table."""

    table: pd.DataFrame  # the columns of the imputer
    cells: Mapping[Hashable, BoolArray]  # where each column with gaps was filled, (n_rows,)
    encoded: EncodedTable  # the rows before
    n_far: int = 0  # new rows with a number too far from the training range

    @property
    def counts(self) -> dict[Hashable, int]:
        """How many cells were filled in each column with gaps."""
        return {name: int(gaps.sum()) for name, gaps in self.cells.items()}


@dataclass(frozen=True)
class TableImputation:
    """A filled table and how it came about.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        The table without its dropped columns, gaps filled; the rest as it came.
    target : hashable or None
        The label column.
    task : {"classification", "regression"} or None
        What the label is taken for; None where labels are not used.
    observed : ndarray of bool of shape (n_rows, n_columns)
        True where a cell of `table` came with it.
    filled : mapping of hashable to int
        How many cells were filled in each column that had gaps and lost them.
    n_unlabelled : int
        Rows without a label, which stays missing.
    imputer : KernelImputer
        The fitted imputer, for new rows.
    settings : mapping of str to object
        The options, as they were used.
    facts : tuple of (str, str)
        Size, label, cells filled, method and how the solver ended, for people.
    notes, warnings : tuple of str
        What was done that one would not expect, and what one should look at.
    status, seconds : Status, float
        How the filling ended, and its wall-clock time.
    n_classes : int or None
        Number of classes; None for a regression, and where labels are not used.
    draws : tuple of DataFrame, default=()
        Tables like `table` whose gaps are drawn at random, as many as `n_draws` asked for.
    """

    table: pd.DataFrame
    target: Hashable | None
    task: Task | None
    observed: BoolArray
    filled: Mapping[Hashable, int]
    n_unlabelled: int
    imputer: KernelImputer
    settings: Mapping[str, object]
    facts: Facts
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    status: Status
    seconds: float
    n_classes: int | None
    draws: tuple[pd.DataFrame, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return len(self.table)

    @property
    def n_filled(self) -> int:
        """Number of cells filled."""
        return sum(self.filled.values())

    def filled_cells(self, name: Hashable | None = None) -> Any:
        """Return where the table, or one of its columns, was filled.

        Parameters
        ----------
        name : hashable or None, default=None
            A column of the table; None for all.

        Returns
        -------
        DataFrame of bool of shape (n_rows, n_columns), or ndarray of bool of shape (n_rows,)
            True where a cell was a gap and is none any more.
        """
        cells = pd.DataFrame(~self.observed, self.table.index, self.table.columns)
        cells.loc[:, [column not in self.filled for column in cells]] = False
        return cells if name is None else cells[name].to_numpy()


def impute_table(
    table: pd.DataFrame,
    target: Hashable | None = None,
    *,
    drop: Iterable[Hashable] = (),
    ignore: Iterable[Hashable] = (),
    categorical: Iterable[Hashable] = (),
    missing_values: GapValues = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    callback: Callback | None = None,
    n_draws: int = 0,
    **parameters: Any,
) -> TableImputation:
    """Return a table with its gaps filled by a `KernelImputer`.

    By default it is fitted to all rows, and no label is used. With `guidance` or `use_labels` it is
    fitted to rows with a label, and others are filled as new rows. Both leak labels into the cells:
    to measure a score, put a `KernelImputer` inside the pipeline that is cross-validated.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        The table; it is never changed.
    target : hashable or None, default=None
        The label column, which is never filled. None fills and uses every column, a label too.
    drop, ignore : iterable of hashable, default=()
        Columns to leave out of the result, and to keep without use or change, such as identifiers.
    categorical : iterable of hashable, default=()
        Columns whose values are categories although they are numbers; the label may be one.
    missing_values : sequence of str or number, or dict, default=()
        Gaps besides None, NaN, NaT and NA, in the label too; or by column: ``{"glucose": [0]}``.
    task : {"auto", "classification", "regression"}, default="auto"
        What a label that is used is; "auto" as in `KernelImputer`.
    callback : callable or None, default=None
        Called with the `Record` of each round, where subsets run one after the other; a true
        answer stops the stage.
    n_draws : int, default=0
        Tables to draw besides, in [0, inf), as by `KernelImputer.sample`; for "joint" only.
    **parameters : object
        Others of `KernelImputer`; not `categorical_features`, `keep_empty_features`,
        `add_indicator`.

    Returns
    -------
    TableImputation
        The filled table, counts, notes and warnings, each also a `TableWarning`, and the imputer.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, nothing uses it, or the fit exceeds `max_memory`.
    TableError
        If a column, rows or labels that are used are lacking, labels have one class, or a column is
        of a kind that is refused; before any solver runs.

    Notes
    -----
    A column of floats whose observed values are all whole is filled with whole numbers; with the
    nearest observed one where these are at most ten that each occur twice on average. Where labels
    are used, the imputer keeps a category that only rows without a label have, and ignores it.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernimpute import impute_table
    >>> table = pd.DataFrame({"age": [20, 21, None, 70, 71], "sick": [*"nnnyy"]})
    >>> int(impute_table(table, "sick").table["age"].isna().sum())
    0
    """
    start, owner = time.perf_counter(), "impute_table"
    has_draws = check_integer(owner, "n_draws", n_draws, 0) > 0
    if has_draws and parameters.get("reference", "joint") != "joint":
        raise ValueError(refusal(owner, "n_draws", "0 unless reference='joint'", n_draws))
    fitted = fit_table(
        table,
        target,
        drop=drop,
        ignore=ignore,
        categorical=categorical,
        missing_values=missing_values,
        task=task,
        callback=callback,
        **parameters,
    )
    imputer, roles = fitted.imputer, fitted.roles
    # 3. Fills are written into the gaps. Rows to which it was not fitted are filled as new rows.
    rows = fill_rows(imputer, table, fitted.rows)
    kept = [name for name in table.columns if name not in roles.dropped]
    filled = rows.counts
    written = _written_back(table[kept], rows.table, filled)
    n_unlabelled, status = int((~fitted.labelled).sum()), imputer.status_
    has_fills = any(one.in_matrix for one in imputer._code.columns if one.name in filled)
    if status is Status.NOTHING_MISSING and has_fills:
        # The gaps are all in rows without a label.
        status = Status.CONVERGED
    seconds = time.perf_counter() - start
    facts = dict(fitted.facts)
    changed = {
        "table": size_text(*written.shape),
        _UNLABELLED: facts.get(_UNLABELLED, "").replace("not used", "filled as new rows"),
        "gaps": share_of_cells(sum(filled.values()), written.size),
        "status": _status_text(status),
        "seconds": f"{seconds:.2f}",
    }
    ignored_gaps = n_empty(table[[*roles.ignored]])
    imputation = TableImputation(
        table=written,
        target=target,
        task=fitted.task,
        observed=fitted.observed[:, [name in kept for name in table.columns]],
        filled=MappingProxyType(filled),
        n_unlabelled=n_unlabelled,
        imputer=imputer,
        settings=_settings(fitted, missing_values),
        facts=tuple(
            ("filled" if name == "gaps" else name, changed.get(name, text))
            for name, text in facts.items()
        ),
        notes=tuple(notes_of_filling(table, fitted, filled, ignored_gaps, n_unlabelled)),
        warnings=tuple(dict.fromkeys([*fitted.warnings, *cautions_of_rows(rows.encoded.unknown)])),
        status=status,
        seconds=seconds,
        n_classes=imputer.classes_.size if fitted.task == "classification" else None,
        draws=tuple(
            _written_back(table[kept], rows.encoded.decode(codes), filled)
            for codes in imputer._drawn(rows.encoded, n_draws, imputer.random_state)
        ),
    )
    for caution in imputation.warnings:
        warnings.warn(caution, TableWarning, stacklevel=2)
    return imputation


def fit_table(
    table: pd.DataFrame,
    target: Hashable | None = None,
    *,
    drop: Iterable[Hashable] = (),
    ignore: Iterable[Hashable] = (),
    categorical: Iterable[Hashable] = (),
    missing_values: GapValues = (),
    task: str = "auto",
    callback: Callback | None = None,
    **parameters: Any,
) -> FittedTable:
    """Return an imputer fitted to the rows of a table; parameters as in `impute_table`."""
    start = time.perf_counter()
    check_choice("impute_table", "task", task, ("auto", "classification", "regression"))
    refuse_decided("impute_table", parameters)
    imputer = KernelImputer(task=task, missing_values=_own(missing_values) or np.nan, **parameters)
    # Before the table is read, which may take long.
    imputer._validate_params()
    if imputer._uses_labels and target is None:
        user = "guidance" if imputer.guidance is not None else "use_labels"
        must_be = f"the name of the label column for {user}={getattr(imputer, user)!r}"
        raise ValueError(refusal("impute_table", "target", must_be, target))
    # 1. The columns get their roles: label, features, ignored, dropped.
    check_table(table)
    roles = column_roles(list(table.columns), target, drop, ignore, categorical)
    at: dict[Hashable, int] = {name: place for place, name in enumerate(table.columns)}
    observed = observed_in_table(table, missing_values)
    labelled = np.ones(len(table), dtype=bool) if target is None else observed[:, at[target]]
    fitted = labelled if imputer._uses_labels else np.ones_like(labelled)
    labels = None
    if imputer._uses_labels:
        if task == "auto" and target in roles.categorical:
            task = "classification"
        labels = table_labels(table[[target]], labelled, task)
        imputer.set_params(task=labels.task)
    used = tuple(name for name in roles.features if observed[fitted, at[name]].any())
    unseen = tuple(name for name in roles.features if name not in used)
    if not used:
        where = ", besides the label, with an observed value"
        where += " in a row that has a label" if labels else ""
        raise TableError(f"The table must have a column{where}. Got none.")
    # 2. An imputer is fitted to the features: of all rows, or of those with a label if it uses it.
    codes = [name for name in roles.categorical if name in used]
    imputer.set_params(categorical_features=codes or "from_dtype")
    known = table[fitted]
    features = pd.DataFrame({name: whole_as_integers(known[name]) for name in used})
    y, task_used = None, None
    if labels is not None:
        y, task_used = labels.values if labels.numbers is None else labels.numbers, labels.task
    _, frame, read = imputer._read_labelled(features, y, None)
    rows = imputer._learn(frame, read, callback)
    cautions = [
        *(labels.cautions if labels else ()),
        *unused_markers(table, missing_values),
        *left_as_found(unseen, fitted),
        *imputer._code.cautions,
        *_unfinished(rows, getattr(imputer, "n_subsets_", 1)),
    ]
    return FittedTable(
        imputer=imputer,
        # From here on, the fitted rows are places in the whole table.
        rows=replace(rows, counted=np.flatnonzero(fitted)),
        roles=replace(roles, features=used, categorical=tuple(codes)),
        unseen=unseen,
        target=target,
        task=task_used,
        labelled=labelled,
        observed=observed,
        facts=_facts(imputer, table, target, task_used, labelled, rows.rows.observed, start),
        notes=tuple(_notes_of_fit(imputer, target, used)),
        warnings=tuple(dict.fromkeys(cautions)),
    )


def _written_back(
    table: pd.DataFrame, features: pd.DataFrame, names: Collection[Hashable]
) -> pd.DataFrame:
    """Return a copy of a table in which some columns are those of another."""
    written = table.copy()
    for place, name in enumerate(table):
        if name in names:
            written.isetitem(place, features[name])  # type: ignore[arg-type]
    return written


def refuse_decided(owner: str, parameters: Mapping[str, object]) -> None:
    """Refuse parameters of `KernelImputer` that the roles of a table's columns decide."""
    for name in ("add_indicator", "categorical_features", "keep_empty_features"):
        if name in parameters:
            must_be = "left out, because drop, ignore and categorical say what columns become"
            raise TypeError(refusal(owner, name, must_be, parameters[name]))


def fill_rows(
    imputer: KernelImputer,
    table: pd.DataFrame,
    fitted: FittedRows | None = None,
    handle_unknown: str | None = None,
) -> FilledRows:
    """Return the columns of an imputer with gaps filled: rows not `fitted` are filled as new."""
    columns = imputer._code.columns
    frame = table[[column.name for column in columns]]
    encoded = imputer._coded(imputer._code, frame, handle_unknown or imputer.handle_unknown)
    rows, n_far = encoded.matrix, 0
    if fitted is not None:
        codes = imputer._filled(fitted, rows)
    else:
        # Counted, because each block of a stream would warn.
        matrix = imputer._coding.matrix(rows)
        n_far = count_far(matrix)
        codes = imputer._coding.codes(imputer._new_rows.fill(within_reach(matrix)), rows)
    cells = {
        column.name: ~observed
        for column, observed in zip(columns, encoded.observed.T, strict=True)
        if column.kind != "empty" and not observed.all()
    }
    return FilledRows(encoded.decode(codes), cells, encoded, n_far)


def cautions_of_rows(unknown: Sequence[Unknown], n_far: int = 0) -> list[str]:
    """Return cautions on categories that an imputer does not know, and on far numbers."""
    cautions = [far_caution(n_far)] if n_far else []
    if unknown:
        cells = unknown_cells(unknown)
        cautions.append(f"categories that fit did not see are kept, and not used: {cells}")
    return cautions


def whole_as_integers(column: pd.Series) -> pd.Series:
    """Return a float column as nullable integers where all its values are whole."""
    # pandas makes floats of integers with gaps; as integers they get whole fills.
    if family_of(column.dtype) != "float":
        return column
    numbers = column.to_numpy(dtype=float, na_value=np.nan)
    gaps = np.isnan(numbers)
    present = numbers[~gaps]
    if (present != np.rint(present)).any() or (np.abs(present) >= LARGEST_WHOLE).any():
        return column
    whole = pd.arrays.IntegerArray(np.where(gaps, 0.0, numbers).astype(np.int64), gaps)
    return pd.Series(whole, index=column.index, name=column.name)


def _settings(fitted: FittedTable, missing_values: GapValues) -> Mapping[str, object]:
    """Return the options as they were used."""
    imputer, roles = fitted.imputer, fitted.roles
    settings = imputer.get_params(deep=False)
    left_out = {"add_indicator", "categorical_features", "gamma", "keep_empty_features"}
    if imputer.guidance is None:
        left_out |= {*USED_BY} - ({"task"} if imputer._uses_labels else set())
    else:
        settings["kernel"] = imputer.kernel_
        settings["eta"] = getattr(imputer, "eta_", imputer.eta)
    settings = {name: value for name, value in settings.items() if name not in left_out}
    own = {"categorical": roles.categorical, "ignore": roles.ignored, "drop": roles.dropped}
    return MappingProxyType({**settings, **own, "missing_values": _own(missing_values)})


# --------------------------------------------------------------- facts and notes, for people


def method_text(imputer: KernelImputer) -> str:
    """Return how a fitted imputer fills, in words."""
    reference = type(imputer.reference).__name__
    if isinstance(imputer.reference, str):
        names = {"joint": "joint normal", "mean": "column means", "expected": "expected kernel"}
        reference = names[imputer.reference]
    if imputer.use_labels is not None:
        reference += f" with labels ({imputer.use_labels})"
    if imputer.guidance is None:
        return reference
    kernel: Kernel = imputer.kernel_
    own = [field.name for field in fields(kernel) if field.name != "categorical"]
    parameters = [f", {name} {getattr(kernel, name):.4g}" for name in own]
    name = type(kernel).__name__.lower()
    return f"{imputer.guidance} from the {reference}, {name} kernel{''.join(parameters)}"


def _facts(
    imputer: KernelImputer,
    table: pd.DataFrame,
    target: Hashable | None,
    task: Task | None,
    labelled: BoolArray,
    observed: BoolArray,
    start: float,
) -> Facts:
    """Return the facts of a fit to rows with such `observed` cells, begun at `start`."""
    n_unlabelled, facts = int((~labelled).sum()), {"table": size_text(*table.shape)}
    if task is not None:
        n_classes = f", {imputer.classes_.size} classes" if task == "classification" else ""
        facts["label"] = f"{target} ({task}{n_classes})"
    elif target is not None:
        facts["label"] = f"{target} (not used)"
    if n_unlabelled:
        facts[_UNLABELLED] = f"{n_unlabelled}{', not used' if task is not None else ''}"
    gaps = share_of_cells(int((~observed).sum()), observed.size)
    facts |= {"gaps": f"{gaps} that are used", "method": method_text(imputer)}
    if imputer.guidance is not None:
        if imputer.n_subsets_ > 1:
            facts["subsets"] = str(imputer.n_subsets_)
        facts["solver"] = counted(imputer.n_iter_ - 1, "round")
        if not math.isnan(imputer.gap_):
            is_slope, gap = imputer.guidance == "direct", f"{imputer.gap_:.3g}"
            facts["solver"] += f", slope {gap} of the start's" if is_slope else f", gap {gap}"
        facts["status"] = _status_text(imputer.status_)
    facts["seconds"] = f"{time.perf_counter() - start:.2f}"
    return tuple(facts.items())


def _status_text(status: Status) -> str:
    """Return a status without its causes, which the warnings list."""
    return status.value.partition(" Causes:")[0]


def size_text(n_rows: int, n_columns: int) -> str:
    """Return the size of a table in words."""
    return f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"


def share_of_cells(count: int, n_cells: int) -> str:
    """Return how many of some cells these are, in words: 3 of 12 cells (25 %)."""
    return f"{count} of {n_cells} cells ({100.0 * count / n_cells:.3g} %)"


def _notes_of_fit(
    imputer: KernelImputer, target: Hashable | None, names: Iterable[Hashable]
) -> list[str]:
    """Return what a fit did that one would not expect, of columns whose gaps may be filled."""
    columns: Sequence[Column] = imputer._code.columns
    constant = [f"{one.name} = {plain(one.values[0])}" for one in columns if one.kind == "constant"]
    few = [one.name for one in columns if one.name in names and one.few]
    notes = []
    if target is None:
        notes.append("every column is filled and used, a label too, because no target is named")
    if imputer._uses_labels:
        notes.append(
            "labels helped to fill their own rows: a score measured on these rows is too good"
        )
    if constant:
        notes.append(f"columns with one observed value were not used: {', '.join(constant)}")
    filler = imputer._new_rows.filler
    of_joint = filler.notes if isinstance(filler, JointReference) and names else ()
    of_solver = imputer.trace_.notes if imputer.guidance is not None else ()
    return [*notes, *codes_note(few), *of_joint, *of_solver]


def notes_of_filling(
    table: pd.DataFrame,
    fitted: FittedTable,
    filled: Mapping[Hashable, int],
    ignored_gaps: Mapping[Hashable, int],
    n_unlabelled: int,
) -> list[str]:
    """Return what was done that one would not expect; `table` is what was fitted, or more."""
    notes = []
    gappy = [column for column in fitted.imputer._code.columns if column.name in filled]
    if not gappy:
        other = " other" if fitted.unseen or any(ignored_gaps.values()) else ""
        notes.append(f"the table has no{other} gap to fill: it is returned unchanged")
    elif all(column.kind == "constant" for column in gappy):
        notes.append(
            "nothing was learned, because the gaps are all in columns with one observed value, "
            f"which fills them: {', '.join(str(column.name) for column in gappy)}"
        )
    notes += ignored_note(ignored_gaps)
    if n_unlabelled:
        fate = ", filled as new rows" if fitted.task is not None else ""
        notes.append(f"rows without a label: {n_unlabelled}{fate}; the label is left missing")
    notes += _notes_of_fit(fitted.imputer, fitted.target, filled)
    whole = [one.name for one in gappy if one.kind == "whole"]
    rounded = ", ".join(str(name) for name in whole if is_float_dtype(table[name]))
    if rounded:
        notes.append(f"filled with whole numbers, because every observed value is one: {rounded}")
    return notes


def _unfinished(rows: FittedRows, n_subsets: int) -> list[str]:
    """Return a caution for each way in which the fit did not meet its stop rule."""
    endings = Counter(rows.filling.unfinished if rows.filling else ())
    where = " in {} of {} subsets" if n_subsets > 1 else ""
    return [
        f"{stage}{where.format(count, n_subsets)}: {status.value}"
        for (stage, status), count in endings.items()
    ]


def n_empty(ignored: pd.DataFrame) -> dict[Hashable, int]:
    """Return how many cells of each ignored column hold nothing."""
    n_gaps = (~observed_in_table(ignored)).sum(axis=0)
    return dict(zip(ignored.columns, n_gaps.tolist(), strict=True))


def ignored_note(ignored_gaps: Mapping[Hashable, int]) -> list[str]:
    """Return a note on the empty cells of ignored columns, if there are any."""
    gappy = {name: count for name, count in ignored_gaps.items() if count}
    if len(gappy) > _MOST_NAMED:
        return [f"empty cells stay in {len(gappy)} columns that are ignored: {sum(gappy.values())}"]
    named = ", ".join(f"{name} ({count})" for name, count in gappy.items())
    return [f"empty cells stay in columns that are ignored: {named}"] if gappy else []


def unused_markers(table: pd.DataFrame, missing_values: GapValues) -> list[str]:
    """Return a caution for each missing value that no cell holds; text and its number are one."""
    before = observed_in_table(table)
    owners: dict[object, dict[Hashable, list[object]]] = {}
    for name in table.columns:
        for marker in markers_of(missing_values, name):
            if isinstance(marker, (str, int, float)):
                number = as_number(marker) if isinstance(marker, str) else None
                key = marker if number is None else number
                owners.setdefault(key, {}).setdefault(name, []).append(marker)
    return [
        f"no cell holds the missing value {next(iter(of.values()))[0]!r}"
        for of in owners.values()
        if (observed_in_table(table, of) == before).all()
    ]


def _own(missing_values: GapValues) -> list[object] | dict[Any, Any]:
    """Return a copy of the missing values."""
    return dict(missing_values) if isinstance(missing_values, Mapping) else [*missing_values]
