"""Curves: objectives, drawn tables, subsets, and the ranks of methods."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.accuracy import MEAN_AND_STD, draw_lines, lines_of, shown_methods
from experiments.figures.style import draw, panels, style_of
from experiments.naming import parse_name
from experiments.ranks import average_ranks, critical_difference
from experiments.registry import family_of, label_of
from experiments.statistics import readings
from experiments.tables.reproduced import by_subsets

_LINEAR = 100
"""Up to which objective the scale is linear."""


def convergence_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw the objective of each variant by iteration, and its differences on a log scale."""
    rows = records[(records["status"] == "done") & records["objective"].notna()]
    rows = rows[rows["repetition"] == rows["repetition"].min()]
    firsts = rows.groupby("method", sort=False)["stage"].transform("first")
    return draw(path, 3.6, partial(_two_panels, rows=rows[rows["stage"] == firsts]))


def _two_panels(figure: Figure, rows: pd.DataFrame) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True)
    for place, (method, group) in enumerate(rows.groupby("method", sort=False)):
        style = style_of(place)
        # Iterations are counted from 1, which a log scale needs.
        iterations = group["iteration"] - group["iteration"].min() + 1
        look = {"color": style.color, "linestyle": style.linestyle, "marker": style.marker}
        look["markevery"] = 0.15
        upper.plot(iterations, group["objective"], label=str(method), **look)
        changes = group["difference"].abs()
        lower.plot(iterations[changes > 0], changes[changes > 0], **look)
    # One variant's objective is a hundred times the others'.
    upper.set_yscale("symlog", linthresh=_LINEAR)
    upper.set_ylabel("objective")
    lower.set_ylabel("|change in an iteration|")
    lower.set_yscale("log")
    lower.set_xscale("log")
    lower.set_xlabel("iteration of Stage I, or of the direct variant")
    figure.legend(*upper.get_legend_handles_labels(), loc="outside lower center", ncols=3)


DEFAULTS = {"d": 30, "noise_intensity": 0.2, "outlier_fraction": 0.1, "non_uniformity": 0.5}
"""The paper's parameters and what they are where they aren't varied."""

_TITLES = {
    "d": "columns",
    "noise_intensity": "noise intensity",
    "outlier_fraction": "share of outliers",
    "non_uniformity": "non-uniformity",
}


def synthetic_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw accuracy against each of the four parameters."""
    wide = readings(records)[shown_methods(records)]
    options = {name: parse_name(name).options for name in dict.fromkeys(records["dataset"])}
    values = pd.DataFrame({name: DEFAULTS | dict(given) for name, given in options.items()}).T
    return draw(path, 3.9, partial(_four_panels, wide=wide, values=values))


def _four_panels(figure: Figure, wide: pd.DataFrame, values: pd.DataFrame) -> None:
    for axes, (parameter, title) in zip(
        panels(figure, len(DEFAULTS), 2, sharey=True), _TITLES.items(), strict=True
    ):
        others = [name for name in DEFAULTS if name != parameter]
        at_defaults = (values[others] == pd.Series(DEFAULTS)[others]).all(axis=1)
        varied = values.loc[at_defaults, parameter].astype(float)
        datasets = wide.index.get_level_values("dataset")
        chosen = wide[datasets.isin(varied.index)]
        places = chosen.index.get_level_values("dataset").map(varied)
        draw_lines(axes, lines_of(chosen.groupby(places)))
        axes.set_xlabel(title)
    for axes in figure.axes[::2]:
        axes.set_ylabel(MEAN_AND_STD)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)


def subsets_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw accuracy against the number of subsets, a panel for each dataset."""
    return draw(path, 2.4, partial(_lines, cells=by_subsets(records).reset_index()))


def _lines(figure: Figure, cells: pd.DataFrame) -> None:
    datasets = list(dict.fromkeys(cells["dataset"]))
    counts = sorted(set(cells["subsets"]))
    for axes, dataset in zip(panels(figure, len(datasets), len(datasets)), datasets, strict=True):
        here = cells[(cells["dataset"] == dataset) & (cells["n"] > 0)]
        lines = []
        for method, group in here.groupby("method", sort=False):
            group = group.set_index("subsets")
            if len(group) == 1:
                # Filled at once, it is the same for any number: a level line.
                group = group.loc[[group.index[0]] * len(counts)].set_axis(counts)
            lines.append((label_of(str(method)), group["mean"], group["std"]))
        draw_lines(axes, lines)
        axes.set_xscale("log")
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("subsets")
        axes.set_ylabel(MEAN_AND_STD)
        axes.set_title(dataset)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)


_FAMILIES = {
    "rival": "the paper's rivals",
    "field": "simple field",
    "ours": "ours",
    "ablation": "controls",
}


def ranks_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw the average rank of every method, best on top."""
    ranks = average_ranks(readings(records))
    return draw(path, 1.1 + 0.125 * len(ranks), partial(_dots, ranks=ranks))


def _dots(figure: Figure, ranks: pd.DataFrame) -> None:
    axes = figure.subplots()
    families = pd.Series([family_of(method) for method in ranks.index], index=ranks.index)
    for place, (family, label) in enumerate(_FAMILIES.items()):
        style = style_of(place)
        rows = (families == family).to_numpy()
        heights = rows.nonzero()[0]
        if not len(heights):
            continue
        found = ranks[rows]
        fills = [style.color if complete else "white" for complete in found["complete"]]
        axes.scatter(
            found["rank"], heights, s=14, marker=style.marker, c=fills, edgecolors=style.color
        )
        # Drawn apart: the legend shows the family, filled.
        axes.scatter([], [], s=14, marker=style.marker, color=style.color, label=label)
    axes.set_yticks(range(len(ranks)), [label_of(method) for method in ranks.index], fontsize=6)
    axes.set_ylim(len(ranks) - 0.5, -0.5)
    _critical_bar(axes, ranks[ranks["complete"].astype(bool)])
    axes.grid(axis="y", linewidth=0.3, color="#dddddd")
    axes.set_axisbelow(True)
    if not ranks["complete"].all():
        axes.scatter([], [], s=14, c="white", edgecolors="black", label="fewer repetitions")
    axes.set_xlabel("average rank")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)


def _critical_bar(axes: Axes, complete: pd.DataFrame) -> None:
    """Draw Nemenyi's critical difference as a bar above the dots."""
    if len(complete) < 2:
        return
    size = critical_difference(len(complete), int(complete["cells"].max()))
    start = complete["rank"].min()
    axes.errorbar([start + size / 2], [-1.3], xerr=[size / 2], color="black", capsize=2.0)
    axes.annotate("critical difference", (start, -1.9), fontsize=6, annotation_clip=False)
    axes.set_ylim(axes.get_ylim()[0], -3.2)
