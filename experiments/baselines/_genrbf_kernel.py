"""genRBF's kernel: the Gaussian one between rows with gaps, each taken for a Gaussian of its own.

Source: Smieja, Struski, Tabor and Marzec, "Generalized RBF kernel for incomplete data",
Knowledge-Based Systems 173, 2019 (arXiv 1612.01480), and the authors' code.

A row with gaps stands for the Gaussian ``N(m, S)`` that a Gaussian fitted to the whole table
becomes once the row's observed cells are known: S is zero there, and m is the row. Between two
such rows, drawn independently of each other,

    E exp(-gamma ||u - v||^2) = det(A)^(-1/2) exp(-gamma (m_i - m_j)' A^-1 (m_i - m_j)),
    A = I + 2 gamma (S_i + S_j),

which is a scalar product of the two distributions, so that kernel matrices are positive
semidefinite. The source divides it by the norms of the two, ``det(I + 4 gamma S_i)^(-1/4)`` each.
A row meets itself as two independent draws: no special case, and 1 after the division.

The source measures distances as the fitted Gaussian does, ``(u - v)' covariance^-1 (u - v)``:
rows are whitened, and S becomes the projection onto what a row leaves unknown.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from experiments.baselines._expected_kernel import RowGaussians, log_expectations
from experiments.baselines._gaussian_conditionals import conditional_gaussians
from experiments.baselines._gaussian_em import EM_CONSTRAINTS, fit_gaussian
from experiments.baselines._reading import read_rows
from kernimpute.convergence import StopRule
from kernimpute.missing import observed_cells
from kernimpute.parameters import check_real, refusal_in_words

FloatArray = NDArray[np.float64]

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "metric": [StrOptions({"mahalanobis", "euclidean"})],
    "normalize": ["boolean"],
    **EM_CONSTRAINTS,
}
"""Constraints of the parameters of the kernel."""


class GenRBFKernel(BaseEstimator):
    """The expected Gaussian kernel between rows with gaps."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KERNEL_CONSTRAINTS

    def __init__(
        self,
        *,
        metric: str = "mahalanobis",
        normalize: bool = True,
        prior_rows: float = 10.0,
        tol: float = 1e-4,
        max_iter: int = 500,
    ) -> None:
        self.metric = metric
        self.normalize = normalize
        self.prior_rows = prior_rows
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        """Return the tags: gaps are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit a Gaussian to the observed cells, by EM."""
        rows = read_rows(self, X, reset=True)
        fitted = fit_gaussian(
            rows,
            np.zeros(rows.shape[0], dtype=np.intp),
            prior_rows=float(self.prior_rows),
            stop=StopRule(tol=float(self.tol), max_iter=self.max_iter),
            owner=type(self).__name__,
        )
        if not fitted.status.success:
            message = f"EM of {type(self).__name__}: {fitted.status.value}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.mean_ = fitted.means[0]
        self.covariance_ = fitted.covariance
        self.objectives_ = np.array(fitted.objectives)
        self.n_iter_ = fitted.n_iter
        is_whitened = self.metric == "mahalanobis"
        self.scale_ = 1.0 / float(rows.shape[1] if is_whitened else np.trace(self.covariance_))
        return self

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None, *, gamma: float) -> FloatArray:
        """Return the kernel matrix."""
        return self.matrices(X, Z, gammas=[gamma])[0]

    def matrices(
        self, X: ArrayLike, Z: ArrayLike | None = None, *, gammas: Sequence[float]
    ) -> FloatArray:
        """Return the kernel matrices of several gammas, which share the work that can be shared."""
        check_is_fitted(self)
        owner = type(self).__name__
        checked = np.array([check_real(owner, "gamma", gamma, 0.0) for gamma in gammas])
        self._check_columns("X", X)
        if Z is not None:
            self._check_columns("Z", Z)
        left = self._distributions(X)
        right = left if Z is None else self._distributions(Z)
        logs = log_expectations(left, right, checked)
        if self.normalize:
            norms = left.log_dets(4.0 * checked)[:, :, None]
            # Added to each other first: the sum is symmetric to the last bit.
            logs += 0.25 * (norms + right.log_dets(4.0 * checked)[:, None, :])
        return np.asarray(np.exp(logs, out=logs))

    def _check_columns(self, name: str, rows: ArrayLike) -> None:
        """Refuse rows of another number of columns by the parameter's name; both are read as X."""
        shape, n_features = np.shape(rows), self.n_features_in_
        if len(shape) != 2 or shape[1] != n_features:
            must_be = f"a matrix with as many columns as in fit, {n_features}"
            got = f"an array of shape {shape}"
            raise ValueError(refusal_in_words(type(self).__name__, name, must_be, got))

    def _distributions(self, X: ArrayLike) -> RowGaussians:
        rows = read_rows(self, X, reset=False)
        means, covariances, pattern = conditional_gaussians(rows, self.mean_, self.covariance_)
        if self.metric == "mahalanobis":
            root = np.linalg.cholesky(self.covariance_)
            inverse = solve_triangular(root, np.eye(root.shape[0]), lower=True)
            means = (means - self.mean_) @ inverse.T
            covariances = inverse @ covariances @ inverse.T
        eigenvalues, vectors = np.linalg.eigh(covariances)
        # Whitening by a nearly singular covariance leaves rounding below 0, which a large gamma
        # would raise.
        eigenvalues = np.maximum(eigenvalues, 0.0)
        covariances = (vectors * eigenvalues[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        return RowGaussians(
            means=means,
            covariances=covariances,
            pattern=pattern,
            complete=np.asarray(observed_cells(rows).all(axis=1)),
            eigenvalues=eigenvalues,
            eigenvectors=vectors,
        )
