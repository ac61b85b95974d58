"""Columns of a table as numbers: which are gaps, which are categories, and how these are coded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
