"""The tables of docs/panel_b.md from what panel R measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.panel_a.summary import compare, geometric_mean
from experiments.panel_b.summary import TEST_TO_TRAIN, failures, ranks_table, seeds_of, wide
from experiments.panel_r.run import SCORES, measured
from experiments.panel_runs import read
from experiments.statistics import TIE, signed_rank_p
from experiments.tables.grid import Row, Table

SIMPLE = "means + RidgeCV"


def ratios(readings: pd.DataFrame, method: str) -> pd.Series:
    """Return a method's mean error by table, as a ratio to that of `SIMPLE`."""
    common = readings[[method, SIMPLE]].dropna().groupby(level="source").mean()
    return (common[method] / common[SIMPLE]).round(TIE)


def errors_table(squared: pd.DataFrame, absolute: pd.DataFrame, notes: tuple[str, ...]) -> Table:
    """Return every method's errors as ratios to those of `SIMPLE`."""
    lines: list[tuple[float, Row]] = []
    for method in squared.columns.drop(SIMPLE):
        found, tests = ratios(squared, method), None
        compared = compare(squared, method, SIMPLE, -1, TEST_TO_TRAIN)
        if compared is not None:
            tests = compared.tests
        logs = np.log(found)
        mean = geometric_mean(found)
        line = (
            f"`{method}`",
            f"{mean:.3f}",
            f"{found.median():.3f}",
            f"{found.max():.3f}",
            str(found.idxmax()),
            f"{(found < 1).sum()} : {(found > 1).sum()}",
            f"{signed_rank_p(logs):.2g}",
            "–" if tests is None else f"{tests[0]} : {tests[1]}",
            f"{geometric_mean(ratios(absolute, method)):.3f}",
            seeds_of(squared[method]),
        )
        lines.append((mean, line))
    lines.sort(key=lambda line: line[0])
    return Table(
        "panel_r_error",
        f"Squared error as a ratio to that of `{SIMPLE}`, the better the lower, over tables: "
        "geometric mean, median and largest. `absolute` is the ratio of absolute errors.",
        (
            "method",
            "ratio",
            "median",
            "largest",
            "at",
            "better : worse",
            "p",
            "by test",
            "absolute",
            "seeds",
        ),
        (tuple(line for _, line in lines),),
        notes,
    )


def by_table(squared: pd.DataFrame) -> Table:
    """Return every method's squared error of each table."""
    means = squared.groupby(level="source").mean().T.sort_values(SIMPLE, axis="columns")
    return Table(
        "panel_r_by_table",
        "Squared error in variances of the target, which is 1 where nothing is learned: means over "
        "the folds that a method has.",
        ("method", *means.columns),
        (
            tuple(
                (f"`{method}`", *(f"{error:.3f}" for error in errors))
                for method, *errors in means.itertuples()
            ),
        ),
    )


def tables(results: Path) -> list[Table]:
    """Return all tables."""
    rows = read(measured(None), results)
    found = {measure: wide(rows, measure) for measure in SCORES}
    return [
        errors_table(found["squared_error"], found["absolute_error"], failures(rows)),
        by_table(found["squared_error"]),
        ranks_table("panel_r_ranks", found, dict.fromkeys(SCORES, -1), SIMPLE),
    ]
