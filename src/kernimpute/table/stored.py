"""Values that a saved file can't hold as they are: pandas' scalars, and odd keys of mappings.

skops writes NumPy arrays, Python's own values and our records. A table's categories may be
pandas' timestamps or intervals, and the keys of a parameter booleans, which come back as text.
These are stored as a `StoredValue` and become themselves again on reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["StoredValue", "as_given", "as_stored"]


@dataclass(frozen=True)
class StoredValue:
    """A value in plain parts.

    Parameters
    ----------
    kind : {"mapping", "NA", "Timestamp", "Timedelta", "Period", "Interval"}
        What it is.
    parts : tuple
        By kind: keys and values; nothing; the number, its unit and the time zone (None: none);
        the number and its unit; the ordinal and the frequency; both ends and which are closed.
    """

    kind: str
    parts: tuple[Any, ...] = ()


def as_stored(value: Any) -> Any:
    """Return a value as it is saved.

    Parameters
    ----------
    value : object
        Anything; lists, tuples and mappings are looked into.

    Returns
    -------
    object
        The value itself where it, and all in it, can be saved as it is.

    Examples
    --------
    >>> as_stored({"weights": {True: 2.0}})
    {'weights': StoredValue(kind='mapping', parts=((True,), (2.0,)))}
    """
    if type(value) is dict:
        values = [as_stored(each) for each in value.values()]
        if all(type(key) is str for key in value):
            return dict(zip(value, values, strict=True))
        return StoredValue("mapping", (tuple(map(as_stored, value)), tuple(values)))
    if type(value) in (list, tuple):
        parts = [as_stored(each) for each in value]
        is_same = all(part is each for part, each in zip(parts, value, strict=True))
        return value if is_same else type(value)(parts)
    if value is pd.NA:
        return StoredValue("NA")
    if isinstance(value, pd.Timestamp):
        zone = None if value.tz is None else str(value.tz)
        return StoredValue("Timestamp", (int(value.asm8.view("i8")), value.unit, zone))
    if isinstance(value, pd.Timedelta):
        return StoredValue("Timedelta", (int(value.asm8.view("i8")), value.unit))
    if isinstance(value, pd.Period):
        return StoredValue("Period", (value.ordinal, value.freqstr))
    if isinstance(value, pd.Interval):
        ends = as_stored(value.left), as_stored(value.right)
        return StoredValue("Interval", (*ends, value.closed))
    return value


def as_given(value: Any) -> Any:
    """Return what `as_stored` was given.

    Parameters
    ----------
    value : object
        What it returned.

    Returns
    -------
    object
        The value.

    Examples
    --------
    >>> as_given(as_stored((1, pd.Interval(0, 1))))
    (1, Interval(0, 1, closed='right'))
    """
    if isinstance(value, StoredValue):
        return _MAKERS[value.kind](*value.parts)
    if type(value) is dict:
        return {key: as_given(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        parts = [as_given(each) for each in value]
        is_same = all(part is each for part, each in zip(parts, value, strict=True))
        return value if is_same else type(value)(parts)
    return value


def _mapping(keys: tuple[Any, ...], values: tuple[Any, ...]) -> dict[Any, Any]:
    return dict(zip(map(as_given, keys), map(as_given, values), strict=True))


def _timestamp(number: int, unit: str, zone: str | None) -> Any:
    time = pd.Timestamp(np.datetime64(number, unit))  # type: ignore[call-overload]
    return time if zone is None else time.tz_localize("UTC").tz_convert(zone)


_MAKERS: dict[str, Callable[..., Any]] = {
    "mapping": _mapping,
    "NA": lambda: pd.NA,
    "Timestamp": _timestamp,
    "Timedelta": lambda number, unit: pd.Timedelta(np.timedelta64(number, unit)),
    "Period": lambda ordinal, frequency: pd.Period(ordinal=ordinal, freq=frequency),
    "Interval": lambda left, right, closed: pd.Interval(as_given(left), as_given(right), closed),
}
"""From a kind to what makes a value of it."""
