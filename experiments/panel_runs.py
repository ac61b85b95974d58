"""Runs of the panels: each appends its rows to a CSV, and is not made again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from threadpoolctl import threadpool_limits

Row = dict[str, Any]
Run = tuple[Any, ...]
"""The axes of a problem, and a method."""

KEYS = ("learner", "rows")
"""What tells the rows of a run from each other."""


@dataclass(frozen=True)
class Measured:
    """What a file of a panel holds, and how a run makes its rows."""

    name: str  # Of the file
    axes: tuple[str, ...]  # What tells its problems from each other
    columns: tuple[str, ...]  # All others but the method and the reason why a run failed
    make_problem: Callable[..., Any]  # From the values of the axes
    rows: Callable[[Any, str], list[Row]]  # From a problem and a method

    @property
    def header(self) -> list[str]:
        """All columns of the file."""
        return [*self.axes, "method", *self.columns, "versions", "reason"]


def read(measured: Measured, folder: Path) -> pd.DataFrame:
    """Return what is measured."""
    path = folder / f"{measured.name}.csv"
    if not path.exists():
        return pd.DataFrame(columns=measured.header)
    counts = {name: "Int64" for name in measured.columns if name.startswith("n_")}
    rows = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=counts)
    # Git unites the rows of two branches, and may leave a run twice.
    keys = [*measured.axes, "method", *(name for name in KEYS if name in rows)]
    return rows.drop_duplicates(keys, keep="last")


def runs_left(measured: Measured, folder: Path, asked: Iterable[Run]) -> list[Run]:
    """Return the runs that are not written."""
    rows = read(measured, folder)[[*measured.axes, "method"]]
    done = set(rows.itertuples(index=False, name=None))
    return [run for run in asked if run not in done]


def forget(measured: Measured, folder: Path, methods: Sequence[str], only_failed: bool) -> None:
    """Take the rows of methods, or of their failed runs, out of what is measured."""
    rows = read(measured, folder)
    lost = rows["method"].isin(methods)
    if only_failed:
        lost &= rows["reason"].notna()
    if lost.any():
        path = folder / f"{measured.name}.csv"
        rows[~lost].to_csv(path, index=False, lineterminator="\n")


def measure(measured: Measured, folder: Path, runs: Sequence[Run], jobs: int) -> Iterator[Run]:
    """Make runs, append their rows and yield each when it is written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{measured.name}.csv"
    work = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(
        joblib.delayed(_rows)(measured, run) for run in runs
    )
    for run, rows in work:
        frame = pd.DataFrame(rows, columns=measured.header)
        with path.open("a", encoding="utf-8", newline="") as file:
            frame.to_csv(file, index=False, header=not os.path.getsize(path), lineterminator="\n")
        yield run


def _rows(measured: Measured, run: Run) -> tuple[Run, list[Row]]:
    *axes, method = run
    problem = measured.make_problem(*axes)
    with threadpool_limits(1):
        try:
            rows = measured.rows(problem, method)
        except Exception as error:  # The panel goes on; its page says what failed.
            rows = [{"reason": " ".join(f"{type(error).__name__}: {error}".split())[:200]}]
    common = {
        # A panel whose axes have a seed writes that one.
        "seed": problem.seed_for("filler"),
        **dict(zip(measured.axes, axes, strict=True)),
        "method": method,
        "versions": _versions(),
    }
    return run, [_rounded({**common, **row}) for row in rows]


def _versions() -> str:
    return " ".join(f"{name}={version(name)}" for name in ("kernimpute", "scikit-learn"))


def _rounded(row: Row) -> Row:
    """Return a row with five significant digits, which keeps the file small."""
    return {
        name: float(f"{value:.5g}") if isinstance(value, float) else value
        for name, value in row.items()
    }
