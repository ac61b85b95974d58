"""Observed against filled values, column by column."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.estimators.impute_table import TableImputation

__all__ = ["ColumnComparison", "compare_columns"]

_MOST_CATEGORIES = 4


@dataclass(frozen=True)
class ColumnComparison:
    """What a column held and what it was filled with.

    Parameters
    ----------
    name : str
        The column.
    n_filled : int
        Cells filled.
    share : float
        Their share of the column's cells.
    observed, filled : str
        Mean and standard deviation, or the categories' shares, of either part.
    """

    name: str
    n_filled: int
    share: float
    observed: str
    filled: str


def compare_columns(imputation: TableImputation) -> list[ColumnComparison]:
    """Return the comparison for each column that was filled.

    Parameters
    ----------
    imputation : TableImputation
        The filled table.

    Returns
    -------
    list of ColumnComparison
        In the order of the table.
    """
    codes = imputation.settings.get("categorical", ())
    as_category: Collection[Hashable] = codes if isinstance(codes, tuple) else ()
    comparisons = []
    for name, n_filled in imputation.filled.items():
        cells = imputation.filled_cells(name)
        values = imputation.table[name]
        numbers = None if name in as_category else _numbers(values)
        if numbers is None:
            order = list(values[~cells].value_counts().index[:_MOST_CATEGORIES])
            parts = [_shares(values[where], order) for where in (~cells, cells)]
        else:
            parts = [_spread(numbers[where]) for where in (~cells, cells)]
        share = n_filled / imputation.n_rows
        comparisons.append(ColumnComparison(str(name), n_filled, share, parts[0], parts[1]))
    return comparisons


def _numbers(values: pd.Series) -> NDArray[np.float64] | None:
    """Return a column's numbers, of shape (n_rows,); None if it holds anything else."""
    kinds = set(map(type, values))
    if all(issubclass(kind, Real) and not issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return np.asarray(values, dtype=float)
    return None


def _spread(numbers: NDArray[np.float64]) -> str:
    return f"{numbers.mean():.4g} ± {numbers.std():.3g}"


def _shares(values: pd.Series, order: list[object]) -> str:
    """Return the shares of some categories, in the given order, and of the rest."""
    n_values = len(values)
    counts = [int((values == category).sum()) for category in order]
    parts = [
        f"{category} {100.0 * count / n_values:.0f} %"
        for category, count in zip(order, counts, strict=True)
    ]
    rest = n_values - sum(counts)
    if rest:
        parts.append(f"others {100.0 * rest / n_values:.0f} %")
    return ", ".join(parts)
