"""Parquet tables that are larger than the memory, filled subset by subset.

Labels and columns are read whole, one at a time, for ranges and categories. The rows that have a
label are coded into a matrix on disk and dealt out to the stratified subsets of `KernelImputer`;
tasks get blocks of subsets, and each finished block is a file. Then the table is read once more,
and written with its gaps filled. The result is that of `impute_table` with the same `subset_size`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from kernimpute.core.kernels import Kernel
from kernimpute.estimators.impute_table import TableWarning
from kernimpute.scale.filling import fill_table
from kernimpute.scale.options import (
    check_apart,
    check_options,
    check_place,
    check_replaced,
    check_work_place,
)
from kernimpute.scale.plan import Plan, make_plan
from kernimpute.scale.results import ParquetImputation
from kernimpute.scale.rules import (
    check_kernel,
    check_variant,
    table_notes,
    unfinished_subsets,
)
from kernimpute.scale.runs import SubsetsDone
from kernimpute.scale.schedulers import check_answers
from kernimpute.scale.source import ParquetSource
from kernimpute.scale.work_folder import check_taken_up, fingerprint, work_folder

__all__ = ["impute_parquet"]

OWNER = "impute_parquet"


def impute_parquet(
    source: str | Path,
    target: str,
    output: str | Path,
    *,
    subset_size: int = 500,
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
    reference: Literal["mean", "expected"] = "mean",
    tol: float | None = None,
    max_iter: int | None = None,
    max_models: int | None = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    work_dir: str | Path | None = None,
    force: bool = False,
    callback: Callable[[SubsetsDone], object] | None = None,
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
    subset_size : int, default=500
        Rows with a label imputed at once at the most, at least 10.
    drop, ignore, categorical, missing_values, task
        As in `kernimpute.impute_table`. The index that pandas wrote is ignored.
    variant, kernel, C, eta, rho, radius, epsilon, tol, max_iter
        As in `kernimpute.impute_table`.
    reference : {"mean", "expected"}, default="mean"
        What the filled cells are held at: the columns' means over all rows that have a label, or
        the expected kernel (not for "direct").
    max_models : int or None, default=10
        From the filled rows of how many subsets, at least 1, the rows without a label are filled
        at the most; None takes all.
    random_state : int, default=0
        Of the dealing into subsets, at least 0.
    n_jobs : int or None, default=None
        Blocks of subsets at the same time, as joblib counts; None takes what
        ``joblib.parallel_config`` says, backend included. The result is the same.
    scheduler : str or None, default=None
        None runs on joblib's backends. "local" starts `n_jobs` worker processes of Dask's (a script
        that does needs ``if __name__ == "__main__":``), an address such as "tcp://host:8786" asks
        workers that are there. Both need the extra ``dask``. A worker that dies is replaced.
    work_dir : str or Path or None, default=None
        Where the coded rows and the finished blocks are kept meanwhile; None is a folder beside
        the output. It takes as much space as the filled table in 64-bit floats, twice. One run at a
        time works in it; it must be empty or new, or a run's that goes on, and files that are not
        the run's stay.
    force : bool, default=False
        Whether an existing output may be replaced, and finished blocks of another table, of other
        options or of other versions be removed.
    callback : callable or None, default=None
        Called with `SubsetsDone` whenever a block of subsets is finished.

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
    A run that was interrupted goes on where it was if it is started again with the same source,
    output and options: blocks that are finished are not filled again. Where the files, an option
    or a library has changed, it is refused, and with `force` all are, with a warning.

    Memory is that of the largest row group, of the longest column, and of the labels, besides the
    blocks that are on the way.

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
    method: dict[str, Any] = {
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
    columns: dict[str, Any] = {
        "drop": _names(drop),
        "ignore": _names(ignore),
        "categorical": _names(categorical),
        "missing_values": tuple(missing_values),
        "task": task,
    }
    dealing = {"subset_size": subset_size, "random_state": random_state}
    running = {"n_jobs": n_jobs, "scheduler": scheduler, "callback": callback}
    asked = {**method, **dealing, **running, "task": task, "reference": reference}
    check_options(OWNER, {**asked, "max_models": max_models})
    table = ParquetSource(Path(source))
    place = check_place(OWNER, output)
    check_apart("output", place, table.path)
    check_replaced(place, is_folder=table.is_folder, force=force)
    folder = check_work_place(OWNER, work_dir, place)
    check_apart("work", folder, table.path)
    options = {"target": target, **columns, **method, "reference": reference, **dealing}
    check_taken_up(folder, fingerprint(table, options), force=force)
    check_answers(OWNER, scheduler)
    plan = make_plan(table, target, **columns)
    check_kernel(kernel, plan.code)
    check_variant(variant, plan.code)
    with work_folder(folder, fingerprint(table, options)) as work:
        try:
            ended = fill_table(
                plan,
                work,
                place,
                method,
                reference,
                dealing,
                max_models=max_models,
                n_jobs=n_jobs,
                scheduler=scheduler,
                callback=callback,
            )
        except BaseException as error:
            if work.has_blocks:
                kept = f"what is finished is kept in {folder}: the same call goes on from it."
                error.add_note(kept)
            else:
                work.clear()
            raise
        work.clear()
    cautions = list(plan.cautions)
    if work.started_over:
        cautions.append(
            f"the blocks in {folder} were of another table, of other options or of other versions: "
            "all were filled anew"
        )
    cautions.extend(unfinished_subsets(ended.unfinished, ended.n_subsets))
    n_unlabelled = plan.labelled.size - plan.n_labelled
    notes = [
        *(f"kept and not used, for it is the index: {name}" for name in _index_kept(plan)),
        *table_notes(
            plan.facts,
            plan.unseen,
            ended.ignored_gaps,
            n_unlabelled,
            ended.new_rows,
        ),
        *ended.notes,
    ]
    is_classes = plan.labels.task == "classification"
    imputation = ParquetImputation(
        output=place,
        target=target,
        task=plan.labels.task,
        n_rows=plan.labelled.size,
        n_columns=len(plan.kept),
        filled=MappingProxyType(dict(plan.filled)),
        n_unlabelled=n_unlabelled,
        n_classes=np.unique(plan.labels.values).size if is_classes else None,
        n_subsets=ended.n_subsets,
        n_reused=ended.n_reused,
        statuses=MappingProxyType(dict(ended.statuses)),
        n_iter=ended.n_iter,
        gap=ended.gap,
        settings=MappingProxyType({**options, **ended.found}),
        notes=tuple(notes),
        warnings=tuple(dict.fromkeys(cautions)),
        seconds=time.perf_counter() - start,
    )
    for caution in imputation.warnings:
        warnings.warn(caution, TableWarning, stacklevel=2)
    return imputation


def _names(given: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return names of columns; a string is one name."""
    return (given,) if isinstance(given, str) else tuple(given)


def _index_kept(plan: Plan) -> list[str]:
    return [name for name in plan.source.index if name in plan.roles.ignored]
