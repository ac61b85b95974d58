"""Gaussians with gaps: scipy's densities and maximum, scikit-learn's discriminant analysis."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from experiments.baselines import gaussian
from experiments.baselines.gaussian import GaussianClassifier, fit_gaussian, spread


def table(n_samples=90, n_features=4, n_classes=3, missing_rate=0.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    mixing = np.eye(n_features) + 0.5 * rng.normal(size=(n_features, n_features))
    X = rng.normal(size=(n_samples, n_features)) @ mixing
    X += 1.5 * rng.normal(size=(n_classes, n_features))[y]
    X[rng.random(X.shape) < missing_rate] = np.nan
    return X, y


def one_group(X):
    return np.zeros(len(X), dtype=np.intp)


def observed_log_density(row, mean, covariance):
    seen = ~np.isnan(row)
    if not seen.any():
        return 0.0
    return multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(row[seen])


def likelihood(X, mean, covariance):
    return sum(observed_log_density(row, mean, covariance) for row in X)


@pytest.mark.parametrize("prior_rows", [0.0, 2.5])
@pytest.mark.parametrize("n_groups", [1, 2])
def test_the_objective_is_as_documented_and_never_falls(prior_rows, n_groups):
    X, _ = table(60, 5, missing_rate=0.4)
    groups = np.arange(60) % n_groups
    fit = fit_gaussian(X, groups, prior_rows, tol=0.0)
    assert np.diff(fit.objectives).min() >= -1e-10
    inverse = np.linalg.inv(fit.covariance)
    prior = np.linalg.slogdet(fit.covariance)[1] + np.trace(np.diag(spread(X, groups)) @ inverse)
    found = sum(
        likelihood(X[groups == group], mean, fit.covariance) for group, mean in enumerate(fit.means)
    )
    assert fit.objectives[-1] == pytest.approx(found - 0.5 * prior_rows * prior, rel=1e-10)


def test_complete_rows_give_discriminant_analysis():
    X, y = table()
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).predict_proba(X)
    assert_allclose(GaussianClassifier(X, y, "shared", 0.0).predict_proba(X), linear, atol=1e-9)
    parts = [X[y == label] for label in range(3)]
    joint = np.stack(
        [multivariate_normal(one.mean(0), np.cov(one.T, bias=True)).logpdf(X) for one in parts], 1
    )
    quadratic = softmax(joint + np.log([len(one) / 90 for one in parts]), axis=1)
    assert_allclose(GaussianClassifier(X, y, "class", 0.0).predict_proba(X), quadratic, atol=1e-9)


@pytest.mark.parametrize("block_cells", [40, 10**6])
@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_rows_with_gaps_are_judged_by_their_observed_cells(covariance, block_cells, monkeypatch):
    monkeypatch.setattr(gaussian, "BLOCK_CELLS", block_cells)
    X, y = table(missing_rate=0.4)
    X[0] = np.nan
    model = GaussianClassifier(X, y, covariance)
    found = model.predict_proba(X)
    for row, got in zip(X, found, strict=True):
        pairs = zip(model.means, model.covariances, strict=True)
        assert_allclose(
            got,
            softmax(model.log_priors + [observed_log_density(row, m, S) for m, S in pairs]),
            atol=1e-10,
        )
    assert_array_equal(model.predict(X), found.argmax(axis=1))
