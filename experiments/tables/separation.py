"""How far the classes lie apart in the filled training rows, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.method_names import family_of, label_of, paper_name
from experiments.naming import parse_name
from experiments.published import SEPARATION
from experiments.statistics import summary
from experiments.tables.grid import Entry, Row, Table
from experiments.tables.notes import notes_on_gaps
from experiments.wording import counted

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
