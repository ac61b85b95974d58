"""Text tables: the text of every cell and the values for which it stands, as docs/cli.md says."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernimpute.cli.messages import RefusedError
from kernimpute.cli.options import Reading
from kernimpute.core.arrays import BoolArray, FloatArray
from kernimpute.table.columns import POSSIBLE_GAP_MARKERS, Column, counted, listed, text_gaps

_CODE = re.compile(r"[+-]?0[0-9]+")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)+(?:\.[0-9]+)?")
_SWAPPED = str.maketrans(",.", ".,")
LARGEST_INTEGER = 2**63 - 1
_MOST_DECIMALS = 15
_DELIMITER_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""What separates cells where the header has no comma."""

Texts = NDArray[np.object_]


@dataclass(frozen=True)
class TextStyle:
    """How a text file is written, beside its cells."""

    delimiter: str = ","
    newline: str = "\n"
    prefix: str = ""  # A byte-order mark and a first line `sep=;`, as far as there are any.
    encoding: str = "utf-8"
    decimal: str = "."


@dataclass(frozen=True)
class TextTable:
    """A table of text: names as they are spelled and called, and the text of every cell."""

    source: str  # What messages call it.
    header: tuple[str, ...]
    rows: list[list[str]] = field(repr=False)
    lines: list[int] = field(repr=False)  # On which each row begins.
    style: TextStyle = TextStyle()
    values: list[list[object]] | None = field(default=None, repr=False)  # A sheet's own cells.
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no table."""
        if not self.rows:
            raise RefusedError(f"{self.source} has a header and no rows.")
        for line, row in zip(self.lines, self.rows, strict=True):
            if len(row) != len(self.header):
                got = "is empty" if row == [""] else f"has {counted(len(row), 'cell')}"
                raise RefusedError(
                    f"{self.source}, line {line} {got} where the header has {len(self.header)}."
                )
        repeated = sorted(name for name, count in Counter(self.names).items() if count > 1)
        if repeated:
            raise RefusedError(
                f"{self.source}: the header names {listed(repeated)} more than once: rename the "
                "copies."
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names; one without a name is named after its place."""
        return tuple(
            cell.strip() or f"unnamed_{place}" for place, cell in enumerate(self.header, start=1)
        )

    def cells(self, place: int) -> list[str]:
        """Return the text of a column's cells."""
        return [row[place] for row in self.rows]

    def stripped(self, place: int) -> Texts:
        """Return the text of a column's cells without outer blanks."""
        return np.array([row[place].strip() for row in self.rows], dtype=object)

    def where(self, row: Any, name: str) -> str:
        """Return where a cell stands, for a message."""
        return f"{self.source}, line {self.lines[row]}, column {name!r}"


@dataclass(frozen=True)
class TextValues:
    """The values of a table's columns, and with how many decimals their fills are written."""

    frame: pd.DataFrame
    decimals: Mapping[str, int | None]  # None: in full, or no numbers.
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


def parse_text(
    text: str,
    source: str,
    delimiter: str | None = None,
    *,
    encoding: str = "utf-8",
    decimal: str = ".",
) -> TextTable:
    """Return the cells of a text; None takes what separates the header's names.

    A first line such as `sep=;`, which spreadsheet programs write, says so as well.
    """
    begin = re.match(r"\ufeff?(?:sep=(?P<delimiter>[^\w\s\"]|\t)(?:\r\n|\n|\r))?", text)
    prefix = begin.group() if begin else ""
    body = text[len(prefix) :]
    if not body.strip():
        raise RefusedError(f"{source} is empty: a table needs a header and rows.")
    ends = re.search(r"\r\n|\n|\r", body)
    notes: tuple[str, ...] = ()
    if delimiter is None:
        first_line = re.sub('"[^"]*"', "", body[: ends.start()] if ends else body)
        found = (mark for mark in (",", *_DELIMITER_NAMES) if mark in first_line)
        delimiter = (begin and begin["delimiter"]) or next(found, ",")
        if delimiter in _DELIMITER_NAMES:
            notes = (f"cells are separated by {_DELIMITER_NAMES[delimiter]}",)
    first = 1 + ("sep=" in prefix)
    parsed = list(_parsed_rows(body, delimiter, source, first))
    while parsed and parsed[-1][1] == [""]:
        parsed.pop()
    header = tuple(parsed[0][1])
    return TextTable(
        source,
        header,
        [row for _, row in parsed[1:]],
        [line for line, _ in parsed[1:]],
        TextStyle(delimiter, ends.group() if ends else "\n", prefix, encoding, decimal),
        notes=notes,
        cautions=tuple(
            f"column {place} has no name and is called 'unnamed_{place}' here: if it numbers the "
            f"rows, --ignore unnamed_{place}"
            for place, cell in enumerate(header, start=1)
            if not cell.strip()
        ),
    )


def text_of_values(
    source: str,
    header: Sequence[object],
    rows: list[list[object]],
    lines: list[int],
    decimal: str,
    cautions: tuple[str, ...] = (),
) -> TextTable:
    """Return a table of values as one of text, which keeps the values."""

    def text_of(value: object) -> str:
        is_nested = isinstance(value, (dict, list))
        text = json.dumps(value) if is_nested else "" if value is None else str(value)
        return text.replace(".", decimal) if isinstance(value, float) else text

    return TextTable(
        source,
        tuple(map(text_of, header)),
        [[*map(text_of, row)] for row in rows],
        lines,
        TextStyle(decimal=decimal),
        rows,
        cautions=cautions,
    )


def _parsed_rows(
    text: str, delimiter: str, source: str, line: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row begins, and its cells; an empty line is one empty cell."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = line
    try:
        for row in reader:
            yield line, row or [""]
            line = before + reader.line_num
    except csv.Error as error:
        what = "a quote is not closed, or text follows it"
        if "field limit" in str(error):
            what = f"a quote is not closed, or a cell has over {csv.field_size_limit()} characters"
        raise RefusedError(f"{source}, line {line}: {what} ({error}).") from error


def write_text(columns: Sequence[Sequence[str]], style: TextStyle) -> str:
    """Return columns, each with its name first, as text; cells are quoted where they need it."""
    special = re.compile(f'[{re.escape(style.delimiter)}"\r\n]')

    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if special.search(cell) else cell

    rows = zip(*(map(quoted, column) for column in columns), strict=True)
    return style.prefix + style.newline.join(map(style.delimiter.join, rows)) + style.newline


class Markers:
    """The texts that are gaps, and those that are data, by column."""

    def __init__(self, reading: Reading, names: Sequence[str]) -> None:
        self.missing = by_column(reading.missing_values, names)
        self.kept = by_column(reading.keep_values, names)
        self.unused = {one: f"the missing value {one!r}" for one in reading.missing_values}
        self.unused |= {one: f"the text to keep {one!r}" for one in reading.keep_values}

    def gaps(self, name: str, texts: Texts, *, keep: bool) -> BoolArray:
        """Return which cells are gaps; texts to keep are none if `keep`, in columns of text."""
        missing, kept = self.missing[name], self.kept[name] if keep else {}
        gaps, found = text_gaps(texts, missing, kept)
        used = [missing[text] for text in found]
        used += [kept[text] for text in kept if (~gaps & (texts == text)).any()]
        for one in used:
            self.unused.pop(one, None)
        return gaps


def by_column(given: Iterable[str], names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return for each column the texts that hold for it, each with how it was given.

    >>> by_column(["?", "glucose=0"], ["glucose", "age"])
    {'glucose': {'?': '?', '0': 'glucose=0'}, 'age': {'?': '?'}}
    """
    texts: dict[str, dict[str, str]] = {name: {} for name in names}
    for one in given:
        owners = [name for name in texts if one.startswith(f"{name}=")]
        # Of the columns a and a=b, "a=b=0" is about the latter.
        owner = max(owners, key=len, default=None)
        for name in texts if owner is None else [owner]:
            texts[name][one[0 if owner is None else len(owner) + 1 :].strip()] = one
    return texts


def infer_values(
    table: TextTable,
    reading: Reading,
    *,
    categorical: Collection[str] = (),
    unused: Collection[str] = (),
) -> TextValues:
    """Return the values of a text table; what a column holds is decided by its cells.

    Columns in `categorical` hold categories whatever they look like; `unused` ones stay text.
    """
    columns: dict[str, pd.Series] = {}
    decimals: dict[str, int | None] = {}
    cautions, notes, codes = list(table.cautions), list(table.notes), []
    markers = Markers(reading, table.names)
    for place, name in enumerate(table.names):
        texts = table.stripped(place)
        if name in unused:
            columns[name] = _text_series(texts, texts == "")
            continue
        gaps = markers.gaps(name, texts, keep=False)
        plain, numbers = _read_numbers(texts, table.style.decimal)
        with_comma = np.array([bool(_COMMA_NUMBER.fullmatch(text)) for text in plain], dtype=bool)
        looks_numeric = ~gaps & (~np.isnan(numbers) | with_comma)
        n_present, n_numeric = int((~gaps).sum()), int(looks_numeric.sum())
        numeric = plain[looks_numeric]
        padded = [row for row, text in enumerate(plain) if _CODE.fullmatch(text) and not gaps[row]]
        is_code = all(map(_is_whole, numeric)) and 20 * len(padded) > len(numeric)
        is_code &= len(padded) > 1 or len(set(map(len, numeric))) == 1
        is_forced = name in categorical
        if is_forced or is_code or 2 * n_numeric <= n_present:
            if markers.kept[name]:
                gaps = markers.gaps(name, texts, keep=True)
            columns[name], decimals[name] = _text_series(texts, gaps), None
            if is_code and not is_forced and n_numeric == n_present:
                codes.append(name)
            words = pd.unique(texts[gaps & (texts != "")]).tolist()
            said = f"taken for gaps in the text column {name!r}: {listed(words)}"
            # A marker of the width that all of several values have, as NA has beside DE.
            values = pd.unique(texts[~gaps])
            widths = set(map(len, values)) if len(values) > 2 else set()
            unnamed = (word for word in words if word not in markers.missing[name])
            like = [word for word in unnamed if word.isalpha() and {len(word)} == widths]
            if like:
                remedy = f"--keep-values '{name}={like[0]}' keeps it"
                cautions.append(f"{said}, though {like[0]!r} is like its other values: {remedy}")
            elif words:
                notes.append(said)
            if not is_forced:
                cautions.extend(_doubts(name, texts[~gaps], 0 if is_code else n_numeric))
            continue
        for row in np.flatnonzero(~gaps & ~np.isfinite(numbers))[:1]:
            share = np.isfinite(numbers[~gaps]).mean()
            problem = _unreadable(name, texts[row], share, table.style.decimal)
            raise RefusedError(f"{table.where(row, name)}: {problem}")
        columns[name], decimals[name] = _number_series(plain, gaps, numbers)
        for row in padded[:1] if decimals[name] == 0 else ():
            cautions.append(
                f"{table.where(row, name)}: {texts[row]!r} has a leading zero and is read as a "
                f"number, like the other cells: --categorical '{name}' if these are codes"
            )
    if codes:
        notes.append("read as codes, because they have leading zeros: " + ", ".join(codes))
    cautions += [f"no cell holds {what}" for what in markers.unused.values()]
    return TextValues(pd.DataFrame(columns), decimals, tuple(notes), tuple(cautions))


def read_values_as(
    table: TextTable, kinds: Mapping[str, Column], decimals: Mapping[str, int], reading: Reading
) -> TextValues:
    """Return the values of a text table by the known kinds of its columns; others stay text."""
    columns: dict[str, pd.Series] = {}
    own_decimals: dict[str, int | None] = {}
    markers = Markers(reading, table.names)
    for place, name in enumerate(table.names):
        texts = table.stripped(place)
        kind = kinds.get(name)
        if kind is None:
            columns[name] = _text_series(texts, texts == "")
            continue
        gaps = markers.gaps(name, texts, keep=kind.categorical)
        if kind.categorical:
            # A model of a Parquet table may know booleans or numbers by these texts.
            named = {str(value): value for value in kind.values}
            known_as = [named.get(text, text) for text in texts]
            columns[name], own_decimals[name] = _text_series(known_as, gaps), None
            continue
        plain, numbers = _read_numbers(texts, table.style.decimal)
        for row in np.flatnonzero(~gaps & ~np.isfinite(numbers))[:1]:
            raise RefusedError(
                f"{table.where(row, name)}: {texts[row]!r} is not a finite number, and the column "
                "held numbers in the table that the model was fitted to."
            )
        values, own = _number_series(plain, gaps, numbers)
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


def _read_numbers(texts: Texts, decimal: str) -> tuple[Texts, FloatArray]:
    """Return texts with decimal points, and as floats, NaN where one is no number."""
    if decimal != ".":
        # Points in them become commas, which no number has.
        texts = np.array([text.translate(_SWAPPED) for text in texts], dtype=object)
    series = pd.Series(texts, dtype=object)
    return texts, np.asarray(pd.to_numeric(series, errors="coerce"), dtype=float)


def spelled(value: Any, decimals: int | None, decimal: str = ".") -> str:
    """Return the text of a filled value; None writes a float in full.

    >>> spelled(38.12345, 2), spelled(-0.04, 1), spelled(7, 0), spelled("dog", None)
    ('38.12', '0.0', '7', 'dog')
    """
    if not isinstance(value, Real) or (isinstance(value, Integral) and not decimals):
        return str(value)
    if decimals is None:
        return repr(float(value)).replace(".", decimal)
    # Adding 0 turns -0.0 into 0.0.
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}".replace(".", decimal)


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


def _unreadable(name: str, text: str, share: float, decimal: str) -> str:
    """Return what is wrong with a cell that is no number in a column of numbers."""
    has_mark = _COMMA_NUMBER.fullmatch(text if decimal == "." else text.translate(_SWAPPED))
    if has_mark and decimal == ".":
        problem = (
            "has a comma, in a column of numbers: write decimals with a point and thousands "
            "without a comma, or pass --decimal ',' if it is a decimal comma"
        )
    elif has_mark:
        problem = "has a point, in a column of numbers with decimal commas: write it without"
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
