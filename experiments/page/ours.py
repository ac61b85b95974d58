"""Ours against the paper's "Ours", cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments.naming import parse_name
from experiments.page.results import DEFAULT, Results, Section
from experiments.page.settings import settings_note
from experiments.published import CLASSIFICATION, published_accuracy
from experiments.ranks import average_ranks
from experiments.registry import family_of, paper_name
from experiments.tables.accuracy import written_rate
from experiments.tables.fills import uses_labels
from experiments.words import absent, called, pipe_table, share, signed, towards


def against_published(wide: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Hold the best of some methods against the paper's "Ours" in every cell it prints."""
    rows = {}
    for (dataset, rate), group in wide.groupby(level=["dataset", "missing_rate"], sort=False):
        published = published_accuracy("classification", parse_name(dataset).base, rate, "Ours")
        means = group[list(methods)].dropna(axis="columns").mean()
        if published is None or means.empty:
            continue
        # The paper prints three decimals.
        mean = round(means.max(), 3)
        rows[dataset, rate] = {
            "method": means.idxmax(),
            "mean": mean,
            "published": published.mean,
            "std": published.std,
            "within": mean >= round(published.mean - published.std / 2, 6),
            "at_least": mean >= published.mean,
        }
    index = pd.MultiIndex.from_tuples(list(rows), names=["dataset", "missing_rate"])
    return pd.DataFrame(list(rows.values()), index=index)


def ours_section(results: Results) -> Section:
    """Return how our variants compare with the paper's "Ours", cell by cell."""
    title = "Accuracy against the paper's “Ours”"
    wide = results.readings("classification")
    if wide is None:
        return Section(title, absent("classification"))
    ours = [method for method in wide.columns if family_of(method) == "ours"]
    guided = [method for method in ours if uses_labels(method)]
    best = against_published(wide, ours)
    n_cells = len(best)
    if not n_cells:
        return Section(title, "None of ours has every repetition in a cell that the paper prints.")
    n_of_paper = sum(len(methods["Ours"]) for methods in CLASSIFICATION.values())
    sentence = f"The best of our variants in each cell is {_counted(best)}."
    n_unguided = sum(not uses_labels(method) for method in best["method"])
    of_guided = (
        f"The best of ours is a method that fills without labels, or not at all, in "
        f"{share(n_unguided, n_cells)} cells; the best of those that fill by labels is "
        f"{_counted(against_published(wide, guided))}."
    )
    has_selected = any("eta=select" in method for method in guided)
    selected = (
        " Those with `eta=select` are counted as guided, though they may select mean imputation."
        if has_selected
        else ""
    )
    caveats = [
        "The best of many, chosen by the test rows, flatters. What one and the same method reaches "
        "in all cells is in the second table, with the simple methods, which the paper does not "
        "compare with.",
        f"Filling guided by labels is the paper's idea. {of_guided}{selected}",
        settings_note(results.records("classification")),
    ]
    partly = "" if n_cells == n_of_paper else f" The paper has {n_of_paper} cells."
    cells = pipe_table(
        ("dataset", "missing", "published", "best of ours", "difference", "method", "labels"),
        [
            (
                dataset,
                written_rate(rate),
                f"{row['published']:.3f} ± {row['std']:.3f}",
                f"{row['mean']:.3f}",
                signed(row["mean"] - row["published"]),
                f"`{row['method']}`",
                "yes" if uses_labels(row["method"]) else "no",
            )
            for (dataset, rate), row in best.iterrows()
        ],
    )
    single = _single_methods(wide)
    return Section(
        title,
        "\n\n".join([f"{sentence}{partly}", cells, *filter(None, caveats), single]),
        (f"{sentence} {_of_default(wide)}".strip(), of_guided),
    )


def _counted(found: pd.DataFrame) -> str:
    """Return in how many cells the paper's mean is reached, and its mean less half a deviation."""
    if not len(found):
        return "not known, for none was run in full"
    return (
        f"at or above the paper's mean in {share(int(found['at_least'].sum()), len(found))} cells, "
        "and at or above its mean less half its standard deviation in "
        f"{share(int(found['within'].sum()), len(found))}"
    )


def _single_methods(wide: pd.DataFrame) -> str:
    ranks = average_ranks(wide)
    complete = ranks.index[ranks["complete"]]
    rows = []
    for method in complete:
        found = against_published(wide, [method])
        if family_of(method) != "ablation" and len(found):
            difference = (found["mean"] - found["published"]).mean()
            counts = [share(int(found[name].sum()), len(found)) for name in ("at_least", "within")]
            name = paper_name(method) or family_of(method)
            rows.append((f"`{method}`", name, *counts, signed(difference)))
    header = ("method, by average rank", "whose", "at or above the mean")
    return pipe_table((*header, "at or above mean − std/2", "mean difference"), rows)


def _of_default(wide: pd.DataFrame) -> str:
    if DEFAULT not in wide.columns or wide[DEFAULT].isna().any():
        return ""
    found = against_published(wide, [DEFAULT])
    difference = (found["mean"] - found["published"]).mean()
    return (
        f"The library's default, {called(DEFAULT)}, the same in all cells though its defaults were "
        f"chosen with these tables in view, is at or above the mean in "
        f"{share(int(found['at_least'].sum()), len(found))} cells; on average it is "
        f"{towards(difference)} the paper's “Ours”."
    )
