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

FloatArray = NDArray[np.float64]


class GenRBFClassifier(GapClassifier):
    """A support vector machine on the expected Gaussian kernel between rows with gaps."""

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
        """Fit the kernel to the rows, and the machine to the labels."""
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
        """Return the decision values."""
        rows = self._read(X)
        K = np.zeros((rows.shape[0], self._machine.shape_fit_[0]))
        # Only the support vectors' values enter a decision; the others need not be computed.
        K[:, self._machine.support_] = self.kernel_(rows, self._support_rows, gamma=self.gamma_)
        return np.asarray(self._machine.decision_function(K))
