"""What panel B measures: predictions of new rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from experiments.panel_a.prediction import (
    BOOSTING,
    ESTIMATORS,
    INDICATORS,
    SCORES,
    TREES,
    predicted,
)
from experiments.panel_b.problems import make_problem
from experiments.panel_runs import Measured

AXES = ("table", "seed", "fold")

SLOW = ("missForest",)
METHODS = (
    "means",
    INDICATORS,
    "KNN",
    "IterativeImputer",
    "kernimpute",
    BOOSTING,
    TREES,
    "kernimpute, machine",
)
"""What is run unless methods are named."""
KNOWN = (*METHODS, *SLOW, *(name for name in ESTIMATORS if name not in METHODS))


def measured(data_dir: Path | None) -> Measured:
    """Return what the panel measures, of files in a folder."""
    return Measured(
        "prediction",
        AXES,
        ("learner", *SCORES, "seconds_fit", "seconds_fill"),
        partial(make_problem, data_dir=data_dir),
        predicted,
    )
