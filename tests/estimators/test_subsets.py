"""Labels and weights of rows, and subsets: which are kept, what runs them, what they equal."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.impute import KNNImputer
from sklearn.svm import SVC, SVR
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_info

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
    Status,
    impute_table,
)
from kernimpute.estimators import _subsets
from kernimpute.estimators._subsets import (
    _with_own_codes,
    kept_subsets,
    read_labels,
    stratified_subsets,
)
from kernimpute.kernels import Gaussian
from tests.estimators.problems import regression_rows, related_rows


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


def test_the_kept_subsets_of_a_target_have_no_bias():
    y = np.random.default_rng(0).normal(size=5000)
    X = np.zeros((5000, 1))
    labels = read_labels(y, X, None, task="regression", class_weight=None, owner="test")
    subsets = stratified_subsets(labels, 50, 0)
    every = [labels.values[rows].mean() for rows in subsets]
    kept = np.mean([every[place] for place in kept_subsets(len(subsets), 10)])
    # The first ten have the smallest of each round of dealing; the mean of the table is 0.
    assert abs(kept) < 0.1 * abs(np.mean(every[:10]))


def test_rare_classes_are_lent_to_every_subset():
    y = np.repeat([0, 1, 2, 3], [150, 3, 1, 50])
    labels = read_labels(y, y[:, None], None, task="auto", class_weight=None, owner="test")
    subsets = stratified_subsets(labels, 20, 0)
    assert np.array_equal(np.unique(np.concatenate(subsets)), np.arange(y.size))
    for rows in subsets:
        assert np.bincount(y[rows], minlength=4)[1:3].tolist() in ([2, 1], [3, 1])


def test_new_rows_see_the_kept_subsets_alone(monkeypatch):
    X, y = problem()
    new, _ = problem(30, seed=1)
    every = KernelImputationClassifier(subset_size=20, cv=None).fit(X, y)
    filled = KernelImputer(subset_size=20).fit_transform(X, y)
    kept = kept_subsets(10, 2)
    monkeypatch.setattr(_subsets, "kept_subsets", lambda n_subsets: kept_subsets(n_subsets, 2))
    some = KernelImputationClassifier(subset_size=20, cv=None).fit(X, y)
    rows = some._new_rows.fill(some._coding.matrix(some._encode(pd.DataFrame(new)).matrix))
    mean = np.mean([every._machines[k].decision(rows)[:, 0] for k in kept], axis=0)
    np.testing.assert_allclose(some.decision_function(new), mean, rtol=0.0, atol=1e-12)
    # The imputer fills every training row, but new rows from those of the kept subsets.
    few = KernelImputer(subset_size=20)
    assert np.array_equal(few.fit_transform(X, y), filled)
    labels = read_labels(y, X, None, task="auto", class_weight=None, owner="test")
    subsets = stratified_subsets(labels, 20, 0)
    members = np.sort(np.concatenate([subsets[k] for k in kept]))
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    np.testing.assert_allclose(
        few._new_rows.training, (filled[members] - low) / (high - low), rtol=0.0, atol=1e-12
    )


def test_complete_subsets_do_not_say_that_nothing_was_missing():
    X, y = problem()
    X = np.nan_to_num(X)
    X[-1, 0] = np.nan
    assert KernelImputer(subset_size=20).fit(X, y).status_ is Status.CONVERGED
    assert KernelImputer(subset_size=20).fit(X[:-1], y[:-1]).status_ is Status.NOTHING_MISSING


def test_disjoint_pairs_are_counted_within_subsets():
    X, y = problem()
    X[::2, :3] = np.nan
    X[1::2, 3:] = np.nan
    imputer = KernelImputer(subset_size=50).fit(X, y)
    labels = read_labels(y, X, None, task="auto", class_weight=None, owner="test")
    expected = 0
    for rows in stratified_subsets(labels, 50, 0):
        observed = (~np.isnan(X[rows])).astype(int)
        expected += int((observed @ observed.T == 0)[np.triu_indices(rows.size, 1)].sum())
    assert imputer.n_disjoint_pairs_ == expected > 0


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("given", ["argument", "context"])
def test_jobs_and_backends_give_the_same_bits(backend, given):
    X, y = problem()
    target = np.nansum(X, axis=1)
    n_jobs = 2 if given == "argument" else None
    expected = KernelImputer(subset_size=50).fit_transform(X, y)
    predicted = KernelImputationRegressor(subset_size=50).fit(X, target).predict(X)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert np.array_equal(
            KernelImputer(subset_size=50, n_jobs=n_jobs).fit_transform(X, y), expected
        )
        regressor = KernelImputationRegressor(subset_size=50, n_jobs=n_jobs).fit(X, target)
    assert np.array_equal(regressor.predict(X), predicted)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_subset_has_one_thread_of_blas(monkeypatch, n_jobs):
    seen = []

    def watching(*arguments):
        seen.extend(
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        )
        return original(*arguments)

    original = _subsets.fill_subset
    monkeypatch.setattr(_subsets, "fill_subset", watching)
    before = [library["num_threads"] for library in threadpool_info()]
    X, y = problem(60)
    with joblib.parallel_config(backend="threading"):
        KernelImputer(subset_size=20, n_jobs=n_jobs).fit(X, y)
    assert seen and set(seen) == {1}
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_progress_is_told_only_where_subsets_take_turns():
    X, y = problem(60)
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    told = []
    with joblib.parallel_config(backend="threading"):
        impute_table(table, "y", subset_size=20, n_jobs=2, callback=told.append)
        assert not told
        impute_table(table, "y", subset_size=20, n_jobs=1, callback=told.append)
    assert told


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_a_subset_may_lack_a_category_or_all_of_them(variant):
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"a": generator.normal(size=60), "b": generator.choice(["u", "v", "w"], 60)})
    y = np.arange(60) % 2
    X["b"] = X["b"].where(generator.random(60) > 0.9).astype("category")
    filled = KernelImputer(variant=variant, subset_size=10).fit_transform(X, y)
    assert filled.notna().all(axis=None)
    kept = X["b"].notna()
    assert filled["b"][kept].equals(X["b"][kept])
    assert set(filled["b"]) <= set(X["b"].cat.categories)


def test_a_subset_is_held_at_its_own_most_frequent_category():
    # "v" is the table's, and the first subset, which is sorted by the label, has none.
    matrix = np.array([[0.0, 0.0], [0.5, 0.0], [0.7, 2.0], [1.0, np.nan]])
    kernel = Gaussian().with_categorical(np.array([False, True]), 2)
    held = np.where(np.isnan(matrix), [0.5, 1.0], matrix)
    X, reference = _with_own_codes(matrix, held, kernel, np.ones(4))
    np.testing.assert_array_equal(X, matrix)
    np.testing.assert_array_equal(reference[:, 1], [0.0, 0.0, 2.0, 0.0])
    empty = matrix.copy()
    empty[:, 1] = np.nan
    X, reference = _with_own_codes(empty, np.full((4, 2), 1.0), kernel, np.ones(4))
    np.testing.assert_array_equal(X[:, 1], np.ones(4))


# ------------------------------------------------------------------- labels and weights

TIGHT = {"tol": 1e-4, "max_iter": 2000, "eta": 4.0, "gamma": 0.8}
"""A descent near its end: what remains is below what the tests allow."""

AGREE = 1e-3
"""In units of the columns' ranges, of the margin, and of the target's spread."""

N_ROWS = 40
WEIGHTS = np.random.default_rng(0).integers(0, 4, N_ROWS).astype(float)


def in_ranges(filled, X):
    """Return filled values in units of the columns' ranges."""
    return filled / (np.nanmax(X, axis=0) - np.nanmin(X, axis=0))


# -------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "container", [list, pd.Series, pd.Categorical, lambda y: y.astype(object), pd.array]
)
def test_labels_come_in_any_container(container):
    X, y = related_rows(N_ROWS)
    labels = np.array(["no", "yes"])[y]
    expected = KernelImputationClassifier(cv=None).fit(X, labels)
    got = KernelImputationClassifier(cv=None).fit(X, container(labels))
    assert got.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(got.predict(X), expected.predict(X))
    filled = KernelImputer().fit_transform(X, container(labels))
    np.testing.assert_array_equal(filled, KernelImputer().fit_transform(X, y))


def test_a_label_is_required():
    X, _ = related_rows(N_ROWS)
    for estimator in (KernelImputer(), KernelImputationClassifier(), KernelImputationRegressor()):
        with pytest.raises((ValueError, TypeError), match=r"\by\b"):
            estimator.fit(X, None)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            estimator.fit(X, np.arange(N_ROWS - 1) % 2)


# --------------------------------------------------------------------------- row weights


def weighted_and_repeated(estimator_class, X, y, **options):
    """Return the estimator fitted with weights, and on repeated rows; and the weights."""
    weights = WEIGHTS
    times = weights.astype(int)
    weighted = estimator_class(**options).fit(X, y, sample_weight=weights)
    repeated = estimator_class(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    return weighted, repeated


@pytest.mark.parametrize("gamma", ["scale", 0.8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_is_so_many_equal_rows_for_the_machine(n_classes, gamma):
    X, y = related_rows(N_ROWS, n_classes=n_classes)
    X_new = related_rows(N_ROWS, seed=1)[0]
    options = {**TIGHT, "gamma": gamma, "cv": None}
    weighted, repeated = weighted_and_repeated(KernelImputationClassifier, X, y, **options)
    one, other = (fitted.decision_function(X_new) for fitted in (weighted, repeated))
    np.testing.assert_allclose(one, other, atol=AGREE)


def test_a_weight_is_so_many_equal_rows_for_the_regressor():
    X, y = regression_rows(N_ROWS)
    weighted, repeated = weighted_and_repeated(KernelImputationRegressor, X, y, **TIGHT)
    one, other = (fitted.predict(X) for fitted in (weighted, repeated))
    np.testing.assert_allclose(one, other, atol=AGREE * y.std())


@pytest.mark.parametrize("gamma", ["scale", 0.8])
def test_a_weight_is_so_many_equal_rows_for_the_fills(gamma):
    X, y = related_rows(N_ROWS)
    weights = WEIGHTS
    times = weights.astype(int)
    options = {**TIGHT, "gamma": gamma}
    weighted = KernelImputer(**options).fit_transform(X, y, sample_weight=weights)
    repeated = KernelImputer(**options).fit_transform(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    expected = np.repeat(weighted, times, axis=0)
    np.testing.assert_allclose(in_ranges(repeated, X), in_ranges(expected, X), atol=AGREE)


@pytest.mark.parametrize("new_rows", ["auto", "similar", "reference"])
def test_a_weight_is_so_many_equal_rows_for_new_rows(new_rows):
    X, y = related_rows(N_ROWS)
    X_new = related_rows(N_ROWS, seed=1)[0]
    options = {**TIGHT, "new_rows": new_rows}
    weighted, repeated = weighted_and_repeated(KernelImputer, X, y, **options)
    one, other = (in_ranges(fitted.transform(X_new), X) for fitted in (weighted, repeated))
    np.testing.assert_allclose(one, other, atol=AGREE)


@pytest.mark.parametrize("new_rows", ["auto", "similar", "reference"])
def test_rows_of_weight_zero_count_for_nothing(new_rows):
    X, y = related_rows(N_ROWS)
    X_new = related_rows(N_ROWS, seed=1)[0]
    weights = np.where(np.arange(N_ROWS) % 4 == 1, 0.0, 1.0)
    # What weighs nothing may be as far out as it likes.
    X[weights == 0.0] *= 100.0
    kept = weights > 0.0
    options = {**TIGHT, "new_rows": new_rows}
    weighted = KernelImputer(**options).fit(X, y, sample_weight=weights)
    without = KernelImputer(**options).fit(X[kept], y[kept])
    one, other = (in_ranges(fitted.transform(X_new), X_new) for fitted in (weighted, without))
    np.testing.assert_allclose(one, other, atol=AGREE)
    options = {**TIGHT, "cv": None}
    weighted = KernelImputationClassifier(**options).fit(X, y, sample_weight=weights)
    without = KernelImputationClassifier(**options).fit(X[kept], y[kept])
    one, other = (fitted.decision_function(X_new) for fitted in (weighted, without))
    np.testing.assert_allclose(one, other, atol=AGREE)


def test_an_imputer_for_a_reference_does_not_see_rows_of_weight_zero():
    X, y = related_rows(N_ROWS)
    weights = np.where(np.arange(N_ROWS) % 4 == 1, 0.0, 1.0)
    X[weights == 0.0] *= 100.0
    kept = weights > 0.0
    imputer = KernelImputer(reference=KNNImputer(), new_rows="reference", eta=np.inf)
    weighted = imputer.fit_transform(X, y, sample_weight=weights)[kept]
    new = imputer.transform(X[:5])
    np.testing.assert_allclose(weighted, imputer.fit_transform(X[kept], y[kept]), rtol=1e-10)
    np.testing.assert_allclose(new, imputer.transform(X[:5]), rtol=1e-10)


def test_without_gaps_weights_are_scikit_learns():
    generator = np.random.default_rng(0)
    weights = generator.random(N_ROWS) + 0.1
    X, y = related_rows(N_ROWS, share=0.0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    ours = KernelImputationClassifier(C=1.0, gamma=0.8, cv=None)
    ours.fit(X, y, sample_weight=weights)
    theirs = SVC(gamma=0.8, tol=1e-9).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    X, y = regression_rows(N_ROWS, share=0.0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    mean = np.average(y, weights=weights)
    spread = np.sqrt(np.average((y - mean) ** 2, weights=weights))
    ours = KernelImputationRegressor(gamma=0.8).fit(X, y, sample_weight=weights)
    theirs = SVR(gamma=0.8, tol=1e-9).fit(X, (y - mean) / spread, sample_weight=weights)
    expected = mean + spread * theirs.predict(X)
    np.testing.assert_allclose(ours.predict(X), expected, atol=1e-4 * spread)


@pytest.mark.parametrize(
    "weights",
    [
        np.zeros(N_ROWS),
        np.full(N_ROWS, -1.0),
        np.full(N_ROWS, np.nan),
        np.ones(N_ROWS - 1),
        np.ones((N_ROWS, 2)),
    ],
)
def test_weights_that_cannot_be_are_refused(weights):
    X, y = related_rows(N_ROWS)
    for estimator in (KernelImputer(), KernelImputationClassifier(), KernelImputationRegressor()):
        with pytest.raises(ValueError, match=r"(?i)weight"):
            estimator.fit(X, y, sample_weight=weights)


# ------------------------------------------------------------------------- class weights


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 5.0}], ids=str)
def test_without_gaps_class_weights_are_scikit_learns(class_weight):
    X, y = related_rows(N_ROWS, share=0.0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    y[:12] = 0
    options = {"C": 3.0, "gamma": 0.8, "class_weight": class_weight}
    ours = KernelImputationClassifier(**options, cv=None).fit(X, y)
    theirs = SVC(**options, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("estimator_class", [KernelImputer, KernelImputationClassifier])
def test_balanced_is_the_dict_that_it_stands_for(estimator_class):
    X, y = related_rows(N_ROWS)
    y[:12] = 0
    counts = np.bincount(y)
    named = {label: N_ROWS / (2 * count) for label, count in enumerate(counts)}
    np.testing.assert_allclose(compute_sample_weight("balanced", y), [named[c] for c in y])
    results = []
    for class_weight in ("balanced", named):
        fitted = estimator_class(class_weight=class_weight)
        filled = getattr(fitted, "fit_transform", fitted.fit)(X, y)
        results.append(filled if isinstance(filled, np.ndarray) else fitted.decision_function(X))
    np.testing.assert_allclose(*results, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("class_weight", ["even", {0: -1.0, 1: 1.0}, 3.0], ids=str)
def test_class_weights_that_cannot_be_are_refused(class_weight):
    X, y = related_rows(N_ROWS)
    for estimator_class in (KernelImputer, KernelImputationClassifier):
        with pytest.raises((ValueError, TypeError), match="weight"):
            estimator_class(class_weight=class_weight).fit(X, y)


def test_the_default_anchor_holds_against_the_machines_of_all_classes():
    X, _ = related_rows(N_ROWS)
    observed = float((~np.isnan(X)).mean())
    y = np.arange(X.shape[0]) % 5
    assert KernelImputer().fit(X, y).eta_ == pytest.approx(16.0 * 5 / observed)
    assert KernelImputer().fit(X, y % 2).eta_ == pytest.approx(16.0 / observed)
    assert KernelImputer(task="regression").fit(X, y).eta_ == pytest.approx(256.0 / observed)
