"""The fillers of panel A by name: each learns from training rows and fills any rows.

The rivals see z-scores of numbers and indicators of categories. A filled category is the one with
the largest indicator.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge

from experiments.panel_a.problems import Targets, known_categories, unrounded
from kernimpute import KernelImputer

FloatArray = NDArray[np.float64]
Fill = Callable[[pd.DataFrame], pd.DataFrame]
Filler = Callable[[pd.DataFrame, Targets, int], tuple[pd.DataFrame, Fill]]
"""From training rows with gaps, their targets and a seed to these rows filled, and to what fills
other rows."""

HIDDEN = 0.15
"""Share of the observed cells that are hidden to choose a setting on."""
NEIGHBOURS = (3, 5, 10, 20, 40, 80)
RIDGES = (0.3, 3.0, 30.0, 300.0)


@dataclass(frozen=True)
class Coding:
    """How rows become numbers: z-scores, and indicators of the categories in the training rows."""

    scales: Mapping[str, tuple[float, float]]  # Mean and deviation of each column of numbers
    categories: Mapping[str, tuple[str, ...]]  # The most frequent category first
    first: int  # 1 if the most frequent category has no indicator of its own, else 0

    def matrix(self, frame: pd.DataFrame) -> FloatArray:
        """Return rows as numbers, NaN at gaps and at categories that training rows lack."""
        parts = []
        for name in frame:
            if name in self.scales:
                mean, deviation = self.scales[name]
                numbers = frame[name].astype("Float64").to_numpy(float, na_value=np.nan)
                parts.append((numbers[:, None] - mean) / deviation)
            else:
                known = self.categories[name]
                text = frame[name].to_numpy(object)[:, None]
                indicators = (text == np.array(known, dtype=object)).astype(float)
                indicators[indicators.sum(axis=1) == 0.0] = np.nan
                parts.append(indicators[:, self.first :])
        return np.hstack(parts)

    def filled(self, frame: pd.DataFrame, matrix: FloatArray) -> pd.DataFrame:
        """Return rows with their gaps filled from a matrix without gaps."""
        columns, place = {}, 0
        for name in frame:
            if name in self.scales:
                mean, deviation = self.scales[name]
                known = frame[name].astype("Float64").to_numpy(float, na_value=np.nan)
                fills = matrix[:, place] * deviation + mean
                columns[name] = np.where(np.isnan(known), fills, known)
                place += 1
            else:
                categories = np.array(self.categories[name], dtype=object)
                shares = matrix[:, place : place + len(categories) - self.first]
                place += shares.shape[1]
                if self.first:
                    shares = np.column_stack([1.0 - shares.sum(axis=1), shares])
                columns[name] = categories[shares.argmax(axis=1)]
        return pd.DataFrame(columns, index=frame.index)


def coding_of(train: pd.DataFrame, every_category: bool = True) -> Coding:
    """Return the coding of training rows with gaps."""
    scales, categories = {}, {}
    for name in train:
        known = train[name].dropna()
        if is_numeric_dtype(known):
            deviation = float(known.astype(float).std(ddof=0))
            scales[name] = float(known.astype(float).mean()), deviation or 1.0
        else:
            categories[name] = tuple(known.value_counts(sort=True).index)
    return Coding(scales, categories, 0 if every_category else 1)


def _imputed(
    imputers: Sequence[Any], train: pd.DataFrame, seed: int, every_category: bool
) -> tuple[pd.DataFrame, Fill]:
    """Return the filling by the imputer that is nearest to hidden cells, if there are several."""
    coding = coding_of(train, every_category)
    best = imputers[0]
    if len(imputers) > 1:
        best = imputers[int(np.argmin(_hidden_errors(imputers, train, coding, seed)))]
    matrix = best.fit_transform(coding.matrix(train))
    return coding.filled(train, matrix), lambda frame: coding.filled(
        frame, best.transform(coding.matrix(frame))
    )


def _hidden_errors(
    imputers: Sequence[Any], train: pd.DataFrame, coding: Coding, seed: int
) -> list[float]:
    """Return each imputer's mean squared error on hidden cells, in variances of the columns."""
    # Whole cells of the table are hidden: one indicator of a category would tell the others.
    draws = np.random.default_rng(seed).random(train.shape)
    truth, hidden = coding.matrix(train), coding.matrix(train.where(draws >= HIDDEN))
    asked = ~np.isnan(truth) & np.isnan(hidden)
    variance = np.nanvar(truth, axis=0)
    variance[variance == 0.0] = 1.0
    return [
        float((((imputer.fit_transform(hidden) - truth) ** 2 / variance)[asked]).mean())
        for imputer in imputers
    ]


def _means(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    return _imputed([SimpleImputer(keep_empty_features=True)], train, seed, True)


def _knn(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    return _imputed([KNNImputer(keep_empty_features=True)], train, seed, True)


def _knn_tuned(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    imputers = [KNNImputer(n_neighbors=k, keep_empty_features=True) for k in NEIGHBOURS]
    return _imputed(imputers, train, seed, True)


# In a chain of regressions all indicators but one are used: their sum is 1, so that each would be
# told by the others' last fills and stay where it began.
def _iterative(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    imputer = IterativeImputer(random_state=_small(seed), keep_empty_features=True)
    return _imputed([imputer], train, seed, False)


def _ridge_tuned(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    matrix = coding_of(train, False).matrix(train)
    # The slack lets constant columns through, whose bounds may not be equal.
    imputers = [
        IterativeImputer(
            Ridge(alpha),
            min_value=np.nanmin(matrix, axis=0) - 1e-9,
            max_value=np.nanmax(matrix, axis=0) + 1e-9,
            random_state=_small(seed),
            keep_empty_features=True,
        )
        for alpha in RIDGES
    ]
    return _imputed(imputers, train, seed, False)


def _missforest(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
    # A regression looks at a root of the columns, as in missForest's own package.
    trees = ExtraTreesRegressor(50, max_features="sqrt", random_state=_small(seed))
    imputer = IterativeImputer(
        trees, max_iter=4, random_state=_small(seed), keep_empty_features=True
    )
    return _imputed([imputer], train, seed, False)


def _small(seed: int) -> int:
    return seed % 2**31


def _kernel_imputer(is_rounded: bool = True, **options: Any) -> Filler:
    def fill(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
        imputer = KernelImputer(
            keep_empty_features=True,
            random_state=_small(seed),
            # In a declared range, few whole numbers are not taken for codes.
            feature_range=None if is_rounded else _ranges(train),
            **options,
        )
        # Without options no target is used; as text, labels are classes however many there are.
        filled = imputer.fit_transform(train, y.astype(str) if options else None)
        return filled, lambda frame: imputer.transform(known_categories(frame, train))

    return fill


def _ranges(train: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the observed range of each column of numbers that vary."""
    numbers = train.select_dtypes("number")
    return {
        str(name): (float(column.min()), float(column.max()))
        for name, column in numbers.items()
        if column.min() < column.max()
    }


def _unrounded(**options: Any) -> Filler:
    filler = _kernel_imputer(False, **options)

    def fill(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
        filled, transform = filler(unrounded(train), y, seed)
        return filled, lambda frame: transform(unrounded(frame))

    return fill


_FIRST_RELEASE = {"reference": "mean", "guidance": "direct"}

FILLERS: Mapping[str, Filler] = {
    "means": _means,
    "KNN": _knn,
    "KNN, k tuned": _knn_tuned,
    "IterativeImputer": _iterative,
    "chained ridge, tuned": _ridge_tuned,
    "missForest": _missforest,
    "kernimpute 0.1": _unrounded(**_FIRST_RELEASE),
    "kernimpute 0.1, whole": _kernel_imputer(**_FIRST_RELEASE),
    "kernimpute": _unrounded(),
    "kernimpute, whole": _kernel_imputer(),
    "kernimpute, guided": _unrounded(guidance="direct"),
    "kernimpute, class means": _unrounded(use_labels="posterior"),
}
"""Of ours, "whole" rounds fills of whole-number columns, as it does for columns of integers. The
last two use the labels of the training rows."""


def direct_eta(train: pd.DataFrame, y: Targets, weight: float) -> float:
    """Return an eta of `direct`: as "auto" has it, weight / (observed share) for each machine."""
    n_classes = len(np.unique(y))
    n_machines = n_classes if n_classes > 2 else 1
    return weight * n_machines / float(train.notna().to_numpy().mean())


def _direct(weight: float) -> Filler:
    """Return guidance by `direct`; the weight of "auto" is 16."""

    def fill(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
        eta = direct_eta(train, y, weight)
        return _unrounded(guidance="direct", eta=eta)(train, y, seed)

    return fill


def _anchored(**options: Any) -> Filler:
    # It takes half the time of the default, and fills differ little.
    return _unrounded(guidance="anchored", tol=0.01, **options)


def _permuted(filler: Filler) -> Filler:
    """Return the control of a filler: labels that are shuffled among the training rows."""

    def fill(train: pd.DataFrame, y: Targets, seed: int) -> tuple[pd.DataFrame, Fill]:
        return filler(train, np.random.default_rng(seed).permutation(y), seed)

    return fill


_WAYS: dict[str, Filler] = {
    "direct, eta auto/64": _direct(0.25),
    "direct, eta auto/16": _direct(1.0),
    "direct, eta auto/4": _direct(4.0),
    "direct, eta auto": _direct(16.0),
    "direct, eta inf": _direct(np.inf),
    "anchored, eta 1": _anchored(eta=1.0),
    "anchored, eta auto": _anchored(),
    "anchored, eta 100": _anchored(eta=100.0),
    "anchored, eta inf": _anchored(eta=np.inf),
    "own": _unrounded(use_labels="own"),
    "posterior": _unrounded(use_labels="posterior"),
}
_CONTROLLED = ("direct, eta auto/16", "anchored, eta auto", "own", "posterior")

WAYS: Mapping[str, Filler] = {
    "no labels": _unrounded(),
    **_WAYS,
    **{f"{name}, permuted": _permuted(_WAYS[name]) for name in _CONTROLLED},
}
"""Ways to use labels in a filling, none first; the permuted are the controls."""


def cpu_seconds() -> float:
    """Return the processor time of this process and of its children, whatever else runs."""
    return time.process_time() + sum(os.times()[2:4])


@dataclass(frozen=True)
class Filling:
    """Rows filled by a filler, and what it took."""

    train: pd.DataFrame
    others: list[pd.DataFrame]
    seconds_fit: float  # Of the processor, to learn from the training rows, and to fill them
    seconds_fill: float  # To fill the others


def filling_by(
    filler: Filler, train: pd.DataFrame, y: Targets, seed: int, others: Sequence[pd.DataFrame]
) -> Filling:
    """Return training rows and other rows filled."""
    began = cpu_seconds()
    with warnings.catch_warnings():
        # How a fit ended is not what is measured.
        warnings.simplefilter("ignore")
        filled, fill = filler(train, y, seed)
        fitted = cpu_seconds()
        frames = [fill(frame) for frame in others]
    return Filling(filled, frames, fitted - began, cpu_seconds() - fitted)
