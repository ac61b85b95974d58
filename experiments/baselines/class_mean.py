"""Class means: the plainest imputation that uses labels, as a control."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from experiments.baselines._reading import read_labelled, read_rows
from kernimpute.missing import observed_cells

FloatArray = NDArray[np.float64]


class ClassMeanImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill training rows with their class's column means, new rows with the column means.

    A new row has no label, so ``fit_transform(X, y)`` differs from ``fit(X, y).transform(X)``, as
    it does for scikit-learn's `TargetEncoder`. Training rows filled so give their labels away
    and new rows do not: what a method that uses labels must be better than.
    """

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps are welcome, labels are needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the means."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Learn the means and fill the training rows with their classes'."""
        rows, codes = self._fit(X, y)
        return np.where(observed_cells(rows), rows, self.class_means_[codes])

    def transform(self, X: ArrayLike) -> FloatArray:
        """Fill new rows with the column means."""
        check_is_fitted(self)
        rows = read_rows(self, X, reset=False)
        return np.where(observed_cells(rows), rows, self.means_)

    def _fit(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, NDArray[np.intp]]:
        """Set the means; return the training rows as floats and their labels as codes."""
        rows, labels = read_labelled(self, X, y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        member = (codes[None, :] == np.arange(self.classes_.size)[:, None]).astype(float)
        self.means_ = _means(rows, np.ones((1, codes.size)), np.zeros(rows.shape[1]))[0]
        self.class_means_ = _means(rows, member, self.means_)
        return rows, codes


def _means(rows: FloatArray, member: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return the means of the observed cells of groups of rows."""
    observed = observed_cells(rows)
    count = member @ observed.astype(float)
    total = member @ np.where(observed, rows, 0.0)
    return np.where(count > 0.0, total / np.maximum(count, 1.0), otherwise)
