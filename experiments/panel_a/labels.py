"""What labels add to a filling: before two learners, as one machine, and to a score that leaks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import label_binarize

from experiments.panel_a.fillers import direct_eta
from experiments.panel_a.prediction import LEARNERS, Folds, Sets, _auc, _folds, _sets, loss, scores
from experiments.panel_a.problems import Labels, Problem, unrounded
from experiments.panel_runs import Row
from kernimpute import KernelImputationClassifier

FloatArray = NDArray[np.float64]

INSIDE, OUTSIDE = "held out", "held out, filled before"
"""Training rows that a learner did not see: filled without their label, or by the whole fit."""

MACHINES: Mapping[str, dict[str, Any]] = {
    "machine, no labels": {},
    "machine, direct, eta auto/16": {"guidance": "direct", "eta": 8.0},
    "machine, direct, eta auto/4": {"guidance": "direct", "eta": 32.0},
    "machine, direct, eta auto": {"guidance": "direct", "eta": 128.0},
    "machine, anchored, eta 1": {"guidance": "anchored", "eta": 1.0, "tol": 0.01},
    "machine, anchored, eta auto": {"guidance": "anchored", "tol": 0.01},
}
"""The paper's own way: the machine that the filling is learned with predicts, C and gamma fixed.
An eta of `direct` is the weight that `direct_eta` takes."""


def with_labels(problem: Problem, method: str) -> list[Row]:
    """Return the rows of a way to use labels: for new rows, and for held-out training rows."""
    if method in MACHINES:
        return _by_machine(problem, MACHINES[method])
    frames = [problem.new, problem.new_complete]
    sets = _sets(method, problem.train, problem.y_train, problem.seed_for("filler"), frames)
    folds = list(_folds(problem, method))
    rows = [
        {"learner": learner, **row}
        for learner, predict in LEARNERS.items()
        for row in scores(problem, predict(sets, problem.y_train, folds))
    ]
    return rows + _held_out(sets, problem.y_train, folds)


def _held_out(sets: Sets, y: Labels, folds: Folds) -> list[Row]:
    """Return the scores of one cross-validation, with the filler inside its folds and outside."""
    found = {name: np.empty((len(y), len(np.unique(y)))) for name in (INSIDE, OUTSIDE)}
    for (inner, outer), y_inner, rows in folds:
        kept = np.setdiff1d(np.arange(len(y)), rows)
        for name, Z, Z_out in ((INSIDE, inner, outer), (OUTSIDE, sets[0][kept], sets[0][rows])):
            machine = LogisticRegression(max_iter=1000).fit(Z, y_inner)
            found[name][rows] = machine.predict_proba(Z_out)
    return [
        {
            "learner": "logistic, C = 1",
            "rows": name,
            "log_loss": loss(y, shares),
            "auc": _auc(y, shares),
            "accuracy": float((shares.argmax(axis=1) == y).mean()),
        }
        for name, shares in found.items()
    ]


def _by_machine(problem: Problem, options: dict[str, Any]) -> list[Row]:
    """Return AUC and accuracy of the machine that is learned with the filling."""
    if options.get("guidance") == "direct":
        eta = direct_eta(problem.train, problem.y_train, options["eta"])
        options = {**options, "eta": eta}
    y = problem.y_new
    machine = KernelImputationClassifier(machine="svm", **options)
    with warnings.catch_warnings():
        # How a fit ended is not what is measured.
        warnings.simplefilter("ignore")
        machine.fit(unrounded(problem.train), problem.y_train)
        frames = {"gaps": problem.new, "complete": problem.new_complete}
        return [
            {
                "learner": "machine",
                "rows": rows,
                "auc": _auc_of_decisions(y, machine.decision_function(unrounded(frame))),
                "accuracy": float((machine.predict(unrounded(frame)) == y).mean()),
            }
            for rows, frame in frames.items()
        ]


def _auc_of_decisions(y: Labels, values: FloatArray) -> float:
    """Return the area under the curve of decision values, as `_auc` does for probabilities."""
    if values.ndim == 1:
        return float(roc_auc_score(y, values))
    classes = np.arange(values.shape[1])
    return float(roc_auc_score(label_binarize(y, classes=classes), values, average="macro"))
