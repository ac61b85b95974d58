"""A table as data, and its two written forms: Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from experiments.registry import label_of

_LATEX = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "•": r"$\bullet$",
    "γ": r"$\gamma$",
    "η": r"$\eta$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "<": "$<$",
    ">": "$>$",
}


@dataclass(frozen=True)
class Entry:
    """One entry of a table."""

    text: str  # What it says
    bold: bool = False  # Whether it is the best of its column and block
    bullet: bool = False  # Whether it is marked as significantly better than all others


Row = tuple[Entry | str, ...]


@dataclass(frozen=True)
class Table:
    """A table with its caption and notes."""

    name: str  # The name of its files
    caption: str  # What it shows, in one or two sentences
    header: tuple[str, ...]  # The columns' names
    blocks: tuple[tuple[Row, ...], ...]  # The rows, in blocks that a line parts
    notes: tuple[str, ...] = ()  # Sentences below the table


def markdown(table: Table) -> str:
    """Return a table in Markdown: caption, table, notes as a list."""
    alignment = ["---", *["---:" if one else "---" for one in _is_numeric(table)[1:]]]
    lines = [table.caption, "", _markdown_line(table.header), _markdown_line(alignment)]
    lines += [_markdown_line(map(_markdown_entry, row)) for block in table.blocks for row in block]
    lines += ["", *[f"- {note}" for note in table.notes]] if table.notes else []
    return "\n".join(lines) + "\n"


def write_markdown(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write tables as Markdown, each into a file of its name."""
    paths = []
    for table in tables:
        path = folder / f"{table.name}.md"
        path.write_text(markdown(table), encoding="utf-8", newline="\n")
        paths.append(path)
    return paths


def latex(table: Table) -> str:
    """Return a table in LaTeX, with the rules of booktabs."""
    columns = "".join("r" if one else "l" for one in _is_numeric(table))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(_escaped, table.header)) + r" \\",
    ]
    for block in table.blocks:
        lines += [r"\midrule", *[" & ".join(map(_latex_entry, row)) + r" \\" for row in block]]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {_escaped(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _is_numeric(table: Table) -> list[bool]:
    """Return for each column whether its entries begin as numbers do."""
    rows = [row for block in table.blocks for row in block]
    columns = [[_text(row[place]) for row in rows] for place in range(len(table.header))]
    return [any(text[:1].isdigit() or text[:1] in "+−" for text in c if text) for c in columns]


def _text(entry: Entry | str) -> str:
    return entry if isinstance(entry, str) else entry.text


def _markdown_line(entries: object) -> str:
    return f"| {' | '.join(entries)} |"


def _markdown_entry(entry: Entry | str) -> str:
    # A bar would end the cell.
    text = _text(entry).replace("|", r"\|")
    if isinstance(entry, str):
        return text
    return (f"**{text}**" if entry.bold else text) + (" •" if entry.bullet else "")


def _latex_entry(entry: Entry | str) -> str:
    text = _escaped(_text(entry))
    if isinstance(entry, str):
        return text
    return (rf"\textbf{{{text}}}" if entry.bold else text) + (r" $\bullet$" if entry.bullet else "")


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def notes_on_gaps(records: pd.DataFrame) -> list[str]:
    """Return a sentence for each method and rule with failed or skipped runs."""
    keys = ["method", "rule"] if "rule" in records else ["method"]
    notes = []
    for key, group in records.groupby(keys, sort=False):
        for status in ("failed", "skipped"):
            gone = group[group["status"] == status]
            if gone.empty:
                continue
            rule = f", {key[1]} selection" if key[1:] == ("released",) else ""
            reasons = "; ".join(dict.fromkeys(str(one).rstrip(".") for one in gone["reason"]))
            notes.append(
                f"{label_of(key[0])}{rule}: {len(gone)} of {len(group)} runs {status}: {reasons}."
            )
    return notes
