"""Tables of what was measured, in Markdown and LaTeX: ``python -m experiments table CONFIG``."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pandas as pd

from experiments.statistics import in_order
from experiments.tables.accuracy import accuracy_tables
from experiments.tables.fills import fills_table
from experiments.tables.grid import Table, latex, markdown
from experiments.tables.ranks import rank_table
from experiments.tables.reproduced import recovery_table, separation_table, subsets_table


class Described(Protocol):
    """What tables need to know of a config."""

    @property
    def name(self) -> str:
        """The experiment."""

    @property
    def kind(self) -> str:
        """What its rows are."""

    @property
    def repetitions(self) -> int:
        """How many repetitions it asks for."""


def has_tables(config: Described) -> bool:
    """Return whether an experiment is shown as tables."""
    return config.kind in ("classification", "recovery")


def make_tables(config: Described, records: pd.DataFrame) -> list[Table]:
    """Return the tables of an experiment."""
    if not has_tables(config):
        return []
    records, repetitions = in_order(records), config.repetitions
    if config.kind == "recovery":
        return [recovery_table(config.name, records, repetitions)]
    if config.name == "subsets":
        return [subsets_table(config.name, records)]
    tables: list[Table | None] = [
        *accuracy_tables(config.name, records, repetitions),
        rank_table(config.name, records),
    ]
    if config.name == "separation":
        tables.append(separation_table(config.name, records, repetitions))
    tables.append(fills_table(config.name, records))
    return [table for table in tables if table is not None]


def write_tables(config: Described, records: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the tables of an experiment, each as Markdown and as LaTeX."""
    if records.empty:
        raise ValueError(f"The records of {config.name} must have at least one row; got none.")
    tables = make_tables(config, records)
    if tables:
        (folder / "tables").mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for ending, form in ((".md", markdown), (".tex", latex)):
            path = folder / "tables" / f"{table.name}{ending}"
            path.write_text(form(table), encoding="utf-8", newline="\n")
            written.append(path)
    return written
