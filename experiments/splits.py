"""Which rows are learned from, selected by and judged by."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.files import find_file
from experiments.naming import parse_name
from experiments.problem import seed_of

AUTHORS_TABLE = "australian"
"""The one table whose splits and masks the authors have published."""

Indices = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


class Split(NamedTuple):
    """Rows of a table, each in one of three sets."""

    train: Indices  # Their indices
    holdout: Indices
    test: Indices


def split_rows(
    dataset: str,
    n_rows: int,
    repetition: int,
    splits: Literal["authors", "hashed"],
    data_dir: Path | None,
) -> Split:
    """Return a split of a table 4:3:3, by floor cuts and not stratified."""
    table = parse_name(dataset).base
    if splits == "authors" and table == AUTHORS_TABLE:
        rows = _authors(repetition, data_dir)
        return Split(*(rows[name].astype(np.intp) for name in Split._fields))
    generator = np.random.default_rng(seed_of("split", table, repetition))
    order = generator.permutation(n_rows)
    n_train, n_holdout = n_rows * 4 // 10, n_rows * 3 // 10
    return Split(*np.split(order, [n_train, n_train + n_holdout]))


def authors_mask(repetition: int, missing_rate: float, data_dir: Path | None) -> BoolArray | None:
    """Return the authors' own mask of a split of australian, or None at a rate they lack."""
    rows = _authors(repetition, data_dir)
    place = np.flatnonzero(np.isclose(rows["missing_rate"], missing_rate))
    return ~rows["missing"][place[0]] if place.size else None


def _authors(repetition: int, data_dir: Path | None) -> dict[str, NDArray[Any]]:
    """Return the authors' rows of a repetition, and their masks at every rate."""
    path = find_file("australian_splits.npz", data_dir)
    # Their indices are into the rows of the file; a copy from elsewhere may have another order.
    if path is None or find_file("australian.csv", data_dir) is None:
        raise FileNotFoundError(
            "The authors' splits must be read from australian_splits.npz beside australian.csv, in "
            "a folder named by --data-dir or KERNIMPUTE_DATA, or be replaced by splits 'hashed'; "
            f"got folder '{data_dir}'."
        )
    with np.load(path) as stored:
        repetitions = len(stored["train"])
        if not 0 <= repetition < repetitions:
            raise ValueError(
                f"A repetition of the authors' splits must be in 0 ... {repetitions - 1}; "
                f"got {repetition}."
            )
        rows = {name: stored[name][repetition] for name in Split._fields}
        return {
            **rows,
            "missing": stored["missing"][:, repetition],
            "missing_rate": stored["missing_rate"],
        }
