"""Counts and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "some_of"]


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    Parameters
    ----------
    count : int
        How many.
    noun : str
        What, in the singular; its plural ends in s.

    Returns
    -------
    str
        Such as "1 run" or "2 runs".
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def some_of(names: Iterable[object], most: int = 3) -> str:
    """Return the first of some names, and how many more there are.

    Parameters
    ----------
    names : iterable of object
        The names; each is counted once.
    most : int, default=3
        So many are named at the most.

    Returns
    -------
    str
        Such as "a, b, c and 2 more".
    """
    distinct = list(dict.fromkeys(map(str, names)))
    more = len(distinct) - most
    return ", ".join(distinct[:most]) + (f" and {more} more" if more > 0 else "")
