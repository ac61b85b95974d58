"""Values that skops cannot write as they are, in plain parts.

A table's categories may be pandas' timestamps or intervals, and the keys of a parameter may be
booleans, which skops reads back as text. Such a value is written as a `StoredValue`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class StoredValue:
    """The name of what makes a value, and the plain arguments that it takes."""

    kind: str
    parts: tuple[Any, ...] = ()


def as_stored(value: Any) -> Any:
    """Return a value as it is written; so are the values in lists, tuples and mappings.

    >>> as_stored({"weights": {True: 2.0}})
    {'weights': StoredValue(kind='mapping', parts=((True,), (2.0,)))}
    """
    if type(value) is dict:
        values = [as_stored(each) for each in value.values()]
        if all(type(key) is str for key in value):
            return dict(zip(value, values, strict=True))
        return StoredValue("mapping", (tuple(map(as_stored, value)), tuple(values)))
    if type(value) in (list, tuple):
        return type(value)(map(as_stored, value))
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

    >>> as_given(as_stored((1, pd.Interval(0, 1))))
    (1, Interval(0, 1, closed='right'))
    """
    if isinstance(value, StoredValue):
        return _MAKERS[value.kind](*map(as_given, value.parts))
    if type(value) is dict:
        return {key: as_given(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(as_given, value))
    return value


def _timestamp(number: int, unit: str, zone: str | None) -> Any:
    time = pd.Timestamp(np.datetime64(number, unit))  # type: ignore[call-overload]
    return time if zone is None else time.tz_localize("UTC").tz_convert(zone)


_MAKERS: dict[str, Callable[..., Any]] = {
    "mapping": lambda keys, values: dict(zip(keys, values, strict=True)),
    "NA": lambda: pd.NA,
    "Timestamp": _timestamp,
    "Timedelta": lambda number, unit: pd.Timedelta(np.timedelta64(number, unit)),
    "Period": lambda ordinal, frequency: pd.Period(ordinal=ordinal, freq=frequency),
    "Interval": lambda left, right, closed: pd.Interval(left, right, closed),
}
