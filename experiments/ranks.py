"""Average ranks of methods over cells, and the tests that go with them.

A cell and the layout of readings are those of `experiments.statistics`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from experiments.statistics import CELL, LEVEL, TIE


def average_ranks(wide: pd.DataFrame) -> pd.DataFrame:
    """Rank methods by their mean in each cell, and average the ranks over the cells.

    Every method is compared with the methods that have every reading: its rank is half a place,
    one place for each that is better and half a place for each that is equal. A method with every
    reading equals itself, so that these have the ranks 1 to k of Friedman's test, equal means the
    average of theirs. A method that lacks readings does not change the ranks of others: it is
    compared on the repetitions that it has, and ranks between 1/2 and k + 1/2.
    """
    gaps = wide.isna().sum().sort_values(kind="stable")
    complete = list(gaps.index[gaps == gaps.min()])
    rows = {}
    # Most methods have the same readings, and so the same means.
    means_of: dict[bytes, pd.DataFrame] = {}
    # Among equal ranks those with the most readings come first.
    for method in gaps.index:
        has_reading = wide[method].notna()
        known = wide[has_reading]
        if known.empty:
            continue
        pattern = has_reading.to_numpy().tobytes()
        if pattern not in means_of:
            cells = known.groupby(level=list(CELL), sort=False, dropna=False)
            means_of[pattern] = cells.mean()
        means = means_of[pattern]
        ahead = means[complete].sub(means[method], axis="index").round(TIE)
        places = 0.5 + (ahead > 0).sum(axis="columns") + (ahead == 0).sum(axis="columns") / 2
        rows[method] = (places.mean(), not gaps[method], len(places), len(known))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["rank", "complete", "cells", "n"])
    return table.rename_axis("method").sort_values("rank", kind="stable")


def friedman(wide: pd.DataFrame) -> float:
    """Return the p-value of Friedman's test that all methods rank the same over the cells."""
    means = wide.dropna(axis="columns").groupby(level=list(CELL), sort=False, dropna=False).mean()
    if min(means.shape) < 3:
        return np.nan
    return float(stats.friedmanchisquare(*means.round(TIE).to_numpy().T).pvalue)


def critical_difference(n_methods: int, n_cells: int) -> float:
    """Return the difference of average ranks beyond which two methods differ at `LEVEL`."""
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cells)))
