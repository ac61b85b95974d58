"""KARMA: a linear machine over paths of observed features (Hazan, Livni and Mansour, 2015).

Rows that lie in a low-dimensional subspace can be completed by a linear map of what is observed.
Powers of such a map, cut off at the order beta, are linear in these features of an incomplete row
x with observed features o, one for each sequence p_1, ..., p_l of at most beta columns:

    phi(x)_(p_1, ..., p_l) = x_(p_l) if all of p_1, ..., p_l are in o, else 0.

Their inner product is the kernel

    k_beta(x, z) = (1 + n + ... + n^(beta - 1)) sum over p in o_x and o_z of x_p z_p,
    n = |o_x and o_z|,

since a sequence of length l that ends in p counts once for each of its n^(l - 1) beginnings. The
factor is (n^beta - 1) / (n - 1) for n other than 1, and beta for n = 1. The kernel is positive
semidefinite as an inner product.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from experiments.baselines._base import GapClassifier
from kernimpute.dual import make_dual
from kernimpute.missing import check_pair, observed_cells
from kernimpute.parameters import check_integer

FloatArray = NDArray[np.float64]


def karma_kernel(X: ArrayLike, Z: ArrayLike | None = None, *, beta: int = 2) -> FloatArray:
    """Return the kernel k_beta between incomplete rows."""
    order = check_integer("karma_kernel", "beta", beta, 1)
    rows, others = check_pair(X, Z, "karma_kernel")
    left = _Filled(rows)
    # One and the same array, for the product with its own transpose is symmetric to the last bit.
    right = left if Z is None else _Filled(others)
    inner = left.values @ right.values.T
    n_shared = left.observed @ right.observed.T
    factor = np.ones(n_shared.shape)
    for _ in range(order - 1):
        # Horner's rule
        factor *= n_shared
        factor += 1.0
    inner *= factor
    return inner


class _Filled:
    """Rows with 0 at the gaps, and 1 where they are observed."""

    def __init__(self, X: FloatArray) -> None:
        known = observed_cells(X)
        self.values = np.where(known, X, 0.0)
        self.observed = known.astype(float)


class KARMAClassifier(GapClassifier):
    """A support vector machine with the kernel k_beta of incomplete rows.

    More than two classes are told apart one against the rest, on the same kernel.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, C: float = 1.0, beta: int = 2) -> None:
        self.C = C
        self.beta = beta

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the machine."""
        rows, codes = self._read_labelled(X, y)
        K = karma_kernel(rows, beta=int(self.beta))
        dual = make_dual(codes, codes.size, C=float(self.C), owner=type(self).__name__)
        self.X_fit_ = rows
        self.dual_coef_ = dual.solve(K)
        self.intercept_ = dual.intercept(K, self.dual_coef_)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values of rows."""
        rows = self._read(X)
        values = karma_kernel(rows, self.X_fit_, beta=self.beta) @ self.dual_coef_
        values += self.intercept_
        return values[:, 0] if values.shape[1] == 1 else values
