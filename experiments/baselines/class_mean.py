"""Class means: the plainest imputation that uses labels, as a control."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from experiments.baselines._reading import read_labelled, read_rows
from kernimpute.missing import observed_cells

__all__ = ["ClassMeanImputer"]

FloatArray = NDArray[np.float64]


class ClassMeanImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill training rows with their class's column means, new rows with the column means.

    A new row has no label, so ``fit_transform(X, y)`` differs from ``fit(X, y).transform(X)``, as
    it does for scikit-learn's `TargetEncoder`. Training rows filled so give their labels away
    and new rows do not: what a method that uses labels must be better than.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    means_ : ndarray of shape (n_features,)
        Means of the observed cells; 0 for a column without any.
    class_means_ : ndarray of shape (n_classes, n_features)
        The same within each class; the column's mean where a class shows nothing in a column.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where all are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.baselines import ClassMeanImputer
    >>> X = np.array([[0.0], [2.0], [np.nan], [10.0]])
    >>> imputer = ClassMeanImputer()
    >>> imputer.fit_transform(X, ["a", "a", "a", "b"]).ravel()
    array([ 0.,  2.,  1., 10.])
    >>> imputer.transform([[np.nan]])
    array([[4.]])
    """

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps are welcome, labels are needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        ClassMeanImputer
            Itself.

        Raises
        ------
        TypeError, ValueError
            If a cell is infinite or no number, or y lacks a label or is no class labels.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Learn the means and fill the training rows with their classes'.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The filled rows.

        Raises
        ------
        TypeError, ValueError
            If a cell is infinite or no number, or y lacks a label or is no class labels.
        """
        rows, codes = self._fit(X, y)
        return np.where(observed_cells(rows), rows, self.class_means_[codes])

    def transform(self, X: ArrayLike) -> FloatArray:
        """Fill new rows with the column means.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The filled rows.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
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
    """Return the means of the observed cells of groups of rows.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        Rows with NaN at the gaps.
    member : ndarray of shape (n_groups, n_samples)
        1 for the rows of a group.
    otherwise : ndarray of shape (n_features,)
        What stands for the mean of no cell.

    Returns
    -------
    ndarray of shape (n_groups, n_features)
        The means.
    """
    observed = observed_cells(rows)
    count = member @ observed.astype(float)
    total = member @ np.where(observed, rows, 0.0)
    return np.where(count > 0.0, total / np.maximum(count, 1.0), otherwise)
