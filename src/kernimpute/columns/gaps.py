"""Where a table is observed: the gaps of every dtype, and the values that stand for one."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.columns.dtypes import source_of

__all__ = ["observed_in_table"]

BoolArray = NDArray[np.bool_]


def observed_in_table(frame: pd.DataFrame, missing_values: Sequence[object] = ()) -> BoolArray:
    """Return the mask of observed cells of a table.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table.
    missing_values : sequence of str or number, default=()
        Values that stand for a gap besides None, NaN, NaT and NA. Text matches text, numbers
        match numbers.

    Returns
    -------
    ndarray of bool of shape (n_rows, n_columns)
        True where a cell is observed.
    """
    observed = np.empty(frame.shape, dtype=bool)
    for position in range(frame.shape[1]):
        observed[:, position] = ~_missing(frame.iloc[:, position], missing_values)
    return observed


def _missing(series: pd.Series, missing_values: Sequence[object]) -> BoolArray:
    """Return where a column is missing, of shape (n_rows,)."""
    missing = np.array(series.isna(), dtype=bool)
    if source_of(series.dtype) == "float" and not isinstance(series.dtype, np.dtype):
        # A NaN inside a nullable or pyarrow float is a value to pandas and a gap to us.
        missing |= np.isnan(series.to_numpy(dtype=float, na_value=np.nan))
    for marker in missing_values:
        missing |= _equal(series, missing, marker)
    return missing


def _equal(series: pd.Series, missing: BoolArray, marker: object) -> BoolArray:
    """Return where a column equals a value of its own kind, of shape (n_rows,)."""
    equal = np.zeros(len(series), dtype=bool)
    if not isinstance(marker, (str, Real)) or isinstance(marker, (bool, np.bool_)):
        return equal
    source = source_of(series.dtype)
    if isinstance(series.dtype, pd.CategoricalDtype):
        matches = np.array([_same(value, marker) for value in series.dtype.categories], dtype=bool)
        codes = np.asarray(series.cat.codes)
        equal[~missing] = matches[codes[~missing]]
    elif source in ("integer", "float"):
        if isinstance(marker, Real):
            equal[~missing] = np.asarray(series.array[~missing], dtype=float) == float(marker)
    elif source == "text":
        # Each text once: a column may hold millions of cells.
        codes, texts = pd.factorize(series.array[~missing])
        equal[~missing] = np.array([_same(text, marker) for text in texts], dtype=bool)[codes]
    elif source != "boolean":
        equal[~missing] = [_same(value, marker) for value in series.array[~missing]]
    return equal


def _same(value: object, marker: object) -> bool:
    """Return whether two values are equal text or equal numbers; booleans are neither."""
    if isinstance(value, (bool, np.bool_)) or isinstance(value, str) != isinstance(marker, str):
        return False
    return isinstance(value, (str, Real)) and bool(value == marker)
