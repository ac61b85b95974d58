"""Draw fills against the truth, means beside KernelImputer: `python examples/picture.py`.

Half of the cells of scikit-learn's breast cancer table are removed at random, with a fixed seed.
Both imputers then fill the table. `docs/_static/fills.svg` shows the same removed cells on both
sides, and `benchmarks/results/picture.json` has the errors over all removed cells.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer

from kernimpute import KernelImputer

FloatArray = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "_static" / "fills.svg"
FIGURES = ROOT / "benchmarks" / "results" / "picture.json"

MISSING_RATE = 0.5
SEED = 0
SHOWN = 500
"""Cells that are drawn, at random among the removed ones, so that the file stays small."""
LIMITS, TICKS = (-3.2, 5.2), (-2, 0, 2, 4)
"""Of both axes; some of the drawn cells may lie outside."""
IMPUTERS = {"Mean imputation": SimpleImputer, "KernelImputer": KernelImputer}
COLORS = {"Mean imputation": "#8a5a00", "KernelImputer": "#0b5fa5"}


def filled_cells() -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return the truth of the removed cells, and each imputer's fills, in standard deviations."""
    table = load_breast_cancer(as_frame=True).data
    removed = np.random.default_rng(SEED).random(table.shape) < MISSING_RATE
    mean, deviation = table.mean().to_numpy(), table.std(ddof=0).to_numpy()

    def in_deviations(filled: object) -> FloatArray:
        return ((np.asarray(filled) - mean) / deviation)[removed]

    fills = {
        name: in_deviations(imputer().fit_transform(table.mask(removed)))
        for name, imputer in IMPUTERS.items()
    }
    return in_deviations(table), fills


def errors(truth: FloatArray, fills: dict[str, FloatArray]) -> dict[str, float]:
    """Return the root mean square error of each imputer, in standard deviations."""
    return {
        name: round(float(np.sqrt(np.mean((values - truth) ** 2))), 4)
        for name, values in fills.items()
    }


def title(name: str, error: float) -> str:
    """Return what stands above a panel."""
    return f"{name}: RMSE {error:.2f}"


def draw(truth: FloatArray, fills: dict[str, FloatArray], figures: dict[str, float]) -> Figure:
    """Return the picture: one panel for each imputer, with shared axes and a diagonal."""
    shown = np.random.default_rng(SEED).permutation(len(truth))[:SHOWN]
    figure = Figure(figsize=(8.0, 4.5), facecolor="white", layout="constrained")
    panels = figure.subplots(1, len(fills), sharex=True, sharey=True)
    for panel, (name, values) in zip(panels, fills.items(), strict=True):
        panel.plot(LIMITS, LIMITS, color="#555555", linewidth=1.2, zorder=1)
        panel.scatter(
            truth[shown], values[shown], s=16, color=COLORS[name], alpha=0.55, linewidths=0
        )
        panel.set_title(title(name, figures[name]), fontsize=17)
        panel.set(xlim=LIMITS, ylim=LIMITS, aspect="equal", xticks=TICKS, yticks=TICKS)
        panel.tick_params(labelsize=14)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("filled value", fontsize=16)
    figure.supxlabel("true value, in standard deviations of its column", fontsize=16)
    return figure


def main() -> None:
    """Draw, and write the picture and its figures."""
    truth, fills = filled_cells()
    figures = errors(truth, fills)
    # Without a salt and a date of its own, each run would write other bytes.
    with mpl.rc_context({"svg.hashsalt": "fills", "path.simplify": False}):
        figure = draw(truth, fills, figures)
        PICTURE.parent.mkdir(exist_ok=True)
        figure.savefig(PICTURE, metadata={"Date": None})
    packages = ("kernimpute", "numpy", "scipy", "scikit-learn", "matplotlib")
    results = {
        "table": "breast cancer",
        "missing_rate": MISSING_RATE,
        "seed": SEED,
        "n_removed": len(truth),
        "n_shown": SHOWN,
        "root_mean_square_errors": figures,
        "versions": {name: version(name) for name in packages},
    }
    FIGURES.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"Written: {PICTURE} and {FIGURES}, errors {figures}.")


if __name__ == "__main__":
    main()
