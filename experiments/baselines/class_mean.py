"""Class means: the plainest imputation that uses labels, as a control."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

FloatArray = NDArray[np.float64]


class ClassMeanImputer(TransformerMixin, BaseEstimator):
    """Fill training rows with their class's column means, new rows with the column means.

    Filled training rows give their labels away and new rows do not, so a method that uses labels
    must be better than this one. A column without any observed cell is filled with 0.
    """

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> Self:
        """Learn the means."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: FloatArray, y: NDArray[np.int64]) -> FloatArray:
        """Learn the means and fill the training rows by class."""
        classes, codes = np.unique(y, return_inverse=True)
        everyone = np.ones((1, len(y)))
        self.means_ = _means(X, everyone, np.zeros(X.shape[1]))[0]
        self.class_means_ = _means(X, np.eye(len(classes))[:, codes], self.means_)
        return np.where(np.isnan(X), self.class_means_[codes], X)

    def transform(self, X: FloatArray) -> FloatArray:
        """Fill new rows with the column means."""
        return np.where(np.isnan(X), self.means_, X)


def _means(X: FloatArray, member: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return the observed column means of groups of rows, (n_groups, n_features)."""
    observed = ~np.isnan(X)
    count = member @ observed.astype(float)
    total = member @ np.where(observed, X, 0.0)
    return np.where(count > 0.0, total / np.maximum(count, 1.0), otherwise)
