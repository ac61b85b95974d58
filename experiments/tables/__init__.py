"""Tables of what was measured, in Markdown and LaTeX: ``python -m experiments table CONFIG``."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pandas as pd

from experiments.arranged import arranged
from experiments.tables.accuracy import accuracy_tables
from experiments.tables.fills import fills_table
from experiments.tables.grid import Table, latex, markdown
from experiments.tables.ranks import rank_table
from experiments.tables.recovery import recovery_table
from experiments.tables.separation import separation_table
from experiments.tables.subsets import subsets_table

__all__ = ["Described", "make_tables", "write_tables"]


class Described(Protocol):
    """A config, as far as its tables go."""

    @property
    def name(self) -> str:
        """The experiment."""

    @property
    def kind(self) -> str:
        """What its rows are."""


def make_tables(config: Described, records: pd.DataFrame) -> list[Table]:
    """Return the tables of an experiment.

    Parameters
    ----------
    config : Config
        The experiment.
    records : DataFrame
        Its records, at least one.

    Returns
    -------
    list of Table
        The tables; none for kinds that are shown as figures only.
    """
    records = arranged(records)
    if config.kind == "recovery":
        return [recovery_table(config.name, records)]
    if config.kind != "classification":
        return []
    if config.name == "subsets":
        return [subsets_table(config.name, records)]
    tables = [*accuracy_tables(config.name, records), rank_table(config.name, records)]
    if config.name == "separation":
        tables.append(separation_table(config.name, records))
    fills = fills_table(config.name, records)
    return tables if fills is None else [*tables, fills]


def write_tables(config: Described, records: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the tables of an experiment, each as Markdown and as LaTeX.

    Parameters
    ----------
    config : Config
        The experiment.
    records : DataFrame
        Its records.
    folder : Path
        They go into its folder ``tables``, which is made if need be.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ValueError
        If there are no records.
    """
    if records.empty:
        raise ValueError(f"The records of {config.name} must have at least one row; got none.")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    written = []
    for table in make_tables(config, records):
        for ending, form in ((".md", markdown), (".tex", latex)):
            path = folder / "tables" / f"{table.name}{ending}"
            path.write_text(form(table), encoding="utf-8", newline="\n")
            written.append(path)
    return written
