"""Imputers of scikit-learn and of the library, ready for a problem."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from experiments.baselines.class_mean import ClassMeanImputer
from experiments.methods.filling import Filling, filling_by
from experiments.naming import Name, Option, checked_options, parse_name
from experiments.problem import Problem
from experiments.registry import FILLERS
from kernimpute import KernelImputer

FloatArray = NDArray[np.float64]
Options = Mapping[str, Option]


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


def mean(problem: Problem, options: Options) -> SimpleImputer:
    """Return column means."""
    return SimpleImputer()


def class_mean(problem: Problem, options: Options) -> ClassMeanImputer:
    """Return column means by class."""
    return ClassMeanImputer()


def knn(problem: Problem, options: Options) -> KNNImputer:
    """Return nearest neighbours."""
    return KNNImputer(n_neighbors=int(options["k"]))


def iterative(problem: Problem, options: Options) -> IterativeImputer:
    """Return chained Bayesian ridge regressions, kept in the columns' range [0, 1]."""
    return IterativeImputer(
        max_iter=10, min_value=0.0, max_value=1.0, random_state=problem.seed("iterative")
    )


def iterative_label(problem: Problem, options: Options) -> LabelAppended:
    """Return the same with the label as one more column."""
    return LabelAppended(iterative(problem, options))


def missforest(problem: Problem, options: Options) -> IterativeImputer:
    """Return chained extra trees: 50 trees a column and 5 rounds at the most."""
    seed = problem.seed("missforest")
    trees = ExtraTreesRegressor(n_estimators=50, max_features="sqrt", random_state=seed)
    return IterativeImputer(trees, max_iter=5, random_state=seed)


def joint(problem: Problem, options: Options) -> KernelImputer:
    """Return the library's imputer at its defaults: the joint reference, without labels."""
    return KernelImputer(random_state=problem.seed("joint"))


def kernel_imputer(problem: Problem, options: Options) -> KernelImputer:
    """Return the library's imputer, guided from column means, the rows in one subset or more."""
    subsets = int(options["subsets"])
    size = None if subsets == 1 else math.ceil(problem.train.y.size / subsets)
    seed = problem.seed("subsets")
    return KernelImputer(guidance="direct", reference="mean", subset_size=size, random_state=seed)


def imputer_fillings(problem: Problem, name: Name) -> Iterator[tuple[Options, Filling]]:
    """Yield the fillings by an imputer: one, or one a value of the option that is selected."""
    option, values = FILLERS[name.base].selected or ("", ())
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
    entry = FILLERS[name.base]
    imputer = entry.load()(problem, checked_options(name, entry.options))
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
