"""CSV and TSV: the exact text of every cell, and the values that the cells stand for.

A cell, without its outer blanks, is

- a **gap**, as `kernimpute.table.columns` decides;
- a **number**: digits with an optional sign, decimal point and exponent.

A column holds

- **codes**, which are categories, if its numbers are whole and one has a leading zero (007), or
  if the user says so;
- **numbers**, if more than half of its cells look like numbers. Then any other text is refused
  with its line, a number with a comma (12,5 or 1,200) included;
- **categories** otherwise.

A filled number is written like its neighbours: whole numbers as such if every observed cell is
one, otherwise with the decimals of the column's longest cell, and in full if the column uses
exponents.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.cli.messages import RefusedError
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.table.columns import POSSIBLE_GAP_MARKERS, Column, counted, listed, text_gaps

_CODE = re.compile(r"[+-]?0[0-9]+")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)+(?:\.[0-9]+)?")
LARGEST_INTEGER = 2**63 - 1
_MOST_DECIMALS = 15

Texts = NDArray[np.object_]


@dataclass(frozen=True)
class TextTable:
    """A delimited text file: names as they are spelled and called, and the text of every cell."""

    header: tuple[str, ...]
    names: tuple[str, ...]
    rows: list[list[str]] = field(repr=False)
    lines: list[int] = field(repr=False)  # On which each row begins.
    delimiter: str
    newline: str
    byte_order_mark: bool = False
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def cells(self, place: int) -> list[str]:
        """Return the text of a column's cells."""
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class TextValues:
    """The values of a table's columns, and with how many decimals their fills are written."""

    frame: pd.DataFrame
    decimals: Mapping[str, int | None]  # None: in full, or no numbers.
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


# ------------------------------------------------------------------------- cells


def parse_text(text: str, delimiter: str, source: str) -> TextTable:
    """Return the cells of a text; a comma gives way to semicolons if the header has only these."""
    if not text.strip():
        raise RefusedError(f"{source} is empty: a table needs a header and rows.")
    byte_order_mark = text.startswith("\ufeff")
    text = text.removeprefix("\ufeff")
    ends = re.search(r"\r\n|\n|\r", text)
    newline = ends.group() if ends else "\n"
    first_line = text[: ends.start()] if ends else text
    notes = []
    if delimiter == "," and "," not in first_line and ";" in first_line:
        delimiter = ";"
        notes.append("cells are separated by semicolons")
    parsed = list(_parsed_rows(text, delimiter, source))
    while parsed and parsed[-1][1] == [""]:
        parsed.pop()
    _, header = parsed[0]
    lines, rows = [line for line, _ in parsed[1:]], [row for _, row in parsed[1:]]
    if not rows:
        raise RefusedError(f"{source} has a header and no rows.")
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            got = "is empty" if row == [""] else f"has {counted(len(row), 'cell')}"
            raise RefusedError(f"{source}, line {line} {got} where the header has {len(header)}.")
    names = tuple(cell.strip() or f"unnamed_{place}" for place, cell in enumerate(header, start=1))
    cautions = tuple(
        f"column {place} has no name and is called {name!r} here: if it numbers the rows, "
        f"--ignore {name}"
        for place, (cell, name) in enumerate(zip(header, names, strict=True), start=1)
        if not cell.strip()
    )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise RefusedError(
            f"{source}: the header names {listed(repeated)} more than once: rename the copies."
        )
    return TextTable(
        tuple(header),
        names,
        rows,
        lines,
        delimiter,
        newline,
        byte_order_mark,
        tuple(notes),
        cautions,
    )


def _parsed_rows(text: str, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row begins, and its cells; an empty line is one empty cell."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row or [""]
            line = reader.line_num + 1
    except csv.Error as error:
        raise RefusedError(
            f"{source}, line {line}: a quote is not closed, or text follows it ({error})."
        ) from error


def write_text(
    columns: Sequence[Sequence[str]], delimiter: str, newline: str = "\n", mark: str = ""
) -> str:
    """Return columns, each with its name first, as text; cells are quoted where they need it."""
    special = re.compile(f'[{re.escape(delimiter)}"\r\n]')

    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if special.search(cell) else cell

    rows = zip(*(map(quoted, column) for column in columns), strict=True)
    return mark + newline.join(map(delimiter.join, rows)) + newline


# ------------------------------------------------------------------------- values


def infer_values(
    table: TextTable,
    source: str,
    *,
    missing_values: Collection[str] = (),
    categorical: Collection[str] = (),
    unused: Collection[str] = (),
) -> TextValues:
    """Return the values of a text table; what a column holds is decided by its cells.

    Columns in `categorical` hold categories whatever they look like; `unused` ones stay text.
    """
    columns: dict[str, pd.Series] = {}
    decimals: dict[str, int | None] = {}
    cautions, codes = list(table.cautions), []
    notes = list(table.notes)
    matched: set[str] = set()
    for place, name in enumerate(table.names):
        texts = _stripped(table.cells(place))
        if name in unused:
            columns[name] = _text_series(texts, texts == "")
            continue
        gaps, found = text_gaps(texts, missing_values)
        matched |= found
        numbers = _as_numbers(texts)
        with_comma = [bool(_COMMA_NUMBER.fullmatch(text)) for text in texts]
        looks_numeric = ~gaps & (~np.isnan(numbers) | with_comma)
        n_present, n_numeric = int((~gaps).sum()), int(looks_numeric.sum())
        numeric = texts[looks_numeric]
        is_code = any(map(_CODE.fullmatch, numeric)) and all(map(_is_whole, numeric))
        is_forced = name in categorical
        if is_code and not is_forced and n_numeric == n_present:
            codes.append(name)
        if is_forced or is_code or 2 * n_numeric <= n_present:
            columns[name], decimals[name] = _text_series(texts, gaps), None
            words = pd.unique(texts[gaps & (texts != "")]).tolist()
            if words:
                notes.append(f"taken for gaps in the text column {name!r}: {listed(words)}")
            if not is_forced:
                cautions.extend(_doubts(name, texts[~gaps], 0 if is_code else n_numeric))
            continue
        bad = np.flatnonzero(~gaps & ~np.isfinite(numbers))
        if bad.size:
            text = texts[bad[0]]
            share = (n_present - bad.size) / n_present
            where = f"{source}, line {table.lines[bad[0]]}, column {name!r}"
            raise RefusedError(f"{where}: {_unreadable(name, text, share)}")
        columns[name], decimals[name] = _number_series(texts, gaps, numbers)
    if codes:
        notes.append("read as codes, because they have leading zeros: " + ", ".join(codes))
    cautions.extend(
        f"no cell holds the missing value {marker!r}"
        for marker in missing_values
        if marker not in matched
    )
    return TextValues(pd.DataFrame(columns), decimals, tuple(notes), tuple(cautions))


def read_values_as(
    table: TextTable,
    source: str,
    kinds: Mapping[str, Column],
    decimals: Mapping[str, int],
    missing_values: Collection[str],
) -> TextValues:
    """Return the values of a text table by the known kinds of its columns; others stay text."""
    columns: dict[str, pd.Series] = {}
    own_decimals: dict[str, int | None] = {}
    for place, name in enumerate(table.names):
        texts = _stripped(table.cells(place))
        kind = kinds.get(name)
        if kind is None:
            columns[name] = _text_series(texts, texts == "")
            continue
        gaps, _ = text_gaps(texts, missing_values)
        if kind.categorical:
            # A model of a Parquet table may know booleans or numbers by these texts.
            named = {str(value): value for value in kind.values}
            known_as = [named.get(text, text) for text in texts]
            columns[name], own_decimals[name] = _text_series(known_as, gaps), None
            continue
        numbers = _as_numbers(texts)
        bad = np.flatnonzero(~gaps & ~np.isfinite(numbers))
        if bad.size:
            raise RefusedError(
                f"{source}, line {table.lines[bad[0]]}, column {name!r}: {texts[bad[0]]!r} is not "
                "a finite number, and the column held numbers in the table that the model was "
                "fitted to."
            )
        values, own = _number_series(texts, gaps, numbers)
        known = decimals.get(name)
        is_whole = kind.kind == "whole" or (
            kind.kind == "constant" and float(str(kind.values[0])).is_integer()
        )
        if is_whole:
            # Written like the column's own cells, or, where it has none, like the model's.
            own_decimals[name] = own if not gaps.all() else decimals.get(name, 0)
        else:
            values = values.astype(float)
            own_decimals[name] = None if known is None or own is None else max(known, own)
        columns[name] = values
    return TextValues(pd.DataFrame(columns), own_decimals, table.notes, table.cautions)


def _as_numbers(texts: Sequence[str] | Texts) -> FloatArray:
    """Return texts as floats, NaN where one is no number."""
    series = pd.Series(texts, dtype=object)
    return np.asarray(pd.to_numeric(series, errors="coerce"), dtype=float)


def spelled(value: Any, decimals: int | None) -> str:
    """Return the text of a filled value; None writes a float in full.

    >>> spelled(38.12345, 2), spelled(-0.04, 1), spelled(7, 0), spelled("dog", None)
    ('38.12', '0.0', '7', 'dog')
    """
    if not isinstance(value, Real) or (isinstance(value, Integral) and not decimals):
        return str(value)
    if decimals is None:
        return repr(float(value))
    # Adding 0 turns -0.0 into 0.0.
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"


def _stripped(cells: Sequence[str]) -> Texts:
    return np.array([cell.strip() for cell in cells], dtype=object)


def _text_series(texts: Sequence[object] | Texts, gaps: BoolArray) -> pd.Series:
    return pd.Series([*texts], dtype=object).mask(gaps, None)


def _number_series(
    texts: Texts, gaps: BoolArray, numbers: FloatArray
) -> tuple[pd.Series, int | None]:
    """Return a column of integers if all its cells are, else of floats; and their decimals."""
    present = texts[~gaps]
    if all(map(_is_whole, present)):
        is_large = any(abs(int(text)) > LARGEST_INTEGER for text in present)
        whole = [pd.NA if gap else int(text) for text, gap in zip(texts, gaps, strict=True)]
        return pd.Series(whole, dtype=object if is_large else "Int64"), 0
    decimals = max((len(text.partition(".")[2]) for text in present), default=0)
    in_full = decimals > _MOST_DECIMALS or any("e" in text.lower() for text in present)
    return pd.Series(np.where(gaps, np.nan, numbers)), None if in_full else decimals


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def _doubts(name: str, present: Texts, n_numeric: int) -> Iterator[str]:
    """Yield what looks like a mistake in a column of categories."""
    for mark in POSSIBLE_GAP_MARKERS:
        count = int((present == mark).sum())
        if count:
            yield (
                f"column {name!r} holds {mark!r} in {counted(count, 'cell')}, as a category: "
                f"--missing-values '{mark}' makes it a gap"
            )
    if 20 * n_numeric > present.size:
        yield (
            f"column {name!r} mixes text with numbers ({100 * n_numeric / present.size:.0f} % of "
            "its cells): all are taken for categories"
        )


def _unreadable(name: str, text: str, share: float) -> str:
    """Return what is wrong with a cell that is no number in a column of numbers."""
    if _COMMA_NUMBER.fullmatch(text):
        problem = (
            "has a comma, in a column of numbers: write decimals with a point and thousands "
            "without a comma"
        )
    else:
        # Rounded down: what is not everything must not read as 100 %.
        percent = math.floor(1000.0 * share) / 10.0
        problem = (
            f"is not a finite number, in a column of numbers ({percent:g} % of its cells): "
            "correct it"
        )
    return (
        f"{text!r} {problem}; or pass --missing-values '{text}' if it is a gap, "
        f"--categorical '{name}' if these are codes, --ignore '{name}' to leave the column alone."
    )
