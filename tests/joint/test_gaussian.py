"""The joint normal: closed forms, direct maximisation, invariants and Monte Carlo."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from kernimpute.joint.gaussian import Factors, Normal, normal_of_means, principal_factors


def rows_with_gaps(n_rows=40, n_columns=4, rate=0.3, seed=0):
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(n_columns, n_columns))
    Z = generator.normal(size=(n_rows, n_columns)) @ mixing
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    Z[generator.random(Z.shape) < rate] = np.nan
    return Z


def fit_normal(Z, strength, weights=None, classes=None, **options):
    """Return the fit that starts from unit covariance about 0."""
    start = normal_of_means(Z.shape[1], 1 if classes is None else int(classes.max()) + 1)
    weights = np.ones(len(Z)) if weights is None else weights
    return start.fitted(Z, strength, weights, classes, **options)


def log_likelihood(Z, normal):
    """Return the log-likelihood of the observed cells of all rows, of one class."""
    total = 0.0
    for row in Z:
        known = ~np.isnan(row)
        covariance = normal.covariance[np.ix_(known, known)]
        offset = row[known] - normal.means[0, known]
        total -= 0.5 * (offset @ np.linalg.solve(covariance, offset))
        total -= 0.5 * (np.linalg.slogdet(covariance)[1] + offset.size * np.log(2.0 * np.pi))
    return total


def penalised(Z, normal, strength):
    precision = np.linalg.inv(normal.covariance)
    penalty = np.linalg.slogdet(normal.covariance)[1] + np.trace(precision)
    return log_likelihood(Z, normal) - 0.5 * strength * penalty


def a_normal(n_columns=5, n_classes=1, seed=3):
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(n_columns, n_columns))
    means = generator.normal(size=(n_classes, n_columns))
    shares = np.full(n_classes, 1.0 / n_classes)
    return Normal(means, shares, root @ root.T + 0.2 * np.eye(n_columns))


def test_complete_rows_have_a_closed_form():
    Z = rows_with_gaps(rate=0.0)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(Z))
    fitted = fit_normal(Z, 7.0, weights=weights)
    mean = np.average(Z, axis=0, weights=weights)
    scatter = (weights[:, None] * (Z - mean)).T @ (Z - mean)
    np.testing.assert_allclose(fitted.means[0], mean, atol=1e-12)
    expected = (scatter + 7.0 * np.eye(4)) / (weights.sum() + 7.0)
    np.testing.assert_allclose(fitted.covariance, expected, atol=1e-12)


def test_the_fit_maximises_the_penalised_likelihood_of_the_observed_cells():
    Z, strength = rows_with_gaps(n_rows=12, n_columns=2, seed=4), 2.0
    fitted = fit_normal(Z, strength, tol=1e-12, max_iter=5000)

    def loss(parameters):
        root = np.array([[np.exp(parameters[2]), 0.0], [parameters[3], np.exp(parameters[4])]])
        return -penalised(Z, Normal(parameters[None, :2], np.ones(1), root @ root.T), strength)

    found = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    assert -loss(found.x) == pytest.approx(penalised(Z, fitted, strength), abs=1e-8)
    np.testing.assert_allclose(fitted.means[0], found.x[:2], atol=1e-4)


@pytest.mark.parametrize("shape", [(40, 4), (6, 9)], ids=["long", "more columns than rows"])
def test_no_round_lowers_the_penalised_likelihood(shape):
    Z = rows_with_gaps(*shape, rate=0.5)
    values = [
        penalised(Z, fit_normal(Z, 3.0, max_iter=rounds, tol=0.0), 3.0) for rounds in range(1, 30)
    ]
    assert np.diff(values).min() > -1e-9 and values[-1] > values[0]


def test_a_weight_of_two_is_a_row_twice():
    Z = rows_with_gaps()
    weights = np.where(np.arange(len(Z)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(Z, weights.astype(int), axis=0)
    once, doubled = fit_normal(Z, 3.0, weights=weights), fit_normal(twice, 3.0)
    np.testing.assert_allclose(once.covariance, doubled.covariance, atol=1e-12)


def test_conditionals_are_those_of_regression_on_simulated_rows():
    normal, generator = a_normal(), np.random.default_rng(0)
    simulated = generator.multivariate_normal(normal.means[0], normal.covariance, 200_000)
    row = simulated[:1].copy()
    row[0, [1, 3]] = np.nan
    known = np.column_stack([np.ones(len(simulated)), simulated[:, [0, 2, 4]]])
    slope, *_ = np.linalg.lstsq(known, simulated[:, [1, 3]], rcond=None)
    law = normal.conditional(row)
    np.testing.assert_allclose(law.filled[0, [1, 3]], known[0] @ slope, atol=0.05)
    left = (simulated[:, [1, 3]] - known @ slope).var(axis=0)
    np.testing.assert_allclose(law.variance[0, [1, 3]], left, rtol=0.02)
    assert (law.variance[0, [0, 2, 4]] == 0.0).all()


@pytest.mark.parametrize("n_classes", [1, 3])
def test_draws_have_the_conditional_moments(n_classes):
    normal = a_normal(n_classes=n_classes)
    row = np.array([[0.3, np.nan, -1.0, np.nan, 0.5]])
    law = normal.conditional(row)
    drawn = normal.draw(np.repeat(row, 40_000, axis=0), np.random.default_rng(1))
    np.testing.assert_allclose(drawn.mean(axis=0), law.filled[0], atol=0.05)
    np.testing.assert_allclose(drawn.var(axis=0), law.variance[0], rtol=0.05, atol=1e-12)
    assert (drawn[:, [0, 2, 4]] == row[0, [0, 2, 4]]).all()


def test_classes_have_bayes_odds_and_their_mean_of_fills():
    normal = a_normal(n_classes=2)
    row = np.array([[0.3, np.nan, -1.0, 0.1, np.nan]])
    known, gaps = [0, 2, 3], [1, 4]
    densities, fills = [], []
    for mean in normal.means:
        S = normal.covariance
        inner = S[np.ix_(known, known)]
        densities.append(multivariate_normal(mean[known], inner).pdf(row[0, known]))
        slope = np.linalg.solve(inner, row[0, known] - mean[known])
        fills.append(mean[gaps] + S[np.ix_(gaps, known)] @ slope)
    odds = np.array(densities) / np.sum(densities)
    law = normal.conditional(row)
    np.testing.assert_allclose(law.posterior[0], odds, rtol=1e-10)
    np.testing.assert_allclose(law.filled[0, gaps], odds @ np.array(fills), rtol=1e-10)
    np.testing.assert_allclose(normal.fill(row, np.array([[0.0, 1.0]]))[0, gaps], fills[1])


def test_unlabelled_rows_take_part_in_a_fit_with_classes():
    generator = np.random.default_rng(2)
    classes = np.repeat([0, 1], 100)
    Z = generator.normal(size=(200, 3)) + 4.0 * classes[:, None]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    Z[generator.random(Z.shape) < 0.2] = np.nan
    few = np.where(np.arange(200) % 10 == 0, classes, -1)
    labelled, mostly_not = fit_normal(Z, 1.0, classes=classes), fit_normal(Z, 1.0, classes=few)
    np.testing.assert_allclose(mostly_not.means, labelled.means, atol=0.05)
    only_few = fit_normal(Z[few >= 0], 1.0, classes=few[few >= 0])
    wrong = np.abs(only_few.means - labelled.means).max()
    assert np.abs(mostly_not.means - labelled.means).max() < wrong


@pytest.mark.parametrize("kind", ["twice the same column", "a constant", "more columns than rows"])
def test_degenerate_columns_stay_finite(kind):
    Z = rows_with_gaps(5 if kind.startswith("more") else 40, 8)
    if kind.startswith("twice"):
        Z[:, 1] = Z[:, 0]
    if kind == "a constant":
        Z[:, 1] = np.where(np.isnan(Z[:, 1]), np.nan, 0.0)
    filled = fit_normal(Z, 0.02, max_iter=100).fill(Z)
    assert np.isfinite(filled).all()
    assert np.abs(filled).max() < 10.0


def test_a_linear_function_of_other_columns_is_filled_exactly():
    generator = np.random.default_rng(0)
    Z = generator.normal(size=(300, 4))
    Z[:, 3] = (Z[:, 0] + Z[:, 1] - Z[:, 2]) / np.sqrt(3.0)
    truth = Z[:, 3].copy()
    Z[::3, 3] = np.nan
    errors = fit_normal(Z, 1e-6, tol=1e-10, max_iter=500).fill(Z)[:, 3] - truth
    assert np.abs(errors).max() < 1e-4


def test_factors_are_the_normal_with_their_covariance():
    generator = np.random.default_rng(0)
    loadings, noise = generator.normal(size=(6, 2)), generator.uniform(0.3, 1.0, 6)
    means, shares = generator.normal(size=(2, 6)), np.array([0.3, 0.7])
    factors = Factors(means, shares, loadings, noise)
    normal = Normal(means, shares, loadings @ loadings.T + np.diag(noise))
    Z = rows_with_gaps(30, 6, rate=0.5)
    Z[0] = np.nan
    for ours, dense in zip(factors.conditional(Z), normal.conditional(Z), strict=True):
        np.testing.assert_allclose(ours, dense, atol=1e-10)
    drawn = factors.draw(np.repeat(Z[1:2], 40_000, axis=0), np.random.default_rng(1))
    law = factors.conditional(Z[1:2])
    np.testing.assert_allclose(drawn.mean(axis=0), law.filled[0], atol=0.05)
    np.testing.assert_allclose(drawn.var(axis=0), law.variance[0], rtol=0.05, atol=1e-12)


def test_no_round_lowers_the_penalised_likelihood_of_factors():
    Z, strength = rows_with_gaps(30, 12, rate=0.4), 2.0
    start = principal_factors(Z, 1)
    values = []
    for rounds in range(1, 25):
        fitted = start.fitted(Z, strength, np.ones(30), tol=0.0, max_iter=rounds)
        covariance = fitted.loadings @ fitted.loadings.T + np.diag(fitted.noise)
        ratio = ((fitted.loadings**2).sum(axis=1) + 1.0) / fitted.noise
        # The priors of W_j given d_j and of d_j, but for the constant that W_j's density has.
        penalty = (ratio + np.log(fitted.noise)).sum()
        likelihood = log_likelihood(Z, Normal(fitted.means, fitted.shares, covariance))
        values.append(likelihood - 0.5 * strength * penalty)
    assert np.diff(values).min() > -1e-9
