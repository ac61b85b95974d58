"""Rows as points: filled tables in the plane of two components, and the two moons."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import WIDTH, Style, draw, panels
from experiments.registry import label_of

_COLUMNS = 2

_CLASSES = (
    Style("#0072B2", "o", "-"),
    Style("#E69F00", "^", "-"),
    Style("#000000", "s", "-"),
    Style("#CC79A7", "v", "-"),
)
"""Styles of the classes: neighbours differ in lightness, too."""


def class_style(label: int) -> Style:
    """Return the style of a class."""
    return _CLASSES[label % len(_CLASSES)]


def pca_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw the filled training rows, a panel for each method, classes by marker and colour."""
    rows = _first_repetition(records)
    n_rows = -(-rows["method"].nunique() // _COLUMNS)
    return draw(path, 1.6 * n_rows + 0.3, partial(_clouds, rows=rows))


def _clouds(figure: Figure, rows: pd.DataFrame) -> None:
    methods = list(dict.fromkeys(rows["method"]))
    # The complete rows are what the others are to be compared with.
    methods.sort(key=lambda method: method != "complete")
    shown = panels(figure, len(methods), _COLUMNS, sharex=True, sharey=True)
    for axes, method in zip(shown, methods, strict=True):
        group = rows[rows["method"] == method]
        _scatter(axes, group, "component_1", "component_2")
        axes.set_title("complete rows" if method == "complete" else label_of(method))
        axes.set_xlabel("first component")
        axes.set_ylabel("second component")
        axes.label_outer()
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)


def moons_figure(records: pd.DataFrame, path: Path) -> Path:
    """Draw where each method puts the missing cells of two moons, and the boundary then."""
    rows = _first_repetition(records)
    n_methods = rows["method"].nunique()
    height = 0.7 + WIDTH / n_methods
    return draw(path, height, partial(_moons, rows=rows))


def _moons(figure: Figure, rows: pd.DataFrame) -> None:
    methods = list(dict.fromkeys(rows["method"]))
    shown = panels(figure, len(methods), len(methods), sharex=True, sharey=True)
    for axes, method in zip(shown, methods, strict=True):
        group = rows[rows["method"] == method]
        plane = group[group["what"] == "grid"].pivot(index="x_2", columns="x_1", values="decision")
        axes.contour(plane.columns, plane.index, plane, levels=[0.0], colors="grey", linewidths=0.8)
        points = group[group["what"] == "point"]
        _scatter(axes, points[points["missing_column"].isna()], "x_1", "x_2", alpha=0.35)
        _moved(axes, points[points["missing_column"].notna()])
        axes.set_title(label_of(method))
        axes.set_aspect("equal")
        axes.set_xticks([0, 1])
        axes.set_yticks([0, 1])
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)


def _moved(axes: Axes, points: pd.DataFrame) -> None:
    """Draw each filled point, and a line to where it was."""
    for point in points.itertuples():
        style = class_style(int(point.label))
        axes.plot(
            [point.true_1, point.x_1], [point.true_2, point.x_2], color="black", linewidth=0.5
        )
        axes.plot(point.true_1, point.true_2, marker=style.marker, color=style.color, mfc="white")
        axes.plot(point.x_1, point.x_2, marker=style.marker, color=style.color, mec="black")
    axes.plot([], [], "o", color="black", mfc="white", label="where it was")
    axes.plot([], [], "o", color="black", label="where it is put")


def _scatter(axes: Axes, group: pd.DataFrame, x: str, y: str, alpha: float = 0.8) -> None:
    for label, points in group.groupby("label"):
        style = class_style(int(label))
        axes.scatter(
            points[x],
            points[y],
            s=7,
            marker=style.marker,
            color=style.color,
            alpha=alpha,
            linewidths=0,
            label=f"class {int(label)}",
        )


def _first_repetition(records: pd.DataFrame) -> pd.DataFrame:
    done = records[records["status"] == "done"]
    return done[done["repetition"] == done["repetition"].min()]
