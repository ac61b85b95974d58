"""What panel A measures: errors of fills, and of predictions after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from experiments.panel_a.fillers import FILLERS, WAYS, filling_by
from experiments.panel_a.labels import MACHINES, with_labels
from experiments.panel_a.others import OTHERS
from experiments.panel_a.prediction import (
    BOOSTING,
    ESTIMATORS,
    PREDICTORS,
    SCORES,
    TREES,
    predicted,
)
from experiments.panel_a.problems import Kind, Problem, make_large_problem, make_problem
from experiments.panel_runs import Measured

METHODS: dict[Kind, tuple[str, ...]] = {
    "fills": tuple(FILLERS),
    "prediction": PREDICTORS,
    "large": (BOOSTING, TREES, "kernimpute predictor"),
    "labels": (*WAYS, *MACHINES),
}
"""What is run unless methods are named."""
KNOWN: dict[Kind, tuple[str, ...]] = {
    "fills": (*FILLERS, *OTHERS),
    "prediction": (*PREDICTORS, *ESTIMATORS),
    "large": (*PREDICTORS, *ESTIMATORS),
    "labels": METHODS["labels"],
}


def fills_row(problem: Problem, method: str) -> list[dict[str, Any]]:
    """Return the error of a filler on the removed cells of new rows."""
    filler = {**FILLERS, **OTHERS}[method]
    filling = filling_by(
        filler, problem.train, problem.y_train, problem.seed_for("filler"), [problem.new]
    )
    return [
        {
            **errors_of(problem, filling.others[0]),
            "seconds_fit": filling.seconds_fit,
            "seconds_fill": filling.seconds_fill,
        }
    ]


def errors_of(problem: Problem, filled: pd.DataFrame) -> dict[str, float]:
    """Return the error of numbers, in deviations of complete training columns, and of categories.

    The first is a root of a mean square over all removed cells, the second the share of wrong
    ones. Columns that are constant in the training rows have no deviation and are left out.
    """
    squares, wrong = [np.empty(0)], [np.empty(0)]
    for name, removed in zip(filled, problem.removed.T, strict=True):
        fills, truth = filled[name][removed], problem.new_truth[name][removed]
        if name in problem.categories:
            wrong.append((fills.to_numpy(object) != truth.to_numpy(object)).astype(float))
            continue
        deviation = float(problem.train_complete[name].astype(float).std(ddof=0))
        if deviation > 0.0:
            difference = fills.to_numpy(float) - truth.to_numpy(float)
            squares.append((difference / deviation) ** 2)
    numbers, categories = np.concatenate(squares), np.concatenate(wrong)
    return {
        "error": float(np.sqrt(numbers.mean())) if numbers.size else np.nan,
        "n_numbers": numbers.size,
        "wrong": float(categories.mean()) if categories.size else np.nan,
        "n_categories": categories.size,
    }


_AXES = ("table", "mechanism", "rate", "repetition")
_ERRORS = ("error", "n_numbers", "wrong", "n_categories")
_ENDING = ("seconds_fit", "seconds_fill", "seed")
_PREDICTION = ("learner", "rows", *SCORES, *_ENDING)

MEASURED: dict[Kind, Measured] = {
    "fills": Measured("fills", _AXES, (*_ERRORS, *_ENDING), make_problem, fills_row),
    "prediction": Measured("prediction", _AXES, _PREDICTION, make_problem, predicted),
    "large": Measured("large", _AXES, _PREDICTION, make_large_problem, predicted),
    "labels": Measured("labels", _AXES, _PREDICTION, make_problem, with_labels),
}
