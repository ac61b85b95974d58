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

FloatArray = NDArray[np.float64]


class GEOMClassifier(GapClassifier):
    """A max-margin machine whose margins are measured among each row's observed features.

    More than two classes are told apart one against the rest, each with its own margins.
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
        """Learn the machine of every round."""
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
        """Return the decision values of rows, by the last round."""
        rows = self._read(X)
        return self.rounds_[-1].decision(observed_kernel(rows, self.X_fit_, gamma=self.gamma))

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the decision values of rows by each round in turn."""
        K = observed_kernel(self._read(X), self.X_fit_, gamma=self.gamma)
        for done in self.rounds_:
            yield done.decision(K)

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield the labels of rows by each round in turn."""
        for values in self.staged_decision_function(X):
            yield self._labels(values)
