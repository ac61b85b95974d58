"""What is measured of a chosen model: predictions, filled cells, and the classes' separation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    calinski_harabasz_score,
    davies_bouldin_score,
    log_loss,
    recall_score,
    roc_auc_score,
)

from experiments import metrics
from experiments.methods.candidates import Model
from experiments.problem import Rows

FloatArray = NDArray[np.float64]

PREDICTION_SCORES = ("accuracy", "balanced_accuracy", "auc", "log_loss")
FILLING_SCORES = ("mae", "rmse", "wasserstein")
SEPARATION_SCORES = ("icd", "fdr", "scatter_ratio", "chi", "dbi")


def prediction_scores(model: Model, rows: Rows) -> dict[str, float]:
    """Return how well a model predicts rows."""
    predicted = model.predict(rows.X)
    present = np.unique(rows.y)
    return {
        "accuracy": float(np.mean(predicted == rows.y)),
        "balanced_accuracy": float(
            recall_score(rows.y, predicted, labels=present, average="macro", zero_division=0.0)
        ),
        **_probability_scores(model, rows, present),
    }


def _probability_scores(model: Any, rows: Rows, present: NDArray[np.int64]) -> dict[str, float]:
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


def _area(y: NDArray[np.int64], probabilities: FloatArray) -> float:
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(roc_auc_score(y, probabilities, multi_class="ovr"))


def filling_scores(filled: FloatArray | None, rows: Rows) -> dict[str, float]:
    """Return how far filled cells are from the truth that was removed, in units of the range."""
    observed = ~np.isnan(rows.X)
    if filled is None or (observed | np.isnan(rows.truth)).all():
        return dict.fromkeys(FILLING_SCORES, math.nan)
    errors = metrics.filled_errors(filled, rows.truth, observed)
    return {"mae": errors.mae, "rmse": errors.rmse, "wasserstein": errors.wasserstein}


def separation_scores(filled: FloatArray | None, y: NDArray[np.int64]) -> dict[str, float]:
    """Return how far apart the classes lie in a filled table."""
    scores = dict.fromkeys(SEPARATION_SCORES, math.nan)
    if filled is None:
        return scores
    scores["icd"] = metrics.inter_class_distance(filled, y)
    scores["fdr"] = metrics.fisher_ratio(filled, y)
    scores["scatter_ratio"] = metrics.scatter_ratio(filled, y)
    scores["chi"] = float(calinski_harabasz_score(filled, y))
    scores["dbi"] = float(davies_bouldin_score(filled, y))
    return scores
