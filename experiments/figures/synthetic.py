"""Accuracy on the drawn tables: a panel for each parameter, the others at their defaults."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from experiments.figures.accuracy import MEAN_AND_STD, draw_lines, lines_of, shown_methods
from experiments.figures.style import draw, panels
from experiments.naming import parse_name
from experiments.statistics import readings

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
