"""Category codes as indicator columns, and back.

A column of k categories becomes k indicators, or one, that of its second category, where it has
two. Numbers stay as they are. A gap is NaN in each of its indicators. Kernels without a term for
categories take a table in this form; its gaps are then filled softly, with how much each
category is likely, and `to_codes` decides for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["IndicatorColumn", "indicator_columns", "to_codes", "to_indicators"]

FloatArray = NDArray[np.float64]
IndicatorColumn = tuple[int, int | None]
"""The position of a matrix's column, and the code that is indicated; None for numbers."""


def indicator_columns(n_categories: Sequence[int]) -> tuple[IndicatorColumn, ...]:
    """Return what each column of the indicator matrix holds.

    Parameters
    ----------
    n_categories : sequence of int of length n_features
        How many categories each column of the matrix has; 0 for numbers.

    Returns
    -------
    tuple of (int, int or None)
        The position in the matrix and the code, or None for numbers.

    Examples
    --------
    >>> indicator_columns([0, 3, 2])
    ((0, None), (1, 0), (1, 1), (1, 2), (2, 1))
    """
    columns: list[IndicatorColumn] = []
    for position, count in enumerate(n_categories):
        if count == 0:
            columns.append((position, None))
        else:
            columns.extend((position, code) for code in range(int(count == 2), count))
    return tuple(columns)


def to_indicators(matrix: FloatArray, columns: Sequence[IndicatorColumn]) -> FloatArray:
    """Return a matrix of numbers and codes with indicators for its codes.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_features)
        Numbers and codes, NaN at the gaps.
    columns : sequence of (int, int or None) of length n_indicators
        From `indicator_columns`.

    Returns
    -------
    ndarray of shape (n_rows, n_indicators)
        Numbers, and 1 where a row has the category or else 0; NaN at the gaps.
    """
    indicators = np.empty((len(matrix), len(columns)))
    for place, (position, code) in enumerate(columns):
        values = matrix[:, position]
        if code is not None:
            values = np.where(np.isnan(values), np.nan, values == code)
        indicators[:, place] = values
    return indicators


def to_codes(
    indicators: FloatArray,
    matrix: FloatArray,
    columns: Sequence[IndicatorColumn],
    reference: FloatArray | None = None,
) -> FloatArray:
    """Return a matrix of numbers and codes with its gaps filled from indicators.

    Parameters
    ----------
    indicators : ndarray of shape (n_rows, n_indicators)
        Filled: no NaN.
    matrix : ndarray of shape (n_rows, n_features)
        Numbers and codes, NaN at the gaps; its observed cells are kept.
    columns : sequence of (int, int or None) of length n_indicators
        From `indicator_columns`.
    reference : ndarray of shape (n_rows, n_indicators), default=None
        The indicators before labels moved them.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        At a gap of a category, the one with the largest indicator, the first of equal ones.
        With a reference, a category leaves the reference's own largest only for one whose
        indicator gained more than half the range relative to it.
    """
    filled = matrix.copy()
    for position, places in _places(columns):
        gaps = np.isnan(matrix[:, position])
        if not gaps.any():
            continue
        now = indicators[gaps][:, places]
        if columns[places[0]][1] is None:
            filled[gaps, position] = now[:, 0]
            continue
        now = _one_each(now)
        if reference is not None:
            before = _one_each(reference[gaps][:, places])
            largest = np.eye(before.shape[1])[before.argmax(axis=1)]
            now = largest + 2.0 * (now - before)
        filled[gaps, position] = now.argmax(axis=1)
    return filled


def _places(columns: Sequence[IndicatorColumn]) -> Iterator[tuple[int, list[int]]]:
    """Yield each of the matrix's columns with the places of its indicators."""
    places: dict[int, list[int]] = {}
    for place, (position, _) in enumerate(columns):
        places.setdefault(position, []).append(place)
    yield from places.items()


def _one_each(indicators: FloatArray) -> FloatArray:
    """Return one indicator for each category, of shape (n_gaps, n_categories), where two share."""
    if indicators.shape[1] > 1:
        return indicators
    return np.hstack([1.0 - indicators, indicators])
