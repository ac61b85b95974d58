"""Average ranks over all cells, and every method compared with simple ones."""

from __future__ import annotations

import pandas as pd

from experiments.ranks import average_ranks, critical_difference, friedman
from experiments.registry import family_of, label_of
from experiments.statistics import CELL, LEVEL, readings, versus
from experiments.tables.grid import Entry, Row, Table
from experiments.words import counted

BASELINES = ("mean+svc", "mean+logistic", "mean+mlp")
"""The methods that others are compared with, if they were run."""


def rank_table(experiment: str, records: pd.DataFrame) -> Table | None:
    """Return the methods by average rank, with their differences to the simple methods."""
    wide = readings(records)
    ranks = average_ranks(wide)
    if ranks.empty:
        return None
    baselines = [method for method in BASELINES if method in wide.columns]
    against = {baseline: versus(wide, baseline) for baseline in baselines}
    rows: list[Row] = []
    for method, row in ranks.iterrows():
        rank = f"{row['rank']:.2f}" + ("" if row["complete"] else " †")
        entries = [_difference(table, method, base) for base, table in against.items()]
        lead = (label_of(method), family_of(method), Entry(rank, bold=not rows))
        rows.append((*lead, *(one for pair in entries for one in pair)))
    header = ["method", "family", "average rank"]
    for base in baselines:
        header += [f"minus {label_of(base)}", "better / worse (cells)"]
    n_cells = wide.groupby(level=list(CELL), dropna=False).ngroups
    cells = counted(n_cells, "cell")
    caption = f"Average rank of accuracy over the {cells} of {experiment}; 1 is best."
    return Table(f"{experiment}_ranks", caption, tuple(header), (tuple(rows),), _notes(wide, ranks))


def _difference(table: pd.DataFrame, method: str, base: str) -> tuple[str, str]:
    if method == base or method not in table.index:
        return "", ""
    row = table.loc[[method]].to_dict("records")[0]
    difference = f"{row['difference']:+.4f}".replace("-", "−")
    p = "p < 0.001" if row["p"] < 0.001 else f"p = {row['p']:.3f}"
    counted = f"{row['better']} / {row['worse']} of {row['cells']}"
    corrected = f"{row['better_corrected']} / {row['worse_corrected']}"
    return f"{difference} ({p})", f"{counted}; {corrected}"


def _notes(wide: pd.DataFrame, ranks: pd.DataFrame) -> tuple[str, ...]:
    n_complete = int(ranks["complete"].sum())
    n_cells = wide.groupby(level=list(CELL), dropna=False).ngroups
    notes = [
        "Differences are means over the cells on common repetitions; p is of Wilcoxon's "
        "signed-rank test over the cells.",
        "Cells of one dataset share its rows and splits. Tests over cells take them for "
        "independent and are optimistic.",
        "Better / worse: cells that differ by the paired t-test over repetitions at "
        f"{100 * LEVEL:g} %; after the semicolon by Nadeau and Bengio's corrected test, which "
        "allows for the rows that repetitions share.",
    ]
    if not ranks["complete"].all():
        notes.append(
            "†: without all repetitions; held against the methods that have all, on the "
            "repetitions it has."
        )
    if n_complete > 1:
        difference = critical_difference(n_complete, n_cells)
        p = friedman(wide)
        notes.append(
            f"Nemenyi's critical difference of the {n_complete} methods with all repetitions is "
            f"{difference:.2f} ranks" + (f"; Friedman's test gives p = {p:.2g}." if p == p else ".")
        )
    return tuple(notes)
