"""The filling of all subsets, block by block, as far as it is not done already."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend
from numpy.typing import NDArray

from kernimpute.core.kernels import Kernel
from kernimpute.estimators._subsets import (
    Labels,
    Settings,
    on_one_thread,
    one_thread,
    runs_alone,
)
from kernimpute.scale.blocks import (
    Block,
    FilledBlock,
    Subset,
    fill_block,
    in_blocks,
    is_block,
    write_block,
)
from kernimpute.scale.interrupts import kept_from_workers, unheard_ends
from kernimpute.scale.work_folder import WorkFolder

__all__ = ["Job", "SubsetsDone", "run_blocks"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class SubsetsDone:
    """How far a run is.

    Parameters
    ----------
    n_done : int
        Subsets that are filled, those of an earlier run included.
    n_subsets : int
        How many there are.
    n_reused : int
        Those that an earlier run, which was interrupted, had filled.
    seconds : float
        Since the filling began.
    """

    n_done: int
    n_subsets: int
    n_reused: int
    seconds: float


@dataclass(frozen=True)
class Job:
    """What is filled, and how.

    Parameters
    ----------
    X : ndarray of shape (n_labelled, n_columns)
        The coded rows that have a label, NaN at the gaps; it may lie in a file.
    labels : Labels
        Their labels.
    subsets : sequence of ndarray of int
        Rows of each subset.
    kernel : Kernel
        The kernel.
    reference : ndarray of shape (n_columns,) or "expected"
        What each column's gaps are held at.
    settings : Settings
        The method's parameters.
    """

    X: FloatArray
    labels: Labels
    subsets: Sequence[Rows]
    kernel: Kernel
    reference: FloatArray | str
    settings: Settings

    def task(self, block: Block) -> tuple[tuple[Subset, ...], Kernel, FloatArray | str, Settings]:
        """Return what `fill_block` takes for a block: its rows, and nothing of others."""
        subsets = tuple(Subset(self.X[rows], self.labels.of(rows)) for rows in block.subsets)
        return subsets, self.kernel, self.reference, self.settings


def run_blocks(
    job: Job,
    work: WorkFolder,
    n_jobs: int | None,
    callback: Callable[[SubsetsDone], object] | None,
) -> int:
    """Fill all blocks that are not finished, and leave each in a file.

    Parameters
    ----------
    job : Job
        What is filled.
    work : WorkFolder
        Where the files are.
    n_jobs : int or None
        Blocks at the same time, as joblib counts.
    callback : callable or None
        Called when a block is finished, and once before the first.

    Returns
    -------
    int
        Subsets that an earlier run had filled.
    """
    began = time.perf_counter()
    blocks = list(in_blocks(job.subsets))
    left = [block for block in blocks if not is_block(work.block(block.place))]
    n_done = n_reused = len(job.subsets) - sum(len(block.subsets) for block in left)

    def tell() -> None:
        if callback is not None:
            seconds = time.perf_counter() - began
            callback(SubsetsDone(n_done, len(job.subsets), n_reused, seconds))

    tell()
    with contextlib.closing(_finished(job, left, n_jobs)) as finished:
        for place, filled in finished:
            write_block(work.block(place), filled)
            n_done += len(filled.endings.statuses)
            tell()
    return n_reused


def _finished(
    job: Job, blocks: Sequence[Block], n_jobs: int | None
) -> Generator[tuple[int, FilledBlock], None, None]:
    """Yield the blocks as they are finished, in any order; few are on the way at a time."""
    # Around all tasks, too, so that threads do not set the limit anew for each.
    with one_thread():
        if runs_alone(n_jobs) or len(blocks) == 1:
            for block in blocks:
                yield block.place, fill_block(*job.task(block))
            return
        tasks = (
            delayed(on_one_thread)(_placed, (block.place, job.task(block))) for block in blocks
        )
        parallel = Parallel(
            n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs", batch_size=1
        )
        with contextlib.ExitStack() as stack:
            stack.callback(_without_workers)
            with kept_from_workers():
                results = parallel(tasks)
                stack.callback(_closed, results)
            # `yield from` would close them before the warning is ignored.
            for result in results:  # noqa: UP028
                yield result


def _without_workers() -> None:
    """End joblib's own worker processes: later calls would get them, which get no interrupt."""
    backend, _ = get_active_backend()
    if isinstance(backend, LokyBackend):
        get_reusable_executor(reuse=True).shutdown(wait=True)


def _closed(results: Generator[tuple[int, FilledBlock], None, None]) -> None:
    """Drop the tasks that are left."""
    with warnings.catch_warnings(), unheard_ends():
        # Of the tasks that are dropped: who interrupts knows it.
        warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
        results.close()


def _placed(
    place: int, task: tuple[tuple[Subset, ...], Kernel, FloatArray | str, Settings]
) -> tuple[int, FilledBlock]:
    return place, fill_block(*task)
