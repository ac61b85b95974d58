"""The filled table, written row group by row group as the source is read once more."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kernimpute.core.files import replacing, replacing_folder
from kernimpute.scale.plan import Plan
from kernimpute.scale.source import slices
from kernimpute.table.code import EncodedTable
from kernimpute.table.columns import observed_in_table
from kernimpute.table.frames import as_frame, with_filled_columns

__all__ = ["coded_rows", "write_filled"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def coded_rows(plan: Plan) -> Iterator[tuple[FloatArray, BoolArray]]:
    """Yield the table's rows in its code, piece by piece.

    Parameters
    ----------
    plan : Plan
        How they are coded.

    Yields
    ------
    matrix : ndarray of shape (n_rows, n_features)
        Some rows, NaN at the gaps.
    labelled : ndarray of bool of shape (n_rows,)
        True where they have a label.
    """
    first = 0
    for file in plan.source.files:
        for group in plan.source.row_groups(file, plan.used):
            for piece in slices(group):
                yield _coded(plan, piece).matrix, plan.labelled[first : first + piece.num_rows]
                first += piece.num_rows


def write_filled(
    plan: Plan, output: Path, training: FloatArray, fill_new: Callable[[FloatArray], FloatArray]
) -> Mapping[Hashable, int]:
    """Write the table with its gaps filled; it is there whole, or not at all.

    Parameters
    ----------
    plan : Plan
        The table and its code.
    output : Path
        A file, or a folder with a file for each of the source's.
    training : ndarray of shape (n_labelled, n_features)
        The filled rows that have a label; it may lie in a file.
    fill_new : callable
        Fills coded rows that have none.

    Returns
    -------
    mapping of str to int
        How many empty cells each ignored column has.
    """
    ignored_gaps: Counter[Hashable] = Counter()
    rows = _FilledRows(plan, training, fill_new)
    with contextlib.ExitStack() as stack:
        if plan.source.is_folder:
            folder = stack.enter_context(replacing_folder(output))
            places = [folder / file.name for file in plan.source.files]
        else:
            places = [*stack.enter_context(replacing(output))]
        for file, place in zip(plan.source.files, places, strict=True):
            opened = pq.ParquetFile(file)
            codec = _codec(opened)
            schema = opened.schema_arrow
            kept = pa.schema([schema.field(name) for name in plan.kept], schema.metadata)
            with pq.ParquetWriter(place, kept, compression=codec) as writer:
                for group in plan.source.row_groups(file):
                    for name in plan.roles.ignored:
                        ignored_gaps[name] += _n_empty(group[name])
                    pieces = [rows.fill(piece).select(plan.kept) for piece in slices(group)]
                    whole = pa.concat_tables(pieces) if pieces else group.select(plan.kept)
                    writer.write_table(whole, row_group_size=max(1, whole.num_rows))
    return ignored_gaps


def _n_empty(column: pa.ChunkedArray) -> int:
    """Return how many cells hold nothing, or NaN."""
    return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)


def _codec(opened: pq.ParquetFile) -> str:
    """Return how a file is compressed, by its first column."""
    metadata = opened.metadata
    if metadata.num_row_groups == 0 or metadata.num_columns == 0:
        return "snappy"
    codec = metadata.row_group(0).column(0).compression
    return "none" if codec == "UNCOMPRESSED" else str(codec)


def _coded(plan: Plan, piece: pa.Table) -> EncodedTable:
    frame, markers = as_frame(piece.select(plan.used)), plan.missing_values
    coded = plan.code.encode(frame, missing_values=markers, handle_unknown="missing")
    # A category that only rows without a label have is kept, and unknown to the fill.
    return replace(coded, observed=observed_in_table(frame, markers))


class _FilledRows:
    """The table's rows filled, piece by piece, in their order."""

    def __init__(
        self, plan: Plan, training: FloatArray, fill_new: Callable[[FloatArray], FloatArray]
    ) -> None:
        self._plan = plan
        self._training = training
        self._fill_new = fill_new
        self._row = self._labelled_row = 0

    def fill(self, piece: pa.Table) -> pa.Table:
        """Return the next rows with their gaps filled."""
        coded = _coded(self._plan, piece)
        labelled = self._plan.labelled[self._row : self._row + piece.num_rows]
        n_labelled = int(labelled.sum())
        X = coded.matrix.copy()
        X[labelled] = self._training[self._labelled_row : self._labelled_row + n_labelled]
        if np.isnan(X[~labelled]).any():
            X[~labelled] = self._fill_new(X[~labelled])
        self._row += piece.num_rows
        self._labelled_row += n_labelled
        names = [
            name
            for name, observed in zip(self._plan.used, coded.observed.T, strict=True)
            if not observed.all()
        ]
        return with_filled_columns(piece, coded.decode(X), names)
