"""Figures of what was measured: ``python -m experiments figure CONFIG``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from experiments.figures.accuracy import life_figure, missing_rate_figure
from experiments.figures.curves import (
    convergence_figure,
    ranks_figure,
    subsets_figure,
    synthetic_figure,
)
from experiments.figures.points import moons_figure, pca_figure
from experiments.statistics import in_order
from experiments.tables import Described

Figures = Mapping[str, Callable[[pd.DataFrame, Path], Path]]

FIGURES: Mapping[str, Figures] = {
    "classification": {"classification": missing_rate_figure, "classification_ranks": ranks_figure},
    "life": {"life": life_figure, "life_ranks": ranks_figure},
    "synthetic": {"synthetic": synthetic_figure},
    "subsets": {"subsets": subsets_figure},
    "convergence": {"convergence": convergence_figure},
    "pca": {"pca": pca_figure},
    "moons": {"moons": moons_figure},
}
"""The figures of each experiment, by its name: a file's name and what draws it."""

_CLASSIFIED = ("classification", "life", "synthetic", "subsets")
"""The experiments among them whose kind is classification; the others' is their name."""


def figures_of(config: Described) -> Figures:
    """Return the figures of an experiment."""
    kind = "classification" if config.name in _CLASSIFIED else config.name
    return FIGURES.get(config.name, {}) if config.kind == kind else {}


def write_figures(config: Described, records: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the figures of an experiment as PNG."""
    if records.empty or not (records["status"] == "done").any():
        raise ValueError(f"The records of {config.name} must have at least one run done; got none.")
    rows = in_order(records)
    figures = figures_of(config)
    if figures:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    return [figure(rows, folder / "figures" / f"{name}.png") for name, figure in figures.items()]
