"""What the cells of a text table mean.

What a cell is (outer blanks do not count):

- a **gap**: empty, one of `GAP_TEXTS`, or one of the user's missing values (a number matches
  every spelling of the same number: -999 and -999.0);
- a **number**: digits with an optional sign, decimal point and exponent.

What a column is:

- **codes**, that is categories, if its numbers are whole and one has a leading zero (007), or
  if the user says so;
- **numbers**, if more than half of its cells look like numbers. A number with a comma (12,5 or
  1,200) looks like one and cannot be read, and so cannot any other text among numbers: both
  are refused with their line;
- **categories** otherwise.

How a filled number is written: whole numbers as such, if every observed cell is one; otherwise
with as many decimals as the column's longest observed cell, so that it looks like its
neighbours; in full if the column uses exponents.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.text_tables import TextTable, cell_text
from kernimpute.table.columns import counted

__all__ = [
    "GAP_TEXTS",
    "TextColumn",
    "decimals_of",
    "find_gaps",
    "number_column",
    "number_spelling",
    "read_columns",
    "reads_as_number",
]

GAP_TEXTS = frozenset({"", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"})
"""Texts that are a gap in any column."""
_PERHAPS_GAPS = ("?", "-", "--", ".", "*")
"""Texts that are often meant as a gap; in a column of categories they get a warning."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_CODE = re.compile(r"[+-]?0[0-9]+")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)+(?:\.[0-9]+)?")
_LARGEST_INTEGER = 2**63 - 1
_MOST_DECIMALS = 15


@dataclass(frozen=True)
class TextColumn:
    """How a column of text was read.

    Parameters
    ----------
    values : Series of shape (n_rows,)
        Its values, missing at the gaps: integers, floats or text.
    spell : callable, default=str
        From a filled value to its text.
    decimals : int or None, default=0
        How many decimals its filled numbers are written with; None: in full.
    cells : mapping of str to str, default={}
        How the file spells a text as a cell, for texts that it holds.
    """

    values: pd.Series
    spell: Callable[[object], str] = str
    decimals: int | None = 0
    cells: Mapping[str, str] = field(default_factory=dict)


def read_columns(
    table: TextTable,
    source: str,
    *,
    missing_values: Collection[str] = (),
    categorical: Collection[str] = (),
    unused: Collection[str] = (),
) -> tuple[dict[str, TextColumn], list[str], list[str]]:
    """Return the columns of a text table as values.

    Parameters
    ----------
    table : TextTable
        The table.
    source : str
        The file's name, for the messages.
    missing_values : collection of str, default=()
        Texts that stand for a gap besides `GAP_TEXTS`.
    categorical : collection of str, default=()
        Columns whose cells are categories, whatever they look like.
    unused : collection of str, default=()
        Columns that are only carried along, as text.

    Returns
    -------
    columns : dict of str to TextColumn
        The columns, in order.
    notes, cautions : list of str
        What was decided, and what looks like a mistake.

    Raises
    ------
    RefusedError
        If a cell of a column of numbers is not a number; names line, column and text.
    """
    columns, notes, cautions = {}, [], []
    matched: set[str] = set()
    coded = []
    for place, name in enumerate(table.names):
        spelled = [row[place] for row in table.rows]
        texts = [cell_text(cell) for cell in spelled]
        if name in unused:
            kept = [text or None for text in texts]
            columns[name] = TextColumn(pd.Series(kept, dtype=object))
            continue
        gaps = find_gaps(texts, missing_values, matched)
        present = [text for text, gap in zip(texts, gaps, strict=True) if not gap]
        forced = name in categorical
        numbers = [text for text in present if _looks_like_number(text)]
        n_numbers = len(numbers)
        is_code = any(map(_CODE.fullmatch, numbers)) and all(map(_WHOLE.fullmatch, numbers))
        if is_code and not forced and n_numbers == len(present):
            coded.append(name)
        if forced or is_code or 2 * n_numbers <= len(present):
            columns[name] = _categories(texts, gaps, spelled)
            cautions.extend([] if forced else _doubts(name, present, n_numbers, is_code))
            continue
        for text, gap, line in zip(texts, gaps, table.lines, strict=True):
            if not gap and not reads_as_number(text):
                raise RefusedError(_unreadable(source, line, name, text, present))
        columns[name] = number_column(texts, gaps, present)
    if coded:
        notes.append("read as codes, for they have leading zeros: " + ", ".join(coded))
    cautions.extend(
        f"no cell holds the missing value {marker!r}"
        for marker in missing_values
        if marker not in matched
    )
    return columns, notes, cautions


def find_gaps(
    texts: Sequence[str],
    missing_values: Collection[str],
    matched: set[str],
    gap_texts: Collection[str] = GAP_TEXTS,
) -> list[bool]:
    """Return which texts are a gap, of length n_rows.

    Parameters
    ----------
    texts : sequence of str
        The cells of a column.
    missing_values : collection of str
        The user's missing values.
    matched : set of str
        The missing values met are added to it.
    gap_texts : collection of str, default=GAP_TEXTS
        Texts that are a gap anyway.

    Returns
    -------
    list of bool
        True where a text is a gap.
    """
    marker_of = {marker.strip(): marker for marker in missing_values}
    by_number = {float(text): marker_of[text] for text in marker_of if reads_as_number(text)}
    gaps = []
    for text in texts:
        marker = marker_of.get(text)
        if marker is None and by_number and reads_as_number(text):
            marker = by_number.get(float(text))
        if marker is not None:
            matched.add(marker)
        gaps.append(marker is not None or text in gap_texts)
    return gaps


def reads_as_number(text: str) -> bool:
    """Return whether a text is a finite number.

    Parameters
    ----------
    text : str
        The cell's text, without outer blanks.

    Returns
    -------
    bool
        True for digits with an optional sign, decimal point and exponent.

    Examples
    --------
    >>> [reads_as_number(text) for text in ("38.50", "-1e3", "12,5", "1_000", "inf")]
    [True, True, False, False, False]
    """
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def _looks_like_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text) or _COMMA_NUMBER.fullmatch(text))


def _categories(texts: Sequence[str], gaps: Sequence[bool], spelled: Sequence[str]) -> TextColumn:
    """Return a column of text."""
    values = [None if gap else text for text, gap in zip(texts, gaps, strict=True)]
    cells: dict[str, str] = {}
    for value, cell in zip(values, spelled, strict=True):
        if value is not None:
            cells.setdefault(value, cell)
    return TextColumn(pd.Series(values, dtype=object), cells=cells)


def number_column(texts: Sequence[str], gaps: Sequence[bool], present: Sequence[str]) -> TextColumn:
    """Return a column of integers where every observed cell is one, else of floats.

    Parameters
    ----------
    texts, gaps, present : sequence of str, of bool and of str
        The cells, which are gaps, and those that are none.

    Returns
    -------
    TextColumn
        The column.
    """
    if all(map(_WHOLE.fullmatch, present)) and all(
        abs(int(text)) <= _LARGEST_INTEGER for text in present
    ):
        whole = [pd.NA if gap else int(text) for text, gap in zip(texts, gaps, strict=True)]
        return TextColumn(pd.Series(whole, dtype="Int64"))
    floats = [np.nan if gap else float(text) for text, gap in zip(texts, gaps, strict=True)]
    decimals = decimals_of(present)
    return TextColumn(pd.Series(floats, dtype=float), number_spelling(decimals), decimals)


def decimals_of(present: Sequence[str]) -> int | None:
    """Return how many decimals a column's longest number has; None where one has an exponent."""
    decimals = max((len(text.partition(".")[2]) for text in present), default=0)
    has_exponents = any("e" in text.lower() for text in present)
    return None if has_exponents or decimals > _MOST_DECIMALS else decimals


def number_spelling(decimals: int | None) -> Callable[[object], str]:
    """Return what writes a number with so many decimals; None: in full."""
    if decimals is None:
        return lambda value: repr(float(value))  # type: ignore[arg-type]
    # Adding 0 turns the float -0.0 into 0.0.
    return lambda value: f"{round(float(value), decimals) + 0.0:.{decimals}f}"  # type: ignore[arg-type]


def _doubts(name: str, present: Sequence[str], n_numbers: int, is_code: bool) -> list[str]:
    """Return what looks like a mistake in a column of categories."""
    found = []
    for mark in _PERHAPS_GAPS:
        count = present.count(mark)
        if count:
            found.append(
                f"column {name!r} holds {mark!r} in {counted(count, 'cell')}, as a category: "
                f"--missing-values '{mark}' makes it a gap"
            )
    if not is_code and 20 * n_numbers > len(present):
        share = 100.0 * n_numbers / len(present)
        found.append(
            f"column {name!r} mixes text with numbers ({share:.0f} % of its cells): all are "
            "taken for categories"
        )
    return found


def _unreadable(source: str, line: int, name: str, text: str, present: Sequence[str]) -> str:
    """Return the sentence on a cell that is no number in a column of numbers."""
    if _COMMA_NUMBER.fullmatch(text):
        problem = (
            "has a comma, in a column of numbers: write decimals with a point and thousands "
            "without a comma"
        )
    else:
        n_numbers = sum(map(reads_as_number, present))
        # Rounded down: what is not everything must not read as 100 %.
        share = math.floor(1000.0 * n_numbers / len(present)) / 10.0
        problem = (
            f"is not a finite number, in a column of numbers ({share:g} % of its cells): correct it"
        )
    return (
        f"{source}, line {line}, column {name!r}: {text!r} {problem}; or pass "
        f"--missing-values '{text}' if it is a gap, --categorical '{name}' if these are codes, "
        f"--ignore '{name}' to leave the column alone."
    )
