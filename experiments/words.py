"""Counts and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.registry import label_of
from experiments.statistics import LEVEL, PairedTest


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def some_of(names: Iterable[object], most: int = 3) -> str:
    """Return the first of some names, and how many more there are."""
    distinct = list(dict.fromkeys(map(str, names)))
    more = len(distinct) - most
    return ", ".join(distinct[:most]) + (f" and {more} more" if more > 0 else "")


def absent(*names: str) -> str:
    """Return that there are no records of some experiments."""
    files = joined([f"`{name}.csv`" for name in names])
    verb = "is" if len(names) == 1 else "are"
    return f"{files} {verb} not among the committed results yet, so nothing is said here."


def called(method: str) -> str:
    """Return how a method is called in a sentence: its label and, in code, its name."""
    label = label_of(method)
    return f"`{method}`" if label == method else f"{label} (`{method}`)"


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


def towards(value: float, decimals: int = 3) -> str:
    """Return a difference in words: by how much above or below."""
    size = f"{abs(value):.{decimals}f}"
    if float(size) == 0:
        return "level with"
    return f"{size} {'above' if value > 0 else 'below'}"


def significance(test: PairedTest) -> str:
    """Return what the two paired tests say of a difference."""
    level = f"at {100 * LEVEL:g} %"
    if test.p_corrected < LEVEL:
        return f"significant {level} by the ordinary and the corrected paired t-test"
    if test.p < LEVEL:
        return f"significant {level} by the ordinary paired t-test, not by the corrected one"
    return f"not significant {level}"


def share(count: int, of: int) -> str:
    """Return a count of cells."""
    if count == of:
        return f"all {of}"
    return f"{count or 'none'} of {of}"


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, its first column to the left and the others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
