"""What is learned from filled tables: two classifiers of scikit-learn at their defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.svm import SVC

__all__ = ["CLASSIFIERS", "downstream_accuracies"]

CLASSIFIERS: Mapping[str, ClassifierMixin] = {
    "logistic": LogisticRegression(max_iter=5000),
    "svc": SVC(),
}


def downstream_accuracies(
    train: pd.DataFrame,
    y_train: NDArray[np.int64],
    tests: Mapping[str, pd.DataFrame],
    y_test: NDArray[np.int64],
    categorical: Sequence[str],
) -> dict[tuple[str, str], float]:
    """Return the accuracy of each classifier on each kind of filled test rows.

    Parameters
    ----------
    train : DataFrame of shape (n_train, n_features)
        Filled rows. Numbers are scaled to [0, 1] by the range of these rows, categories become
        indicators (none is set for a category not seen here).
    y_train : ndarray of shape (n_train,)
        Their labels.
    tests : mapping of str to DataFrame of shape (n_test, n_features)
        Filled test rows by the kind of test.
    y_test : ndarray of shape (n_test,)
        Their labels.
    categorical : sequence of str
        The columns that hold categories.

    Returns
    -------
    dict of (str, str) to float
        The accuracies by (test, classifier).
    """
    numeric = [name for name in train if name not in categorical]
    design = make_column_transformer(
        (MinMaxScaler(), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(categorical)),
    )
    X_train = design.fit_transform(train)
    matrices = {kind: design.transform(rows) for kind, rows in tests.items()}
    return {
        (kind, name): float(machine.fit(X_train, y_train).score(X, y_test))
        for name, machine in CLASSIFIERS.items()
        for kind, X in matrices.items()
    }
