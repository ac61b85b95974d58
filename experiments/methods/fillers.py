"""Imputers of other libraries and of the baselines, ready for a problem; and ours by default."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from experiments.baselines import ClassMeanImputer
from experiments.methods.filling import Filling, filling_by
from experiments.methods.options import Values, checked_options, positive_number, whole_number
from experiments.naming import Name, Option, parse_name
from experiments.problem import Problem
from kernimpute import KernelImputer

FloatArray = NDArray[np.float64]
Make = Callable[[Problem, Mapping[str, Option]], Any]


class LabelAppended(TransformerMixin, BaseEstimator):
    """An imputer that sees the label as further columns, unknown for new rows."""

    def __init__(self, imputer: Any) -> None:
        self.imputer = imputer

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> Self:
        """Fit the imputer to rows and labels."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: FloatArray, y: NDArray[np.int64]) -> FloatArray:
        """Return the training rows filled with their labels known."""
        # One column of 0 and 1 for each class but the first.
        self.n_labels_ = len(classes := np.unique(y)) - 1
        labels = (y[:, None] == classes[1:]).astype(float)
        return self.imputer.fit_transform(np.hstack([X, labels]))[:, : X.shape[1]]

    def transform(self, X: FloatArray) -> FloatArray:
        """Return new rows filled with their labels unknown."""
        labels = np.full((X.shape[0], self.n_labels_), np.nan)
        return self.imputer.transform(np.hstack([X, labels]))[:, : X.shape[1]]


def _iterative(problem: Problem) -> IterativeImputer:
    """Return chained Bayesian ridge regressions, kept in the columns' range [0, 1]."""
    return IterativeImputer(
        max_iter=10, min_value=0.0, max_value=1.0, random_state=problem.seed("iterative")
    )


def _missforest(problem: Problem) -> IterativeImputer:
    """Return chained extra trees: 50 trees a column and 5 rounds at the most."""
    seed = problem.seed("missforest")
    trees = ExtraTreesRegressor(n_estimators=50, max_features="sqrt", random_state=seed)
    return IterativeImputer(trees, max_iter=5, random_state=seed)


def _newimp(problem: Problem, options: Mapping[str, Option]) -> Any:
    """Return NewImp, which needs torch."""
    from experiments.baselines.newimp import NewImpImputer

    return NewImpImputer(
        bandwidth=float(options["bandwidth"]),
        random_state=problem.seed("newimp"),
    )


def _library_default(problem: Problem, options: Mapping[str, Option]) -> KernelImputer:
    subsets = int(options["subsets"])
    size = None if subsets == 1 else math.ceil(problem.train.y.size / subsets)
    return KernelImputer(
        subset_size=size,
        random_state=problem.seed("subsets"),
    )


IMPUTERS: Mapping[str, tuple[Make, Mapping[str, Values]]] = {
    "mean": (lambda problem, options: SimpleImputer(), {}),
    "class_mean": (lambda problem, options: ClassMeanImputer(), {}),
    "knn": (
        lambda problem, options: KNNImputer(n_neighbors=int(options["k"])),
        {"k": whole_number(5)},
    ),
    "iterative": (lambda problem, options: _iterative(problem), {}),
    "iterative_label": (lambda problem, options: LabelAppended(_iterative(problem)), {}),
    "missforest": (lambda problem, options: _missforest(problem), {}),
    "newimp": (_newimp, {"bandwidth": positive_number(0.5)}),
    "kernel_imputer": (_library_default, {"subsets": whole_number(1)}),
}
"""Imputers by name: a function of problem and options, and the options with their values."""

SELECTED: Mapping[str, tuple[str, Sequence[Option]]] = {
    "knn": ("k", (5, 10, 20)),
    "newimp": ("bandwidth", (0.5, 1.0, 2.0)),
}
"""Options that are selected on the holdout rows unless the name gives them. Of NewImp's, the
bandwidth of the flow's kernel matters most; a part of what its authors tune."""


def imputer_options(name: Name) -> dict[str, Option]:
    """Return the options of an imputer, refusing what it does not have."""
    return checked_options(name, IMPUTERS[name.base][1])


def imputer_fillings(
    problem: Problem, name: Name
) -> Iterator[tuple[Mapping[str, Option], Filling]]:
    """Yield the fillings by an imputer: one, or one a value of the option that is selected."""
    option, values = SELECTED.get(name.base, ("", ()))
    if not option or option in name.options:
        yield {}, imputer_filling(problem, str(name))
        return
    for value in values:
        tried = Name(name.base, {**name.options, option: value})
        yield {option: value}, imputer_filling(problem, str(tried))


@lru_cache(maxsize=16)
def imputer_filling(problem: Problem, written: str) -> Filling:
    """Return the filling by an imputer, the same for every classifier of a problem."""
    name = parse_name(written)
    imputer = IMPUTERS[name.base][0](problem, imputer_options(name))
    with warnings.catch_warnings():
        # How the imputer ended goes into the record instead.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return filling_by(imputer, problem, _ending)


def _ending(imputer: Any) -> str:
    """Return how an imputer ended, in a word; empty for one that does not iterate."""
    imputer = getattr(imputer, "imputer", imputer)
    if isinstance(imputer, IterativeImputer):
        return "MAX_ITER" if imputer.n_iter_ >= imputer.max_iter else "CONVERGED"
    status = getattr(imputer, "status_", None)
    return "" if status is None else status.name
