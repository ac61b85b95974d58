"""genRBF: a support vector machine on the expected Gaussian kernel between rows with gaps.

Source: Smieja, Struski, Tabor and Marzec, "Generalized RBF kernel for incomplete data",
Knowledge-Based Systems 173, 2019 (arXiv 1612.01480), and the authors' code. The kernel is in
`experiments.baselines._genrbf_kernel`, and may be imported from here.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval, StrOptions

from experiments.baselines._base import GapClassifier
from experiments.baselines._genrbf_kernel import KERNEL_CONSTRAINTS, GenRBFKernel

__all__ = ["GenRBFClassifier", "GenRBFKernel"]

FloatArray = NDArray[np.float64]


class GenRBFClassifier(GapClassifier):
    """A support vector machine on the expected Gaussian kernel between rows with gaps.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    gamma : "scale" or float, default="scale"
        Inverse squared width, in (0, inf). "scale" is 2 / (expected squared distance of two
        complete rows): one over the number of columns where distances are Mahalanobis'.
    metric : {"mahalanobis", "euclidean"}, default="mahalanobis"
        As in `GenRBFKernel`.
    normalize : bool, default=True
        As in `GenRBFKernel`.
    prior_rows : float, default=10.0
        As in `GenRBFKernel`, in [0, inf).
    tol : float, default=1e-4
        As in `GenRBFKernel`, in [0, inf).
    max_iter : int, default=500
        As in `GenRBFKernel`, in [1, inf).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    kernel_ : GenRBFKernel
        The kernel, fitted to the training rows without their labels.
    gamma_ : float
        The gamma in use.
    n_iter_ : int
        Rounds of EM.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where all are strings.

    See Also
    --------
    GenRBFKernel : The kernel, for several values of gamma at once.

    Notes
    -----
    More than two classes are told apart pair by pair, as in scikit-learn's `SVC`.

    References
    ----------
    M. Smieja, L. Struski, J. Tabor and M. Marzec, "Generalized RBF kernel for incomplete data",
    Knowledge-Based Systems 173, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.baselines.genrbf import GenRBFClassifier
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]] * 5)
    >>> classifier = GenRBFClassifier().fit(X, ["no", "no", "yes", "yes"] * 5)
    >>> classifier.predict([[0.1, np.nan], [np.nan, 1.0]]).tolist()
    ['no', 'yes']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        **KERNEL_CONSTRAINTS,
    }

    def __init__(
        self,
        C: float = 1.0,
        gamma: Any = "scale",
        *,
        metric: str = "mahalanobis",
        normalize: bool = True,
        prior_rows: float = 10.0,
        tol: float = 1e-4,
        max_iter: int = 500,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.metric = metric
        self.normalize = normalize
        self.prior_rows = prior_rows
        self.tol = tol
        self.max_iter = max_iter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the kernel to the rows, and the machine to the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        GenRBFClassifier
            The fitted classifier.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, a cell is infinite or no number, y lacks a label or
            holds a single class, or the covariance is singular, which `prior_rows` above 0
            prevents.

        Warns
        -----
        ConvergenceWarning
            If EM ends at `max_iter`.
        """
        rows, codes = self._read_labelled(X, y)
        self.kernel_ = GenRBFKernel(
            metric=self.metric,
            normalize=self.normalize,
            prior_rows=self.prior_rows,
            tol=self.tol,
            max_iter=self.max_iter,
        ).fit(rows)
        self.n_iter_ = self.kernel_.n_iter_
        self.gamma_ = self.kernel_.scale_ if self.gamma == "scale" else float(self.gamma)
        self._machine = SVC(C=self.C, kernel="precomputed")
        self._machine.fit(self.kernel_(rows, gamma=self.gamma_), codes)
        self._support_rows = rows[self._machine.support_]
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes; the largest wins among more.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        rows = self._read(X)
        K = np.zeros((rows.shape[0], self._machine.shape_fit_[0]))
        # Only the support vectors' values enter a decision; the others need not be computed.
        K[:, self._machine.support_] = self.kernel_(rows, self._support_rows, gamma=self.gamma_)
        return np.asarray(self._machine.decision_function(K))
