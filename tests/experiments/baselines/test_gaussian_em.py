"""EM for a Gaussian with gaps: conditionals, densities, and a maximum that scipy finds too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from experiments.baselines._gaussian_conditionals import conditional_gaussians, log_densities
from experiments.baselines._gaussian_em import fit_gaussian, spread
from kernimpute.convergence import Status, StopRule

EXACT = StopRule(tol=1e-13, max_iter=5000)


def gappy_rows(n_samples, n_features, missing_rate, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.eye(n_features) + 0.4 * rng.normal(size=(n_features, n_features))
    X = rng.normal(size=(n_samples, n_features)) @ mixing + rng.normal(size=n_features)
    X[rng.random(X.shape) < missing_rate] = np.nan
    X.flags.writeable = False
    return X


def one_group(X):
    return np.zeros(X.shape[0], dtype=np.intp)


def observed_log_likelihood(X, mean, covariance):
    total = 0.0
    for row in X:
        seen = ~np.isnan(row)
        if seen.any():
            part = covariance[np.ix_(seen, seen)]
            total += multivariate_normal(mean[seen], part).logpdf(row[seen])
    return total


@pytest.fixture
def covariance():
    factor = np.random.default_rng(3).normal(size=(4, 4))
    return factor @ factor.T + 0.3 * np.eye(4)


def test_conditionals_are_those_of_the_joint_precision(covariance):
    # With L the precision of all cells: mean_g - L_gg^-1 L_go (x_o - mean_o), covariance L_gg^-1.
    mean = np.array([1.0, -2.0, 0.5, 3.0])
    masks = np.array(list(itertools.product([True, False], repeat=4)))
    X = np.where(masks, np.random.default_rng(0).normal(size=masks.shape), np.nan)
    means, covariances, pattern = conditional_gaussians(X, mean, covariance)
    precision = np.linalg.inv(covariance)
    for row, mask in enumerate(masks):
        gaps = ~mask
        inner = np.linalg.inv(precision[np.ix_(gaps, gaps)])
        shift = inner @ precision[np.ix_(gaps, mask)] @ (X[row, mask] - mean[mask])
        expected = np.zeros((4, 4))
        expected[np.ix_(gaps, gaps)] = inner
        assert_allclose(means[row, gaps], mean[gaps] - shift, atol=1e-12)
        np.testing.assert_array_equal(means[row, mask], X[row, mask])
        assert_allclose(covariances[pattern[row]], expected, atol=1e-12)


def test_densities_are_those_of_the_observed_cells_in_any_blocks(covariance, monkeypatch):
    X = gappy_rows(30, 4, 0.5)
    means = np.array([[0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    whole = log_densities(X, means, covariance)
    for group, mean in enumerate(means):
        for row in range(X.shape[0]):
            expected = observed_log_likelihood(X[row : row + 1], mean, covariance)
            assert whole[row, group] == pytest.approx(expected, abs=1e-11)
    monkeypatch.setattr("experiments.baselines._gaussian_conditionals.BLOCK_CELLS", 40)
    assert_allclose(log_densities(X, means, covariance), whole, rtol=1e-13)
    conditionals = conditional_gaussians(X, means[0], covariance)
    monkeypatch.undo()
    for blockwise, at_once in zip(
        conditionals, conditional_gaussians(X, means[0], covariance), strict=True
    ):
        assert_allclose(blockwise, at_once, atol=1e-13)


@pytest.mark.parametrize("prior_rows", [0.0, 2.5])
@pytest.mark.parametrize("n_groups", [1, 2])
def test_the_objective_is_stated_as_documented_and_never_falls(prior_rows, n_groups):
    X = gappy_rows(60, 5, 0.4)
    groups = np.arange(60) % n_groups
    fit = fit_gaussian(
        X, groups, prior_rows=prior_rows, stop=StopRule(tol=0.0, max_iter=80), owner="test"
    )
    rises = np.diff(fit.objectives)
    assert rises.min() >= -1e-10
    assert fit.n_iter == rises.size
    variances = spread(X, groups)
    log_det = np.linalg.slogdet(fit.covariance)[1]
    prior = log_det + np.trace(np.diag(variances) @ np.linalg.inv(fit.covariance))
    likelihood = sum(
        observed_log_likelihood(X[groups == group], mean, fit.covariance)
        for group, mean in enumerate(fit.means)
    )
    assert fit.objectives[-1] == pytest.approx(likelihood - 0.5 * prior_rows * prior, rel=1e-10)


@pytest.mark.parametrize("prior_rows", [0.0, 1.5])
def test_no_other_gaussian_is_more_likely(prior_rows):
    X = gappy_rows(25, 3, 0.4, seed=1)
    fit = fit_gaussian(X, one_group(X), prior_rows=prior_rows, stop=EXACT, owner="test")
    assert fit.status is Status.CONVERGED
    variances = spread(X, one_group(X))
    lower = np.tril_indices(3)

    def loss(parameters):
        root = np.zeros((3, 3))
        root[lower] = parameters[3:]
        root[np.diag_indices(3)] = np.exp(root[np.diag_indices(3)])
        S = root @ root.T
        prior = np.linalg.slogdet(S)[1] + (variances * np.diag(np.linalg.inv(S))).sum()
        return 0.5 * prior_rows * prior - observed_log_likelihood(X, parameters[:3], S)

    start = np.concatenate([np.nanmean(X, axis=0), np.zeros(6)])
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-5})
    assert -found.fun <= fit.objectives[-1] + 1e-8
    assert -found.fun == pytest.approx(fit.objectives[-1], abs=1e-6)
    assert_allclose(fit.means[0], found.x[:3], atol=1e-3)


def test_monotone_gaps_have_the_closed_form_of_a_regression():
    # Column 1 has gaps, column 0 none: the likelihood factors into x0, and x1 regressed on x0.
    X = gappy_rows(50, 2, 0.0).copy()
    X[30:, 1] = np.nan
    fit = fit_gaussian(X, one_group(X), prior_rows=0.0, stop=EXACT, owner="test")
    x, seen = X[:, 0], X[:30]
    slope, intercept = np.polyfit(seen[:, 0], seen[:, 1], 1)
    residual = np.mean((seen[:, 1] - slope * seen[:, 0] - intercept) ** 2)
    variance = x.var()
    assert_allclose(fit.means[0], [x.mean(), intercept + slope * x.mean()], atol=1e-6)
    expected = [
        [variance, slope * variance],
        [slope * variance, residual + slope**2 * variance],
    ]
    assert_allclose(fit.covariance, expected, atol=1e-6)


def test_complete_rows_take_one_round_to_sample_moments():
    X = gappy_rows(40, 4, 0.0)
    groups = np.arange(40) % 2
    fit = fit_gaussian(
        X, groups, prior_rows=0.0, stop=StopRule(tol=1e-9, max_iter=10), owner="test"
    )
    means = np.array([X[groups == group].mean(axis=0) for group in range(2)])
    centred = X - means[groups]
    assert fit.n_iter == 2
    assert_allclose(fit.means, means, atol=1e-12)
    assert_allclose(fit.covariance, centred.T @ centred / 40, atol=1e-12)


def test_units_of_measurement_do_not_matter():
    X = gappy_rows(50, 3, 0.4)
    units = np.array([1e-6, 1.0, 1e6])
    stop = StopRule(tol=1e-6, max_iter=100)
    fit = fit_gaussian(X, one_group(X), prior_rows=1.0, stop=stop, owner="test")
    other = fit_gaussian(X * units, one_group(X), prior_rows=1.0, stop=stop, owner="test")
    assert other.n_iter == fit.n_iter
    assert_allclose(other.means, fit.means * units, rtol=1e-8)
    assert_allclose(other.covariance, fit.covariance * np.outer(units, units), rtol=1e-8)


def test_columns_without_spread_or_cells_are_kept_apart():
    X = gappy_rows(30, 4, 0.3).copy()
    X[:, 1] = 7.0
    X[:, 2] = np.nan
    fit = fit_gaussian(X, one_group(X), prior_rows=1.0, stop=EXACT, owner="test")
    assert fit.means[0, 1] == pytest.approx(7.0)
    assert fit.means[0, 2] == 0.0
    assert np.linalg.eigvalsh(fit.covariance)[0] > 0.0
    off_diagonal = np.delete(fit.covariance[2], 2)
    assert_allclose(off_diagonal, 0.0, atol=1e-12)


def test_more_columns_than_rows_need_the_prior():
    X = gappy_rows(8, 12, 0.0)
    fit = fit_gaussian(X, one_group(X), prior_rows=1.0, stop=EXACT, owner="test")
    assert fit.status is Status.CONVERGED
    assert np.linalg.eigvalsh(fit.covariance)[0] > 0.0
    with pytest.raises(ValueError, match=r"'prior_rows' parameter of test must be .* Got 0\.0"):
        fit_gaussian(X, one_group(X), prior_rows=0.0, stop=EXACT, owner="test")
