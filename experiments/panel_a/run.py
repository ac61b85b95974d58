"""Runs panel A: one row a problem, method, learner and kind of new rows, appended to a CSV."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from experiments.panel_a.fillers import FILLERS, WAYS, filling_by
from experiments.panel_a.labels import MACHINES, with_labels
from experiments.panel_a.others import OTHERS
from experiments.panel_a.prediction import PREDICTORS, predicted
from experiments.panel_a.problems import TABLES, Kind, Problem, make_problem
from experiments.problem import Mechanism

PROBLEM = ["table", "mechanism", "rate", "repetition"]
COLUMNS: dict[Kind, list[str]] = {
    "fills": [*PROBLEM, "method", "error", "n_numbers", "wrong", "n_categories"],
    "prediction": [*PROBLEM, "method", "learner", "rows", "log_loss", "auc", "accuracy"],
    "labels": [*PROBLEM, "method", "learner", "rows", "log_loss", "auc", "accuracy"],
}
ENDING = ["seconds_fit", "seconds_fill", "seed", "versions", "reason"]
"""Columns of both files; a method that fails has a reason and no measures."""

METHODS: dict[Kind, tuple[str, ...]] = {
    "fills": tuple(FILLERS),
    "prediction": PREDICTORS,
    "labels": (*WAYS, *MACHINES),
}
"""What is run unless methods are named."""
KNOWN: dict[Kind, tuple[str, ...]] = {**METHODS, "fills": (*FILLERS, *OTHERS)}


class Run(NamedTuple):
    """A method on a problem."""

    table: str
    mechanism: Mechanism
    rate: float
    repetition: int
    method: str


def read(kind: Kind, folder: Path) -> pd.DataFrame:
    """Return what is measured."""
    path = folder / f"{kind}.csv"
    if not path.exists():
        return pd.DataFrame(columns=[*COLUMNS[kind], *ENDING])
    counts = {"n_numbers": "Int64", "n_categories": "Int64"}
    rows = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=counts)
    # Git unites the rows of two branches, and may leave a run twice.
    keys = [name for name in (*PROBLEM, "method", "learner", "rows") if name in rows]
    return rows.drop_duplicates(keys, keep="last")


def runs_left(
    kind: Kind,
    folder: Path,
    settings: Iterable[tuple[Mechanism, float]],
    methods: Iterable[str],
    tables: Iterable[str] = TABLES,
    repetitions: int = 1,
) -> list[Run]:
    """Return the runs that are not written, repetition by repetition."""
    done = set(read(kind, folder)[[*PROBLEM, "method"]].itertuples(index=False, name=None))
    settings, methods, tables = list(settings), list(methods), list(tables)
    asked = (
        Run(table, mechanism, rate, repetition, method)
        for repetition in range(repetitions)
        for mechanism, rate in settings
        for table in tables
        for method in methods
    )
    return [run for run in asked if tuple(run) not in done]


def forget(kind: Kind, folder: Path, methods: Sequence[str], only_failed: bool) -> None:
    """Take the rows of methods, or of their failed runs, out of what is measured."""
    rows = read(kind, folder)
    lost = rows["method"].isin(methods)
    if only_failed:
        lost &= rows["reason"].notna()
    if lost.any():
        rows[~lost].to_csv(folder / f"{kind}.csv", index=False, lineterminator="\n")


def measure(kind: Kind, folder: Path, runs: Sequence[Run], jobs: int) -> Iterator[Run]:
    """Make runs, append their rows and yield each when it is written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}.csv"
    work = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(
        joblib.delayed(_rows)(kind, run) for run in runs
    )
    for run, rows in work:
        frame = pd.DataFrame(rows, columns=[*COLUMNS[kind], *ENDING])
        with path.open("a", encoding="utf-8", newline="") as file:
            frame.to_csv(file, index=False, header=not os.path.getsize(path), lineterminator="\n")
        yield run


def _rows(kind: Kind, run: Run) -> tuple[Run, list[dict[str, Any]]]:
    problem = make_problem(*run[:4])
    with threadpool_limits(1):
        try:
            rows = MEASURES[kind](problem, run.method)
        except Exception as error:  # The panel goes on; its page says what failed.
            rows = [{"reason": " ".join(f"{type(error).__name__}: {error}".split())[:200]}]
    common = {
        **dict(zip(PROBLEM, problem.axes, strict=True)),
        "method": run.method,
        "seed": problem.seed("filler"),
        "versions": _versions(),
    }
    return run, [_rounded({**common, **row}) for row in rows]


def _versions() -> str:
    return " ".join(f"{name}={version(name)}" for name in ("kernimpute", "scikit-learn"))


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with five significant digits, which keeps the file small."""
    return {
        name: float(f"{value:.5g}") if isinstance(value, float) else value
        for name, value in row.items()
    }


def fills_row(problem: Problem, method: str) -> list[dict[str, Any]]:
    """Return the error of a filler on the removed cells of new rows."""
    filler = {**FILLERS, **OTHERS}[method]
    filling = filling_by(
        filler, problem.train, problem.y_train, problem.seed("filler"), [problem.new]
    )
    return [
        {
            **errors_of(problem, filling.others[0]),
            "seconds_fit": filling.seconds_fit,
            "seconds_fill": filling.seconds_fill,
        }
    ]


def errors_of(problem: Problem, filled: pd.DataFrame) -> dict[str, float]:
    """Return the error of numbers, in deviations of complete training columns, and of categories.

    The first is a root of a mean square over all removed cells, the second the share of wrong
    ones. Columns that are constant in the training rows have no deviation and are left out.
    """
    squares, wrong = [np.empty(0)], [np.empty(0)]
    for name, removed in zip(filled, problem.removed.T, strict=True):
        fills, truth = filled[name][removed], problem.new_truth[name][removed]
        if name in problem.categories:
            wrong.append((fills.to_numpy(object) != truth.to_numpy(object)).astype(float))
            continue
        deviation = float(problem.train_complete[name].astype(float).std(ddof=0))
        if deviation > 0.0:
            difference = fills.to_numpy(float) - truth.to_numpy(float)
            squares.append((difference / deviation) ** 2)
    numbers, categories = np.concatenate(squares), np.concatenate(wrong)
    return {
        "error": float(np.sqrt(numbers.mean())) if numbers.size else np.nan,
        "n_numbers": numbers.size,
        "wrong": float(categories.mean()) if categories.size else np.nan,
        "n_categories": categories.size,
    }


MEASURES: dict[Kind, Callable[[Problem, str], list[dict[str, Any]]]] = {
    "fills": fills_row,
    "prediction": predicted,
    "labels": with_labels,
}
"""What gives the rows of a method on a problem."""
