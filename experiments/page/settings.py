"""The settings that were tried: how many, where on their grids they were chosen, wider grids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from experiments.methods.guided import PERTURBED, SELECTED_ETAS, SLOW
from experiments.methods.machines import GRID, WIDE
from experiments.naming import parse_name
from experiments.page.results import Results, Section
from experiments.registry import parts_of, without_option
from experiments.statistics import CELL, gain
from experiments.words import absent, joined, pipe_table, share, signed, significance

_SOURCES = ("classification", "inherent", "life")

_GRIDS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "mean+svc": {"C": GRID, "gamma": GRID},
    "geom": {"C": GRID, "gamma": GRID},
    "karma": {"C": GRID},
    "karma[grid=wide]": {"C": WIDE},
    "genrbf": {"C": GRID, "gamma": GRID},
    "genrbf[grid=wide]": {"C": GRID, "gamma": WIDE},
    "direct[eta=select]+own": {"eta": SELECTED_ETAS},
    "direct[eta=select]+refit": {"eta": SELECTED_ETAS},
}
"""What the parameters of a method are selected among."""


def settings_note(records: pd.DataFrame | None) -> str:
    """Return which of our variants were tried at one setting only, and on which runs."""
    if records is None:
        return ""
    done = records[(records["status"] == "done") & (records["rule"] == "plain")]
    bases = done["method"].map(lambda method: parse_name(parts_of(method).filler).base)
    found = []
    for base in SLOW:
        rows = done[bases == base]
        if len(rows):
            rounds = ", at most 150 rounds" if base in PERTURBED else ""
            datasets = joined(dict.fromkeys(rows["dataset"]))
            repetitions = rows["repetition"].nunique()
            plural = "s" if repetitions > 1 else ""
            found.append(f"`{base}`{rounds} ({datasets}; {repetitions} repetition{plural})")
    if not found:
        return ""
    return (
        "Tried at one setting of C and gamma, mean imputation's, where `direct` and `anchored` "
        f"have nine: {joined(found)}. More settings might serve them better."
    )


def at_edges(records: pd.DataFrame) -> pd.DataFrame:
    """Count how often a selected parameter is the least or the greatest of its grid."""
    done = records[(records["status"] == "done") & records["method"].isin(list(_GRIDS))]
    rows = {}
    for (method, rule), group in done.groupby(["method", "rule"], sort=False):
        chosen = [json.loads(text) for text in group["parameters"]]
        for name, grid in _GRIDS[method].items():
            values = pd.Series([one.get(name) for one in chosen], dtype=float).dropna()
            if len(values):
                least, greatest = (values == grid[0]).sum(), (values == grid[-1]).sum()
                rows[method, rule, name] = (int(least), int(greatest), len(values))
    index = pd.MultiIndex.from_tuples(list(rows), names=["method", "rule", "parameter"])
    return pd.DataFrame(list(rows.values()), index, columns=["least", "greatest", "runs"])


def settings_section(results: Results) -> Section:
    """Return where settings were chosen at the edge of a grid, and what a wider grid gives."""
    title = "Grids and their edges"
    present = [name for name in _SOURCES if results.records(name) is not None]
    if not present:
        return Section(title, absent(*_SOURCES))
    counted = [row for name in present for row in _edge_rows(name, results.records(name))]
    compared = [row for name in present for row in _wide_rows(results, name)]
    parts = []
    if counted:
        header = ("experiment", "method", "selection", "parameter", "least", "greatest")
        parts += [
            "How often the selected value is the least or the greatest of its grid. Among equal "
            "holdout accuracies the smallest C is taken, then the smallest gamma, so the lower "
            "edge is favoured. With η = ∞, the greatest, `direct` is mean imputation.",
            pipe_table(header, counted),
        ]
    if compared:
        header = (
            "experiment",
            "method",
            "wide minus the paper's",
            "cells",
            "runs in common",
            "paired t-tests",
        )
        parts += [
            "Two rivals were also run on a grid that goes down to 2⁻¹² instead of 2⁻⁵ (C of KARMA, "
            "gamma of genRBF), which the paper does not do. Differences in accuracy, averaged over "
            "the cells, ± the standard error over repetitions:",
            pipe_table(header, compared),
        ]
    return Section(title, "\n\n".join(parts or ["No method with such a grid was run."]))


def _edge_rows(name: str, records: pd.DataFrame | None) -> Iterator[tuple[str, ...]]:
    if records is None:
        return
    for (method, rule, parameter), row in at_edges(records).iterrows():
        counts = (share(int(row[edge]), int(row["runs"])) for edge in ("least", "greatest"))
        yield (name, f"`{method}`", rule, parameter, *counts)


def _wide_rows(results: Results, name: str) -> Iterator[tuple[str, ...]]:
    wide = results.readings(name)
    if wide is None:
        return
    for method in wide.columns:
        base = without_option(method, "grid")
        if base == method or base not in wide.columns:
            continue
        common = wide[[method, base]].dropna()
        if common.empty:
            continue
        test = gain(common, method, base)
        error = f" ± {test.standard_error:.4f}" if test.n > 1 else ""
        n_cells = common.groupby(level=list(CELL), dropna=False).ngroups
        written = f"{signed(test.difference, 4)}{error}"
        yield (name, f"`{base}`", written, str(n_cells), str(len(common)), significance(test))
