"""What the baselines that classify by decision values share: rows with gaps in, labels out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.validation import check_is_fitted

from experiments.baselines._reading import read_labelled, read_rows
from kernimpute.parameters import refusal_in_words

FloatArray = NDArray[np.float64]


class GapClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of rows with NaN at the gaps, in `fit` and in `predict`.

    A subclass states `decision_function`: one value a row for two classes, one a class for more.
    """

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: ArrayLike) -> FloatArray:
        """Return new rows as floats, checked against those of fit."""
        check_is_fitted(self)
        return read_rows(self, X, reset=False)

    def _read_labelled(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return the training rows as floats and their labels as codes; set `classes_`."""
        rows, labels = read_labelled(self, X, y)
        encoder = LabelEncoder()
        codes = encoder.fit_transform(labels)
        if encoder.classes_.size < 2:
            got = f"1 class, {encoder.classes_.tolist()[0]!r},"
            owner = type(self).__name__
            raise ValueError(refusal_in_words(owner, "y", "of at least 2 classes", got))
        self.classes_ = encoder.classes_
        return rows, codes

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values of rows."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels of rows."""
        return self._labels(self.decision_function(X))

    def _labels(self, values: FloatArray) -> NDArray[Any]:
        """Return the labels that decision values stand for."""
        places = values.argmax(axis=1) if values.ndim == 2 else (values > 0.0).astype(np.intp)
        labels: NDArray[Any] = self.classes_[places]
        return labels
