"""Pieces of pages that every build writes anew, so that they cannot drift."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from kernimpute.cli import app

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


def commands() -> str:
    """Return every command of the program with its arguments and options, in Markdown."""
    return "\n".join(_command(name, one) for name, one in get_command(app).commands.items())


def _command(name: str, command: object) -> str:
    lines = [f"## `kernimpute {name}`", "", command.help.replace("\b", ""), ""]
    lines += ["| option | meaning | default |", "|---|---|---|"]
    for parameter in command.params:
        help_text = getattr(parameter, "help", None) or ""
        names = ", ".join(f"`{one}`" for one in parameter.opts)
        if parameter.param_type_name == "argument":
            names = f"`{(parameter.metavar or parameter.name).strip('{}').upper()}`"
        is_switch = getattr(parameter, "is_flag", False)
        default = parameter.default
        shown = "" if is_switch or default in (None, (), [], "", ...) else f"`{default}`"
        lines.append(f"| {names} | {help_text} | {'required' if parameter.required else shown} |")
    return "\n".join([*lines, ""])
