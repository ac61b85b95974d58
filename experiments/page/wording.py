"""Words that follow from numbers, so that a sentence can't say otherwise than its number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.method_names import label_of
from experiments.statistics import LEVEL, PairedTest

__all__ = [
    "absent",
    "called",
    "joined",
    "pipe_table",
    "share",
    "significance",
    "signed",
    "towards",
]


def absent(*names: str) -> str:
    """Return that there are no records of some experiments.

    Parameters
    ----------
    *names : str
        The experiments.

    Returns
    -------
    str
        A sentence.
    """
    files = joined([f"`{name}.csv`" for name in names])
    verb = "is" if len(names) == 1 else "are"
    return f"{files} {verb} not among the committed results yet, so nothing is said here."


def called(method: str) -> str:
    """Return how a method is called in a sentence: its label and, in code, its name.

    Parameters
    ----------
    method : str
        Its name in records.

    Returns
    -------
    str
        Such as "MI (`mean+svc`)".
    """
    label = label_of(method)
    return f"`{method}`" if label == method else f"{label} (`{method}`)"


def joined(words: Iterable[str]) -> str:
    """Return words as a list in a sentence.

    Parameters
    ----------
    words : iterable of str
        The words.

    Returns
    -------
    str
        With commas and an "and"; "none" without any.
    """
    words = list(words)
    if len(words) < 2:
        return "".join(words) or "none"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def signed(value: float, decimals: int = 3) -> str:
    """Return a number with its sign; what rounds to zero has none.

    Parameters
    ----------
    value : float
        The number.
    decimals : int, default=3
        Its decimals.

    Returns
    -------
    str
        Such as "−0.012".
    """
    text = f"{value:+.{decimals}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def towards(value: float, decimals: int = 3) -> str:
    """Return a difference in words: by how much above or below.

    Parameters
    ----------
    value : float
        The difference.
    decimals : int, default=3
        Its decimals.

    Returns
    -------
    str
        "0.012 above", "0.012 below" or "level with".
    """
    size = f"{abs(value):.{decimals}f}"
    if float(size) == 0:
        return "level with"
    return f"{size} {'above' if value > 0 else 'below'}"


def significance(test: PairedTest) -> str:
    """Return what the two paired tests say of a difference.

    Parameters
    ----------
    test : PairedTest
        The comparison.

    Returns
    -------
    str
        "significant by both tests", "by the ordinary test only" or "not significant".
    """
    level = f"at {100 * LEVEL:g} %"
    if test.p_corrected < LEVEL:
        return f"significant {level} by the ordinary and the corrected paired t-test"
    if test.p < LEVEL:
        return f"significant {level} by the ordinary paired t-test, not by the corrected one"
    return f"not significant {level}"


def share(count: int, of: int) -> str:
    """Return a count of cells.

    Parameters
    ----------
    count, of : int
        How many of how many.

    Returns
    -------
    str
        "all 16", "none of 16" or "5 of 16".
    """
    if count == of:
        return f"all {of}"
    return f"{count or 'none'} of {of}"


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, its first column to the left and the others to the right.

    Parameters
    ----------
    header : sequence of str
        The columns' names.
    rows : iterable of sequence of str
        The rows.

    Returns
    -------
    str
        The table.
    """
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
