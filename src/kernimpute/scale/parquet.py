"""`impute_parquet`: fill a Parquet table that may be larger than the memory, subset by subset.

Labels and columns are read whole, one at a time, for ranges and categories; then `filling` deals
the rows out to the subsets of `KernelImputer`. The result is that of `impute_table` with the same
`subset_size`.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from kernimpute.core.checks import Task, check_choice, refusal
from kernimpute.core.status import Status, overall
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators.impute_table import TableWarning, ignored_note
from kernimpute.scale.filling import BLOCK_SUBSETS, Filled, SubsetsDone, fill_table
from kernimpute.scale.schedulers import check_scheduler
from kernimpute.scale.source import ParquetSource, Plan, make_plan
from kernimpute.scale.work_folder import (
    check_continued,
    check_work_folder,
    fingerprint,
    work_folder,
)
from kernimpute.table.roles import codes_note, plain

__all__ = [
    "ParquetImputation",
    "check_output",
    "check_work_place",
    "impute_parquet",
    "imputer_with",
]

OWNER = "impute_parquet"

_METHOD = ("guidance", "kernel", "C", "gamma", "eta", "reference", "epsilon", "tol", "max_iter")
_TAKEN = (*_METHOD, "random_state", "n_jobs")
"""The parameters of `KernelImputer` that a run over Parquet takes."""


@dataclass(frozen=True)
class ParquetImputation:
    """What was written, and how it came about.

    Parameters
    ----------
    output : Path
        The filled table: a file, or a folder of files.
    target : str
        The label column.
    task : {"classification", "regression"}
        What the label is taken for.
    n_rows, n_columns : int
        Size of what was written.
    filled : mapping of hashable to int
        How many cells were filled in each column that had gaps and lost them.
    n_unlabelled : int
        Rows without a label; their label is left missing.
    n_classes : int or None
        Number of classes; None for a regression.
    n_subsets, n_reused : int
        Subsets, and those of them that an earlier run, which was interrupted, had filled.
    statuses : mapping of Status to int
        How the subsets ended.
    n_iter : int
        Rounds of the longest run, its start included.
    gap : float
        Largest certificate of the subsets.
    settings : mapping of str to object
        The options, as they were used.
    notes, warnings : tuple of str
        What was done that one would not expect, and what one should look at.
    seconds : float
        Wall-clock time.
    """

    output: Path
    target: str
    task: Task
    n_rows: int
    n_columns: int
    filled: Mapping[Hashable, int]
    n_unlabelled: int
    n_classes: int | None
    n_subsets: int
    n_reused: int
    statuses: Mapping[Status, int]
    n_iter: int
    gap: float
    settings: Mapping[str, object]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float

    @property
    def n_filled(self) -> int:
        """Number of cells filled."""
        return sum(self.filled.values())

    @property
    def status(self) -> Status:
        """How subsets ended: the first that is no success, else the most frequent."""
        status = overall(Counter(self.statuses).elements())
        # Rows without a label may have been filled from complete ones.
        return Status.CONVERGED if status is Status.NOTHING_MISSING and self.n_filled else status


def impute_parquet(
    source: str | Path,
    target: str,
    output: str | Path,
    *,
    subset_size: int | None = 500,
    drop: Iterable[Hashable] = (),
    ignore: Iterable[Hashable] = (),
    categorical: Iterable[Hashable] = (),
    missing_values: Sequence[object] = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    scheduler: str | None = None,
    work_dir: str | Path | None = None,
    force: bool = False,
    callback: Callable[[SubsetsDone], object] | None = None,
    **parameters: Any,
) -> ParquetImputation:
    """Fill the gaps of a labelled Parquet table that need not fit into the memory.

    Parameters
    ----------
    source : str or Path
        A Parquet file, or a folder of such files with the same columns, which count in the order
        of their names; those that begin with a dot or an underscore do not.
    target : str
        Name of the label column.
    output : str or Path
        What to write: a file for a file; for a folder, a folder with a file of the same name for
        each. Rows, row groups, columns and types are those of the source.
    subset_size : int or None, default=500
        Rows with a label imputed at once at the most, at least 10; None imputes all at once.
    drop, ignore, categorical, missing_values, task
        As in `kernimpute.impute_table`. The index that pandas wrote is ignored.
    scheduler : str or None, default=None
        None runs on joblib's backends. "local" starts `n_jobs` worker processes of Dask (a script
        that does needs ``if __name__ == "__main__":``). An address such as "tcp://host:8786" uses
        the workers that run there. Both need the extra ``dask``. A worker that dies is replaced.
    work_dir : str or Path or None, default=None
        Where the coded rows and the finished blocks are kept meanwhile; None is a folder beside
        the output. It takes twice the space of the filled table in 64-bit floats. One run at a
        time works in it. It must be new, empty, or left by a run that this one continues; files
        that no run made stay.
    force : bool, default=False
        Whether an existing output may be replaced, and finished blocks of another table, of other
        options or of other versions may be removed.
    callback : callable or None, default=None
        Called with `SubsetsDone` before the first block of subsets and after each.
    **parameters : object
        Further parameters of `KernelImputer`: `guidance`, `kernel`, `C`, `gamma`, `eta`,
        `reference` ("mean" or "expected"), `epsilon`, `tol`, `max_iter`, `random_state`, `n_jobs`.

    Returns
    -------
    ParquetImputation
        Counts, notes and warnings.

    Raises
    ------
    TypeError, ValueError
        If an option is out of its range.
    FileExistsError, FileNotFoundError
        If the output exists, or the work folder holds finished blocks that are not this run's, or
        the source or the folder for the output doesn't exist.
    ConnectionError
        If the scheduler at an address does not answer, or has no worker, for 10 seconds.
    ChildProcessError
        If the worker processes of "local" do not start.
    ImportError
        If `scheduler` needs Dask and there is none.
    TableError
        If the table cannot be imputed as it is.

    Warns
    -----
    TableWarning
        For each of the result's `warnings`.

    Notes
    -----
    After an interrupt the same call, with the same source, output and options, goes on: finished
    blocks are not filled again. Where the files, an option or a library has changed, the call is
    refused; with `force` all blocks are filled anew, with a warning.

    Memory is that of the largest row group, of the longest column, and of the labels, besides the
    blocks that are on their way.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> table = pd.DataFrame({"a": [0.0, 0.1, None, 1.0] * 5, "y": ["n", "n", "p", "p"] * 5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/table.parquet")
    ...     done = impute_parquet(
    ...         f"{folder}/table.parquet", "y", f"{folder}/filled.parquet", subset_size=10
    ...     )
    ...     int(pd.read_parquet(f"{folder}/filled.parquet").isna().sum().sum())
    0
    >>> done.n_filled, done.n_subsets
    (5, 2)
    """
    start = time.perf_counter()
    columns: dict[str, Any] = {
        "drop": _names(drop),
        "ignore": _names(ignore),
        "categorical": _names(categorical),
        "missing_values": tuple(missing_values),
    }
    # 1. What can't be done is refused before a column is read.
    imputer = imputer_with(OWNER, subset_size, task, columns["missing_values"], parameters)
    table = ParquetSource(Path(source))
    place = check_output(OWNER, output, is_folder=table.is_folder, force=force)
    _check_apart("output", place, table.path)
    folder = check_work_place(OWNER, work_dir, place)
    _check_apart("work", folder, table.path)
    options = {name: getattr(imputer, name) for name in (*_METHOD, "subset_size")}
    options |= {"target": target, "random_state": imputer._seed(), "task": task, **columns}
    run = fingerprint(table, {**options, "subsets of a block": BLOCK_SUBSETS})
    if not force:
        check_continued(folder, run)
    check_scheduler(OWNER, scheduler)
    # 2. Labels and code are learned, column by column.
    plan = make_plan(table, target, task=task, **columns)
    # 3. The rows are filled and written.
    with work_folder(folder, run) as work:
        try:
            filled = fill_table(plan, imputer, work, place, scheduler, callback)
        except BaseException as error:
            if work.has_blocks:
                kept = f"what is finished is kept in {folder}: the same call goes on from it."
                error.add_note(kept)
            else:
                work.clear()
            raise
        work.clear()
    cautions = [*plan.cautions, *filled.cautions]
    if work.started_over:
        cautions.append(
            f"the blocks in {folder} were of another table, of other options or of other versions: "
            "all were filled anew"
        )
    classes = plan.labels.classes
    imputation = ParquetImputation(
        output=place,
        target=target,
        task=plan.task,
        n_rows=plan.labelled.size,
        n_columns=len(plan.kept),
        filled=MappingProxyType(plan.filled),
        n_unlabelled=plan.n_unlabelled,
        n_classes=None if classes is None else classes.size,
        n_subsets=filled.n_subsets,
        n_reused=filled.n_reused,
        statuses=MappingProxyType(dict(filled.statuses)),
        n_iter=filled.n_iter,
        gap=filled.gap,
        settings=MappingProxyType(
            {**options, "kernel": filled.kernel, "eta": filled.eta or imputer.eta}
        ),
        notes=(*_notes(plan, filled), *filled.notes),
        warnings=tuple(dict.fromkeys(cautions)),
        seconds=time.perf_counter() - start,
    )
    for caution in imputation.warnings:
        warnings.warn(caution, TableWarning, stacklevel=2)
    return imputation


def _names(given: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return names of columns; a string is one name."""
    return (given,) if isinstance(given, str) else tuple(given)


def _notes(plan: Plan, filled: Filled) -> list[str]:
    """Return what was done that one would not expect, in the words of `impute_table`."""
    notes = [
        f"kept and not used, because it is the index: {name}"
        for name in plan.source.index
        if name in plan.roles.ignored
    ]
    gappy = [facts for facts in plan.facts if facts.n_gaps]
    if not gappy:
        other = " other" if plan.unseen or any(filled.ignored_gaps.values()) else ""
        notes.append(f"the table has no{other} gap to fill: it is returned unchanged")
    elif all(facts.column.kind == "constant" for facts in gappy):
        notes.append(
            "nothing was learned, because the gaps are all in columns with one observed value, "
            f"which fills them: {', '.join(str(facts.column.name) for facts in gappy)}"
        )
    notes += ignored_note(filled.ignored_gaps)
    if plan.n_unlabelled:
        notes.append(
            f"rows without a label: {plan.n_unlabelled}, filled as new rows; the label is left "
            "missing"
        )
    rounded = [
        str(facts.column.name) for facts in gappy if facts.column.kind == "whole" and facts.is_float
    ]
    if rounded:
        notes.append(
            "filled with whole numbers, because every observed value is one: " + ", ".join(rounded)
        )
    constant = [
        f"{one.name} = {plain(one.values[0])}" for one in plan.code.columns if not one.in_matrix
    ]
    if constant:
        notes.append(f"columns with one observed value were not used: {', '.join(constant)}")
    return [*notes, *codes_note([facts.column.name for facts in gappy if facts.has_few])]


# ------------------------------------------------------------------------------------ refusals


def imputer_with(
    owner: str,
    subset_size: int | None,
    task: str,
    missing_values: Sequence[object],
    parameters: Mapping[str, Any],
) -> KernelImputer:
    """Return an imputer with checked parameters, or refuse those that need a table in memory."""
    for name in parameters:
        if name not in _TAKEN:
            raise TypeError(
                f"The parameters of {owner} must be its own or {', '.join(_TAKEN)}. Got the "
                f"unexpected keyword argument {name!r} instead."
            )
    imputer = KernelImputer(
        subset_size=subset_size,
        task=task,
        missing_values=[*missing_values] or np.nan,
        **{"guidance": "direct", "reference": "mean", **parameters},
    )
    imputer._validate_params()
    check_choice(owner, "reference", imputer.reference, ("mean", "expected"))
    return imputer


def check_output(owner: str, output: Any, *, is_folder: bool, force: bool) -> Path:
    """Return where to write, or refuse a place where nothing can be written."""
    place = _path(owner, "output", output)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{place}: there is no folder {str(place.parent)!r}.")
    if not os.access(place.parent, os.W_OK):
        raise PermissionError(f"{place}: nothing can be written to {str(place.parent)!r}.")
    if place.exists() and not force:
        raise FileExistsError(f"{place} exists: give another name, or force to replace it.")
    if place.exists() and place.is_dir() != is_folder:
        kinds = ("folder", "file") if is_folder else ("file", "folder")
        raise ValueError(
            f"{place}: the output must be a {kinds[0]}, as the source. Got a {kinds[1]}."
        )
    return place


def check_work_place(owner: str, work_dir: Any, output: Path) -> Path:
    """Return the folder to work in, or refuse it."""
    if work_dir is None:
        folder = output.with_name(f".{output.name}.work")
    else:
        folder = _path(owner, "work_dir", work_dir)
    if output.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise ValueError(refusal(owner, "work_dir", "a folder outside of the output", work_dir))
    check_work_folder(folder)
    return folder


def _check_apart(what: str, place: Path, source: Path) -> None:
    """Refuse a place that is the source, or lies in it."""
    if place.resolve() == source.resolve():
        raise ValueError(f"{place}: the {what} must be another one than the source.")
    if source.resolve() in place.resolve().parents:
        raise ValueError(f"{place}: the {what} must lie outside of the source.")


def _path(owner: str, name: str, value: Any) -> Path:
    """Return a path, or refuse what is none."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(refusal(owner, name, "a str or a Path", value))
    return Path(value)
