"""Pieces of pages that every build writes anew, so that they cannot drift."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.main import get_command

from kernimpute.cli import app, options
from kernimpute.cli.compare import Design

__all__ = ["link_tables", "write_pieces"]

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "experiments" / "results" / "tables"


def write_pieces(folder: Path) -> None:
    """Write the pieces into a folder."""
    tables = folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for path in TABLES.glob("*.md"):
        page = f"---\norphan: true\n---\n\n# {path.stem}\n\n" + path.read_text(encoding="utf-8")
        (tables / path.name).write_text(page, encoding="utf-8")
    # The tables read committed results, which are not beside an installed library.
    from results_at_build import tables_of_results

    for name, text in tables_of_results().items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "commands.txt").write_text(commands(), encoding="utf-8")


def link_tables(app: object, name: str, source: list[str]) -> None:
    """Lead links to tables outside of the site to their pages in it."""
    source[0] = re.sub(r"\]\(\.\./experiments/results/tables/", "](generated/tables/", source[0])


# The groups of options that commands share, in the order of the page: classes, or single names.
_GROUPS: dict[str, tuple[type | str, ...]] = {
    "model and new rows": (options.Use,),
    "label": (options.Label,),
    "columns": (options.Columns,),
    "text files": (options.Format,),
    "missing values": (options.Reading,),
    "filling": ("reference", "random_state"),
    "guidance by labels": (options.Method,),
    "output": (options.Output,),
}
_OWN: dict[str, tuple[type | str, ...]] = {
    "impute": (options.Beside, "output"),
    "fit": ("output",),
    "compare": (Design, "target"),
}
_HINTS = chain.from_iterable(
    get_type_hints(part).items()
    for part in chain(*_GROUPS.values(), *_OWN.values())
    if isinstance(part, type)
)
# The type of each option, without "or None".
_KINDS = {name: (get_args(kind) or (kind,))[0] for name, kind in _HINTS}


def commands() -> str:
    """Return the commands with their arguments and options in Markdown, each option once.

    What one command alone has stands below it, the rest in groups.
    """
    lines: list[str] = []
    shared: dict[str, dict[str, str]] = {title: {} for title in _GROUPS}
    users: dict[str, list[str]] = {title: [] for title in _GROUPS}
    for name, command in get_command(app).commands.items():
        own: list[str] = []
        for one in command.params:
            title = _group(name, one.name)
            if title is None:
                own.append(_row(one))
            else:
                shared[title][one.name] = _row(one)
                users[title] += [name] * (name not in users[title])
        arguments = [one.metavar for one in command.params if one.param_type_name == "argument"]
        first = " ".join(command.help.partition("\n\n")[0].split())
        lines += [f"### `{' '.join(['kernimpute', name, *arguments])}`", "", _in_code(first), ""]
        lines += _table(own)
        groups = (title for title, names in users.items() if name in names)
        links = (f"[{title}](#options-{title.replace(' ', '-')})" for title in groups)
        lines += [f"And the options of {', '.join(links)}.", ""]
    for title, rows in shared.items():
        of = ", ".join(f"`{name}`" for name in users[title])
        lines += [f"### Options: {title}", "", f"Of {of}.", "", *_table(rows.values())]
    return "\n".join(lines)


def _group(command: str, name: str) -> str | None:
    """Return the group of an option, or None where it is a command's own."""
    if name in _names(_OWN.get(command, ())):
        return None
    return next((title for title, parts in _GROUPS.items() if name in _names(parts)), None)


def _names(parts: Iterable[type | str]) -> list[str]:
    """Return the options of classes, and single ones."""
    names = (
        [part] if isinstance(part, str) else [one.name for one in fields(part)] for part in parts
    )
    return [*chain.from_iterable(names)]


def _table(rows: Iterable[str]) -> list[str]:
    return ["| option | meaning |", "|---|---|", *rows, ""] if rows else []


def _row(parameter: Any) -> str:
    """Return an argument or option as the row of a table."""
    kind = _KINDS.get(parameter.name)
    value = parameter.metavar or {int: "INTEGER", float: "NUMBER"}.get(kind, "")
    meaning = _in_code(parameter.help)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        value = "NAME"
        meaning += f" One of {', '.join(f'`{one}`' for one in kind)}."
    names = [f"`{name}`" for name in parameter.opts]
    names[0] = f"`{parameter.opts[0]} {value}`" if value else names[0]
    if parameter.param_type_name == "argument":
        names = [f"`{value}`"]
    if parameter.required:
        meaning += " Required."
    elif parameter.default not in (None, []) and not getattr(parameter, "is_flag", False):
        meaning += f" Default: `{parameter.default}`."
    return f"| {', '.join(names)} | {meaning} |"


def _in_code(text: str) -> str:
    """Return a help text with its options, values and placeholders in code font."""
    placeholders = "TABLE|OUT|MODEL|NEW|COLUMN=TEXT|LABEL|COLUMN"
    values = r"auto|inf\b|(?:--scheduler )?local\b|tcp://host:port|NA|-1|out\.1\.csv"
    others = r"--?[A-Za-z][\w-]*|\.[a-z]+\b|-(?= for )"
    code = rf"(?<![\w.`-])({values}|{others}|\b(?:{placeholders})\b)"
    parts = re.split("(`[^`]*`)", text)
    return "".join(one if one[:1] == "`" else re.sub(code, r"`\1`", one) for one in parts)
