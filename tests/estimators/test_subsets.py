"""Labels and weights of rows, and subsets: which are kept, what runs them, what they equal."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer
from sklearn.svm import SVC

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
    Status,
    impute_table,
)
from kernimpute.estimators._subsets import kept_subsets, read_labels, stratified_subsets
from tests.estimators.problems import GUIDED, related_rows


def problem(n_rows=200, seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = generator.normal(size=(n_rows, 5)) + 0.7 * y[:, None]
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, y


@pytest.mark.parametrize("n_subsets", [1, 2, 7, 10, 2000])
@pytest.mark.parametrize("most", [1, 3, 10])
def test_the_kept_subsets_are_spread_evenly(n_subsets, most):
    kept = kept_subsets(n_subsets, most)
    assert kept.size == np.unique(kept).size == min(n_subsets, most)
    # As far from the first as from the last, up to one.
    assert abs(kept[0] - (n_subsets - 1 - kept[-1])) <= 1
    assert np.ptp(np.diff(kept)) <= 1 if kept.size > 1 else True


def test_rare_classes_are_lent_to_every_subset():
    y = np.repeat([0, 1, 2, 3], [150, 3, 1, 50])
    labels = read_labels(y, y[:, None], None, task="auto", class_weight=None, owner="test")
    subsets = stratified_subsets(labels, 20, 0)
    assert np.array_equal(np.unique(np.concatenate(subsets)), np.arange(y.size))
    for rows in subsets:
        assert np.bincount(y[rows], minlength=4)[1:3].tolist() in ([2, 1], [3, 1])


def test_complete_subsets_do_not_say_that_nothing_was_missing():
    X, y = problem()
    X = np.nan_to_num(X)
    X[-1, 0] = np.nan
    assert KernelImputer(**GUIDED, subset_size=20).fit(X, y).status_ is Status.CONVERGED
    assert (
        KernelImputer(**GUIDED, subset_size=20).fit(X[:-1], y[:-1]).status_
        is Status.NOTHING_MISSING
    )


OVERLAP = """
import numpy, scipy.linalg
from threadpoolctl import ThreadpoolController
from kernimpute.estimators._subsets import one_thread

def n_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return max((library["num_threads"] for library in libraries), default=1)

first, second, before = one_thread(), one_thread(), n_threads()
first.__enter__(), second.__enter__(), first.__exit__(None, None, None)
within = n_threads()
second.__exit__(None, None, None)
print(before, within, n_threads())
"""
"""Prints the threads of BLAS before, in a fit that outlasts another, and after both."""


def test_fits_that_overlap_leave_blas_its_threads():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    # The limit of all tests is held by this process's main thread.
    ran = subprocess.run(
        [sys.executable, "-c", OVERLAP], env=environment, capture_output=True, text=True, check=True
    )
    before, within, after = map(int, ran.stdout.split())
    if before == 1:
        pytest.skip("BLAS has one thread")
    assert (within, after) == (1, before)


def test_progress_is_told_only_where_subsets_take_turns():
    X, y = problem(60)
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    told = []
    with joblib.parallel_config(backend="threading"):
        impute_table(table, "y", **GUIDED, subset_size=20, n_jobs=2, callback=told.append)
        assert not told
        impute_table(table, "y", **GUIDED, subset_size=20, n_jobs=1, callback=told.append)
    assert told


@pytest.mark.parametrize("guidance", ["direct", "anchored"])
def test_a_subset_may_lack_a_category_or_all_of_them(guidance):
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"a": generator.normal(size=60), "b": generator.choice(["u", "v", "w"], 60)})
    y = np.arange(60) % 2
    X["b"] = X["b"].where(generator.random(60) > 0.9).astype("category")
    filled = KernelImputer(guidance=guidance, reference="mean", subset_size=10).fit_transform(X, y)
    assert filled.notna().all(axis=None)
    kept = X["b"].notna()
    assert filled["b"][kept].equals(X["b"][kept])
    assert set(filled["b"]) <= set(X["b"].cat.categories)


TIGHT = {**GUIDED, "tol": 1e-4, "max_iter": 2000, "eta": 4.0, "gamma": 0.8}
"""A descent near its end: what remains is below what the tests allow."""

AGREE = 1e-3
"""In units of the columns' ranges, and of the margin."""

N_ROWS = 40
WEIGHTS = np.random.default_rng(0).integers(0, 4, N_ROWS).astype(float)


def in_ranges(filled, X):
    return filled / (np.nanmax(X, axis=0) - np.nanmin(X, axis=0))


@pytest.mark.parametrize(
    "container", [list, pd.Series, pd.Categorical, lambda y: y.astype(object), pd.array]
)
def test_labels_come_in_any_container(container):
    X, y = related_rows(N_ROWS)
    labels = np.array(["no", "yes"])[y]
    expected = KernelImputationClassifier(machine="svm").fit(X, labels)
    got = KernelImputationClassifier(machine="svm").fit(X, container(labels))
    assert got.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(got.predict(X), expected.predict(X))
    filled = KernelImputer(**GUIDED).fit_transform(X, container(labels))
    np.testing.assert_array_equal(filled, KernelImputer(**GUIDED).fit_transform(X, y))


# scikit-learn's own check tests the same of predictors.
@pytest.mark.parametrize("options", [{"gamma": "scale"}, {"new_rows": "reference"}], ids=str)
def test_a_weight_is_so_many_equal_rows(options):
    X, y = related_rows(N_ROWS)
    X_new, times = related_rows(N_ROWS, seed=1)[0], WEIGHTS.astype(int)
    weighted, repeated = KernelImputer(**TIGHT | options), KernelImputer(**TIGHT | options)
    one = np.repeat(weighted.fit_transform(X, y, sample_weight=WEIGHTS), times, axis=0)
    other = repeated.fit_transform(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(in_ranges(one, X), in_ranges(other, X), atol=AGREE)
    new = [in_ranges(fitted.transform(X_new), X) for fitted in (weighted, repeated)]
    np.testing.assert_allclose(*new, atol=AGREE)


FAR = {**TIGHT, "new_rows": "reference", "reference": KNNImputer(), "eta": np.inf}


@pytest.mark.parametrize(
    "estimator",
    [
        KernelImputer(**TIGHT, new_rows="similar"),
        KernelImputer(**FAR),
        KernelImputationClassifier(**TIGHT, machine="svm", new_rows="similar"),
        KernelImputationClassifier(**FAR, machine="svm"),
        KernelImputationClassifier(),
        KernelImputationRegressor(),
    ],
    ids=repr,
)
def test_rows_of_weight_zero_count_for_nothing(estimator):
    X, y = related_rows(N_ROWS)
    X_new = related_rows(N_ROWS, seed=1)[0]
    weights = np.where(np.arange(N_ROWS) % 4 == 1, 0.0, WEIGHTS + 1.0)
    # What weighs nothing may be as far out as it likes.
    X[weights == 0.0] *= 100.0
    kept = weights > 0.0
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    without = clone(estimator).fit(X[kept], y[kept], sample_weight=weights[kept])
    for way in ("transform", "decision_function", "predict"):
        if hasattr(weighted, way):
            one, other = (getattr(fitted, way)(X_new) for fitted in (weighted, without))
            one, other = (in_ranges(v, X_new) if way == "transform" else v for v in (one, other))
            np.testing.assert_allclose(one, other, atol=AGREE)


@pytest.mark.parametrize(
    ("class_weight", "weights"),
    [
        ("balanced", None),
        ({0: 1.0, 1: 5.0}, None),
        (None, np.random.default_rng(0).random(N_ROWS) + 0.1),
    ],
    ids=type,
)
def test_without_gaps_weights_of_rows_and_classes_are_scikit_learns(class_weight, weights):
    X, y = related_rows(N_ROWS, share=0.0)
    X, y = (X - X.min(axis=0)) / np.ptp(X, axis=0), np.where(np.arange(N_ROWS) < 12, 0, y)
    options = {"C": 3.0, "gamma": 0.8, "class_weight": class_weight}
    ours = KernelImputationClassifier(machine="svm", **options).fit(X, y, sample_weight=weights)
    theirs = SVC(**options, tol=1e-9).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(
    "weights",
    [
        np.zeros(N_ROWS),
        np.full(N_ROWS, -1.0),
        np.full(N_ROWS, np.nan),
        np.ones(N_ROWS - 1),
        np.ones((N_ROWS, 2)),
        "even",
        {0: -1.0, 1: 1.0},
        3.0,
    ],
    ids=["zeros", "negative", "NaN", "short", "two columns", "name", "negative class", "number"],
)
@pytest.mark.parametrize(
    "estimator", [KernelImputer(guidance="direct"), KernelImputationClassifier()], ids=repr
)
def test_weights_of_rows_and_classes_that_cannot_be_are_refused(estimator, weights):
    X, y = related_rows(N_ROWS)
    of_classes, of_rows = (None, weights) if isinstance(weights, np.ndarray) else (weights, None)
    with pytest.raises((ValueError, TypeError), match=r"(?i)weight"):
        clone(estimator).set_params(class_weight=of_classes).fit(X, y, sample_weight=of_rows)


def test_the_default_anchor_holds_against_the_machines_of_all_classes():
    X, _ = related_rows(N_ROWS)
    observed = float((~np.isnan(X)).mean())
    y = np.arange(X.shape[0]) % 5
    assert KernelImputer(**GUIDED).fit(X, y).eta_ == pytest.approx(16.0 * 5 / observed)
    assert KernelImputer(**GUIDED).fit(X, y % 2).eta_ == pytest.approx(16.0 / observed)
    assert KernelImputer(**GUIDED, task="regression").fit(X, y).eta_ == pytest.approx(
        256.0 / observed
    )
