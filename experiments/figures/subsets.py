"""Accuracy against the number of subsets that rows are filled in."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from experiments.figures.accuracy import MEAN_AND_STD, draw_lines
from experiments.figures.style import draw, panels
from experiments.method_names import label_of
from experiments.tables.subsets import by_subsets


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
