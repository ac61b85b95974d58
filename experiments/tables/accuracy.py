"""Accuracy by method, in_order as in the paper, with the paper's own numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.naming import parse_name
from experiments.published import published_accuracy
from experiments.registry import family_of, label_of, paper_name
from experiments.statistics import CELL, LEVEL, best_stands_alone, readings, summary
from experiments.tables.grid import Entry, Row, Table, notes_on_gaps

_WIDEST = 6
"""The most datasets that stand as columns, where there is one missing rate."""

_SHOWN = ("dataset", "missing_rate")

Cell = tuple[str, float]


def written_rate(missing_rate: float) -> str:
    """Return a missing rate in percent."""
    return f"{100 * missing_rate:g} %"


def with_deviation(row: pd.Series) -> str:
    """Return a mean and its standard deviation; of one repetition there is none."""
    deviation = f" ± {row['std']:.3f}" if row["n"] > 1 else ""
    return f"{row['mean']:.3f}{deviation}"


def accuracy_tables(experiment: str, records: pd.DataFrame, repetitions: int) -> list[Table]:
    """Return a table of accuracies for each mechanism and way of holding out.

    Missing rates are the columns and datasets the blocks; with one missing rate the datasets are
    the columns. Beside a rival stand its accuracy under the released code's selection, where that
    was run, and the paper's own; before our methods the paper's "Ours".
    """
    others = [column for column in CELL if column not in ("dataset", "missing_rate")]
    groups = list(records.groupby(others, sort=False, dropna=False))
    return [
        _table(
            _Body(experiment, group, repetitions),
            group,
            dict(zip(others, key, strict=True)),
            is_one_of_several=len(groups) > 1,
        )
        for key, group in groups
    ]


def _table(body: _Body, records: pd.DataFrame, axes: dict, *, is_one_of_several: bool) -> Table:
    experiment = body.experiment
    rates = list(dict.fromkeys(records["missing_rate"]))
    datasets = list(dict.fromkeys(records["dataset"]))
    if len(rates) == 1 and len(datasets) <= _WIDEST:
        columns, blocks = tuple(datasets), [("", [(dataset, rates[0]) for dataset in datasets])]
    else:
        columns = tuple(map(written_rate, rates))
        blocks = [(dataset, [(dataset, rate) for rate in rates]) for dataset in datasets]
    caption = f"Accuracy on test rows, mean ± standard deviation ({experiment}"
    if axes["mechanism"] == "inherent":
        caption += ", all rows with the gaps they have"
    else:
        caption += f", {axes['mechanism'].upper()}, held-out rows {axes['held_out']}"
    caption += f", {written_rate(rates[0])} missing)." if len(rates) == 1 and rates[0] else ")."
    has_blocks = blocks[0][0] != ""
    rows = [tuple(body.rows(cells, (block,) if has_blocks else ())) for block, cells in blocks]
    name = f"{experiment}_{axes['mechanism']}" if is_one_of_several else experiment
    header = (*(("dataset",) if has_blocks else ()), "method", "selection", *columns)
    return Table(name, caption, header, tuple(rows), (*body.notes(), *notes_on_gaps(records)))


class _Body:
    """The rows of a table; the notes depend on what they contain."""

    def __init__(self, experiment: str, records: pd.DataFrame, repetitions: int) -> None:
        self.experiment = experiment
        self.methods = list(dict.fromkeys(records["method"]))
        self.cells = summary(records, ["dataset", "missing_rate", "method", "rule"]).sort_index()
        hidden = [axis for axis in CELL if axis not in _SHOWN]
        self.wide = readings(records).droplevel(hidden).sort_index()
        self.full = repetitions
        self.rules = set(zip(records["method"], records["rule"], strict=True))
        self.has_published = self.has_fewer = False

    def rows(self, cells: list[Cell], lead: Row) -> Iterator[Row]:
        """Yield the rows of a block; `lead` is what each begins with."""
        best = {cell: self._best(cell) for cell in cells}
        previous = ""
        for method in self.methods:
            family = family_of(method)
            if family == "ours" != previous:
                yield from self._published(cells, lead, "Ours")
            previous = family
            for rule in ("plain", "released"):
                if rule == "plain" or self._has(method, rule):
                    entries = [self._entry(cell, method, rule, *best[cell]) for cell in cells]
                    yield (*lead, label_of(method), rule, *entries)
            if (rival := paper_name(method)) is not None:
                yield from self._published(cells, lead, rival)

    def notes(self) -> Iterator[str]:
        """Yield how the table is to be read."""
        yield (
            "Bold: the best mean under plain selection among methods with all repetitions; •: "
            f"better than every other method by the paired t-test at {100 * LEVEL:g} %. The "
            "repetitions share rows, so the test is optimistic."
        )
        if any(rule == "released" for _, rule in self.rules):
            yield (
                "Selection: plain is the best holdout accuracy; released the same among settings "
                "whose training accuracy is above it, as the released code selects for the rivals."
            )
        if self.has_published:
            yield "Published: the paper's own numbers. MI is mean imputation with a gaussian SVM."
        if self.has_fewer:
            yield "In brackets: the repetitions there are, where they are fewer than all."

    def _has(self, method: str, rule: str) -> bool:
        return (method, rule) in self.rules

    def _best(self, cell: Cell) -> tuple[str, bool]:
        """Return the best method of a cell and whether it stands alone; "" without any."""
        group = self.wide.loc[cell]
        means = group.dropna(axis="columns").mean()
        if means.empty:
            return "", False
        best = str(means.idxmax())
        return best, best_stands_alone(group, best)

    def _entry(self, cell: Cell, method: str, rule: str, best: str, alone: bool) -> Entry:
        key = (*cell, method, rule)
        if key not in self.cells.index:
            return Entry("not run")
        row = self.cells.loc[key]
        if not row["n"]:
            return Entry("failed" if row["failed"] else "skipped")
        text = with_deviation(row)
        if row["n"] < self.full:
            self.has_fewer = True
            return Entry(f"{text} ({row['n']})")
        is_best = rule == "plain" and best != "" and self._equals(row["mean"], cell, best)
        return Entry(text, is_best, is_best and alone)

    def _equals(self, mean: float, cell: Cell, best: str) -> bool:
        return bool(abs(mean - self.cells.loc[(*cell, best, "plain"), "mean"]) < 1e-12)

    def _published(self, cells: list[Cell], lead: Row, name: str) -> Iterator[Row]:
        readings_of_paper = [
            published_accuracy(self.experiment, parse_name(dataset).base, rate, name)
            for dataset, rate in cells
        ]
        if any(readings_of_paper):
            self.has_published = True
            texts = [f"{one.mean:.3f} ± {one.std:.3f}" if one else "" for one in readings_of_paper]
            yield (*lead, name, "published", *texts)
