"""One look for all figures: column width, colours that the colour-blind can tell apart, files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH = 3.4
"""Inches of a column."""

_SETTINGS = {
    "font.size": 7.0,
    "axes.titlesize": 7.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 6.5,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "font.family": "DejaVu Sans",
}


@dataclass(frozen=True)
class Style:
    """How one method is drawn."""

    color: str  # As matplotlib takes them
    marker: str
    linestyle: str


# The colours are those of Okabe and Ito; markers and dashes tell the lines apart without them.
STYLES = (
    Style("#000000", "o", "-"),
    Style("#0072B2", "s", "--"),
    Style("#D55E00", "^", "-"),
    Style("#009E73", "D", "-."),
    Style("#CC79A7", "v", ":"),
    Style("#E69F00", "P", "--"),
    Style("#56B4E9", "X", "-."),
)
"""Styles in the order in which they are given out."""


def style_of(place: int) -> Style:
    """Return the style of a method by its place."""
    return STYLES[place % len(STYLES)]


def panels(figure: Figure, n_panels: int, n_columns: int, **shared: bool) -> list[Axes]:
    """Return panels row by row, as many as are needed."""
    n_rows = -(-n_panels // n_columns)
    axes = list(np.ravel(figure.subplots(n_rows, n_columns, squeeze=False, **shared)))
    for spare in axes[n_panels:]:
        spare.remove()
    return axes[:n_panels]


def draw(path: Path, height: float, fill: Callable[[Figure], None], width: float = WIDTH) -> Path:
    """Draw a figure and write it as PNG."""
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        fill(figure)
        # matplotlib writes its version into the file otherwise.
        figure.savefig(path, format="png", dpi=150, metadata={"Software": None})
    return path
