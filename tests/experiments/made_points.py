"""Records of points and of iterations that no experiment made."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.experiments.made_records import classification_records

__all__ = ["convergence_records", "moons_records", "pca_records", "synthetic_records"]


def synthetic_records() -> pd.DataFrame:
    """Return records in which one parameter at a time is varied."""
    datasets = (
        "synthetic",
        "synthetic[d=10]",
        "synthetic[d=50]",
        "synthetic[noise_intensity=0.8]",
        "synthetic[outlier_fraction=0.3]",
        "synthetic[non_uniformity=2.0]",
    )
    levels = {"mean+svc": 0.8, "direct+refit": 0.85}
    return classification_records("synthetic", datasets, (0.5,), methods=levels)


def convergence_records() -> pd.DataFrame:
    """Return two variants with an objective that goes to 1 or 2."""
    iterations = np.arange(1, 40)
    frames = []
    for method, limit in (("paper", 1.0), ("direct", 2.0)):
        objective = limit + 0.7**iterations
        frames.append(
            pd.DataFrame(
                {
                    "experiment": "convergence",
                    "repetition": 0,
                    "method": method,
                    "status": "done",
                    "stage": "one",
                    "iteration": iterations,
                    "objective": objective,
                    "difference": np.diff(objective, prepend=np.nan),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def pca_records() -> pd.DataFrame:
    """Return 40 points of two classes for each of three methods."""
    rng = np.random.default_rng(0)
    label = np.arange(40) % 2
    frames = [
        pd.DataFrame(
            {
                "experiment": "pca",
                "repetition": 0,
                "method": method,
                "status": "done",
                "point": np.arange(40),
                "label": label,
                "component_1": label + rng.normal(0, 0.2, 40),
                "component_2": rng.normal(0, 0.2, 40),
            }
        )
        for method in ("complete", "mean+svc", "direct+refit")
    ]
    return pd.concat(frames, ignore_index=True)


def moons_records() -> pd.DataFrame:
    """Return 20 points, two of them filled, and a plane with a boundary in its middle."""
    rng = np.random.default_rng(0)
    x_1, x_2 = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5)))
    frames = []
    for method in ("mean", "direct"):
        true = rng.uniform(size=(20, 2))
        points = {"what": "point", "label": np.arange(20) % 2.0, "missing_column": np.nan}
        points |= {"x_1": true[:, 0], "x_2": true[:, 1], "true_1": true[:, 0], "true_2": true[:, 1]}
        frame = pd.DataFrame(points)
        frame.loc[:1, ["missing_column", "x_1"]] = [0.0, 0.5]
        grid = pd.DataFrame({"what": "grid", "x_1": x_1, "x_2": x_2, "decision": x_1 - 0.4})
        both = pd.concat([frame, grid], ignore_index=True)
        frames.append(both.assign(method=method, status="done", repetition=0))
    return pd.concat(frames, ignore_index=True)
