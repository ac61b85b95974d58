"""What a run over Parquet returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from kernimpute.core.checks import Task
from kernimpute.core.status import Status, overall

__all__ = ["ParquetImputation"]


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
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def n_filled(self) -> int:
        """Number of cells filled."""
        return sum(self.filled.values())

    @property
    def status(self) -> Status:
        """How subsets ended: the first that is no success, else the most frequent."""
        status = overall(Counter(self.statuses).elements())
        # Rows without a label may have been filled from complete ones.
        is_filled = self.n_filled and self.n_subsets
        return Status.CONVERGED if status is Status.NOTHING_MISSING and is_filled else status
