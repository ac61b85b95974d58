"""How far filled cells are from what was removed, with labels and without."""

from __future__ import annotations

import pandas as pd

from experiments.registry import label_of, parts_of, uses_labels
from experiments.tables.accuracy import written_rate
from experiments.tables.grid import Entry, Row, Table

MEASURES = {"mae": "MAE", "rmse": "RMSE", "wasserstein": "Wasserstein"}
"""The errors of filled cells, by their columns."""


def fill_errors(records: pd.DataFrame) -> pd.DataFrame:
    """Return the mean errors of the filled training cells by filling and missing rate."""
    rows = records[(records["rule"] == "plain") & (records["status"] == "done")]
    rows = rows.dropna(subset=list(MEASURES))
    axes = ["dataset", "mechanism", "missing_rate", "repetition"]
    wide = rows.set_index([*axes, "method"])[list(MEASURES)].unstack("method")
    wide = wide.reindex(columns=pd.MultiIndex.from_product([MEASURES, rows["method"].unique()]))
    kept: list[str] = []
    for method in rows["method"].unique():
        filler = parts_of(method).filler
        twins = [one for one in kept if parts_of(one).filler == filler]
        if not any(_same(wide["mae"][one], wide["mae"][method]) for one in twins):
            kept.append(method)
    means = wide.groupby("missing_rate").mean().stack(level=1, future_stack=True)
    means.index.names = ["missing_rate", "method"]
    means = means.swaplevel().loc[kept]
    return means[list(MEASURES)]


def _same(first: pd.Series, second: pd.Series) -> bool:
    return bool(((first - second).abs().max() < 1e-9) and first.notna().equals(second.notna()))


def fills_table(experiment: str, records: pd.DataFrame) -> Table | None:
    """Return the errors of filled cells, a row a filling."""
    shown = records[(records["rule"] == "plain") & (records["status"] == "done")]
    if shown[list(MEASURES)].isna().all(axis=None):
        return None
    errors = fill_errors(records)
    rates = sorted(set(errors.index.get_level_values("missing_rate")))
    wide = errors.unstack("missing_rate")
    rows: list[Row] = []
    for method in dict.fromkeys(errors.index.get_level_values("method")):
        entries = []
        for measure in MEASURES:
            for rate in rates:
                value, column = wide.loc[method, (measure, rate)], wide[(measure, rate)]
                known = pd.notna(value)
                is_best = known and value <= column.min() + 1e-12
                entries.append(Entry(f"{value:.3f}", bold=is_best) if known else "–")
        rows.append((label_of(method), "yes" if uses_labels(method) else "no", *entries))
    header = [f"{name} {written_rate(rate)}" for name in MEASURES.values() for rate in rates]
    caption = (
        f"Filled training cells against what was removed ({experiment}), in units of each column's "
        "range; means over datasets and repetitions."
    )
    notes = (
        "Bold: nearest to the truth. Wasserstein: distance between the filled and the true values "
        "of a column, averaged over columns.",
        "Labels: whether the rows' labels had a part in the filled values. Fillings that depend on "
        "C and gamma are those of the setting selected.",
    )
    return Table(
        f"{experiment}_fills", caption, ("method", "labels", *header), (tuple(rows),), notes
    )
