"""ARFF tables whose observed cells keep their text, and ARFF's way of quoting.

Our own reader, because SciPy's splits quoted values at their commas, knows no escapes, no
letters beyond ASCII and no string attributes, and names no line in its errors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pandas as pd

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.text_columns import TextColumn, find_gaps, number_column, reads_as_number

__all__ = ["ArffTable", "Attribute", "arff_quoted", "parse_arff", "read_attributes", "unquoted"]

_QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_CELL = re.compile(rf"(\s*(?:{_QUOTED}|[^,'\"]*)\s*)(,|\Z)")
_CATEGORY = re.compile(rf"\s*({_QUOTED}|[^,'\"]*?)\s*(,|\Z)")
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s'\"]+)\s+(.+)", re.IGNORECASE)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_PLAIN = re.compile(r"[\w.+-]+")


@dataclass(frozen=True)
class Attribute:
    """A column as an ARFF header declares it.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"numeric", "nominal", "string", "date"}
        Its type.
    categories : tuple of str
        The values of a nominal attribute.
    header_line : int
        Where in the header's lines it is declared, from 0.
    """

    name: str
    kind: str
    categories: tuple[str, ...]
    header_line: int


@dataclass(frozen=True)
class ArffTable:
    """An ARFF file, cell by cell as it is spelled.

    Parameters
    ----------
    header : tuple of str
        The lines up to and with ``@data``.
    attributes : tuple of Attribute
        The columns.
    rows : list of list of str
        The cells of each row as they are spelled, blanks around them included.
    lines : list of int
        The line on which each row stands.
    """

    header: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    rows: list[list[str]] = field(repr=False)
    lines: list[int] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(attribute.name for attribute in self.attributes)


def parse_arff(text: str, source: str) -> ArffTable:
    """Return the cells of an ARFF text.

    Parameters
    ----------
    text : str
        The file's text.
    source : str
        The file's name, for the messages.

    Returns
    -------
    ArffTable
        Header and cells.

    Raises
    ------
    RefusedError
        If the text is not ARFF, has no attribute or no row, or uses relational attributes or
        sparse rows; names the line.
    """
    header: list[str] = []
    attributes: list[Attribute] = []
    lines = re.split(r"\r\n|\n|\r", text)
    for number, line in enumerate(lines, start=1):
        header.append(line)
        bare = line.strip()
        keyword = bare.split(None, 1)[0].lower() if bare else ""
        if keyword == "@data":
            break
        if keyword == "@attribute":
            attributes.append(_attribute(bare, number, source))
        elif bare and keyword != "@relation" and not bare.startswith("%"):
            raise RefusedError(f"{source}, line {number}: {_cut(bare)!r} has no place in a header.")
    else:
        raise RefusedError(f"{source} has no line @data: it is not an ARFF table.")
    names = [attribute.name for attribute in attributes]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        listed = ", ".join(map(repr, repeated))
        raise RefusedError(f"{source}: the header names {listed} more than once.")
    rows: list[list[str]] = []
    places: list[int] = []
    for number, line in enumerate(lines[len(header) :], start=len(header) + 1):
        bare = line.strip()
        if bare and not bare.startswith("%"):
            rows.append(_row(line, len(attributes), f"{source}, line {number}"))
            places.append(number)
    if not attributes or not rows:
        raise RefusedError(f"{source} has a header and no rows.")
    return ArffTable(tuple(header), tuple(attributes), rows, places)


def _attribute(bare: str, number: int, source: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(bare)
    if match is None:
        raise RefusedError(f"{source}, line {number}: {_cut(bare)!r} declares no attribute.")
    name, declared = unquoted(match[1]), match[2].strip()
    if declared.startswith("{") and declared.endswith("}"):
        return Attribute(name, "nominal", _declared(declared[1:-1]), number - 1)
    kind = declared.split(None, 1)[0].lower()
    known = {"numeric": "numeric", "real": "numeric", "integer": "numeric"}
    known |= {"string": "string", "date": "date"}
    if kind not in known:
        raise RefusedError(
            f"{source}, line {number}: attribute {name!r} must be numeric, nominal, a string or "
            f"a date. Got {_cut(declared)!r}."
        )
    return Attribute(name, known[kind], (), number - 1)


def _declared(inside: str) -> tuple[str, ...]:
    """Return the categories between the braces of a nominal attribute."""
    found = []
    position = 0
    while position < len(inside):
        match = _CATEGORY.match(inside, position)
        if match is None:
            found.append(inside[position:].strip())
            break
        found.append(unquoted(match[1]))
        position = match.end()
    return tuple(dict.fromkeys(found))


def _row(line: str, n_columns: int, where: str) -> list[str]:
    if line.lstrip().startswith("{"):
        raise RefusedError(f"{where}: sparse rows are not read: write every cell.")
    cells = []
    position = 0
    while True:
        match = _CELL.match(line, position)
        if match is None:
            raise RefusedError(f"{where}: a quote is not closed, or text follows it.")
        cells.append(match[1])
        position = match.end()
        if not match[2]:
            break
    if len(cells) != n_columns:
        raise RefusedError(
            f"{where} has {len(cells)} cells where the header declares {n_columns} attributes."
        )
    return cells


def read_attributes(
    table: ArffTable,
    source: str,
    *,
    missing_values: Collection[str] = (),
    categorical: Collection[str] = (),
    unused: Collection[str] = (),
) -> tuple[dict[str, TextColumn], list[str]]:
    """Return the columns of an ARFF table as values.

    Parameters
    ----------
    table : ArffTable
        The table.
    source : str
        The file's name, for the messages.
    missing_values : collection of str, default=()
        Texts that stand for a gap besides the question mark.
    categorical : collection of str, default=()
        Columns whose cells are categories although they are declared as numbers.
    unused : collection of str, default=()
        Columns that are only carried along, as text.

    Returns
    -------
    columns : dict of str to TextColumn
        The columns, in order.
    cautions : list of str
        What looks like a mistake.

    Raises
    ------
    RefusedError
        If a used column holds dates, or a cell is not of its attribute's type; names the line.
    """
    columns = {}
    matched: set[str] = set()
    for place, attribute in enumerate(table.attributes):
        name = attribute.name
        cells = [row[place].strip() for row in table.rows]
        texts = [unquoted(cell) for cell in cells]
        blank = [cell == "?" for cell in cells]
        if name in unused:
            kept = [None if gap else text for text, gap in zip(texts, blank, strict=True)]
            columns[name] = TextColumn(pd.Series(kept, dtype=object))
            continue
        if attribute.kind == "date":
            raise RefusedError(
                f"{source}: attribute {name!r} is a date, and dates are not imputed: drop or "
                f"ignore it (--drop '{name}', --ignore '{name}')."
            )
        marked = find_gaps(texts, missing_values, matched, gap_texts=())
        gaps = [empty or mark for empty, mark in zip(blank, marked, strict=True)]
        _check_cells(attribute, texts, gaps, table.lines, source)
        present = [text for text, gap in zip(texts, gaps, strict=True) if not gap]
        if attribute.kind == "numeric" and name not in categorical:
            columns[name] = number_column(texts, gaps, present)
            continue
        values = [None if gap else text for text, gap in zip(texts, gaps, strict=True)]
        series = pd.Series(values, dtype=object)
        if attribute.kind == "nominal":
            series = series.astype(pd.CategoricalDtype(list(attribute.categories)))
        columns[name] = TextColumn(series)
    unmet = [marker for marker in missing_values if marker not in matched]
    return columns, [f"no cell holds the missing value {marker!r}" for marker in unmet]


def _check_cells(
    attribute: Attribute,
    texts: Sequence[str],
    gaps: Sequence[bool],
    lines: Sequence[int],
    source: str,
) -> None:
    """Refuse a cell that its attribute's declaration does not allow."""
    declared = set(attribute.categories)
    for text, gap, line in zip(texts, gaps, lines, strict=True):
        if gap or attribute.kind == "string":
            continue
        if attribute.kind == "nominal" and text not in declared:
            problem = "is not one of the declared values"
        elif attribute.kind == "numeric" and not reads_as_number(text):
            problem = "is not a finite number"
        else:
            continue
        raise RefusedError(
            f"{source}, line {line}, attribute {attribute.name!r}: {text!r} {problem}: correct "
            f"it, or pass --missing-values '{text}' if it is a gap."
        )


def unquoted(cell: str) -> str:
    """Return what a cell or name says: without quotes, escapes and outer blanks.

    Parameters
    ----------
    cell : str
        The cell as it is spelled.

    Returns
    -------
    str
        Its text.
    """
    cell = cell.strip()
    if len(cell) > 1 and cell[0] in "'\"" and cell[-1] == cell[0]:
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), cell[1:-1])
    return cell


def arff_quoted(value: object) -> str:
    r"""Return a value as an ARFF cell or name, in quotes where it needs them.

    Parameters
    ----------
    value : object
        The value; its ``str`` is written.

    Returns
    -------
    str
        The cell's text.

    Examples
    --------
    >>> print(arff_quoted("it's long"), arff_quoted("plain"), arff_quoted("?"))
    'it\'s long' plain '?'
    """
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    for mark, escape in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(mark, escape)
    return f"'{text}'"


def _cut(text: str, length: int = 40) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
