"""Stage II's errors beside the paper's."""

from __future__ import annotations

from dataclasses import fields

import pandas as pd

from experiments.published import RECOVERY, Recovery
from experiments.tables.accuracy import written_rate
from experiments.tables.grid import Entry, Row, Table
from experiments.tables.notes import notes_on_gaps

COLUMNS = {
    "feature_max": "feature_error_max",
    "feature_mean": "feature_error_mean",
    "gram_max": "gram_error_max",
    "gram_mean": "gram_error_mean",
}
"""The columns of the records by the names of the paper's errors."""


def recovery_errors(records: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Return the four errors by gamma and missing rate, over the repetitions."""
    done = records[records["status"] == "done"]
    return done.groupby(["gamma", "missing_rate"], sort=False)[list(COLUMNS.values())].agg(
        statistic
    )


def recovery_table(experiment: str, records: pd.DataFrame, repetitions: int) -> Table:
    """Return the errors by gamma and missing rate, with the paper's behind."""
    mean, worst = recovery_errors(records, "mean"), recovery_errors(records, "max")
    counts = records[records["status"] == "done"].groupby(["gamma", "missing_rate"]).size()
    blocks = []
    for gamma, rate in mean.index:
        published = RECOVERY.get((gamma, rate))
        lead = (f"{gamma:g}", written_rate(rate))
        count = counts.loc[(gamma, rate)]
        fewer = f" ({count})" if count < repetitions else ""
        rows: list[Row] = [(*lead, f"here, mean{fewer}", *_written(mean.loc[(gamma, rate)], None))]
        rows.append((*lead, f"here, worst{fewer}", *_written(worst.loc[(gamma, rate)], published)))
        if published is not None:
            numbers = [f"{getattr(published, one.name):.2e}" for one in fields(published)]
            rows.append((*lead, "published", *numbers))
        blocks.append(tuple(rows))
    header = ("γ", "missing", "source", "feature max", "feature mean", "Gram max", "Gram mean")
    caption = "Errors of features recovered from the exact kernel matrix, and of its entries."
    notes = (
        "Mean and worst over the repetitions; in brackets how many, where they are fewer than "
        f"{repetitions}. Bold: at or below the paper's error.",
        *notes_on_gaps(records),
    )
    return Table(experiment, caption, header, tuple(blocks), notes)


def _written(errors: pd.Series, published: Recovery | None) -> list[Entry]:
    return [
        Entry(
            f"{errors[column]:.2e}",
            bold=published is not None and bool(errors[column] <= getattr(published, name)),
        )
        for name, column in COLUMNS.items()
    ]
