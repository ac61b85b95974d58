"""Two moons with a cell missing in a few rows: where each method puts it, and the boundary then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.config import MoonsConfig, check_methods
from experiments.problem import seed_of
from experiments.synthetic import draw_moons
from kernimpute import impute
from kernimpute.kernels import Gaussian

FloatArray = NDArray[np.float64]

VARIANTS: dict[str, tuple[str, float | None]] = {
    "mean": ("direct", np.inf),
    "direct": ("direct", None),
    "anchored": ("anchored", None),
}
"""Variant and eta of each method: with infinite weight the cells stay at their means."""

columns = (
    "what",
    "point",
    "label",
    "missing_column",
    "x_1",
    "x_2",
    "true_1",
    "true_2",
    "decision",
    "solver_status",
)
"""One row a point of the table (`what` is "point": filled, true, and its decision value), then one
a point of a grid over the plane ("grid": its place and its decision value)."""


def units(config: MoonsConfig) -> list[dict[str, Any]]:
    """Return the axes: each repetition."""
    check_methods(config, VARIANTS)
    fixed = {name: getattr(config, name) for name in ("n_samples", "noise", "n_missing")}
    machine = {name: getattr(config, name) for name in ("C", "gamma", "grid")}
    return [
        {"dataset": "moons", **fixed, **machine, "repetition": repetition}
        for repetition in range(config.repetitions)
    ]


def setting(config: MoonsConfig, unit: dict[str, Any]) -> None:
    """Return None: the moons are drawn, and need no dataset."""
    return None


def rows(
    config: MoonsConfig, unit: dict[str, Any], method: str, data_dir: Path | None
) -> list[dict[str, Any]]:
    """Return one method's filled points, and the decision function of a machine on them."""
    if method not in VARIANTS:
        raise ValueError(
            f"A method of moons must be one of: {', '.join(VARIANTS)}; got {method!r}."
        )
    truth, X, y = _moons(unit)
    variant, eta = VARIANTS[method]
    kernel = Gaussian(unit["gamma"])
    result = impute(X, y, variant=variant, kernel=kernel, C=unit["C"], eta=eta)
    # One machine for all: that of `anchored` itself belongs to the kernel that it learned.
    machine = SVC(C=unit["C"], gamma=unit["gamma"]).fit(result.X, y)
    decisions = machine.decision_function(result.X)
    points = [
        {
            "what": "point",
            "point": i,
            "label": int(y[i]),
            "missing_column": None if gaps.size == 0 else int(gaps[0]),
            "x_1": float(result.X[i, 0]),
            "x_2": float(result.X[i, 1]),
            "true_1": float(truth[i, 0]),
            "true_2": float(truth[i, 1]),
            "decision": float(decisions[i]),
            "solver_status": result.status.name,
        }
        for i, gaps in enumerate(map(np.flatnonzero, np.isnan(X)))
    ]
    ticks = np.linspace(0.0, 1.0, unit["grid"])
    plane = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    grid = [
        {"what": "grid", "x_1": float(x_1), "x_2": float(x_2), "decision": float(decision)}
        for (x_1, x_2), decision in zip(plane, machine.decision_function(plane), strict=True)
    ]
    return points + grid


def _moons(unit: dict[str, Any]) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Return the moons scaled to [0, 1], the same with gaps, and the labels."""
    generator = np.random.default_rng(
        seed_of("moons", unit["n_samples"], unit["noise"], unit["n_missing"], unit["repetition"])
    )
    drawn, y = draw_moons(generator, n=unit["n_samples"], noise=unit["noise"])
    truth = (drawn - drawn.min(axis=0)) / np.ptp(drawn, axis=0)
    X = truth.copy()
    holed = generator.permutation(len(X))[: unit["n_missing"]]
    # In turn the first and the second coordinate.
    X[holed, np.arange(len(holed)) % 2] = np.nan
    return truth, X, y
