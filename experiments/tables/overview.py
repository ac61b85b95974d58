"""Tables that sum up the committed results: ``python -m experiments overview``.

Each is a function from the results to a table, or None without the records it needs.
`docs/paper_results.md` includes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from experiments.methods.candidates import GRIDS
from experiments.naming import parse_name
from experiments.published import published_accuracy
from experiments.ranks import average_ranks, critical_difference, friedman
from experiments.records import read_records
from experiments.registry import family_of, paper_name, parts_of, uses_labels, without_option
from experiments.statistics import CELL, LEVEL, gain, in_order, readings, summary, versus
from experiments.tables.accuracy import written_rate
from experiments.tables.fills import fill_errors
from experiments.tables.grid import Row, Table, markdown
from experiments.words import counted, joined, share, signed

SIMPLE = "mean+logistic"
"""The simple method that every other is compared with."""
RANKED = ("classification", "inherent", "life")
"""The experiments over whose cells methods are ranked together."""


class Results:
    """The folder of committed results, each file read once."""

    def __init__(self, folder: Path) -> None:
        self.names = sorted(path.stem for path in folder.glob("*.csv"))
        self.records = cache(lambda name: in_order(read_records(folder / f"{name}.csv")))

    def readings(self, name: str, value: str = "accuracy") -> pd.DataFrame:
        """Return an experiment's readings under plain selection, a column a method."""
        return readings(self.records(name), value)

    def together(self) -> pd.DataFrame:
        """Return the readings of all ranked experiments, of methods that have every one."""
        frames = [self.readings(name).dropna(axis="columns") for name in RANKED]
        return pd.concat(frames, join="inner")


def against_paper(wide: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the best of some methods and the paper's "Ours" in every cell that the paper prints.

    ``within``: not more than half of the paper's standard deviation below; ``at_least``: not below.
    """
    rows = {}
    for (dataset, rate), group in wide.groupby(level=["dataset", "missing_rate"], sort=False):
        published = published_accuracy("classification", parse_name(dataset).base, rate, "Ours")
        means = group[list(methods)].dropna(axis="columns").mean()
        if published is None or means.empty:
            continue
        mean = round(means.max(), 3)  # The paper prints three decimals.
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


def best_table(results: Results) -> Table:
    """Return the paper's "Ours", the best of ours and the best of the rest, cell by cell."""
    wide = results.readings("classification")
    families = {method: family_of(method) for method in wide.columns}
    ours = against_paper(wide, [m for m, family in families.items() if family == "ours"])
    rest = against_paper(wide, [m for m, f in families.items() if f in ("field", "rival")])
    rows = [
        (
            dataset,
            written_rate(rate),
            f"{row['published']:.3f} ± {row['std']:.3f}",
            *_one_best(row),
            *_one_best(rest.loc[(dataset, rate)]),
        )
        for (dataset, rate), row in ours.iterrows()
    ]
    header = ("dataset", "missing", "published", "best of ours", "minus", "method")
    header += ("best of the rest", "minus", "method")
    count = f"at or above the paper's mean in {share(int(ours['at_least'].sum()), len(ours))} cells"
    also = f"the best of the rest in {share(int(rest['at_least'].sum()), len(rest))}"
    notes = (
        f"The best of ours is {count}, {also}. Both are chosen by the test rows among many, which "
        "flatters them; a method counts if it has all repetitions.",
    )
    return Table("best", "Best accuracy against the paper's “Ours”.", header, (tuple(rows),), notes)


def _one_best(row: pd.Series) -> tuple[str, str, str]:
    difference = row["mean"] - row["published"]
    return f"{row['mean']:.3f}", signed(difference), f"`{row['method']}`"


def single_table(results: Results) -> Table:
    """Return how often one and the same method reaches the paper's "Ours"."""
    wide = results.readings("classification")
    ranks = average_ranks(wide)
    rows = []
    for method in ranks.index[ranks["complete"]]:
        if family_of(method) == "ablation":
            continue
        found = against_paper(wide, [method])
        counts = [share(int(found[name].sum()), len(found)) for name in ("at_least", "within")]
        difference = signed((found["mean"] - found["published"]).mean())
        rows.append((f"`{method}`", paper_name(method) or family_of(method), *counts, difference))
    header = ("method, by average rank", "whose", "at or above the mean")
    header += ("at or above mean − std/2", "mean difference")
    caption = "One method in all cells against the paper's “Ours”."
    return Table("single", caption, header, (tuple(rows),))


def _with_published(records: pd.DataFrame) -> pd.DataFrame:
    """Return the rivals' means beside the paper's, by method, dataset, missing rate and rule."""
    rivals = records[[paper_name(method) is not None for method in records["method"]]]
    cells = summary(rivals, ["method", "dataset", "missing_rate", "rule"]).reset_index()
    found = [
        published_accuracy(
            "classification", parse_name(row.dataset).base, row.missing_rate, paper_name(row.method)
        )
        for row in cells.itertuples()
    ]
    cells["published"] = [reading.mean if reading else float("nan") for reading in found]
    cells["published_std"] = [reading.std if reading else float("nan") for reading in found]
    return cells.dropna(subset=["published"])


def rivals_table(results: Results) -> Table:
    """Return how near the rivals come to their published numbers, under both selection rules."""
    cells = _with_published(results.records("classification"))
    rows = []
    for (method, rule), group in cells.groupby(["method", "rule"], sort=False):
        done = group[group["n"] > 0]
        differences = done["mean"] - done["published"]
        within = int((differences.abs() <= done["published_std"]).sum())
        lost = int(group["failed"].sum() + group["skipped"].sum())
        distance = f"{differences.abs().mean():.3f}"
        name = f"{paper_name(method)} (`{method}`)"
        row = (name, rule, signed(differences.mean()), distance, share(within, len(done)))
        rows.append((*row, str(lost)))
    header = ("rival", "selection", "mean difference to published", "mean distance")
    header += ("within one published std (cells)", "failed or skipped runs")
    return Table("rivals", "The rivals against their published numbers.", header, (tuple(rows),))


def gap_by_rate(records: pd.DataFrame) -> pd.DataFrame:
    """Return MI's means by missing rate: published, by both rules; and the paper's "Ours"."""
    cells = _with_published(records[records["method"] == "mean+svc"])
    wide = cells.pivot(index=["missing_rate", "dataset"], columns="rule", values="mean")
    wide = wide.reindex(columns=["released", "plain"]).assign(
        published=cells.groupby(["missing_rate", "dataset"])["published"].first()
    )
    wide["ours"] = [
        published_accuracy("classification", parse_name(dataset).base, rate, "Ours").mean
        for rate, dataset in wide.index
    ]
    columns = ["published", "released", "plain", "ours"]
    return wide.dropna()[columns].groupby(level="missing_rate").mean()


def gap_table(results: Results) -> Table:
    """Return how much of the published lead over MI is the selection rule's."""
    gap = gap_by_rate(results.records("classification"))
    rows = []
    for rate, row in gap.iterrows():
        numbers = [f"{row[name]:.3f}" for name in ("published", "released", "plain", "ours")]
        lead, rule = row["ours"] - row["published"], row["plain"] - row["released"]
        unexplained, left = row["released"] - row["published"], row["ours"] - row["plain"]
        differences = map(signed, (lead, rule, unexplained, left))
        rows.append((written_rate(rate), *numbers, *differences))
    header = ("missing", "MI published", "MI released rule", "MI plain rule", "“Ours” published")
    header += ("published lead", "the rule", "MI here above its published", "lead over plain MI")
    caption = (
        "Mean imputation with an SVM, means over the four datasets. The published lead is the sum "
        "of the last three columns."
    )
    return Table("gap", caption, header, (tuple(rows),))


_WIDE = GRIDS["wide"]
_PAPER = GRIDS["paper"]
_ETAS = (1.0, 4.0, 16.0, float("inf"))
_GRIDS = {
    "mean+svc": {"C": _PAPER, "gamma": _PAPER},
    "geom": {"C": _PAPER, "gamma": _PAPER},
    "karma": {"C": _PAPER},
    "karma[grid=wide]": {"C": _WIDE},
    "genrbf": {"C": _PAPER, "gamma": _PAPER},
    "genrbf[grid=wide]": {"C": _PAPER, "gamma": _WIDE},
    "direct[eta=select]+refit": {"eta": _ETAS},
}
"""What the parameters of a method are selected among."""


def at_edges(records: pd.DataFrame) -> pd.DataFrame:
    """Return how often a selected parameter is the least or the greatest of its grid."""
    done = records[(records["status"] == "done") & records["method"].isin(list(_GRIDS))]
    rows = {}
    for (method, rule), group in done.groupby(["method", "rule"], sort=False):
        chosen = [json.loads(text) for text in group["parameters"]]
        for name, grid in _GRIDS[method].items():
            values = pd.Series([one.get(name) for one in chosen], dtype=float)
            least, greatest = (values == grid[0]).sum(), (values == grid[-1]).sum()
            rows[method, rule, name] = (int(least), int(greatest), len(values))
    index = pd.MultiIndex.from_tuples(list(rows), names=["method", "rule", "parameter"])
    return pd.DataFrame(list(rows.values()), index, columns=["least", "greatest", "runs"])


def edges_table(results: Results) -> Table:
    """Return where on their grids settings were selected."""
    rows = [
        (name, f"`{method}`", rule, parameter, *map(str, row))
        for name in RANKED
        for (method, rule, parameter), row in at_edges(results.records(name)).iterrows()
    ]
    header = ("experiment", "method", "selection", "parameter", "least", "greatest", "runs")
    caption = "How often the selected value is the least or the greatest of its grid."
    return Table("edges", caption, header, (tuple(rows),))


def wide_table(results: Results) -> Table:
    """Return what a grid down to 2^-12 gives two of the rivals."""
    rows = []
    for name in RANKED:
        wide = results.readings(name)
        for method in ("genrbf[grid=wide]", "karma[grid=wide]"):
            base = without_option(method, "grid")
            common = wide[[method, base]].dropna()
            test = gain(common, method, base)
            n_cells = common.groupby(level=list(CELL), dropna=False).ngroups
            p = [_p(test.p), _p(test.p_corrected)]
            rows.append((name, f"`{base}`", _plus_minus(test), str(n_cells), str(len(common)), *p))
    header = ("experiment", "method", "wide minus paper's", "cells", "runs in common")
    header += ("paired p", "corrected p")
    caption = "C of KARMA and gamma of genRBF on a grid down to 2⁻¹² instead of 2⁻⁵."
    return Table("wide", caption, header, (tuple(rows),))


def _plus_minus(test) -> str:
    error = f" ± {test.standard_error:.4f}" if test.n > 1 else ""
    return f"{signed(test.difference, 4)}{error}"


def _p(p: float) -> str:
    return "–" if pd.isna(p) else "<.001" if p < 0.001 else f"{p:.3f}"


def ranks_table(results: Results) -> Table:
    """Return the average ranks over all cells, with the critical difference."""
    wide = results.together()
    ranks = average_ranks(wide)["rank"]
    means = wide.groupby(level=list(CELL), dropna=False).mean()
    against = versus(wide, SIMPLE)
    rows = []
    for method, rank in ranks.items():
        compared = ("", "", "")
        if method != SIMPLE:
            row = against.loc[method]
            counts = f"{row['higher']:.0f} : {row['lower']:.0f}"
            compared = (signed(row["difference"], 4), counts, _p(row["p"]))
        accuracy = f"{means[method].mean():.4f}"
        rows.append((f"`{method}`", family_of(method), f"{rank:.2f}", accuracy, *compared))
    header = ("method", "family", "average rank", "mean accuracy", f"minus `{SIMPLE}`")
    header += ("cells up : down", "Wilcoxon p")
    n_cells, n_methods = len(means), len(ranks)
    tables = means.index.get_level_values("dataset").map(lambda name: parse_name(name).base)
    n_tables = tables.nunique()
    best = ranks.iloc[0]
    near = (ranks <= best + critical_difference(n_methods, n_cells)).sum()
    notes = (
        f"Nemenyi's critical difference of {n_methods} methods at {100 * LEVEL:g} % is "
        f"{critical_difference(n_methods, n_cells):.2f} ranks if the {n_cells} cells are "
        f"independent: {counted(int(near), 'method')} are within it of the first. If only the "
        f"{n_tables} tables are, it is {critical_difference(n_methods, n_tables):.2f}. "
        f"Friedman's test over the cells gives p = {friedman(wide):.1g}.",
        "Cells of one table share rows, so tests over cells are optimistic.",
    )
    caption = f"Average ranks over the {n_cells} cells of {joined(RANKED)}; 1 is best."
    return Table("ranks", caption, header, (tuple(rows),), notes)


def situations_table(results: Results) -> Table:
    """Return, by situation, the best method by rank and all that are better than the simple one."""
    rows = []
    for name in RANKED:
        levels = ["mechanism", "held_out", "missing_rate"]
        for key, band in results.readings(name).groupby(level=levels, sort=False):
            rows.append(_situation(key, band.dropna(axis="columns")))
    header = ("gaps", "missing", "new rows", "methods", "first by rank", f"minus `{SIMPLE}`")
    header += ("corrected p", f"better than `{SIMPLE}`")
    caption = (
        f"By situation: the first of the methods run in full, its difference to `{SIMPLE}`, and "
        "every method, controls included, that is better by the corrected paired t-test at 5 %."
    )
    return Table("situations", caption, header, (tuple(rows),))


def _situation(key: tuple, band: pd.DataFrame) -> Row:
    mechanism, held_out, rate = key
    tests = {method: gain(band, method, SIMPLE) for method in band.columns.drop(SIMPLE)}
    better = [m for m, test in tests.items() if test.difference > 0 and test.p_corrected < LEVEL]
    ranked = average_ranks(band[[m for m in band.columns if family_of(m) != "ablation"]])
    first = str(ranked.index[0])
    compared = ("", "")
    if first != SIMPLE:
        compared = (_plus_minus(tests[first]), _p(tests[first].p_corrected))
    named = f"{len(better)}: {', '.join(f'`{m}`' for m in better)}" if better else "none"
    gaps = "the tables' own" if mechanism == "inherent" else mechanism.upper()
    missing = "" if mechanism == "inherent" else written_rate(rate)
    has_gaps = "with gaps" if "amputed" in held_out or mechanism == "inherent" else "complete"
    return (gaps, missing, has_gaps, str(band.shape[1]), f"`{first}`", *compared, named)


def pairs_of(methods: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield what two methods differ in, the method with it and the method without."""
    found: list[tuple[str, str, str]] = []
    for method in methods:
        parts = parts_of(method)
        options = parse_name(parts.filler).options
        svm = parts.classifier in ("own", "refit", "svc", "svc_near")
        mean = "mean+svc" if svm else f"mean+{parts.classifier}"
        if options.get("labels") == "shuffled":
            true = without_option(method, "labels")
            found += [
                ("guidance by labels, over column means", true, mean),
                ("guidance by permuted labels, over column means", method, mean),
                ("true labels, over permuted ones", true, method),
            ]
        if options.get("perturbation") is False:
            found.append(("the perturbation", without_option(method, "perturbation"), method))
        if parts.filler == "K_o":
            found.append(("Stage II alone, over column means", method, mean))
            found += [
                ("the guided filling, over Stage II alone", other, method)
                for other in methods
                if family_of(other) == "ours" and parts_of(other).classifier == parts.classifier
            ]
        if parts.classifier == "refit" and family_of(method) == "ours":
            own = f"{parts.filler}+own"
            found.append(("refitting the SVM, over the variant's own", method, own))
        if parts.classifier in ("own", "refit") and family_of(method) == "ours":
            found.append((f"the variant, `{parts.classifier}`, over MI", method, "mean+svc"))
    for pair in dict.fromkeys(found):
        if {pair[1], pair[2]} <= set(methods):
            yield pair


def parts_table(results: Results) -> Table:
    """Return what each part of the method is worth."""
    wide = results.readings("classification")
    rows = []
    for part, first, second in pairs_of(list(wide.columns)):
        cells = versus(wide[[first, second]], second).iloc[0]
        counts = f"{cells['higher']:.0f} : {cells['lower']:.0f} of {cells['cells']:.0f}"
        test = gain(wide, first, second)
        rows.append((part, f"`{first}`", f"`{second}`", _plus_minus(test), counts))
    rows.sort(key=lambda row: str(row[0]))
    header = ("part", "with", "without", "difference ± standard error", "cells up : down")
    caption = (
        "Accuracy with a part and without it, means over the cells, ± the standard error over "
        "repetitions (which share rows: the true error is larger), on the runs that both have."
    )
    return Table("parts", caption, header, (tuple(rows),))


def labels_table(results: Results) -> Table:
    """Return the errors of fillings with labels against the nearest ones without."""
    records = results.records("classification")
    methods = list(dict.fromkeys(fill_errors(records).index.get_level_values("method")))
    rmse = readings(records, "rmse")[methods]
    averages = rmse.mean()
    complete = [one for one in methods if rmse[one].count() == rmse.count().max()]
    nearest = min((one for one in complete if not uses_labels(one)), key=averages.__getitem__)
    rows = []
    for method in [one for one in methods if uses_labels(one)]:
        cells = rmse[[method, nearest]].dropna().groupby(level=list(CELL), dropna=False).mean()
        farther = int((cells[method] > cells[nearest] + 1e-9).sum())
        error = f"{rmse[method].mean():.3f}"
        test = gain(rmse, method, nearest)
        rows.append((f"`{method}`", error, _plus_minus(test), share(farther, len(cells))))
    header = ("filling with labels", "error", f"minus `{nearest}`", "farther (cells)")
    caption = (
        "Root mean square error of filled cells, in units of the column's range. Of the fillings "
        f"without labels `{nearest}` is nearest to what was removed: {averages[nearest]:.3f}."
    )
    return Table("labels", caption, header, (tuple(rows),))


def gaps_table(results: Results) -> Table:
    """Return the runs that failed or were skipped, with their reasons."""
    rows = []
    for name in results.names:
        records = results.records(name)
        keys = ["method", *(["rule"] if "rule" in records else [])]
        for key, group in records.groupby(keys, sort=False):
            for (status, reason), gone in group.groupby(["status", "reason"], sort=False):
                count = f"{len(gone)} of {len(group)}"
                rule = key[1] if len(key) > 1 else ""
                rows.append((name, f"`{key[0]}`", rule, count, str(status), str(reason)))
    header = ("experiment", "method", "selection", "runs", "how", "reason")
    return Table("gaps", "Failed and skipped runs.", header, (tuple(rows),))


def _runs(records: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run: the rules of a method are one, and a curve's points."""
    axes = list(records.columns[: list(records.columns).index("method") + 1])
    rows = records.drop_duplicates(axes)[["experiment", "method", "seconds", "machine", "versions"]]
    versions = [{} if pd.isna(text) else json.loads(text) for text in rows["versions"]]
    revisions = [one.pop("revision", "not recorded") for one in versions]
    written = [", ".join(f"{name} {number}" for name, number in one.items()) for one in versions]
    return rows.assign(revision=revisions, versions=written)


def origins_table(results: Results) -> Table:
    """Return which revision, versions and machine made what."""
    runs = pd.concat([_runs(results.records(name)) for name in results.names])
    rows = []
    for key, group in runs.groupby(["revision", "versions", "machine"], sort=False):
        made = group.groupby("experiment", sort=False)["method"].nunique()
        parts = [f"{name} ({counted(count, 'method')})" for name, count in made.items()]
        rows.append((*key, str(len(group)), joined(parts)))
    header = ("revision", "versions", "machine", "runs", "of what")
    return Table("origins", "What the rows were made by.", header, (tuple(rows),))


def costs_table(results: Results) -> Table:
    """Return how long each experiment took."""
    runs = {name: _runs(results.records(name)) for name in results.names}
    rows = [
        (f"`{name}.csv`", str(len(one)), f"{one['seconds'].sum() / 60:.0f}")
        for name, one in runs.items()
    ]
    header = ("records", "methods run, with skipped ones", "minutes of one core")
    return Table("costs", "What the experiments cost.", header, (tuple(rows),))


OVERVIEW: Sequence[Callable[[Results], Table]] = (
    best_table,
    single_table,
    rivals_table,
    gap_table,
    edges_table,
    wide_table,
    ranks_table,
    situations_table,
    parts_table,
    labels_table,
    gaps_table,
    origins_table,
    costs_table,
)


def write_overview(folder: Path) -> list[Path]:
    """Write every table as ``tables/overview_NAME.md`` in the folder of results."""
    results = Results(folder)
    written = []
    for make in OVERVIEW:
        table = make(results)
        path = folder / "tables" / f"overview_{table.name}.md"
        path.write_text(markdown(table), encoding="utf-8", newline="\n")
        written.append(path)
    return written
