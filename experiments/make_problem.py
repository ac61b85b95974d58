"""From a setting to a problem: load, split, ampute, scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.amputation import draw_amputation
from experiments.datasets import Dataset, load_dataset
from experiments.naming import parse_name
from experiments.problem import Problem, Rows, Setting, seed_of
from experiments.splits import AUTHORS_TABLE, Split, authors_mask, split_rows

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
    """Refuse a setting whose problem could not be made, as far as that is known without making it."""
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
