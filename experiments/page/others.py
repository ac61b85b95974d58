"""The smaller experiments and the figures, and runs that are missing."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments.config import load_config
from experiments.page.results import Results, Section
from experiments.registry import label_of
from experiments.tables.accuracy import accuracy_tables
from experiments.tables.grid import markdown
from experiments.tables.reproduced import subsets_table
from experiments.words import absent, joined, pipe_table

_FIGURES = {
    "classification": "Accuracy against the missing rate. The methods are those with the best "
    "average ranks; error bars are standard deviations over the repetitions.",
    "life": "Accuracy with gaps in new rows too, means over the datasets.",
    "synthetic": "Accuracy on drawn tables; one parameter is varied, the others stay.",
    "subsets": "Accuracy where rows are filled in subsets.",
    "convergence": "The objective by iteration, beyond ±100 on a log scale, and what an iteration "
    "changes.",
    "pca": "Filled rows of heart in the plane of the complete rows' first two components.",
    "moons": "Two moons: where the missing cells are put, and the boundary then.",
}


def tables_section(results: Results) -> Section:
    """Return the accuracies on tables with gaps of their own, with an MLP, and in subsets."""
    parts, missing = [], []
    for name in ("inherent", "mlp", "subsets"):
        records = results.records(name)
        if records is None:
            missing.append(name)
            continue
        if name == "subsets":
            made = [subsets_table(name, records)]
        else:
            made = accuracy_tables(name, records, load_config(name).repetitions)
        parts += [f"### {name}", *(markdown(table).rstrip() for table in made)]
    if missing:
        parts.append(absent(*missing))
    return Section("Gaps of their own, perceptrons, subsets", "\n\n".join(parts))


def figures_section(results: Results) -> Section:
    """Return the figures that there are."""
    found = {name: results.figure(name, caption) for name, caption in _FIGURES.items()}
    parts = [figure for figure in found.values() if figure]
    if missing := [f"`{name}`" for name, figure in found.items() if not figure]:
        parts.append(f"Not drawn yet: {joined(missing)}.")
    return Section("Figures", "\n\n".join(parts))


def gaps_section(results: Results) -> Section:
    """Return the runs that failed or were skipped, with their reasons."""
    rows = [row for name in results.names for row in _gaps(name, results.records(name))]
    header = ("experiment", "method", "selection", "runs", "how", "reason")
    body = pipe_table(header, rows) if rows else "No run failed or was skipped."
    return Section("Failed and skipped runs", body)


def _gaps(name: str, records: pd.DataFrame | None) -> Iterator[tuple[str, ...]]:
    if records is None:
        yield (name, "all", "", "", "no run is done", "")
        return
    gone = records[records["status"] != "done"]
    keys = ["method", *(["rule"] if "rule" in gone else []), "status", "reason"]
    totals = records.groupby(keys[:-2], sort=False).size()
    for key, group in gone.groupby(keys, sort=False, dropna=False):
        method, status, reason = key[0], key[-2], str(key[-1]).replace("|", r"\|")
        total = totals[key[:-2] if len(key) > 3 else method]
        rule = key[1] if len(key) > 3 else ""
        yield (name, label_of(method), rule, f"{len(group)} of {total}", status, reason)
