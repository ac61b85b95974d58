"""The work behind `impute_parquet`: rows to a matrix on disk, to filled blocks, to the output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.kernels import Kernel
from kernimpute.core.status import Status
from kernimpute.estimators._subsets import Settings, kept_subsets, stratified_subsets
from kernimpute.joint.reference import typical_row
from kernimpute.methods.new_rows import fill_from_similar
from kernimpute.scale.blocks import Endings, in_blocks, read_block
from kernimpute.scale.plan import Plan
from kernimpute.scale.rules import default_options, labels_of_table
from kernimpute.scale.runs import Job, SubsetsDone, run_blocks
from kernimpute.scale.schedulers import running_on
from kernimpute.scale.work_folder import WorkFolder
from kernimpute.scale.writing import coded_rows, write_filled

__all__ = ["Ended", "fill_table"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Ended:
    """What came of the subsets.

    Parameters
    ----------
    n_subsets, n_reused : int
        Subsets, and those of them that an earlier run had filled.
    statuses : mapping of Status to int
        How they ended.
    unfinished : mapping of (str, Status) to int
        How many did not meet their stop rule, by stage and status.
    notes : tuple of str
        What the solvers note.
    n_iter : int
        Rounds of the longest run, its start included.
    gap : float
        Largest certificate.
    new_rows : bool
        Whether rows without a label were filled.
    found : mapping of str to object
        Options that were left open, as they were used.
    ignored_gaps : mapping of hashable to int
        How many empty cells each ignored column has.
    """

    n_subsets: int = 0
    n_reused: int = 0
    statuses: Mapping[Status, int] = field(default_factory=dict)
    unfinished: Mapping[tuple[str, Status], int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    n_iter: int = 0
    gap: float = 0.0
    new_rows: bool = False
    found: Mapping[str, object] = field(default_factory=dict)
    ignored_gaps: Mapping[Hashable, int] = field(default_factory=dict)


def fill_table(
    plan: Plan,
    work: WorkFolder,
    output: Path,
    method: Mapping[str, Any],
    reference: str,
    dealing: Mapping[str, int],
    *,
    max_models: int | None,
    n_jobs: int | None,
    scheduler: str | None,
    callback: Callable[[SubsetsDone], object] | None,
) -> Ended:
    """Fill the rows and write the table.

    Parameters
    ----------
    plan : Plan
        The table and its code.
    work : WorkFolder
        Where the coded rows and the finished blocks are kept.
    output : Path
        What to write.
    method : mapping of str to object
        The options of `kernimpute.impute`.
    reference : {"mean", "expected"}
        What the filled cells are held at.
    dealing : mapping of str to int
        "subset_size" and "random_state".
    max_models, n_jobs, scheduler, callback
        As in `kernimpute.scale.impute_parquet`.

    Returns
    -------
    Ended
        What came of the subsets.
    """
    X = work.matrix((plan.n_labelled, len(plan.code.features)))
    has_gaps = _code_labelled(plan, X)
    found = default_options(method, X, plan.code, plan.labels)
    if not (has_gaps[0] or has_gaps[1]):
        return Ended(found=found, ignored_gaps=write_filled(plan, output, X, lambda rows: rows))
    options = {**method, **found}
    kernel: Kernel = options.pop("kernel").with_categorical(plan.code.categorical, X.shape[1])
    labels = labels_of_table(plan.labels)
    subsets = stratified_subsets(labels, dealing["subset_size"], dealing["random_state"])
    held = reference if reference == "expected" else typical_row(X, kernel, labels.weights)
    job = Job(X, labels, subsets, kernel, held, Settings(**options))
    with running_on(scheduler, n_jobs, work.workers) as jobs:
        n_reused = run_blocks(job, work, jobs, callback)
    ended = _assembled(job, work)
    kept = kept_subsets(len(subsets), max_models)
    training = X[np.unique(np.concatenate([subsets[place] for place in kept]))]

    new_rows = False

    def fill_new(rows: FloatArray) -> FloatArray:
        nonlocal new_rows
        new_rows = True
        return fill_from_similar(rows, training, kernel)

    ignored_gaps = write_filled(plan, output, X, fill_new)
    return Ended(
        n_subsets=len(subsets),
        n_reused=n_reused,
        statuses=Counter(status for one in ended for status in one.statuses),
        unfinished=Counter(ending for one in ended for ending in one.unfinished),
        notes=tuple(dict.fromkeys(note for one in ended for note in one.notes)),
        n_iter=max(one.n_iter for one in ended),
        gap=max(one.gap for one in ended),
        new_rows=new_rows,
        found={**found, "kernel": kernel},
        ignored_gaps=ignored_gaps,
    )


def _code_labelled(plan: Plan, X: FloatArray) -> tuple[bool, bool]:
    """Write the coded rows that have a label; return whether they, and the others, have gaps."""
    first, in_labelled, in_others = 0, False, False
    for matrix, labelled in coded_rows(plan):
        rows = matrix[labelled]
        X[first : first + rows.shape[0]] = rows
        first += rows.shape[0]
        in_labelled |= bool(np.isnan(rows).any())
        in_others |= bool(np.isnan(matrix[~labelled]).any())
    return in_labelled, in_others


def _assembled(job: Job, work: WorkFolder) -> list[Endings]:
    """Write all finished blocks into the matrix, and return how they ended."""
    ended = []
    # A row in several subsets is filled in the first.
    for block in reversed([*in_blocks(job.subsets)]):
        filled = read_block(work.block(block.place))
        ends = np.cumsum([rows.size for rows in block.subsets])[:-1]
        parts = np.split(filled.X, ends)
        for rows, part in zip(reversed(block.subsets), reversed(parts), strict=True):
            job.X[rows] = part
        # All blocks together have as many rows as the table, which may not fit into the memory.
        ended.append(filled.endings)
    return ended[::-1]
