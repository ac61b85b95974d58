"""The seven real tables, their splits and their amputation, as every benchmark on them has them.

Five tables of numbers, as the paper has them, and two mixed ones with gaps of their own:
cylinder bands (first 512 rows, without the columns that identify a print run, text in lower case)
and horse colic (without the identifiers; whole numbers with at most eight values, and the lesions'
codes, are categories).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.setting import data_folder, seed_of

__all__ = ["RATES", "TABLES", "Split", "Table", "load_table", "split_table"]

RATES = (0.4, 0.8)
TABLES = ("australian", "german", "heart", "pima", "wine_white", "cylinder_bands", "horse_colic")
MOST_CODES = 8
"""Whole numbers with more distinct values than this are a quantity, in horse colic."""

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """A table as it comes.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Floats, and objects of text and None where a column holds categories.
    y : ndarray of shape (n_rows,)
        Labels 0 and 1.
    """

    X: pd.DataFrame
    y: Labels


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to judge by.

    Parameters
    ----------
    train : DataFrame of shape (n_train, n_features)
        Amputed rows; `train_truth` are the same as they come.
    y_train : ndarray of shape (n_train,)
        Their labels.
    test : DataFrame of shape (n_test, n_features)
        Rows as they come, but for categories that no training row shows: these are gaps, so
        that every method can take the rows.
    test_life : DataFrame of shape (n_test, n_features)
        The same rows, amputed at the training rows' rate.
    y_test : ndarray of shape (n_test,)
        Their labels.
    """

    train: pd.DataFrame
    train_truth: pd.DataFrame
    y_train: Labels
    test: pd.DataFrame
    test_life: pd.DataFrame
    y_test: Labels

    @property
    def categorical(self) -> list[str]:
        """The columns that hold categories."""
        return [name for name in self.train if self.train[name].dtype == object]

    @property
    def numeric(self) -> list[str]:
        """The columns that hold numbers."""
        return [name for name in self.train if self.train[name].dtype != object]


def load_table(name: str) -> Table:
    """Return a table by its name in `TABLES`."""
    file = "german_numer" if name == "german" else name
    codes = {f"lesion_{index}": str for index in (1, 2, 3)} if name == "horse_colic" else None
    frame = pd.read_csv(data_folder() / f"{file}.csv", dtype=codes)
    labels = frame.pop("target")
    if name == "wine_white":
        y = (labels >= 6).to_numpy()
    else:
        y = (labels == labels.max()).to_numpy()
    categorical: list[str] = []
    if name == "cylinder_bands":
        frame = frame.drop(columns=["timestamp", "cylinder_number", "customer", "job_number"])
        frame, y = frame.iloc[:512], y[:512]
        categorical = [column for column in frame if frame[column].dtype.kind not in "if"]
    if name == "horse_colic":
        frame = frame.drop(columns=["hospital_number", "cp_data"])
        categorical = [column for column in frame if _holds_codes(frame[column])]
    return Table(
        pd.DataFrame(
            {
                column: _text(frame[column])
                if column in categorical
                else frame[column].astype(float)
                for column in frame
            }
        ).reset_index(drop=True),
        y.astype(np.int64),
    )


def _holds_codes(column: pd.Series) -> bool:
    if column.dtype.kind not in "if":
        return True
    known = column.dropna()
    return bool((known == known.round()).all()) and known.nunique() <= MOST_CODES


def _text(column: pd.Series) -> pd.Series:
    """Return categories as text in lower case, with None at the gaps."""
    cells = [None if pd.isna(cell) else f"{cell}".lower() for cell in column]
    return pd.Series(cells, index=column.index, dtype=object)


def split_table(name: str, missing_rate: float, repetition: int) -> Split:
    """Return a split of a table: 4:3:3 by floor cuts, of which the holdout is left unused.

    Parameters
    ----------
    name : str
        A name of `TABLES`.
    missing_rate : float
        Share of cells missing in the training rows, and in the amputed test rows, in (0, 1).
    repetition : int
        Which split; its seed is hashed from name, rate and repetition.

    Returns
    -------
    Split
        The split.
    """
    table = load_table(name)
    generator = np.random.default_rng(seed_of("split", name, missing_rate, repetition))
    order = generator.permutation(len(table.y))
    n_train, n_holdout = (len(order) * share // 10 for share in (4, 3))
    train, test = order[:n_train], order[n_train + n_holdout :]
    X_train = table.X.iloc[train].reset_index(drop=True)
    X_test = table.X.iloc[test].reset_index(drop=True)
    holed = _amputed(X_train, missing_rate, generator)
    return Split(
        train=holed,
        train_truth=X_train,
        y_train=table.y[train],
        test=_of_known_categories(X_test, holed),
        test_life=_of_known_categories(_amputed(X_test, missing_rate, generator), holed),
        y_test=table.y[test],
    )


def _amputed(
    frame: pd.DataFrame, missing_rate: float, generator: np.random.Generator
) -> pd.DataFrame:
    """Return the frame with exactly round(N d m) gaps, its own among them."""
    gaps = frame.isna().to_numpy().copy()
    observed = np.flatnonzero(~gaps)
    n_removed = round(gaps.size * missing_rate) - int(gaps.sum())
    gaps.flat[generator.permutation(observed)[: max(n_removed, 0)]] = True
    holed = frame.copy()
    for position, name in enumerate(frame):
        absent = None if frame[name].dtype == object else np.nan
        cells = np.where(gaps[:, position], absent, frame[name].to_numpy())
        holed[name] = pd.Series(cells, dtype=frame[name].dtype)
    return holed


def _of_known_categories(rows: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with gaps instead of the categories that the training rows lack."""
    known = rows.copy()
    for name in rows:
        if rows[name].dtype == object:
            seen = rows[name].isin(train[name].dropna())
            cells = np.where(seen, rows[name].to_numpy(), None)
            known[name] = pd.Series(cells, dtype=object)
    return known
