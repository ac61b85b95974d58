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

__all__ = ["MeanClassifier"]

FloatArray = NDArray[np.float64]


class MeanClassifier(GapClassifier):
    """Fill gaps with the training rows' column means and classify with a Gaussian machine.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    gamma : "scale" or float, default="scale"
        The kernel is ``exp(-gamma ||x - z||^2)``, gamma in (0, inf); "scale" as in `SVC`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where all are strings.
    pipeline_ : Pipeline
        The fitted `SimpleImputer` and `SVC`. A column without any observed cell is filled with 0.

    Notes
    -----
    The paper compares its method to this one under the name MI. More than two classes are told
    apart pair by pair, as in scikit-learn's `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.baselines import MeanClassifier
    >>> X = np.array([[0.0, np.nan], [0.1, 0.2], [np.nan, 0.9], [1.0, 0.8]])
    >>> MeanClassifier().fit(X, ["no", "no", "yes", "yes"]).predict([[0.9, np.nan]])
    array(['yes'], dtype='<U3')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, C: float = 1.0, gamma: Any = "scale") -> None:
        self.C = C
        self.gamma = gamma

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the column means and the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        MeanClassifier
            Itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, a cell is infinite or no number, or y lacks a label
            or holds a single class.
        """
        rows, codes = self._read_labelled(X, y)
        imputer = SimpleImputer(strategy="mean", keep_empty_features=True)
        machine = SVC(C=self.C, gamma=self.gamma, random_state=0)
        self.pipeline_ = Pipeline([("imputer", imputer), ("machine", machine)]).fit(rows, codes)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Those of `SVC`: positive for the second of two classes.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        rows = self._read(X)
        return np.asarray(self.pipeline_.decision_function(rows))
