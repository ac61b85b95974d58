"""Tables of recovery, class separation and filling in subsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pandas as pd

from experiments.naming import parse_name
from experiments.published import RECOVERY, SEPARATION, Recovery
from experiments.registry import family_of, label_of, paper_name, parts_of, without_option
from experiments.statistics import summary
from experiments.tables.accuracy import with_deviation, written_rate
from experiments.tables.grid import Entry, Row, Table, notes_on_gaps
from experiments.words import counted

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


DECIMALS = {"icd": 4, "fdr": 4, "scatter_ratio": 4, "chi": 3, "dbi": 3}
"""The measures and the decimals that the paper prints."""

_HEADER = ("dataset", "method", "source", "ICD", "FDR", "Tr Sb / Tr Sw", "CHI", "DBI")
_LOWER_IS_BETTER = "dbi"


def separation_table(experiment: str, records: pd.DataFrame, repetitions: int) -> Table:
    """Return the measures of class separation by dataset and method."""
    plain = records[records["rule"] == "plain"]
    means = {
        name: summary(plain, ["dataset", "method"], name)["mean"].unstack("method")
        for name in DECIMALS
    }
    datasets = list(dict.fromkeys(plain["dataset"]))
    methods = [
        method for method in dict.fromkeys(plain["method"]) if means["icd"][method].notna().any()
    ]
    counts = summary(plain, ["dataset", "method"], "icd")["n"].unstack("method")
    fewer = counts.where(counts < repetitions)
    blocks = tuple(tuple(_rows(dataset, methods, means, fewer)) for dataset in datasets)
    notes = (
        "FDR is the ratio that the paper's table has, the squared distance of the class means over "
        "the summed class variances; the appendix defines Tr Sb / Tr Sw instead.",
        f"Means over {counted(repetitions, 'repetition')}; in brackets how many, where they are "
        "fewer. Bold: farthest apart (DBI: the smallest) among what was measured here.",
        "Classes that lie farther apart are what a label-guided filling aims at; no proof that new "
        "rows are classified better.",
        *notes_on_gaps(plain),
    )
    caption = f"Class separation of the filled training rows ({experiment})."
    return Table(f"{experiment}_measures", caption, _HEADER, blocks, notes)


def _rows(
    dataset: str, methods: list[str], means: dict[str, pd.DataFrame], fewer: pd.DataFrame
) -> Iterator[Row]:
    published = SEPARATION.get(parse_name(dataset).base, {})
    here = {name: table.loc[dataset, methods] for name, table in means.items()}
    previous = ""
    for method in methods:
        if (family := family_of(method)) == "ours" != previous:
            yield from _published(dataset, "Ours", published)
        previous = family
        entries = [_entry(here[name], method, name) for name in DECIMALS]
        count = fewer.loc[dataset, method]
        source = "here" if pd.isna(count) else f"here ({count:.0f})"
        yield (dataset, label_of(method), source, *entries)
        yield from _published(dataset, paper_name(method), published)


def _entry(values: pd.Series, method: str, name: str) -> Entry | str:
    value = values[method]
    if pd.isna(value):
        return "–"
    best = values.min() if name == _LOWER_IS_BETTER else values.max()
    return Entry(f"{value:.{DECIMALS[name]}f}", bold=bool(abs(value - best) < 1e-9))


def _published(dataset: str, name: str | None, published: dict) -> Iterator[Row]:
    if name in published:
        cell = published[name]
        numbers = (f"{cell.icd:.4f}", f"{cell.fdr:.4f}", "", f"{cell.chi:.3f}", f"{cell.dbi:.3f}")
        yield (dataset, name, "published", *numbers)


def by_subsets(records: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and seconds by method and number of subsets."""
    plain = records[records["rule"] == "plain"]
    options = [parse_name(parts_of(method).filler).options for method in plain["method"]]
    plain = plain.assign(
        subsets=[int(option.get("subsets", 1)) for option in options],
        method=[without_option(method, "subsets") for method in plain["method"]],
    )
    keys = ["dataset", "method", "subsets"]
    seconds = summary(plain, keys, "seconds")["mean"]
    return summary(plain, keys).assign(seconds=seconds).sort_index(level="subsets", kind="stable")


def subsets_table(experiment: str, records: pd.DataFrame) -> Table:
    """Return accuracy and seconds, a row for each method and number of subsets."""
    cells = by_subsets(records)
    blocks: dict[tuple[str, str], list[Row]] = {}
    for (dataset, method, subsets), row in cells.iterrows():
        accuracy = with_deviation(row) if row["n"] else "–"
        seconds = f"{row['seconds']:.1f}" if row["n"] else "–"
        lead = (dataset, label_of(method), str(subsets))
        blocks.setdefault((dataset, method), []).append((*lead, accuracy, seconds, str(row["n"])))
    header = ("dataset", "method", "subsets", "accuracy", "seconds", "repetitions")
    caption = "Accuracy on test rows where the training rows are filled in subsets."
    notes = ("Seconds: a run with its classifier, mean.", *notes_on_gaps(records))
    return Table(experiment, caption, header, tuple(map(tuple, blocks.values())), notes)
