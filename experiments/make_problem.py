"""From a setting to a problem: load, split, ampute, scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.amputation import draw_amputation
from experiments.datasets import Dataset, load_dataset
from experiments.files import find_file
from experiments.naming import parse_name
from experiments.problem import Problem, Rows, Setting, seed_of

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def make_problem(setting: Setting, data_dir: Path | None) -> Problem:
    """Return the problem of a setting; the same for every method.

    1. The dataset is loaded; a drawn one by its repetition.
    2. Its rows are split.
    3. Cells are removed from the training rows: by the authors' mask where there is one, else
       by a seed hashed from the table, the mechanism, the rate and the repetition. What a
       mechanism draws for itself, such as which columns decide, depends on table, mechanism and
       repetition only, and is the same for holdout and test rows where these lose cells too.
    4. Columns are scaled, by the range of all rows as they were or of the observed training
       cells.

    Neither an option of the dataset nor the scaling or the held-out rows' state enters a seed,
    so that settings that differ in one of them are compared on the same rows and masks.
    """
    _check(setting)
    dataset, split = _split(setting, data_dir)
    classes = np.unique(dataset.y)
    lacking = np.setdiff1d(classes, dataset.y[split.train])
    if lacking.size:
        raise ValueError(
            f"The training rows of {setting.dataset}, repetition {setting.repetition}, must be of "
            f"all classes; got none of class {lacking[0]}."
        )
    truth = {name: dataset.X[rows] for name, rows in split._asdict().items()}
    observed = _masks(setting, truth, data_dir)
    gappy = {name: np.where(observed[name], X, np.nan) for name, X in truth.items()}
    reference = dataset.X if setting.scaling == "paper" else gappy["train"]
    sets = {
        name: Rows(
            X=unit_scaled(gappy[name], reference),
            truth=unit_scaled(truth[name], reference),
            y=dataset.y[rows],
        )
        for name, rows in split._asdict().items()
    }
    return Problem(setting, **sets)


def check_setting(setting: Setting, data_dir: Path | None) -> None:
    """Refuse a setting that is known to be impossible before its problem is made."""
    _check(setting)
    _split(setting, data_dir)


def _split(setting: Setting, data_dir: Path | None) -> tuple[Dataset, Split]:
    dataset = load_dataset(setting.dataset, data_dir, setting.repetition)
    n_rows = len(dataset.y)
    return dataset, split_rows(
        setting.dataset, n_rows, setting.repetition, setting.splits, data_dir
    )


def unit_scaled(X: FloatArray, reference: FloatArray) -> FloatArray:
    """Return X with the range of each column of a reference mapped to [0, 1].

    Where the reference shows no or one value in a column, nothing is known of its scale: all
    known cells become 1/2. Cells outside the reference's range land outside [0, 1].
    """
    known = ~np.isnan(reference)
    minimum = np.where(known, reference, np.inf).min(axis=0)
    maximum = np.where(known, reference, -np.inf).max(axis=0)
    scaled = maximum > minimum
    minimum, maximum = np.where(scaled, minimum, 0.0), np.where(scaled, maximum, 1.0)
    unit = np.where(scaled, (X - minimum) / (maximum - minimum), 0.5)
    return np.where(np.isnan(X), np.nan, unit)


def _check(setting: Setting) -> None:
    rate, mechanism = setting.missing_rate, setting.mechanism
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"The missing rate of a setting must be in [0, 1); got {rate!r}.")
    if mechanism == "inherent" and rate != 0.0:
        raise ValueError(f"The missing rate under 'inherent' must be 0; got {rate!r}.")
    if setting.repetition < 0:
        raise ValueError(f"A repetition must be at least 0; got {setting.repetition}.")


def _masks(
    setting: Setting, truth: dict[str, FloatArray], data_dir: Path | None
) -> dict[str, BoolArray]:
    """Return which cells of the training, holdout and test rows stay observed."""
    own = {name: ~np.isnan(X) for name, X in truth.items()}
    if setting.mechanism == "inherent":
        return own
    table = parse_name(setting.dataset).base
    axes = (table, setting.mechanism, setting.repetition)
    amputation = draw_amputation(
        setting.mechanism, truth["train"], np.random.default_rng(seed_of("mechanism", *axes))
    )

    def drawn(name: str) -> BoolArray:
        seed = seed_of("mask", name, *axes, setting.missing_rate)
        return amputation.mask(truth[name], setting.missing_rate, np.random.default_rng(seed))

    amputed = Split._fields if setting.held_out == "amputed" else ("train",)
    masks = {**own, **{name: drawn(name) for name in amputed}}
    if table == AUTHORS_TABLE and setting.splits == "authors" and setting.mechanism == "mcar":
        authors = authors_mask(setting.repetition, setting.missing_rate, data_dir)
        masks["train"] = masks["train"] if authors is None else authors
    return masks


AUTHORS_TABLE = "australian"
"""The one table whose splits and masks the authors have published."""

Indices = NDArray[np.intp]


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
