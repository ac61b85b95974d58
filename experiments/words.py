"""Counts and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def some_of(names: Iterable[object], most: int = 3) -> str:
    """Return the first of some names, and how many more there are."""
    distinct = list(dict.fromkeys(map(str, names)))
    more = len(distinct) - most
    return ", ".join(distinct[:most]) + (f" and {more} more" if more > 0 else "")


def joined(words: Iterable[str]) -> str:
    """Return words as a list in a sentence."""
    words = list(words)
    if len(words) < 2:
        return "".join(words) or "none"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def signed(value: float, decimals: int = 3) -> str:
    """Return a number with its sign; what rounds to zero has none."""
    text = f"{value:+.{decimals}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def share(count: int, of: int) -> str:
    """Return a count of cells."""
    if count == of:
        return f"all {of}"
    return f"{count or 'none'} of {of}"
