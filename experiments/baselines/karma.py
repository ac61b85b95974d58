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

__all__ = ["KARMAClassifier", "karma_kernel"]

FloatArray = NDArray[np.float64]


def karma_kernel(X: ArrayLike, Z: ArrayLike | None = None, *, beta: int = 2) -> FloatArray:
    """Return the kernel k_beta between incomplete rows.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows with NaN at the gaps.
    Z : array-like of shape (n_other_rows, n_features), default=None
        Other rows; None takes X.
    beta : int, default=2
        Longest sequences of columns, in [1, inf); 1 is the linear kernel of zero-filled rows.

    Returns
    -------
    ndarray of shape (n_rows, n_other_rows)
        The kernel; 0 for rows that share no observed feature.

    Raises
    ------
    TypeError, ValueError
        If X or Z is no matrix of numbers that are finite or NaN, Z has another number of columns
        than X, or beta is no integer from 1.

    References
    ----------
    E. Hazan, R. Livni and Y. Mansour, "Classification with low rank and missing data", ICML 2015.

    Examples
    --------
    >>> karma_kernel([[1.0, 2.0, None]], [[3.0, 1.0, 7.0], [None, 1.0, 7.0]], beta=3)
    array([[35.,  6.]])
    """
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

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    beta : int, default=2
        Longest sequences of columns, in [1, inf).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training rows.
    dual_coef_ : ndarray of shape (n_samples, n_problems)
        Signed coefficients: of one problem for two classes, of one a class for more.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where all are strings.

    Notes
    -----
    The kernel grows as n_features^beta, so that at the same C the machine's margin hardens with
    beta. There libsvm, which keeps a kernel in single precision, may go astray; the dual is
    solved by ``kernimpute.dual``.

    References
    ----------
    E. Hazan, R. Livni and Y. Mansour, "Classification with low rank and missing data", ICML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.baselines import KARMAClassifier
    >>> X = np.array([[-1.0, np.nan], [-0.8, -0.9], [np.nan, 0.9], [1.0, 0.8]])
    >>> KARMAClassifier(beta=3).fit(X, ["no", "no", "yes", "yes"]).predict([[0.9, np.nan]])
    array(['yes'], dtype='<U3')
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
        """Learn the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        KARMAClassifier
            Itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, a cell is infinite or no number, or y lacks a label
            or holds a single class.
        """
        rows, codes = self._read_labelled(X, y)
        K = karma_kernel(rows, beta=int(self.beta))
        dual = make_dual(codes, codes.size, C=float(self.C), owner=type(self).__name__)
        self.X_fit_ = rows
        self.dual_coef_ = dual.solve(K)
        self.intercept_ = dual.intercept(K, self.dual_coef_)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with NaN at the gaps; a row of gaps has the intercept.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Positive for the second of two classes; of more, the largest is its class's.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        rows = self._read(X)
        values = karma_kernel(rows, self.X_fit_, beta=self.beta) @ self.dual_coef_
        values += self.intercept_
        return values[:, 0] if values.shape[1] == 1 else values
