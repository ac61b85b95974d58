"""The work behind `impute_parquet`: rows to a matrix on disk, to filled blocks, to the output.

A block is a few subsets that one task fills; each finished block is a file of the work folder.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from joblib import Parallel, delayed
from numpy.typing import NDArray

from kernimpute.core.files import replacing, replacing_folder
from kernimpute.core.kernels import Kernel
from kernimpute.core.status import Status
from kernimpute.estimators._base import Coding, NewRows
from kernimpute.estimators._imputer import KernelImputer
from kernimpute.estimators._subsets import (
    Labels,
    Settings,
    fill_subset,
    kept_subsets,
    on_one_thread,
    one_thread,
    runs_alone,
    stratified_subsets,
)
from kernimpute.estimators.impute_table import unknown_caution
from kernimpute.joint.reference import typical_row
from kernimpute.scale.schedulers import interrupts_blocked, running_on
from kernimpute.scale.source import Plan, slices
from kernimpute.scale.work_folder import WorkFolder
from kernimpute.table.code import EncodedTable, Unknown
from kernimpute.table.frames import as_frame, with_filled_columns

__all__ = ["BLOCK_SUBSETS", "Filled", "SubsetsDone", "fill_table"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Rows = NDArray[np.intp]
Reference = FloatArray | str
"""What each column's gaps are held at, of shape (n_columns,), or "expected"."""

BLOCK_SUBSETS = 4
"""Subsets of a block: about half a second of work at 500 rows and 20 columns, a file of 320 kB."""


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


@dataclass
class Filled:
    """How the subsets of a table ended, and what was found on the way."""

    kernel: Kernel
    eta: float | None
    n_subsets: int
    n_reused: int
    statuses: Counter[Status] = field(default_factory=Counter)
    unfinished: Counter[tuple[str, Status]] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)  # of the solvers; the keys count
    n_iter: int = 1
    gap: float = 0.0
    ignored_gaps: Counter[Hashable] = field(default_factory=Counter)
    cautions: list[str] = field(default_factory=list)


def fill_table(
    plan: Plan,
    imputer: KernelImputer,
    work: WorkFolder,
    output: Path,
    scheduler: str | None,
    callback: Callable[[SubsetsDone], object] | None,
) -> Filled:
    """Fill the rows of a table by the parameters of an imputer, and write the table.

    1. The rows that have a label are coded into a matrix on disk.
    2. They are dealt out to the stratified subsets of `KernelImputer`, which are filled by blocks.
    3. The finished blocks are copied back into the matrix.
    4. The table is read once more and written with its gaps filled, other rows as new rows.
    """
    labels, coding = plan.labels, imputer._coding_for(plan.code)
    X, unknown = _coded_on_disk(plan, coding, work)
    kernel = imputer._kernel_for(X, coding, labels)
    eta = imputer._eta_for(X, labels)
    typical = typical_row(X, kernel, labels.weights)
    reference: Reference = "expected" if imputer.reference == "expected" else typical
    settings = Settings(
        variant=str(imputer.guidance),
        C=float(imputer.C),
        eta=eta,
        epsilon=float(imputer.epsilon),
        tol=imputer.tol,
        max_iter=imputer.max_iter,
    )
    subsets = stratified_subsets(labels, imputer.subset_size, imputer._seed())
    blocks = [
        subsets[first : first + BLOCK_SUBSETS] for first in range(0, len(subsets), BLOCK_SUBSETS)
    ]

    def task(place: int) -> tuple[Any, ...]:
        # A worker gets the rows of its block and no others.
        rows = [(X[subset], labels.of(subset)) for subset in blocks[place]]
        return place, rows, kernel, reference, settings

    with running_on(scheduler, imputer.n_jobs, work.workers) as n_jobs:
        n_reused = _run(blocks, task, work, n_jobs, callback)
    filled = Filled(kernel, eta, len(subsets), n_reused)
    _copy_back(blocks, work, X, filled)
    kept = np.unique(np.concatenate([subsets[place] for place in kept_subsets(len(subsets))]))
    imputer._code, imputer._coding = plan.code, coding
    training = None if eta == math.inf else X[kept]
    imputer._new_rows = NewRows(typical, coding.categorical, training, labels.weights[kept])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _write(plan, imputer, reference, X, output, filled.ignored_gaps)
    filled.cautions += [
        *(
            f"{stage} in {count} of {len(subsets)} subsets: {status.value}"
            if len(subsets) > 1
            else f"{stage}: {status.value}"
            for (stage, status), count in filled.unfinished.items()
        ),
        *unknown_caution(unknown),
        *(str(each.message).removeprefix("KernelImputer: ") for each in caught),
    ]
    return filled


# ------------------------------------------------------------------------------------ 1. coding


def _coded_on_disk(
    plan: Plan, coding: Coding, work: WorkFolder
) -> tuple[FloatArray, tuple[Unknown, ...]]:
    """Return the rows that have a label as the kernel takes them, and the others' new categories.

    The matrix has the shape (n_labelled, n_columns), NaN at the gaps.
    """
    n_columns = coding.matrix(np.empty((0, len(plan.code.features)))).shape[1]
    X = work.matrix((plan.labels.values.size, n_columns))
    unknown: dict[Hashable, Unknown] = {}
    first = done = 0
    for file in plan.source.files:
        for group in plan.source.row_groups(file, plan.used):
            for piece in slices(group):
                rows = _encoded(plan, piece)
                labelled = plan.labelled[first : first + piece.num_rows]
                n_labelled = int(labelled.sum())
                X[done : done + n_labelled] = coding.matrix(rows.matrix[labelled])
                first, done = first + piece.num_rows, done + n_labelled
                for name, categories, count in rows.unknown:
                    _, before, n_before = unknown.get(name, (name, (), 0))
                    both = tuple(dict.fromkeys([*before, *categories]))
                    unknown[name] = name, both, n_before + count
    return X, tuple(unknown.values())


def _encoded(plan: Plan, piece: pa.Table) -> EncodedTable:
    """Return some rows in the table's code."""
    frame = as_frame(piece.select(plan.used))
    return plan.code.encode(frame, missing_values=plan.missing_values)


# ------------------------------------------------------------------------------------ 2. blocks


@dataclass(frozen=True)
class _Block:
    """The filled rows of a block's subsets, one after the other, and how the subsets ended."""

    place: int
    X: FloatArray  # (n_rows, n_columns)
    statuses: tuple[Status, ...]
    unfinished: tuple[tuple[str, Status], ...]  # stage and status of runs that stopped early
    notes: tuple[str, ...]
    n_iter: int
    gap: float


def _run(
    blocks: Sequence[Sequence[Rows]],
    task: Callable[[int], tuple[Any, ...]],
    work: WorkFolder,
    n_jobs: int | None,
    callback: Callable[[SubsetsDone], object] | None,
) -> int:
    """Fill the blocks that are not finished, each into a file; return how many subsets were."""
    began = time.perf_counter()
    n_subsets = sum(map(len, blocks))
    left = [place for place in range(len(blocks)) if _read_block(work, place) is None]
    n_done = n_reused = n_subsets - sum(len(blocks[place]) for place in left)

    def tell() -> None:
        if callback is not None:
            callback(SubsetsDone(n_done, n_subsets, n_reused, time.perf_counter() - began))

    tell()
    with contextlib.closing(_finished(left, task, n_jobs)) as finished:
        for block in finished:
            _write_block(work, block)
            n_done += len(block.statuses)
            tell()
    return n_reused


def _finished(
    left: Sequence[int], task: Callable[[int], tuple[Any, ...]], n_jobs: int | None
) -> Generator[_Block, None, None]:
    """Yield filled blocks as they are finished, in any order; few are on their way at a time."""
    # Around all tasks, too, so that threads do not set the limit anew for each.
    with one_thread():
        if runs_alone(n_jobs) or len(left) < 2:
            for place in left:
                yield fill_block(*task(place))
            return
        calls = (delayed(on_one_thread)(fill_block, task(place)) for place in left)
        parallel = Parallel(
            n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs", batch_size=1
        )
        with interrupts_blocked():
            results = parallel(calls)
        yield from results


def fill_block(
    place: int,
    subsets: Sequence[tuple[FloatArray, Labels]],
    kernel: Kernel,
    reference: Reference,
    settings: Settings,
) -> _Block:
    """Fill the subsets of a block: rows of shape (n_rows, n_columns) and their labels."""
    done = []
    for rows, labels in subsets:
        held = reference
        if not isinstance(reference, str):
            held = np.where(np.isnan(rows), reference, rows)
        done.append(fill_subset(rows, labels, kernel, held, settings, has_machine=False))
    return _Block(
        place=place,
        X=np.concatenate([one.X for one in done]),
        statuses=tuple(one.status for one in done),
        unfinished=tuple(ending for one in done for ending in one.unfinished),
        notes=tuple(dict.fromkeys(note for one in done for note in one.trace.notes)),
        n_iter=max(1, *(len(one.trace) for one in done)),
        gap=max(one.gap for one in done),
    )


def _write_block(work: WorkFolder, block: _Block) -> None:
    """Write a finished block; the file is there whole or not at all, after a power cut too."""
    path = work.block(block.place)
    endings = {
        "statuses": [status.name for status in block.statuses],
        "unfinished": [[stage, status.name] for stage, status in block.unfinished],
        "notes": list(block.notes),
        "n_iter": block.n_iter,
        "gap": block.gap,
    }
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, X=block.X, endings=np.array(json.dumps(endings)))
        file.flush()
        # Else the new name may reach the disk before what it names.
        os.fsync(file.fileno())
    os.replace(partial, path)


def _read_block(work: WorkFolder, place: int) -> _Block | None:
    """Return a finished block; None where there is none, or a torn one."""
    try:
        # Opened here, because NumPy leaves a torn file open.
        with work.block(place).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            endings = json.loads(str(stored["endings"]))
            return _Block(
                place=place,
                X=stored["X"],
                statuses=tuple(Status[name] for name in endings["statuses"]),
                unfinished=tuple((stage, Status[name]) for stage, name in endings["unfinished"]),
                notes=tuple(endings["notes"]),
                n_iter=endings["n_iter"],
                gap=endings["gap"],
            )
    except (FileNotFoundError, EOFError, ValueError, KeyError, BadZipFile):
        return None


# ------------------------------------------------------------------------------- 3. copying back


def _copy_back(
    blocks: Sequence[Sequence[Rows]], work: WorkFolder, X: FloatArray, filled: Filled
) -> None:
    """Copy the finished blocks into the matrix, one at a time, and count how they ended."""
    # Backwards, because a row in several subsets is filled in the first.
    for place in reversed(range(len(blocks))):
        block = _read_block(work, place)
        if block is None:
            raise OSError(f"{work.block(place)} is damaged: repeat the call to fill it again.")
        parts = np.split(block.X, np.cumsum([rows.size for rows in blocks[place]])[:-1])
        for rows, part in zip(reversed(blocks[place]), reversed(parts), strict=True):
            X[rows] = part
        filled.statuses.update(block.statuses)
        filled.unfinished.update(block.unfinished)
        filled.notes |= dict.fromkeys(block.notes)
        filled.n_iter = max(filled.n_iter, block.n_iter)
        filled.gap = max(filled.gap, block.gap)


# ------------------------------------------------------------------------------------ 4. writing


def _write(
    plan: Plan,
    imputer: KernelImputer,
    reference: Reference,
    X: FloatArray,
    output: Path,
    ignored_gaps: Counter[Hashable],
) -> None:
    """Write the table with its gaps filled, whole or not at all; count empty ignored cells."""
    with contextlib.ExitStack() as stack:
        if plan.source.is_folder:
            folder = stack.enter_context(replacing_folder(output))
            places = [folder / file.name for file in plan.source.files]
        else:
            places = [*stack.enter_context(replacing(output))]
        first = done = 0
        for file, place in zip(plan.source.files, places, strict=True):
            opened = pq.ParquetFile(file)
            schema = opened.schema_arrow
            kept = pa.schema([schema.field(name) for name in plan.kept], schema.metadata)
            with pq.ParquetWriter(place, kept, compression=_compression(opened)) as writer:
                for group in plan.source.row_groups(file):
                    for name in plan.roles.ignored:
                        ignored_gaps[name] += _n_empty(group[name])
                    pieces = []
                    for piece in slices(group):
                        labelled = plan.labelled[first : first + piece.num_rows]
                        training = X[done : done + int(labelled.sum())]
                        written = _filled(plan, imputer, reference, piece, labelled, training)
                        pieces.append(written.select(plan.kept))
                        first, done = first + piece.num_rows, done + len(training)
                    whole = pa.concat_tables(pieces) if pieces else group.select(plan.kept)
                    writer.write_table(whole, row_group_size=max(1, whole.num_rows))


def _filled(
    plan: Plan,
    imputer: KernelImputer,
    reference: Reference,
    piece: pa.Table,
    labelled: BoolArray,
    training: FloatArray,
) -> pa.Table:
    """Return some rows with their gaps filled; `training` is their filled labelled part."""
    rows = _encoded(plan, piece)
    matrix = rows.matrix[labelled]
    anchor = None
    if not isinstance(reference, str):
        coded = imputer._coding.matrix(matrix)
        anchor = np.where(np.isnan(coded), reference, coded)
    codes = np.empty_like(rows.matrix)
    codes[labelled] = imputer._coding.codes(training, matrix, anchor)
    codes[~labelled] = imputer._filled_new(rows.matrix[~labelled])
    gappy = [name for name, seen in zip(plan.used, rows.observed.T, strict=True) if not seen.all()]
    return with_filled_columns(piece, rows.decode(codes), gappy)


def _n_empty(column: pa.ChunkedArray) -> int:
    """Return how many cells hold nothing, or NaN."""
    return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)


def _compression(opened: pq.ParquetFile) -> str:
    """Return how a file is compressed, by its first column."""
    metadata = opened.metadata
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return "snappy"
    codec = metadata.row_group(0).column(0).compression
    return "none" if codec == "UNCOMPRESSED" else str(codec)
