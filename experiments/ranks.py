"""Average ranks of methods over cells, and the tests that go with them.

A cell and the layout of readings are those of `experiments.statistics`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from experiments.statistics import CELL, LEVEL, TIE

__all__ = ["average_ranks", "critical_difference", "friedman"]


def average_ranks(wide: pd.DataFrame) -> pd.DataFrame:
    """Rank methods by their mean in each cell, and average the ranks over the cells.

    Methods with every reading are ranked among themselves, the highest mean first; equal means
    share the average of their ranks. A method that lacks readings doesn't move the others: in each
    cell it is put among them by their means over the repetitions that it has.

    Parameters
    ----------
    wide : DataFrame of shape (n_cells * n_repetitions, n_methods)
        What `readings` returns.

    Returns
    -------
    DataFrame
        Indexed by method, best first: ``rank``; ``complete``, whether it has every reading;
        ``cells``, in how many it was ranked; ``n``, its readings. Methods without any are left out.
    """
    gaps = wide.isna().sum()
    complete = list(gaps.index[gaps == gaps.min()])
    groups = [group for _, group in wide.groupby(level=list(CELL), sort=False, dropna=False)]
    ranks = [_means(group[complete]).rank(ascending=False) for group in groups]
    among = pd.DataFrame(ranks)
    rows = {
        method: (among[method].mean(), not gaps.min(), among[method].count(), wide[method].count())
        for method in complete
    }
    for method in wide.columns.difference(complete, sort=False):
        places = [
            _place(group, method, complete) for group in groups if group[method].notna().any()
        ]
        if places:
            rows[method] = (np.mean(places), False, len(places), wide[method].count())
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["rank", "complete", "cells", "n"])
    return table.rename_axis("method").sort_values("rank", kind="stable")


def _means(group: pd.DataFrame) -> pd.Series:
    return group.mean().round(TIE)


def _place(group: pd.DataFrame, method: str, among: list[str]) -> float:
    common = group[group[method].notna()]
    others = _means(common[among]).to_numpy()
    own = round(common[method].mean(), TIE)
    return 1 + np.sum(others > own) + np.sum(others == own) / 2


def friedman(wide: pd.DataFrame) -> float:
    """Return the p-value of Friedman's test that all methods rank the same over the cells.

    Parameters
    ----------
    wide : DataFrame of shape (n_cells * n_repetitions, n_methods)
        What `readings` returns; methods that lack readings are left out.

    Returns
    -------
    float
        The p-value; NaN below three methods or three cells.
    """
    means = wide.dropna(axis="columns").groupby(level=list(CELL), sort=False, dropna=False).mean()
    if min(means.shape) < 3:
        return np.nan
    return float(stats.friedmanchisquare(*means.round(TIE).to_numpy().T).pvalue)


def critical_difference(n_methods: int, n_cells: int) -> float:
    """Return the difference of average ranks beyond which two methods differ at `LEVEL`.

    Parameters
    ----------
    n_methods : int
        Number of methods that were ranked, at least two.
    n_cells : int
        Number of cells.

    Returns
    -------
    float
        Nemenyi's critical difference (Demsar, JMLR 7, 2006), for cells that are independent.
    """
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cells)))
