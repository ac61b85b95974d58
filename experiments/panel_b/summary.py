"""The tables of docs/panel_b.md from what panel B measured.

Two methods are compared on the folds that both have, averaged by table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from experiments.panel_a.prediction import BOOSTING, DRAWS, TREES
from experiments.panel_a.summary import (
    CHOSEN,
    GAINS,
    MEASURES,
    SIMPLE,
    chosen_elsewhere,
    compare,
    gains,
    named,
    pair_rows,
    rivals_of,
    with_chosen,
)
from experiments.panel_b.problems import FOLDS
from experiments.panel_b.run import measured
from experiments.panel_runs import read
from experiments.statistics import TIE
from experiments.tables.grid import Row, Table
from experiments.words import counted

TEST_TO_TRAIN = 1 / (FOLDS - 1)
INDICATED = "means + indicators + logistic"
PAIRS = {
    "kernimpute predictor": (INDICATED, "means + SVM", TREES, BOOSTING, "kernimpute + logistic"),
    "kernimpute, machine": (INDICATED, "means + SVM", TREES, BOOSTING, "kernimpute + logistic"),
    "kernimpute + logistic": ("KNN + logistic", "IterativeImputer + logistic"),
    "kernimpute + SVM": ("means + SVM", "KNN + SVM", "IterativeImputer + SVM"),
}
"""Ours, and what each is compared with beside `SIMPLE`."""


def wide(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a measure with a row for each table, seed and fold, and a column for each method."""
    here = named(rows[rows[value].notna()])
    here = here.assign(source=here["table"], repetition=here["seed"] * FOLDS + here["fold"])
    return here.pivot(index=["source", "seed", "repetition"], columns="method", values=value)


def gains_table(readings: pd.DataFrame, measure: str, sign: int, notes: tuple[str, ...]) -> Table:
    """Return what every method gains over `SIMPLE`."""
    lines = []
    for method in readings.columns.drop(SIMPLE):
        found = compare(readings, method, SIMPLE, sign, TEST_TO_TRAIN)
        if found is not None:
            lines.append((found.mean, (_shown(method), *gains(found), seeds_of(readings[method]))))
    lines.sort(key=lambda line: -line[0])
    base = readings[SIMPLE].groupby(level="source").mean()
    return Table(
        f"panel_b_{measure}",
        f"Gains in {said(measure)} over `{SIMPLE}`, which has {base.mean():.3f}, over "
        f"{counted(len(base), 'table')}; the better the higher.",
        ("method", *GAINS, "seeds"),
        (tuple(line for _, line in lines),),
        notes,
    )


def said(measure: str) -> str:
    """Return a measure as it is said."""
    return measure.replace("_", " ").replace("auc", "AUC")


def _shown(method: str) -> str:
    return method if method == CHOSEN else f"`{method}`"


def seeds_of(readings: pd.Series) -> str:
    """Return how many seeds a method has."""
    return f"{readings.dropna().index.unique('seed').size}"


def ranks_table(
    name: str, readings: Mapping[str, pd.DataFrame], signs: Mapping[str, int], base: str = SIMPLE
) -> Table:
    """Return each method's mean rank over tables, by measure."""
    ranks = pd.DataFrame(
        {measure: mean_ranks(readings[measure], sign, base) for measure, sign in signs.items()}
    )
    ranks = ranks.sort_values(list(ranks))
    rows: list[Row] = [
        (f"`{method}`", *(f"{rank:.1f}" for rank in line)) for method, *line in ranks.itertuples()
    ]
    return Table(
        name,
        f"Mean ranks of {counted(len(ranks), 'method')} over tables, 1 the best.",
        ("method", *(said(measure) for measure in signs)),
        (tuple(rows),),
    )


def mean_ranks(readings: pd.DataFrame, sign: int, base: str) -> pd.Series:
    """Return each method's mean rank over tables.

    Ranked are gains over one method on the folds that both have, so that a method with fewer seeds
    is not ranked by how easy they were.
    """
    differences = readings.sub(readings[base], axis="index")
    by_table = sign * differences.groupby(level="source").mean().round(TIE)
    return by_table.rank(axis="columns", ascending=False).mean()


def pairs_table(measured: Mapping[str, pd.DataFrame]) -> Table:
    """Return what ours gain over the strong members of the field."""
    known = set(measured["log_loss"])
    blocks = []
    for ours, rivals in PAIRS.items():
        rows = [
            row
            for rival in rivals
            if known.issuperset([ours, rival])
            for row in pair_rows(measured, ours, rival, rival, TEST_TO_TRAIN)
        ]
        blocks.append(tuple(rows))
    return Table(
        "panel_b_pairs",
        "What ours gain over others, the better the higher, over tables.",
        ("ours", "over", "measure", *GAINS),
        tuple(blocks),
    )


def failures(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return a sentence for each method that failed and its reason."""
    failed = rows[rows["reason"].notna()]
    return tuple(
        f"`{method}` failed in {counted(len(group), 'run')} "
        f"({', '.join(group['table'].unique())}): {reason}"
        for (method, reason), group in failed.groupby(["method", "reason"])
    )


def tables(results: Path) -> list[Table]:
    """Return all tables."""
    rows = read(measured(None), results)
    found = {measure: wide(rows, measure) for measure, _ in MEASURES}
    # A method's own variant is no rival of it.
    ranked = {
        name: readings.drop(columns=DRAWS, errors="ignore") for name, readings in found.items()
    }
    ranks = ranks_table("panel_b_ranks", ranked, dict(MEASURES))
    chosen = chosen_elsewhere(found["log_loss"], rivals_of(found), ("source", "seed"))
    beside = with_chosen(found, chosen)
    notes = failures(rows)
    return [
        *(gains_table(beside[measure], measure, sign, notes) for measure, sign in MEASURES),
        ranks,
        pairs_table(found),
    ]
