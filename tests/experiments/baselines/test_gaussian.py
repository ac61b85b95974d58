"""Discriminant analysis with gaps, against scikit-learn's and scipy's on what these can take."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments.baselines.gaussian import GaussianClassifier

EXACT = {"prior_rows": 0.0, "tol": 1e-12, "max_iter": 5000}
NAMES = np.array(["ash", "birch", "oak"])


def table(n_samples=90, n_features=4, n_classes=3, missing_rate=0.0, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.arange(n_samples) % n_classes)
    mixing = np.eye(n_features) + 0.5 * rng.normal(size=(n_features, n_features))
    X = rng.normal(size=(n_samples, n_features)) @ mixing
    X += 1.5 * rng.normal(size=(n_classes, n_features))[groups]
    X[rng.random(X.shape) < missing_rate] = np.nan
    X.flags.writeable = False
    return X, NAMES[groups]


def test_complete_rows_give_linear_discriminant_analysis():
    X, y = table()
    ours = GaussianClassifier(**EXACT).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    # The other solver keeps the same covariance, though it scales by the rows less the classes.
    other = LinearDiscriminantAnalysis(solver="svd", store_covariance=True).fit(X, y)
    assert_allclose(ours.covariance_, other.covariance_, atol=1e-9)


def test_complete_rows_give_quadratic_discriminant_analysis():
    X, y = table()
    ours = GaussianClassifier(covariance="class", **EXACT).fit(X, y)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for own, other, name in zip(ours.covariance_, theirs.covariance_, NAMES, strict=True):
        assert_allclose(own, np.cov(X[y == name].T, bias=True), atol=1e-9)
        # Whether theirs divides by the rows, or the rows less one, depends on its version.
        assert_allclose(other / own, other[0, 0] / own[0, 0], rtol=1e-8)
        assert 1.0 - 1e-9 <= other[0, 0] / own[0, 0] <= 30 / 29 + 1e-9
    joint = np.stack(
        [
            np.log(prior) + multivariate_normal(mean, S).logpdf(X)
            for prior, mean, S in zip(theirs.priors_, theirs.means_, ours.covariance_, strict=True)
        ],
        axis=1,
    )
    assert_allclose(ours.predict_proba(X), softmax(joint, axis=1), atol=1e-9)


@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_gaps_are_judged_by_the_marginal_of_the_observed_cells(covariance):
    X, y = table(missing_rate=0.4)
    classifier = GaussianClassifier(covariance=covariance).fit(X, y)
    probabilities = classifier.predict_proba(X)
    for row, got in zip(X, probabilities, strict=True):
        seen = ~np.isnan(row)
        joint = np.log(classifier.priors_)
        for group, mean in enumerate(classifier.means_):
            S = classifier.covariance_ if covariance == "shared" else classifier.covariance_[group]
            if seen.any():
                part = multivariate_normal(mean[seen], S[np.ix_(seen, seen)])
                joint[group] += part.logpdf(row[seen])
        assert_allclose(got, softmax(joint), atol=1e-10)
    assert_array_equal(classifier.predict(X), NAMES[probabilities.argmax(axis=1)])
    assert_allclose(np.exp(classifier.predict_log_proba(X)), probabilities)


@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_the_likelihood_never_falls(covariance):
    X, y = table(missing_rate=0.5)
    classifier = GaussianClassifier(covariance=covariance, tol=1e-9, max_iter=2000).fit(X, y)
    assert len(classifier.objectives_) == (1 if covariance == "shared" else 3)
    for objectives in classifier.objectives_:
        assert np.diff(objectives).min() >= -1e-9
    assert classifier.n_iter_ == max(map(len, classifier.objectives_)) - 1


def test_a_row_with_nothing_observed_gets_the_priors():
    X, y = table(80, missing_rate=0.3)
    classifier = GaussianClassifier().fit(X, y)
    empty = np.full((1, 4), np.nan)
    shares = [np.mean(y == name) for name in NAMES]
    assert_allclose(classifier.predict_proba(empty)[0], shares, atol=1e-15)


@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_few_cells_and_many_columns_work(covariance):
    X, y = table(30, 40, missing_rate=0.9)
    classifier = GaussianClassifier(covariance=covariance).fit(X, y)
    probabilities = classifier.predict_proba(X)
    assert np.isfinite(probabilities).all()
    complete, labels = table(12, 30)
    assert GaussianClassifier(covariance=covariance).fit(complete, labels).score(
        complete, labels
    ) == pytest.approx(1.0)


def test_gaps_in_training_lose_little_where_columns_say_much():
    X, y = table(300, missing_rate=0.3)
    complete, labels = table(300, seed=0)
    full = GaussianClassifier().fit(complete, labels)
    gappy = GaussianClassifier().fit(X, y)
    assert_array_equal(y, labels)
    assert gappy.score(complete, labels) >= full.score(complete, labels) - 0.03


def test_more_prior_rows_mean_less_correlation():
    X, y = table(missing_rate=0.3)

    def correlation(prior_rows):
        S = GaussianClassifier(prior_rows=prior_rows, tol=1e-8).fit(X, y).covariance_
        scale = np.sqrt(np.diag(S))
        return np.abs(S / np.outer(scale, scale) - np.eye(4)).max()

    assert correlation(1e9) < 1e-6 < correlation(100.0) < correlation(0.1)


def test_an_empty_column_decides_nothing():
    X, y = table(missing_rate=0.2)
    wide = np.column_stack([X, np.full(X.shape[0], np.nan)])
    classifier = GaussianClassifier().fit(wide, y)
    filled = wide.copy()
    filled[:, -1] = 3.0
    expected = GaussianClassifier().fit(X, y).predict_proba(X)
    assert_allclose(classifier.predict_proba(wide), expected, atol=1e-9)
    assert_allclose(classifier.predict_proba(filled), expected, atol=1e-9)


@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_columns_in_another_order_decide_the_same(covariance):
    X, y = table(missing_rate=0.4)
    order = [3, 1, 0, 2]
    ours = GaussianClassifier(covariance=covariance).fit(X, y).predict_proba(X)
    other = GaussianClassifier(covariance=covariance).fit(X[:, order], y)
    assert_allclose(other.predict_proba(X[:, order]), ours, atol=1e-9)


def test_two_classes_are_decided_by_log_odds():
    X, y = table(n_classes=2, missing_rate=0.3)
    classifier = GaussianClassifier().fit(X, y)
    values, probabilities = classifier.decision_function(X), classifier.predict_proba(X)
    assert_allclose(values, np.log(probabilities[:, 1] / probabilities[:, 0]), atol=1e-8)
    assert_array_equal(classifier.predict(X), np.where(values > 0.0, "birch", "ash"))


def test_a_singular_covariance_is_refused_in_one_sentence():
    X, y = table(12, 30)
    with pytest.raises(ValueError, match="'prior_rows' parameter of GaussianClassifier must be"):
        GaussianClassifier(prior_rows=0.0).fit(X, y)


def test_em_that_ends_early_is_announced():
    X, y = table(missing_rate=0.4)
    with pytest.warns(ConvergenceWarning, match="EM of GaussianClassifier: Stopped at max_iter"):
        GaussianClassifier(tol=0.0, max_iter=1).fit(X, y)


@parametrize_with_checks([GaussianClassifier(), GaussianClassifier(covariance="class")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
