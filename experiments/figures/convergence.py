"""The objective by iteration, and how much an iteration changes it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from experiments.figures.style import draw, style_of

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
