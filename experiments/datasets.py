"""The datasets by name, with the options that say how a table is read.

A name may carry options; the first value is the default:

- ``australian``, ``heart``;
- ``german[coding=numeric|symbolic]``;
- ``pima[zeros=kept|missing]``: zeros of plas, pres, skin, insu and mass that stand for gaps;
- ``wine[threshold=6|4|5|7|8|9]``: white wine, class 1 from this score on;
- ``cylinder[zeros=missing|kept,categories=codes|indicators,rows=512|540]``;
- ``horse[zeros=missing|kept,categories=codes|indicators]``;
- ``synthetic[n=400,d=30,noise_intensity=0.2,outlier_fraction=0.1,non_uniformity=0.5]`` and
  ``moons[n=200,noise=0.1]``, drawn anew for every repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.files import find_file
from experiments.naming import Name, Option, parse_name
from experiments.openml import OPENML, open_table
from experiments.problem import seed_of
from experiments.synthetic import draw_moons, draw_synthetic

FloatArray = NDArray[np.float64]
Drawer = Callable[..., tuple[FloatArray, NDArray[np.int64]]]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its labels."""

    name: str  # The name it was asked for by, with its options
    X: FloatArray  # Its columns as they are, not scaled, NaN at the table's own gaps; not writable
    y: NDArray[np.int64]  # Labels 0 and 1; not writable
    feature_names: tuple[str, ...]  # The columns' names
    source: str  # Where it comes from: a file, "OpenML" with a number, or "drawn"


@dataclass(frozen=True)
class Reading:
    """How the name of a table is read."""

    options: Mapping[str, tuple[Option, ...]]  # The values of each option, the default first
    positive: int | str | None  # The label of class 1; None where an option decides
    left_out: tuple[str, ...] = ()  # Columns that identify a row or say nothing
    # The columns in which zeros may stand for gaps; empty for all columns of numbers
    zeros_in: tuple[str, ...] = ()


_MIXED: dict[str, tuple[Option, ...]] = {
    "zeros": ("missing", "kept"),
    "categories": ("codes", "indicators"),
}
READINGS = {
    "australian": Reading({}, 1),
    "german": Reading({"coding": ("numeric", "symbolic")}, 2),
    "heart": Reading({}, 2),
    # Zeros of these stand for unknown values; libsvm and the paper keep them.
    "pima": Reading(
        {"zeros": ("kept", "missing")}, 1, zeros_in=("plas", "pres", "skin", "insu", "mass")
    ),
    "wine": Reading({"threshold": (6, 4, 5, 7, 8, 9)}, None),
    "cylinder": Reading(
        {**_MIXED, "rows": (512, 540)},
        "band",
        ("timestamp", "cylinder_number", "customer", "job_number"),
    ),
    "horse": Reading(_MIXED, 1, ("hospital_number", "cp_data")),
}

DRAWN: dict[str, tuple[Drawer, dict[str, Option]]] = {
    "synthetic": (
        draw_synthetic,
        {"n": 400, "d": 30, "noise_intensity": 0.2, "outlier_fraction": 0.1, "non_uniformity": 0.5},
    ),
    "moons": (draw_moons, {"n": 200, "noise": 0.1}),
}

DATASETS = (*READINGS, *DRAWN)
"""The names, without options."""


def load_dataset(name: str, data_dir: Path | None, repetition: int = 0) -> Dataset:
    """Return a dataset by its name."""
    parsed = parse_name(name)
    if parsed.base in DRAWN:
        return _drawn(parsed, repetition)
    if parsed.base not in READINGS:
        raise ValueError(f"A dataset must be one of: {', '.join(DATASETS)}; got {parsed.base!r}.")
    return _read(name, data_dir)


def _drawn(name: Name, repetition: int) -> Dataset:
    draw, known = DRAWN[name.base]
    options = name.with_defaults(known)
    for key, default in known.items():
        value = options[key]
        kinds = (int,) if isinstance(default, int) else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            must_be = "a whole number" if isinstance(default, int) else "a number"
            raise ValueError(f"The option {key!r} of {name.base} must be {must_be}; got {value!r}.")
    # Options don't enter the seed, so that tables that differ in one of them are comparable.
    generator = np.random.default_rng(seed_of("draw", name.base, repetition))
    X, y = draw(generator, **options)
    names = tuple(f"x{column + 1}" for column in range(X.shape[1]))
    return _dataset(name, X, y, names, "drawn")


@lru_cache(maxsize=8)
def _read(name: str, data_dir: Path | None) -> Dataset:
    """Return a table of a file, or of OpenML."""
    parsed = parse_name(name)
    options = _options(parsed)
    reading = READINGS[parsed.base]
    frame, source = _table(_file(parsed.base, options), data_dir)
    labels = frame["target"]
    if reading.positive is None:
        y = labels >= options["threshold"]
    else:
        y = labels == reading.positive
    frame = frame.drop(columns=["target", *reading.left_out], errors="ignore")
    if "rows" in options:
        frame, y = frame.iloc[: options["rows"]], y.iloc[: options["rows"]]
    categories = [
        column for column in frame if holds_categories(frame[column], parsed.base == "horse")
    ]
    if options.get("zeros") == "missing":
        frame = without_zeros(frame, reading.zeros_in or tuple(frame))
    if options.get("categories") == "indicators":
        frame = indicators(frame, categories)
    X = np.column_stack([codes(frame[column]) for column in frame])
    return _dataset(parsed, X, y.to_numpy(np.int64), tuple(frame), source)


def _dataset(
    name: Name, X: FloatArray, y: NDArray[np.int64], feature_names: tuple[str, ...], source: str
) -> Dataset:
    """Return a dataset with read-only arrays, because it is cached and shared."""
    X.setflags(write=False)
    y.setflags(write=False)
    return Dataset(str(name), X, y, feature_names, source)


def _options(name: Name) -> dict[str, Any]:
    """Return the options of a table of a file, checked."""
    choices = READINGS[name.base].options
    options = name.with_defaults({key: values[0] for key, values in choices.items()})
    for key, values in choices.items():
        if options[key] not in values:
            must_be = " or ".join(f"{value}" for value in values)
            raise ValueError(
                f"The option {key!r} of {name.base} must be {must_be}; got {options[key]!r}."
            )
    return options


def _file(table: str, options: Mapping[str, Any]) -> str:
    if table == "german":
        return "german_numer.csv" if options["coding"] == "numeric" else "german.csv"
    files = {"wine": "wine_white", "cylinder": "cylinder_bands", "horse": "horse_colic"}
    return f"{files.get(table, table)}.csv"


def _table(file: str, data_dir: Path | None) -> tuple[pd.DataFrame, str]:
    """Return a file's table and where it comes from."""
    path = find_file(file, data_dir)
    if path is not None:
        return pd.read_csv(path), file
    reason = "OpenML does not have it"
    if file in OPENML:
        try:
            return open_table(file), f"OpenML {OPENML[file].data_id}"
        except (OSError, ValueError) as error:
            reason = f"OpenML gives: {error}".rstrip(".")
    raise FileNotFoundError(
        f"The table {file} must be in the folder that --data-dir or KERNIMPUTE_DATA names, or be "
        f"had from OpenML; got {'no folder' if data_dir is None else data_dir}, and {reason}."
    )


MOST_CODES = 8
"""Whole numbers with more distinct values than this are a quantity."""


def holds_categories(column: pd.Series, numbers_may: bool) -> bool:
    """Return whether a column holds categories."""
    if column.dtype.kind not in "if":
        return True
    known = column.dropna()
    few = bool((known == known.round()).all()) and known.nunique() <= MOST_CODES
    return numbers_may and (few or f"{column.name}".startswith("lesion"))


def without_zeros(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the table with gaps where columns of numbers hold a zero."""
    numbers = [column for column in columns if frame[column].dtype.kind in "if"]
    return frame.assign(**{column: frame[column].mask(frame[column] == 0) for column in numbers})


def codes(column: pd.Series) -> NDArray[np.float64]:
    """Return numbers as they are, and text by its place in sorted order."""
    if column.dtype.kind in "if":
        return column.to_numpy(float)
    places, _ = pd.factorize(column.str.lower(), sort=True)
    return np.where(places < 0, np.nan, places.astype(float))


def indicators(frame: pd.DataFrame, categories: Sequence[str]) -> pd.DataFrame:
    """Return the table with a column of 0 and 1 for each category of some columns."""
    columns: dict[str, Any] = {}
    for name, column in frame.items():
        if name not in categories:
            columns[name] = column
            continue
        is_number = column.dtype.kind in "if"
        cells = column if is_number else column.str.lower()
        for category in sorted(cells.dropna().unique()):
            written = f"{category:g}" if is_number else category
            columns[f"{name}={written}"] = (cells == category).astype(float).mask(cells.isna())
    return pd.DataFrame(columns)
