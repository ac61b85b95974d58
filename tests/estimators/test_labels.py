"""Labels of every kind, weights of rows and of classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.svm import SVC, SVR
from sklearn.utils.class_weight import compute_sample_weight

from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer
from tests.estimators.problems import amputed, regression_rows, related_rows

TIGHT = {"tol": 1e-4, "max_iter": 2000, "eta": 4.0, "gamma": 0.8}
"""A descent near its end: what remains is below what the tests allow."""

AGREE = 1e-3
"""In units of the columns' ranges, of the margin, and of the target's spread."""

N_ROWS = 40


def labelled_rows(**options):
    """Return rows with gaps and their labels."""
    return related_rows(n_samples=N_ROWS, **options)


def measured_rows(**options):
    """Return rows with gaps and a quantity."""
    return regression_rows(n_samples=N_ROWS, **options)


def weights_of(n_samples, seed=0):
    """Return whole weights, some of them zero."""
    return np.random.default_rng(seed).integers(0, 4, n_samples).astype(float)


def in_ranges(filled, X):
    """Return filled values in units of the columns' ranges."""
    return filled / (np.nanmax(X, axis=0) - np.nanmin(X, axis=0))


# -------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "names",
    [("c", "a", "b"), (10, -3, 7), ("x", "yy", "zzz")],
    ids=["letters", "ints", "words"],
)
def test_fills_do_not_depend_on_what_three_classes_are_called(names):
    X, y = labelled_rows(n_classes=3)
    labels = np.array(names)[y]
    expected = KernelImputer(**TIGHT).fit_transform(X, y)
    got = KernelImputer(**TIGHT).fit_transform(X, labels)
    np.testing.assert_allclose(in_ranges(got, X), in_ranges(expected, X), atol=AGREE)
    machine = KernelImputationClassifier(cv=3).fit(X, labels)
    assert machine.classes_.tolist() == sorted(names)
    assert set(machine.predict(X)) <= set(names)
    assert machine.predict(X).dtype == labels.dtype


@pytest.mark.parametrize(
    "container", [list, pd.Series, pd.Categorical, lambda y: y.astype(object), pd.array]
)
def test_labels_come_in_any_container(container):
    X, y = labelled_rows()
    labels = np.array(["no", "yes"])[y]
    expected = KernelImputationClassifier(cv=None).fit(X, labels)
    got = KernelImputationClassifier(cv=None).fit(X, container(labels))
    assert got.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(got.predict(X), expected.predict(X))
    filled = KernelImputer().fit_transform(X, container(labels))
    np.testing.assert_array_equal(filled, KernelImputer().fit_transform(X, y))


def test_a_label_is_required():
    X, _ = labelled_rows()
    for estimator in (KernelImputer(), KernelImputationClassifier(), KernelImputationRegressor()):
        with pytest.raises((ValueError, TypeError), match=r"\by\b"):
            estimator.fit(X, None)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            estimator.fit(X, np.arange(N_ROWS - 1) % 2)


# --------------------------------------------------------------------------- row weights


def weighted_and_repeated(estimator_class, X, y, **options):
    """Return the estimator fitted with weights, and on repeated rows; and the weights."""
    weights = weights_of(len(y))
    times = weights.astype(int)
    weighted = estimator_class(**options).fit(X, y, sample_weight=weights)
    repeated = estimator_class(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    return weighted, repeated


@pytest.mark.parametrize("gamma", ["scale", 0.8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_is_so_many_equal_rows_for_the_machine(n_classes, gamma):
    X, y = labelled_rows(n_classes=n_classes)
    X_new = labelled_rows(seed=1)[0]
    options = {**TIGHT, "gamma": gamma, "cv": None}
    weighted, repeated = weighted_and_repeated(KernelImputationClassifier, X, y, **options)
    one, other = (fitted.decision_function(X_new) for fitted in (weighted, repeated))
    np.testing.assert_allclose(one, other, atol=AGREE)


def test_a_weight_is_so_many_equal_rows_for_the_regressor():
    X, y = measured_rows()
    weighted, repeated = weighted_and_repeated(KernelImputationRegressor, X, y, **TIGHT)
    one, other = (fitted.predict(X) for fitted in (weighted, repeated))
    np.testing.assert_allclose(one, other, atol=AGREE * y.std())


@pytest.mark.parametrize("gamma", ["scale", 0.8])
def test_a_weight_is_so_many_equal_rows_for_the_fills(gamma):
    X, y = labelled_rows()
    weights = weights_of(N_ROWS)
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
    X, y = labelled_rows()
    X_new = labelled_rows(seed=1)[0]
    options = {**TIGHT, "new_rows": new_rows}
    weighted, repeated = weighted_and_repeated(KernelImputer, X, y, **options)
    one, other = (in_ranges(fitted.transform(X_new), X) for fitted in (weighted, repeated))
    np.testing.assert_allclose(one, other, atol=AGREE)


@pytest.mark.parametrize("new_rows", ["auto", "similar", "reference"])
def test_rows_of_weight_zero_count_for_nothing(new_rows):
    X, y = labelled_rows()
    X_new = labelled_rows(seed=1)[0]
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


@pytest.mark.parametrize("reference", [SimpleImputer(strategy="median"), KNNImputer()], ids=repr)
def test_an_imputer_for_a_reference_does_not_see_rows_of_weight_zero(reference):
    X, y = labelled_rows()
    weights = np.where(np.arange(N_ROWS) % 4 == 1, 0.0, 1.0)
    X[weights == 0.0] *= 100.0
    kept = weights > 0.0
    imputer = KernelImputer(reference=reference, new_rows="reference", eta=np.inf)
    weighted = imputer.fit_transform(X, y, sample_weight=weights)[kept]
    new = imputer.transform(X[:5])
    np.testing.assert_allclose(weighted, imputer.fit_transform(X[kept], y[kept]), rtol=1e-10)
    np.testing.assert_allclose(new, imputer.transform(X[:5]), rtol=1e-10)


def test_equal_weights_of_one_change_nothing():
    X, y = labelled_rows()
    plain = KernelImputer().fit_transform(X, y)
    weighted = KernelImputer().fit_transform(X, y, sample_weight=np.ones(N_ROWS))
    np.testing.assert_array_equal(weighted, plain)


def test_without_gaps_weights_are_scikit_learns():
    generator = np.random.default_rng(0)
    weights = generator.random(N_ROWS) + 0.1
    X, y = labelled_rows(share=0.0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    ours = KernelImputationClassifier(C=1.0, gamma=0.8, cv=None)
    ours.fit(X, y, sample_weight=weights)
    theirs = SVC(gamma=0.8, tol=1e-9).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    X, y = measured_rows(share=0.0)
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
    X, y = labelled_rows()
    for estimator in (KernelImputer(), KernelImputationClassifier(), KernelImputationRegressor()):
        with pytest.raises(ValueError, match=r"(?i)weight"):
            estimator.fit(X, y, sample_weight=weights)


def test_a_class_of_weight_zero_leaves_too_few():
    X, y = labelled_rows()
    for estimator in (KernelImputer(task="classification"), KernelImputationClassifier()):
        with pytest.raises(ValueError, match=r"(?i)at least (2|two) classes"):
            estimator.fit(X, y, sample_weight=(y == 1).astype(float))


# ------------------------------------------------------------------------- class weights


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 5.0}], ids=str)
def test_without_gaps_class_weights_are_scikit_learns(class_weight):
    X, y = labelled_rows(share=0.0)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    y[:12] = 0
    options = {"C": 3.0, "gamma": 0.8, "class_weight": class_weight}
    ours = KernelImputationClassifier(**options, cv=None).fit(X, y)
    theirs = SVC(**options, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("estimator_class", [KernelImputer, KernelImputationClassifier])
def test_balanced_is_the_dict_that_it_stands_for(estimator_class):
    X, y = labelled_rows()
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


def test_balancing_finds_more_of_a_rare_class():
    generator = np.random.default_rng(0)
    y = (np.arange(200) % 12 == 0).astype(int)
    X = amputed(generator.normal(0.8 * y[:, None], 1.0, (200, 4)), 0.3, generator)
    plain, balanced = (
        KernelImputationClassifier(class_weight=weight, cv=None).fit(X, y).predict(X)
        for weight in (None, "balanced")
    )
    assert plain[y == 1].mean() < 0.3
    assert balanced[y == 1].mean() > 0.6


@pytest.mark.parametrize("class_weight", ["even", {0: -1.0, 1: 1.0}, 3.0], ids=str)
def test_class_weights_that_cannot_be_are_refused(class_weight):
    X, y = labelled_rows()
    for estimator_class in (KernelImputer, KernelImputationClassifier):
        with pytest.raises((ValueError, TypeError), match="weight"):
            estimator_class(class_weight=class_weight).fit(X, y)


def test_the_default_anchor_holds_against_the_machines_of_all_classes():
    X, _ = labelled_rows()
    observed = float((~np.isnan(X)).mean())
    y = np.arange(X.shape[0]) % 5
    assert KernelImputer().fit(X, y).eta_ == pytest.approx(16.0 * 5 / observed)
    assert KernelImputer().fit(X, y % 2).eta_ == pytest.approx(16.0 / observed)
    assert KernelImputer(task="regression").fit(X, y).eta_ == pytest.approx(256.0 / observed)
