"""The expected Gaussian kernel against draws, and as a kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from experiments.baselines import genrbf
from experiments.baselines.genrbf import GenRBFKernel, log_expectations

GAMMAS = [2.0**power for power in range(-5, 6, 2)]


def table(n_samples=40, n_features=4, missing_rate=0.4, seed=0):
    rng = np.random.default_rng(seed)
    mixing = 0.3 * np.eye(n_features) + 0.15 * rng.normal(size=(n_features, n_features))
    truth = 0.5 + rng.normal(size=(n_samples, n_features)) @ mixing
    X = truth.copy()
    X[rng.random(X.shape) < missing_rate] = np.nan
    X[0], X[1], X[2] = truth[0], np.nan, truth[2]
    return X, truth


def draws(kernel, row, n_draws, rng):
    """Draw a row's gaps from the fitted Gaussian, conditioned by the textbook's formula."""
    gaps = np.isnan(row)
    completed = np.tile(row, (n_draws, 1))
    if gaps.any():
        mean, S = kernel.mean, kernel.covariance
        slope = S[np.ix_(gaps, ~gaps)] @ np.linalg.pinv(S[np.ix_(~gaps, ~gaps)])
        centre = mean[gaps] + slope @ (row[~gaps] - mean[~gaps])
        spread = S[np.ix_(gaps, gaps)] - slope @ S[np.ix_(~gaps, gaps)]
        drawn = multivariate_normal(centre, spread).rvs(n_draws, rng)
        completed[:, gaps] = drawn.reshape(n_draws, -1)
    return completed


@pytest.mark.parametrize(
    "gaps", [((), (1,)), ((0,), (0,)), ((0, 1), (2, 3)), ((0, 1, 2), (1,)), ((0, 1, 2, 3), (3,))]
)
def test_it_is_the_expectation_over_independent_completions(gaps):
    X, truth = table()
    kernel = GenRBFKernel(X)
    pair = truth[[5, 9]].copy()
    for row, columns in enumerate(gaps):
        pair[row, list(columns)] = np.nan
    rng = np.random.default_rng(7)
    u, v = (draws(kernel, row, 40_000, rng) for row in pair)
    squared = np.einsum("np,pq,nq->n", u - v, np.linalg.inv(kernel.covariance), u - v)
    gammas = np.array([0.05, 0.5, 2.0])
    one, other = (kernel._distributions(row[None]) for row in pair)
    for gamma, found in zip(gammas, np.exp(log_expectations(one, other, gammas)), strict=True):
        values = np.exp(-gamma * squared)
        assert abs(values.mean() - found[0, 0]) <= 4.0 * values.std() / 200.0 + 1e-12


def test_matrices_are_kernels_with_a_diagonal_of_1(monkeypatch):
    X, _ = table()
    kernel = GenRBFKernel(X)
    matrices = kernel.matrices(X, gammas=GAMMAS)
    assert_allclose(kernel.matrices(X[:7], X[3:], gammas=GAMMAS), matrices[:, :7, 3:], rtol=1e-9)
    for K in matrices:
        assert_array_equal(K, K.T)
        assert_array_equal(np.diag(K), 1.0)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12
        assert 0.0 <= K.min() and K.max() <= 1.0 + 1e-12
    monkeypatch.setattr(genrbf, "BLOCK_PAIRS", 3)
    assert_array_equal(kernel.matrices(X, gammas=GAMMAS), matrices)
