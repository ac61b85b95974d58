"""KARMA: its kernel against the paper's feature map written out, and its machine's optimality."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments.baselines import KARMAClassifier, karma_kernel
from kernimpute.dual import make_dual


def gappy(seed, n_rows=30, n_features=5, share=0.4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    X[generator.random(X.shape) < share] = np.nan
    return X


def mapped(row, beta):
    """Return the paper's features: the last value of each path of observed columns."""
    return np.array(
        [
            row[path[-1]] if not np.isnan(row[list(path)]).any() else 0.0
            for length in range(1, beta + 1)
            for path in itertools.product(range(row.size), repeat=length)
        ]
    )


@pytest.mark.parametrize("beta", [1, 2, 3, 4])
def test_kernel_is_the_inner_product_of_the_features_of_paths(beta):
    X, Z = gappy(0, 7, 4), gappy(1, 5, 4)
    features_of_X, features_of_Z = (np.array([mapped(r, beta) for r in T]) for T in (X, Z))
    assert np.allclose(karma_kernel(X, Z, beta=beta), features_of_X @ features_of_Z.T, rtol=1e-12)
    assert np.allclose(karma_kernel(X, beta=beta), features_of_X @ features_of_X.T, rtol=1e-12)


@pytest.mark.parametrize("beta", [1, 2, 3, 4])
def test_kernel_is_positive_semidefinite(beta):
    K = karma_kernel(gappy(2, share=0.6), beta=beta)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-12 * values[-1]
    assert np.array_equal(K, K.T)


def test_first_order_is_the_linear_kernel_of_what_both_rows_show():
    X = gappy(3)
    filled = np.nan_to_num(X)
    assert np.array_equal(karma_kernel(X, beta=1), filled @ filled.T)


def test_rows_that_share_one_feature_or_none():
    X = np.array([[2.0, np.nan, np.nan], [5.0, 1.0, np.nan], [np.nan, np.nan, 7.0]])
    K = karma_kernel(X, beta=4)
    assert K[0, 1] == 4 * 10.0
    assert K[0, 2] == K[1, 2] == 0.0


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("beta", [1, 3])
def test_coefficients_are_optimal_and_agree_with_libsvm(C, beta):
    X = gappy(4, 60)
    y = (np.nansum(X, axis=1) > 0.0).astype(int)
    model = KARMAClassifier(C, beta).fit(X, y)
    K = karma_kernel(X, beta=beta)
    dual = make_dual(y, y.size, C=C)
    assert dual.gap(K, model.dual_coef_) <= 1e-6 * max(dual.value(K, model.dual_coef_), 1.0)
    machine = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K, y)
    new = gappy(5)
    values = machine.decision_function(karma_kernel(new, X, beta=beta))
    assert np.allclose(model.decision_function(new), values, atol=1e-3)


def test_more_classes_one_against_the_rest():
    X = gappy(6, 60, share=0.2)
    y = np.array(["a", "b", "c"])[np.argmax(np.nan_to_num(X[:, :3], nan=-9.0), axis=1)]
    model = KARMAClassifier(10.0, 2).fit(X, y)
    values = model.decision_function(X)
    for place, name in enumerate(model.classes_):
        alone = KARMAClassifier(10.0, 2).fit(X, y == name)
        assert np.allclose(values[:, place], alone.decision_function(X), atol=1e-6)
    assert np.array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])


def test_a_row_of_gaps_is_classified_by_the_intercept():
    X = gappy(7)
    model = KARMAClassifier().fit(X, (np.nansum(X, axis=1) > 0.0).astype(int))
    assert np.array_equal(model.decision_function(np.full((1, 5), np.nan)), model.intercept_)


@pytest.mark.parametrize("beta", [0, -1])
def test_orders_below_one_are_refused(beta):
    with pytest.raises(ValueError, match=r"'beta' parameter of karma_kernel must be an int in \[1"):
        karma_kernel([[1.0]], beta=beta)
    with pytest.raises(ValueError, match="'beta' parameter of KARMAClassifier"):
        KARMAClassifier(beta=beta).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(
    ("Z", "match"),
    [
        ([[1.0]], r"'Z' .* as many columns as X, 2. Got an array of shape \(1, 1\) instead"),
        ([1.0, 2.0], r"'Z' .* must be a matrix .* Got an array of shape \(2,\) instead"),
        ([[1.0, np.inf]], "'Z' .* finite or NaN. Got inf in row 0, column 1 instead"),
    ],
)
def test_other_rows_must_have_the_same_columns(Z, match):
    with pytest.raises(ValueError, match=match):
        karma_kernel([[1.0, 2.0]], Z)


def test_a_single_class_is_refused():
    with pytest.raises(ValueError, match="of at least 2 classes. Got 1 class, 1, instead"):
        KARMAClassifier().fit([[1.0], [2.0]], [1, 1])


@parametrize_with_checks([KARMAClassifier()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
