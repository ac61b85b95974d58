"""Discriminant analysis on tables with gaps: a Gaussian a class, fitted to the observed cells.

Source: Little and Rubin, "Statistical Analysis with Missing Data", on the multivariate normal
model; the EM algorithm is that of Dempster, Laird and Rubin, 1977. A row is judged by the density
of its observed cells alone,

    P(class k | x[o]) proportional to prior_k N(x[o]; mean_k[o], S_k[o, o]),

so that nothing is ever filled. Without gaps and without a prior it is linear (shared covariance)
or quadratic (one a class) discriminant analysis with maximum-likelihood estimates.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from experiments.baselines._base import GapClassifier
from experiments.baselines._gaussian_conditionals import log_densities
from experiments.baselines._gaussian_em import (
    EM_CONSTRAINTS,
    GaussianFit,
    fit_gaussian,
    spread,
)
from kernimpute.convergence import StopRule

__all__ = ["GaussianClassifier"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class GaussianClassifier(GapClassifier):
    """Classify rows with gaps by class-conditional Gaussians, fitted by EM.

    Parameters
    ----------
    covariance : {"shared", "class"}, default="shared"
        Whether the classes share a covariance, as in linear discriminant analysis, or have one
        each, as in quadratic.
    prior_rows : float, default=10.0
        How many more rows each covariance is estimated with, whose columns vary as the observed
        cells do within classes and don't correlate; in [0, inf). 0 is maximum likelihood, which
        may leave a covariance singular.
    tol : float, default=1e-4
        EM ends once a round raises the log-likelihood by at most this a row; in [0, inf).
    max_iter : int, default=500
        Rounds of EM at the most.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    priors_ : ndarray of shape (n_classes,)
        The classes' shares of the training rows.
    means_ : ndarray of shape (n_classes, n_features)
        The classes' means.
    covariance_ : ndarray of shape (n_features, n_features) or (n_classes, n_features, n_features)
        The shared covariance, or the classes'.
    objectives_ : list of ndarray
        For each covariance, the penalised log-likelihood of the rows behind it, at the start and
        after each round of EM.
    n_iter_ : int
        Rounds of the longest run of EM.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where all are strings.

    Notes
    -----
    A row with nothing observed gets the priors. A column that is empty in fit decides nothing. A
    round of EM costs an ``O(n_features^3)`` inversion per distinct gap pattern.

    References
    ----------
    R. J. A. Little and D. B. Rubin, "Statistical Analysis with Missing Data", Wiley.

    A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the
    EM algorithm", Journal of the Royal Statistical Society B 39, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.baselines.gaussian import GaussianClassifier
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [np.nan, 0.9], [1.0, 0.8]] * 5)
    >>> classifier = GaussianClassifier().fit(X, ["no", "no", "yes", "yes"] * 5)
    >>> classifier.predict([[0.1, np.nan], [np.nan, 1.0]]).tolist()
    ['no', 'yes']
    >>> classifier.predict_proba([[np.nan, np.nan]]).tolist()
    [[0.5, 0.5]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "covariance": [StrOptions({"shared", "class"})],
        **EM_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        covariance: str = "shared",
        prior_rows: float = 10.0,
        tol: float = 1e-4,
        max_iter: int = 500,
    ) -> None:
        self.covariance = covariance
        self.prior_rows = prior_rows
        self.tol = tol
        self.max_iter = max_iter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classes' Gaussians to the observed cells, by EM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        GaussianClassifier
            The fitted classifier.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, a cell is infinite or no number, y lacks a label or
            holds a single class, or a covariance is singular, which `prior_rows` above 0 prevents.

        Warns
        -----
        ConvergenceWarning
            If EM ends at `max_iter`.
        """
        rows, groups = self._read_labelled(X, y)
        self.priors_ = np.bincount(groups) / groups.size
        if self.covariance == "shared":
            fits = [self._fit_gaussian(rows, groups)]
            self.means_, self.covariance_ = fits[0].means, fits[0].covariance
        else:
            # Of the whole table, for a class may have next to no cells in a column.
            variances = spread(rows, groups)
            fits = [
                self._fit_gaussian(own, np.zeros(own.shape[0], dtype=np.intp), variances)
                for own in (rows[groups == group] for group in range(self.classes_.size))
            ]
            self.means_ = np.concatenate([fit.means for fit in fits])
            self.covariance_ = np.stack([fit.covariance for fit in fits])
        self.objectives_ = [np.array(fit.objectives) for fit in fits]
        self.n_iter_ = max(fit.n_iter for fit in fits)
        failed = [fit.status for fit in fits if not fit.status.success]
        if failed:
            message = f"EM of {type(self).__name__}: {failed[0].value}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the log-odds of the second of two classes, or every class's log-probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        joint = self._joint_log_densities(X)
        if joint.shape[1] == 2:
            return np.asarray(joint[:, 1] - joint[:, 0])
        return np.asarray(log_softmax(joint, axis=1))

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithms of the classes' probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithms, in the order of `classes_`.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        return np.asarray(log_softmax(self._joint_log_densities(X), axis=1))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the classes' probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def _fit_gaussian(
        self, X: FloatArray, groups: IntArray, variances: FloatArray | None = None
    ) -> GaussianFit:
        return fit_gaussian(
            X,
            groups,
            prior_rows=float(self.prior_rows),
            stop=StopRule(tol=float(self.tol), max_iter=self.max_iter),
            owner=type(self).__name__,
            variances=variances,
        )

    def _joint_log_densities(self, X: ArrayLike) -> FloatArray:
        """Return the logarithms of prior times density, (n_samples, n_classes)."""
        rows = self._read(X)
        if self.covariance_.ndim == 2:
            densities = log_densities(rows, self.means_, self.covariance_)
        else:
            pairs = zip(self.means_, self.covariance_, strict=True)
            densities = np.hstack([log_densities(rows, mean[None], S) for mean, S in pairs])
        return densities + np.log(self.priors_)
