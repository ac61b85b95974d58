"""The cells of a column as numbers, or as the codes of its categories."""

from __future__ import annotations

from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.columns.dtypes import source_of
from kernimpute.columns.kinds import finite_numbers, is_category
from kernimpute.columns.messages import TableError, listed, the_column
from kernimpute.columns.reading import Column

__all__ = ["column_codes"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def column_codes(
    series: pd.Series, observed: BoolArray, column: Column, *, unknown_is_gap: bool = False
) -> tuple[FloatArray, tuple[object, ...]]:
    """Return the numbers or the category codes of a column's cells.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        The cells.
    observed : ndarray of bool of shape (n_rows,)
        True where they are observed.
    column : Column
        How the column is coded; the one of these cells or of earlier rows.
    unknown_is_gap : bool, default=False
        Whether a category that the column does not know is a gap; else it is refused.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Numbers, or codes 0, 1, …; NaN at gaps and at unknown categories.
    unknown : tuple
        The unknown categories.

    Raises
    ------
    TableError
        If the cells are of another kind than the column, infinite, or of an unknown category.
    """
    codes = np.full(len(series), np.nan)
    if not observed.any():
        return codes, ()
    present = series if observed.all() else series[observed]
    if column.kind == "empty":
        if source_of(series.dtype) == "float":
            finite_numbers(present, column.name)
        return codes, ()
    numbers_too = column.categorical and any(map(_is_number, column.values))
    if is_category(series, present, column.name, numbers_too, True) != column.categorical:
        must_be = "categories" if column.categorical else "numbers"
        raise TableError(
            f"{the_column(column.name)} must hold {must_be}, as it did before. "
            f"Got {series.dtype} values."
        )
    if not column.categorical:
        codes[observed] = finite_numbers(present, column.name)
        return codes, ()
    if source_of(series.dtype) == "dictionary":
        # Else every value of the dictionary is taken for one of the column.
        present = present.astype(pd.ArrowDtype(series.dtype.pyarrow_dtype.value_type))  # type: ignore[union-attr]
    inverse, unique = pd.factorize(present)
    code_of = {value: float(code) for code, value in enumerate(column.values)}
    unknown = tuple(value for value in unique if value not in code_of)
    if unknown and not unknown_is_gap:
        raise TableError(
            f"{the_column(column.name)} must hold the categories it held before "
            f"({listed(column.values)}). Got {listed(unknown)} besides: correct it, or pass "
            "handle_unknown='missing' (--unknown missing) to fill such cells like gaps."
        )
    codes[observed] = np.array([code_of.get(value, np.nan) for value in unique])[inverse]
    return codes, unknown


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
