"""What panel R measures: predictions of a quantity for new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.svm import SVR

from experiments.panel_a.prediction import (
    BOOSTING,
    INDICATORS,
    SVM_C,
    SVM_GAMMA,
    TREES,
    FloatArray,
    Folds,
    Learner,
    Sets,
    by_estimator,
    by_trees,
    chosen,
    whole,
)
from experiments.panel_a.problems import Task
from experiments.panel_b.run import AXES
from experiments.panel_r.problems import make_problem
from experiments.panel_runs import Measured, Row
from kernimpute import KernelImputationRegressor

ALPHAS = tuple(np.logspace(-2, 4, 13))
SVR_EPSILON = (0.1, 0.3)
"""In standard deviations of the target."""


def ridge(sets: Sets, y: FloatArray, folds: Folds) -> Sets:
    """Return the predictions of scikit-learn's `RidgeCV`, which needs no folds."""
    fitted = RidgeCV(ALPHAS).fit(sets[0], y)
    return [fitted.predict(Z) for Z in sets[1:]]


def svr(sets: Sets, y: FloatArray, folds: Folds) -> Sets:
    """Return the predictions of a gaussian SVM, its settings chosen by the folds' squared error."""
    center, deviation = y.mean(), y.std()

    def machine(C: float, gamma: float, epsilon: float) -> SVR:
        return SVR(C=C, gamma=gamma / sets[0].shape[1], epsilon=epsilon, cache_size=50)

    def fitted(Z: FloatArray, targets: FloatArray, setting: tuple[float, float, float]) -> SVR:
        return machine(*setting).fit(Z, (targets - center) / deviation)

    def error(setting: tuple[float, float, float]) -> float:
        held_out = np.empty(len(y))
        for (inner, outer), y_inner, rows in folds:
            held_out[rows] = fitted(inner, y_inner, setting).predict(outer) * deviation + center
        return float(((held_out - y) ** 2).mean())

    best = fitted(sets[0], y, min(product(SVM_C, SVM_GAMMA, SVR_EPSILON), key=error))
    return [best.predict(Z) * deviation + center for Z in sets[1:]]


LEARNERS: Mapping[str, Learner] = {"RidgeCV": ridge, "SVR": svr}
FILLERS = ("means", INDICATORS, "IterativeImputer", "kernimpute")
# Each is given the rows as they are.
ESTIMATORS: Mapping[str, Callable[[], Any]] = {
    "kernimpute, machine": partial(KernelImputationRegressor, machine="svm"),
    "kernimpute predictor": KernelImputationRegressor,
}
METHODS = (*FILLERS, BOOSTING, TREES, "kernimpute, machine")
"""What is run unless methods are named."""
KNOWN = (*METHODS, *(name for name in ESTIMATORS if name not in METHODS))

SCORES = ("squared_error", "absolute_error")


def predicted(problem: Task, method: str) -> list[Row]:
    """Return the rows of a method, by a learner; the SVM follows means alone."""
    if method in (BOOSTING, TREES):
        machines = HistGradientBoostingRegressor, ExtraTreesRegressor
        return whole(problem, "trees", lambda: by_trees(problem, method, *machines), scores)
    if method in ESTIMATORS:
        return whole(problem, "own", lambda: by_estimator(problem, ESTIMATORS[method]), scores)
    learners = LEARNERS if method == "means" else {"RidgeCV": ridge}
    return chosen(problem, method, learners, scores)


def scores(problem: Task, predictions: Sets) -> list[Row]:
    """Return the measures: squared error in variances of the target, and absolute error."""
    variance = problem.y_train.var()
    return [
        {
            "squared_error": float(((found - problem.y_new) ** 2).mean() / variance),
            "absolute_error": float(np.abs(found - problem.y_new).mean()),
        }
        for found in predictions
    ]


def measured(data_dir: Path | None) -> Measured:
    """Return what the panel measures, of files in a folder."""
    return Measured(
        "prediction",
        AXES,
        ("learner", *SCORES, "seconds_fit", "seconds_fill"),
        partial(make_problem, data_dir=data_dir),
        predicted,
    )
