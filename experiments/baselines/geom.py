"""GEOM: each row's margin measured among its own observed features (Chechik et al., 2008).

The derivation, and how kernels come into it, is in `experiments.baselines._geom_rounds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from experiments.baselines._base import GapClassifier
from experiments.baselines._geom_rounds import (
    GEOMKernels,
    GEOMRound,
    observed_kernel,
    solve_rounds,
)
from kernimpute.dual import make_dual
from kernimpute.parameters import refusal, refusal_in_words

__all__ = ["GEOMClassifier", "GEOMKernels", "GEOMRound", "observed_kernel"]

FloatArray = NDArray[np.float64]


class GEOMClassifier(GapClassifier):
    """A max-margin machine whose margins are measured among each row's observed features.

    More than two classes are told apart one against the rest, each with its own margins.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the support vector machine, in (0, inf).
    gamma : float, default=1.0
        Inverse squared width of the Gaussian kernel, in (0, inf). Columns are taken as they are.
    n_rounds : int, default=5
        Machines solved, in [1, inf); 1 is the ordinary machine with `K_observed`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    X_fit_ : ndarray of shape (n_shown, n_features)
        The training rows with an observed cell.
    rounds_ : tuple of GEOMRound
        Every round; predictions are the last one's.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where all are strings.

    Notes
    -----
    In each round the rows' margins are ``y_i (<w, x_i> + b) / s_i`` with fixed s, and then
    ``s_i = ||w^(i)|| / ||w||`` is taken anew, w^(i) being w restricted to the features of row i:
    ``||w^(i)||^2 = sum over j, k of b_j b_k K(x_j^(i), x_k^(i))``, with K on the features observed
    in i, j and k. The machines are those of the positive semidefinite part of `K_observed`, which
    is not positive semidefinite itself.

    A training row without any observed cell has no margin and takes part in nothing, so that every
    class must have a row with one: `fit` refuses a table where one has none, rather than let a
    machine decide that was never told of a class. A new row without any observed cell is at
    distance 0 from every training row.

    The norms of a round take O(n_samples^2 n_patterns) time, n_patterns the number of different
    sets of observed features. `GEOMKernels` does once what depends on gamma only.

    References
    ----------
    G. Chechik, G. Heitz, G. Elidan, P. Abbeel and D. Koller, "Max-margin classification of data
    with absent features", Journal of Machine Learning Research 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.baselines import GEOMClassifier
    >>> X = np.array([[0.0, np.nan], [0.1, 0.2], [np.nan, 0.9], [1.0, 0.8]])
    >>> GEOMClassifier().fit(X, ["no", "no", "yes", "yes"]).predict([[0.9, np.nan]])
    array(['yes'], dtype='<U3')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, C: float = 1.0, gamma: float = 1.0, n_rounds: int = 5) -> None:
        self.C = C
        self.gamma = gamma
        self.n_rounds = n_rounds

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, kernels: GEOMKernels | None = None) -> Self:
        """Learn the machine of every round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN at the gaps; those of gaps only take part in nothing.
        y : array-like of shape (n_samples,)
            Their labels.
        kernels : GEOMKernels, default=None
            What was computed for these rows and this gamma; None computes it.

        Returns
        -------
        GEOMClassifier
            Itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, a cell is infinite or no number, y lacks a label or
            holds a single class, a class has no row with an observed cell, or `kernels` is no
            `GEOMKernels`, or one of other rows or another gamma.
        """
        rows, codes = self._read_labelled(X, y)
        owner = type(self).__name__
        if kernels is None:
            kernels = GEOMKernels(rows, float(self.gamma))
        elif not isinstance(kernels, GEOMKernels):
            raise TypeError(refusal(owner, "kernels", "a GEOMKernels or None", kernels))
        elif kernels.gamma != self.gamma or not np.array_equal(kernels.X, rows, equal_nan=True):
            must_be = f"of the rows of X and of gamma={self.gamma!r}"
            n_rows, n_features = kernels.X.shape
            got = f"that of {n_rows} rows, {n_features} columns and gamma={kernels.gamma!r}"
            raise ValueError(refusal_in_words(owner, "kernels", must_be, got))
        shown = codes[kernels.shown]
        unseen = np.setdiff1d(np.arange(self.classes_.size), shown)
        if unseen.size:
            must_be = (
                "a table where each class has a row with an observed cell, since rows without any "
                "take part in nothing"
            )
            names = ", ".join(repr(name) for name in self.classes_[unseen].tolist())
            got = f"only gaps in the rows of {names}"
            raise ValueError(refusal_in_words(owner, "X", must_be, got))
        dual = make_dual(shown, shown.size, C=float(self.C), owner=owner)
        self.X_fit_ = rows[kernels.shown]
        self.rounds_: tuple[GEOMRound, ...] = tuple(solve_rounds(kernels, dual, int(self.n_rounds)))
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values of rows, by the last round.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with NaN at the gaps.

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
        return self.rounds_[-1].decision(observed_kernel(rows, self.X_fit_, gamma=self.gamma))

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the decision values of rows by each round in turn.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with NaN at the gaps.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            What `decision_function` returns after so many rounds.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        K = observed_kernel(self._read(X), self.X_fit_, gamma=self.gamma)
        for done in self.rounds_:
            yield done.decision(K)

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield the labels of rows by each round in turn.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with NaN at the gaps.

        Yields
        ------
        ndarray of shape (n_rows,)
            What `predict` returns after so many rounds.

        Raises
        ------
        TypeError, ValueError
            If the columns are not those of fit, or hold other than numbers that are finite or NaN.
        """
        for values in self.staged_decision_function(X):
            yield self._labels(values)
