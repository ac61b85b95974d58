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

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class GaussianClassifier(GapClassifier):
    """Classify rows with gaps by class-conditional Gaussians, fitted by EM."""

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
        """Fit the classes' Gaussians to the observed cells, by EM."""
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
        """Return the log-odds of the second of two classes, or every class's log-probability."""
        joint = self._joint_log_densities(X)
        if joint.shape[1] == 2:
            return np.asarray(joint[:, 1] - joint[:, 0])
        return np.asarray(log_softmax(joint, axis=1))

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithms of the classes' probabilities."""
        return np.asarray(log_softmax(self._joint_log_densities(X), axis=1))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the classes' probabilities."""
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
