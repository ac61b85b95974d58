"""MI, the paper's baseline: column means, then a Gaussian support vector machine."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval, StrOptions

from experiments.baselines._base import GapClassifier

FloatArray = NDArray[np.float64]


class MeanClassifier(GapClassifier):
    """Fill gaps with the training rows' column means and classify with a Gaussian machine."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, C: float = 1.0, gamma: Any = "scale") -> None:
        self.C = C
        self.gamma = gamma

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the column means and the machine."""
        rows, codes = self._read_labelled(X, y)
        imputer = SimpleImputer(strategy="mean", keep_empty_features=True)
        machine = SVC(C=self.C, gamma=self.gamma, random_state=0)
        self.pipeline_ = Pipeline([("imputer", imputer), ("machine", machine)]).fit(rows, codes)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values of rows."""
        rows = self._read(X)
        return np.asarray(self.pipeline_.decision_function(rows))
