"""Accuracy against the missing rate: a panel for each dataset, or for each mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas.api.typing import DataFrameGroupBy

from experiments.figures.style import draw, panels, style_of
from experiments.naming import parse_name
from experiments.published import CLASSIFICATION, RATES
from experiments.ranks import average_ranks
from experiments.registry import family_of, label_of
from experiments.statistics import readings

_ALWAYS = ("mean+svc", "mean+logistic", "mean+mlp")
_PLACES = {"rival": 1, "field": 1, "ours": 2}

MEAN_AND_STD = "accuracy (mean ± std)"
"""What a vertical axis shows; the deviation is that over the repetitions."""

_SPREAD = 0.012
"""How far the lines' error bars stand apart, as missing rates."""

Line = tuple[str, pd.Series, pd.Series]


def shown_methods(records: pd.DataFrame) -> list[str]:
    """Return the few methods that a figure has room for.

    Mean imputation with its usual classifiers, then those of each family with the best average
    rank: one rival, one of the field, two of ours. Which they are follows from the records.
    """
    ranks = average_ranks(readings(records))
    always = [method for method in _ALWAYS if method in ranks.index]
    ranked = [method for method in ranks.index[ranks["complete"]] if method not in always]
    best = [
        [method for method in ranked if family_of(method) == family][:places]
        for family, places in _PLACES.items()
    ]
    return always + [method for family in best for method in family]


def draw_lines(axes: Axes, lines: Sequence[Line], spread: float = 0.0) -> None:
    """Draw means with their standard deviations as error bars."""
    middle = (len(lines) - 1) / 2
    for place, (label, mean, std) in enumerate(lines):
        style = style_of(place)
        axes.errorbar(
            mean.index + spread * (place - middle),
            mean.to_numpy(),
            yerr=std.to_numpy(),
            label=label,
            color=style.color,
            marker=style.marker,
            linestyle=style.linestyle,
            capsize=1.5,
            elinewidth=0.5,
        )


def lines_of(groups: DataFrameGroupBy) -> list[Line]:
    """Return the line of each method, as `draw_lines` takes them."""
    mean, std = groups.mean(), groups.std(ddof=0)
    return [(label_of(method), mean[method], std[method]) for method in mean.columns]


def _legend(figure: Figure, axes: Axes, n_columns: int = 2) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns)


def missing_rate_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw accuracy against the missing rate, a panel for each dataset."""
    wide = readings(records)[shown_methods(records)]
    n_rows = -(-records["dataset"].nunique() // 2)
    return draw(path, 1.5 * n_rows + 0.9, partial(_by_dataset, wide=wide))


def _by_dataset(figure: Figure, wide: pd.DataFrame) -> None:
    datasets = list(dict.fromkeys(wide.index.get_level_values("dataset")))
    for axes, dataset in zip(panels(figure, len(datasets), 2, sharex=True), datasets, strict=True):
        groups = wide.xs(dataset, level="dataset").groupby(level="missing_rate")
        draw_lines(axes, lines_of(groups), _SPREAD)
        published = CLASSIFICATION.get(parse_name(dataset).base, {}).get("Ours", ())
        if published:
            values = [reading.mean for reading in published]
            axes.plot(RATES, values, "*", color="grey", markersize=5, label="Ours, published")
        axes.set_title(dataset)
        axes.set_xticks(sorted(groups.groups))
        axes.set_xlabel("share missing")
        axes.set_ylabel(MEAN_AND_STD)
    # The scales differ, so the outer panels alone are named, but every panel keeps its ticks.
    for axes in figure.axes:
        axes.label_outer(remove_inner_ticks=False)
        axes.tick_params(labelleft=True)
    _legend(figure, axes)


def life_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw accuracy against the missing rate, a panel for each mechanism, over all datasets."""
    wide = readings(records)[shown_methods(records)]
    return draw(path, 2.5, partial(_by_mechanism, wide=wide))


def _by_mechanism(figure: Figure, wide: pd.DataFrame) -> None:
    mechanisms = list(dict.fromkeys(wide.index.get_level_values("mechanism")))
    rows = panels(figure, len(mechanisms), len(mechanisms), sharex=True, sharey=True)
    # Datasets differ far more than repetitions: averaged first, they leave the bars alone.
    averages = wide.groupby(level=["mechanism", "missing_rate", "repetition"]).mean()
    for axes, mechanism in zip(rows, mechanisms, strict=True):
        groups = averages.xs(mechanism, level="mechanism").groupby(level="missing_rate")
        draw_lines(axes, lines_of(groups), _SPREAD)
        axes.set_title(mechanism.upper())
        axes.set_xticks(sorted(groups.groups))
        axes.set_xlabel("share missing")
    rows[0].set_ylabel(MEAN_AND_STD)
    _legend(figure, rows[0])
