"""Filled rows as a classifier sees them, and classifiers behind a filling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from experiments.methods.candidates import RowFunction, memoized
from experiments.problem import Problem

FloatArray = NDArray[np.float64]

NOTHING_KNOWN = 0.5
"""What a column without any observed training cell is filled with: the middle of its range."""


@dataclass(frozen=True, eq=False)
class Filling:
    """What a classifier sees of rows with gaps."""

    # Of the training rows: the filled table, and indicators of gaps where they are asked for
    train: FloatArray
    new_rows: RowFunction  # Gives the same of other rows, of shape (n_rows, n_inputs)
    # The filled training table; None where gaps are left to the classifier
    filled: FloatArray | None
    status: str = ""  # How the filling ended, where it iterates


@dataclass(frozen=True, eq=False)
class FittedBehind:
    """A fitted classifier behind what it sees of rows."""

    classifier: Any  # A fitted scikit-learn classifier
    inputs: RowFunction  # What it takes, from rows with gaps

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The labels in the order of `predict_proba`."""
        return self.classifier.classes_

    def predict(self, X: FloatArray) -> NDArray[np.int64]:
        """Return the labels of rows."""
        return self.classifier.predict(self.inputs(X))

    @available_if(lambda self: hasattr(self.classifier, "decision_function"))
    def decision_function(self, X: FloatArray) -> FloatArray:
        """Return the decision values of rows, as the classifier does."""
        return self.classifier.decision_function(self.inputs(X))

    @available_if(lambda self: hasattr(self.classifier, "predict_proba"))
    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the classes, as the classifier does."""
        return self.classifier.predict_proba(self.inputs(X))


def filling_by(
    imputer: Any, problem: Problem, status: Callable[[Any], str] = lambda imputer: ""
) -> Filling:
    """Return the filling by an imputer, which may use the training rows' labels.

    Columns without any observed training cell are filled with 0.5, because imputers drop them.
    """
    X = problem.train.X
    known = ~np.isnan(X).all(axis=0)

    def given(rows: FloatArray) -> FloatArray:
        # Row by row in memory as it came, so that sums round as they do on the whole table.
        return np.ascontiguousarray(rows[:, known])

    def completed(rows: FloatArray, columns: FloatArray) -> FloatArray:
        filled = np.where(np.isnan(rows), NOTHING_KNOWN, rows)
        filled[:, known] = np.where(np.isnan(rows[:, known]), columns, rows[:, known])
        return filled

    def new_rows(rows: FloatArray) -> FloatArray:
        # Complete rows are nothing to an imputer, and some take long over them.
        gappy = np.isnan(rows).any(axis=1)
        if not gappy.any():
            return rows
        filled = rows.copy()
        filled[gappy] = completed(rows[gappy], imputer.transform(given(rows[gappy])))
        return filled

    train = completed(X, imputer.fit_transform(given(X), problem.train.y))
    return Filling(train, memoized(new_rows), train, status(imputer))


def with_indicators(filling: Filling, X: FloatArray) -> Filling:
    """Return the filling with a column of 0 and 1 for each training column that has gaps."""
    gappy = np.isnan(X).any(axis=0)

    def appended(rows: FloatArray, filled: FloatArray) -> FloatArray:
        return np.hstack([filled, np.isnan(rows[:, gappy]).astype(float)])

    return Filling(
        appended(X, filling.train),
        memoized(lambda rows: appended(rows, filling.new_rows(rows))),
        filling.filled,
        filling.status,
    )
