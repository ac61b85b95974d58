"""Average ranks as a dot plot."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import draw, style_of
from experiments.method_names import family_of, label_of
from experiments.ranks import average_ranks, critical_difference
from experiments.statistics import readings

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
    """Draw, above the dots, how far two methods with all repetitions must lie apart to differ."""
    if len(complete) < 2:
        return
    size = critical_difference(len(complete), int(complete["cells"].max()))
    start = complete["rank"].min()
    axes.errorbar([start + size / 2], [-1.3], xerr=[size / 2], color="black", capsize=2.0)
    axes.annotate("critical difference", (start, -1.9), fontsize=6, annotation_clip=False)
    axes.set_ylim(axes.get_ylim()[0], -3.2)
