"""Scores of a selected model: predictions, filled cells, and class separation.

The paper's appendix defines the Fisher ratio as ``tr(S_b) / tr(S_w)``, while its table holds
``||mu_1 - mu_2||^2 / (tr S_1 + tr S_2)``. Here the published one is `fisher_ratio` and the
appendix's `scatter_ratio`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance
from sklearn.metrics import (
    calinski_harabasz_score,
    davies_bouldin_score,
    log_loss,
    recall_score,
    roc_auc_score,
)

from experiments.methods.candidates import Model
from experiments.problem import Rows

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]


def prediction_scores(model: Model, rows: Rows) -> dict[str, float]:
    """Return how well a model predicts rows, NaN where a score is not defined.

    The AUC is that of decision values, else of probabilities (one class against the rest beyond
    two); the log-loss needs probabilities.
    """
    predicted = model.predict(rows.X)
    present = np.unique(rows.y)
    balanced = recall_score(rows.y, predicted, labels=present, average="macro", zero_division=0.0)
    return {
        "accuracy": float(np.mean(predicted == rows.y)),
        "balanced_accuracy": float(balanced),
        **_probability_scores(model, rows, present),
    }


def _probability_scores(model: Any, rows: Rows, present: Labels) -> dict[str, float]:
    scores = {"auc": math.nan, "log_loss": math.nan}
    if hasattr(model, "predict_proba"):
        # A class that the training rows lack has probability 0.
        labels = np.union1d(model.classes_, present)
        probabilities = np.zeros((rows.y.size, labels.size))
        probabilities[:, np.searchsorted(labels, model.classes_)] = model.predict_proba(rows.X)
        scores["log_loss"] = float(log_loss(rows.y, probabilities, labels=labels))
        if np.array_equal(model.classes_, present):
            scores["auc"] = _area(rows.y, probabilities)
    if hasattr(model, "decision_function") and np.array_equal(model.classes_, present):
        values = model.decision_function(rows.X)
        if values.ndim == 1:
            scores["auc"] = float(roc_auc_score(rows.y, values))
    return scores


def _area(y: Labels, probabilities: FloatArray) -> float:
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(roc_auc_score(y, probabilities, multi_class="ovr"))


def filling_scores(filled: FloatArray | None, rows: Rows) -> dict[str, float]:
    """Return how far filled cells are from what was removed; all NaN where nothing is known.

    The Wasserstein-1 distance is that of a column's filled and true values, averaged over columns.
    """
    if filled is None:
        return dict.fromkeys(FILLING_SCORES, math.nan)
    compared = np.isnan(rows.X) & ~np.isnan(rows.truth)
    if not compared.any():
        return dict.fromkeys(FILLING_SCORES, math.nan)
    error = np.abs(filled[compared] - rows.truth[compared])
    distances = [
        wasserstein_distance(filled[cells, p], rows.truth[cells, p])
        for p, cells in enumerate(compared.T)
        if cells.any()
    ]
    return {
        "mae": float(error.mean()),
        "rmse": math.sqrt(float(np.square(error).mean())),
        "wasserstein": float(sum(distances) / len(distances)),
    }


def _by_class(X: FloatArray, y: Labels) -> list[tuple[int, FloatArray, float]]:
    """Return size, mean and summed squared distances to it of each class."""
    parts = [X[y == label] for label in np.unique(y)]
    # Rounding may miss the mean of a constant column, and leave a spread.
    means = [np.where((rows == rows[0]).all(axis=0), rows[0], rows.mean(axis=0)) for rows in parts]
    return [
        (len(rows), mean, float(np.square(rows - mean).sum()))
        for rows, mean in zip(parts, means, strict=True)
    ]


def _ratio(between: float, within: float) -> float:
    if within > 0.0:
        return between / within
    return math.inf if between > 0.0 else math.nan


def inter_class_distance(X: FloatArray, y: Labels) -> float:
    """Return the distance between the class means, averaged over the pairs of classes."""
    pairs = combinations(_by_class(X, y), 2)
    return float(np.mean([np.linalg.norm(one[1] - other[1]) for one, other in pairs]))


def fisher_ratio(X: FloatArray, y: Labels) -> float:
    """Return Fisher's ratio as the paper's table has it, averaged over the pairs of classes."""
    ratios = [
        _ratio(float(np.square(mean - other).sum()), spread / n + other_spread / m)
        for (n, mean, spread), (m, other, other_spread) in combinations(_by_class(X, y), 2)
    ]
    return float(np.mean(ratios))


def scatter_ratio(X: FloatArray, y: Labels) -> float:
    """Return the scatter between the classes over the scatter within them."""
    classes = _by_class(X, y)
    means = np.stack([mean for _, mean, _ in classes])
    center = sum(n * mean for n, mean, _ in classes) / len(y)
    center = np.where((means == means[0]).all(axis=0), means[0], center)
    between = sum(n * float(np.square(mean - center).sum()) for n, mean, _ in classes)
    return _ratio(between, sum(spread for *_, spread in classes))


SEPARATION: dict[str, Callable[[FloatArray, Labels], float]] = {
    "icd": inter_class_distance,
    "fdr": fisher_ratio,
    "scatter_ratio": scatter_ratio,
    "chi": calinski_harabasz_score,
    "dbi": davies_bouldin_score,
}
PREDICTION_SCORES = ("accuracy", "balanced_accuracy", "auc", "log_loss")
FILLING_SCORES = ("mae", "rmse", "wasserstein")
SEPARATION_SCORES = tuple(SEPARATION)


def separation_scores(filled: FloatArray | None, y: Labels) -> dict[str, float]:
    """Return how far apart the classes lie in a filled table; all NaN without one."""
    if filled is None:
        return dict.fromkeys(SEPARATION, math.nan)
    return {name: float(score(filled, y)) for name, score in SEPARATION.items()}
