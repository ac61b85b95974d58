"""What an estimator's parameters say of a table's columns: categories, ranges, gaps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from kernimpute.table.code import TableCode, checked_range, learn_code

__all__ = ["coded_columns", "learn_table_code", "markers", "own_dtype"]


def own_dtype(X: Any) -> Any:
    """Return lists that mix text and numbers as objects, for NumPy would make text of all."""
    if hasattr(X, "dtype") or hasattr(X, "__array__") or not isinstance(X, (list, tuple)):
        return X
    return np.asarray(X, dtype=object) if np.asarray(X).dtype.kind == "U" else X


def markers(missing_values: object) -> tuple[object, ...]:
    """Return the values that stand for a gap besides NaN, None and NA."""
    if isinstance(missing_values, (list, tuple)):
        return tuple(missing_values)
    return (missing_values,)


def coded_columns(chosen: Any, names: Sequence[Hashable], owner: str) -> tuple[Hashable, ...]:
    """Return the names of the columns that `categorical_features` adds to those of its dtypes.

    Parameters
    ----------
    chosen : None, "from_dtype", mask, indices or names
        The parameter.
    names : sequence of hashable
        The table's columns.
    owner : str
        The estimator's name, for the message.

    Returns
    -------
    tuple of hashable
        Names.

    Raises
    ------
    ValueError
        If the mask has another length, or there is no such column.
    """
    if chosen is None or isinstance(chosen, str):
        return ()
    given = np.asarray(chosen)
    refused = (
        f"The 'categorical_features' parameter of {owner} must be a mask over, or indices or "
        f"names of, the {len(names)} columns. Got {chosen!r} instead."
    )
    if given.ndim != 1:
        raise ValueError(refused)
    if given.dtype.kind == "b":
        if given.size != len(names):
            raise ValueError(refused)
        return tuple(name for name, is_chosen in zip(names, given, strict=True) if is_chosen)
    places = {name: place for place, name in enumerate(names)}
    found = []
    for item in given.tolist():
        if item in places:
            found.append(item)
        elif isinstance(item, int) and 0 <= item < len(names):
            found.append(names[item])
        else:
            raise ValueError(refused)
    return tuple(found)


def learn_table_code(
    frame: Any,
    *,
    missing_values: object,
    categorical_features: Any,
    feature_range: Any,
    owner: str,
) -> TableCode:
    """Return the code of a training table.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        The table.
    missing_values, categorical_features, feature_range
        The estimator's parameters.
    owner : str
        The estimator's name, for the messages.

    Returns
    -------
    TableCode
        The code.

    Raises
    ------
    TypeError, ValueError
        If a parameter does not fit the table, or a column can't be imputed as it is.
    """
    names = list(frame.columns)
    options: dict[str, Any] = {
        "categorical": coded_columns(categorical_features, names, owner),
        "missing_values": markers(missing_values),
        "whole": "dtype",
    }
    if feature_range is None:
        return learn_code(frame, **options)
    if isinstance(feature_range, Mapping):
        return learn_code(frame, ranges=_named_ranges(feature_range, names, owner), **options)
    given = np.asarray(feature_range, dtype=float)
    if given.shape == (2,):
        # Of the columns of numbers, the constant ones too: they must lie in it like the others.
        bounds = checked_range(feature_range, "feature_range", owner)
        columns = learn_code(frame, **options).columns
        numbers = [c.name for c in columns if c.kind != "empty" and not c.categorical]
        return learn_code(frame, ranges=dict.fromkeys(numbers, bounds), **options)
    if given.shape != (len(names), 2):
        raise ValueError(_refused_range(owner, len(names), f"shape {given.shape}"))
    declared = ~np.isnan(given).all(axis=1)
    ranges = {
        name: checked_range(pair, "feature_range", owner)
        for name, pair, is_declared in zip(names, given, declared, strict=True)
        if is_declared
    }
    return learn_code(frame, ranges=ranges, **options)


def _named_ranges(
    given: Mapping[Any, Any], names: Sequence[Hashable], owner: str
) -> dict[Hashable, tuple[float, float]]:
    ranges: dict[Hashable, tuple[float, float]] = {}
    for key, pair in given.items():
        if key in names:
            ranges[key] = checked_range(pair, "feature_range", owner)
        elif isinstance(key, (int, np.integer)) and 0 <= key < len(names):
            ranges[names[int(key)]] = checked_range(pair, "feature_range", owner)
        else:
            raise ValueError(_refused_range(owner, len(names), f"a range of {key!r}"))
    return ranges


def _refused_range(owner: str, n_columns: int, got: str) -> str:
    return (
        f"The 'feature_range' parameter of {owner} must be a pair, a mapping from columns to "
        f"pairs, or an array of shape ({n_columns}, 2). Got {got} instead."
    )
