"""The guard on memory: an estimate that holds, for every phase of a fit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kernimpute import KernelImputationClassifier, KernelImputationClassifierCV, KernelImputer
from kernimpute.estimators._labels import read_labels
from kernimpute.estimators._memory import estimated_peak
from kernimpute.estimators._subsets import stratified_subsets


def table(n_samples, n_columns, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, n_columns))
    y = (X[:, 0] > 0.5).astype(int)
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, y


@pytest.mark.parametrize(("n_samples", "n_columns"), [(400, 8), (100, 1000), (300, 300)])
def test_a_fit_stays_below_the_estimate(n_samples, n_columns):
    X, y = table(n_samples, n_columns)
    KernelImputer().fit(X[:20], y[:20])
    tracemalloc.start()
    KernelImputer().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimated_peak(n_samples, n_columns, "direct")


@pytest.mark.parametrize("estimator_class", [KernelImputationClassifier])
def test_folds_at_the_same_time_count_together(estimator_class):
    X, y = table(400, 5)
    limit = estimated_peak(400, 5, "direct")
    with pytest.raises(ValueError, match="320 at once in each of 2 jobs"):
        estimator_class(max_memory=limit, n_jobs=2).fit(X, y)
    estimator_class(max_memory=limit, cv=None, n_jobs=2).fit(X, y)


def test_a_search_counts_its_folds():
    X, y = table(400, 5)
    search = KernelImputationClassifierCV(
        Cs=[1.0], gammas=[1.0], max_memory=estimated_peak(400, 5, "direct"), n_jobs=2
    )
    with pytest.raises(ValueError, match="320 at once in each of 2 jobs"):
        search.fit(X, y)


def test_advice_that_would_not_help_is_not_given():
    X, y = table(60, 5)
    with pytest.raises(ValueError, match="no subset_size would do"):
        KernelImputer(max_memory=1000).fit(X, y)
    with pytest.raises(ValueError, match="subset_size=30"):
        KernelImputer(max_memory=estimated_peak(59, 5, "direct")).fit(X, y)


def test_rare_classes_do_not_swell_the_subsets():
    y = np.concatenate([np.zeros(10_000, dtype=int), np.repeat(np.arange(1, 61), 167)])
    labels = read_labels(
        y, y[:, None], None, task="classification", class_weight=None, owner="test"
    )
    subsets = stratified_subsets(labels, 100, 0)
    assert np.array_equal(np.unique(np.concatenate(subsets)), np.arange(y.size))
    # Of each of the 60 rare classes at most two rows are lent.
    assert max(rows.size for rows in subsets) <= 101 + 2 * 60
    assert all(np.unique(y[rows]).size == 61 for rows in subsets)
