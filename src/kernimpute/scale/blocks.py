"""Blocks of subsets: what one task fills, and the file that it leaves behind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.kernels import Kernel
from kernimpute.core.status import Status
from kernimpute.estimators._subsets import Labels, Settings, fill_subset

__all__ = [
    "Block",
    "Endings",
    "FilledBlock",
    "Subset",
    "fill_block",
    "in_blocks",
    "is_block",
    "read_block",
    "write_block",
]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.intp]

SUBSETS = 4
"""Subsets of a block: about half a second of work at 500 rows and 20 columns, a file of 320 kB."""


@dataclass(frozen=True)
class Block:
    """Subsets that one task fills.

    Parameters
    ----------
    place : int
        Which block it is.
    subsets : tuple of ndarray of int
        Rows of each subset.
    """

    place: int
    subsets: tuple[Rows, ...]


@dataclass(frozen=True)
class Subset:
    """Rows of one subset as a task gets them.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows, NaN at the gaps.
    labels : Labels
        Their labels.
    """

    X: FloatArray
    labels: Labels


@dataclass(frozen=True)
class Endings:
    """How the subsets of a block ended: what is kept of it once its rows are in the matrix.

    Parameters
    ----------
    statuses : tuple of Status
        How each subset ended.
    unfinished : tuple of (str, Status)
        Stage and status of what did not meet its stop rule.
    notes : tuple of str
        What the solvers note.
    n_iter : int
        Rounds of the longest run, its start included.
    gap : float
        Largest certificate.
    """

    statuses: tuple[Status, ...]
    unfinished: tuple[tuple[str, Status], ...]
    notes: tuple[str, ...]
    n_iter: int
    gap: float


@dataclass(frozen=True)
class FilledBlock:
    """What a task returns.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The filled rows of all its subsets, one after the other.
    endings : Endings
        How they ended.
    """

    X: FloatArray
    endings: Endings


def in_blocks(subsets: Sequence[Rows]) -> Iterator[Block]:
    """Yield blocks of subsets; which they are does not depend on what runs them.

    Parameters
    ----------
    subsets : sequence of ndarray of int
        Rows of each subset.

    Yields
    ------
    Block
        The blocks.
    """
    for place, first in enumerate(range(0, len(subsets), SUBSETS)):
        yield Block(place, tuple(subsets[first : first + SUBSETS]))


def fill_block(
    subsets: Sequence[Subset], kernel: Kernel, reference: FloatArray | str, settings: Settings
) -> FilledBlock:
    """Fill the subsets of a block.

    Parameters
    ----------
    subsets : sequence of Subset
        The subsets.
    kernel : Kernel
        The kernel.
    reference : ndarray of shape (n_columns,) or "expected"
        What each column's gaps are held at.
    settings : Settings
        The method's parameters.

    Returns
    -------
    FilledBlock
        The filled rows.
    """
    done = []
    for subset in subsets:
        held = (
            reference
            if isinstance(reference, str)
            else np.where(np.isnan(subset.X), reference, subset.X)
        )
        done.append(fill_subset(subset.X, subset.labels, kernel, held, settings, False))
    endings = Endings(
        statuses=tuple(one.status for one in done),
        unfinished=tuple(ending for one in done for ending in one.unfinished),
        notes=tuple(dict.fromkeys(note for one in done for note in one.trace.notes)),
        n_iter=max(1, *(len(one.trace) for one in done)),
        gap=max(one.gap for one in done),
    )
    return FilledBlock(np.concatenate([one.X for one in done]), endings)


def write_block(path: Path, block: FilledBlock) -> None:
    """Write a finished block; the file is there whole, or not at all, after a power cut too.

    Parameters
    ----------
    path : Path
        The file.
    block : FilledBlock
        The block.
    """
    endings = block.endings
    said = {
        "statuses": [status.name for status in endings.statuses],
        "unfinished": [[stage, status.name] for stage, status in endings.unfinished],
        "notes": list(endings.notes),
        "n_iter": endings.n_iter,
        "gap": endings.gap,
    }
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, X=block.X, said=np.array(json.dumps(said)))
        file.flush()
        # Else the new name may reach the disk before what it names.
        os.fsync(file.fileno())
    os.replace(partial, path)


def read_block(path: Path) -> FilledBlock:
    """Return a finished block.

    Parameters
    ----------
    path : Path
        A file of `write_block`.

    Returns
    -------
    FilledBlock
        The block.
    """
    # Opened here, for NumPy leaves a torn file open.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
        said = json.loads(str(held["said"]))
        endings = Endings(
            statuses=tuple(Status[name] for name in said["statuses"]),
            unfinished=tuple((stage, Status[name]) for stage, name in said["unfinished"]),
            notes=tuple(said["notes"]),
            n_iter=said["n_iter"],
            gap=said["gap"],
        )
        return FilledBlock(held["X"], endings)


def is_block(path: Path) -> bool:
    """Return whether a finished block is there and can be read.

    Parameters
    ----------
    path : Path
        A file of `write_block`, torn perhaps, or none.

    Returns
    -------
    bool
        False where the block is to be filled (again).
    """
    try:
        # Whole, for its check sums tell what a disk lost.
        read_block(path)
    except (FileNotFoundError, EOFError, ValueError, KeyError, BadZipFile):
        return False
    return True
