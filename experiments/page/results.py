"""The committed records, read once, and where what belongs to them lies."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from experiments.records import read_records
from experiments.statistics import arranged, readings

DEFAULT = "kernel_classifier"
"""The library's default classifier."""

SIMPLE = "mean+logistic"
"""The simple method that every advice is held against."""


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    title: str  # Its heading
    body: str  # Its text in Markdown
    brief: tuple[str, ...] = ()  # What of it is said at the top of the page, a sentence each


@dataclass
class Results:
    """The folder of committed results."""

    # Holds ``NAME.csv`` for each experiment, and the folders ``tables`` and ``figures``.
    folder: Path
    page: Path  # The page, which links are relative to
    _read: dict[str, pd.DataFrame | None] = field(default_factory=dict, repr=False)

    @cached_property
    def names(self) -> list[str]:
        """The experiments that there are records of."""
        return sorted(path.stem for path in self.folder.glob("*.csv"))

    def records(self, name: str) -> pd.DataFrame | None:
        """Return the records of an experiment, methods in order."""
        if name not in self._read:
            path = self.folder / f"{name}.csv"
            rows = read_records(path) if path.is_file() else None
            has_any = rows is not None and (rows["status"] == "done").any()
            self._read[name] = arranged(rows) if has_any else None
        return self._read[name]

    def readings(self, name: str, value: str = "accuracy") -> pd.DataFrame | None:
        """Return an experiment's readings under plain selection, a column for each method."""
        records = self.records(name)
        return None if records is None else readings(records, value)

    def figure(self, name: str, caption: str) -> str:
        """Return a figure in Markdown."""
        path = self.folder / "figures" / f"{name}.png"
        return f"![{caption}]({self._relative(path)})\n\n*{caption}*" if path.is_file() else ""

    def link(self, name: str) -> str:
        """Return a link to an experiment's records."""
        return f"[{name}.csv]({self._relative(self.folder / f'{name}.csv')})"

    def _relative(self, path: Path) -> str:
        return Path(os.path.relpath(path.resolve(), self.page.resolve().parent)).as_posix()
