"""The expected Gaussian kernel against draws, against the source's formulas, and as a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments.baselines.genrbf import GenRBFClassifier, GenRBFKernel

GAMMAS = [2.0**power for power in range(-5, 6, 2)]
METRICS = ("mahalanobis", "euclidean")


def table(n_samples=40, n_features=4, missing_rate=0.4, seed=0):
    rng = np.random.default_rng(seed)
    mixing = 0.3 * np.eye(n_features) + 0.15 * rng.normal(size=(n_features, n_features))
    truth = 0.5 + rng.normal(size=(n_samples, n_features)) @ mixing
    X = truth.copy()
    X[rng.random(X.shape) < missing_rate] = np.nan
    X[0], X[1], X[2] = truth[0], np.nan, truth[2]
    for rows in (X, truth):
        rows.flags.writeable = False
    return X, truth


@pytest.fixture
def rows():
    return table()[0]


def draws(kernel, row, n_draws, rng):
    """Draw a row's gaps from the fitted Gaussian, conditioned by the textbook's formula."""
    gaps = np.isnan(row)
    completed = np.tile(row, (n_draws, 1))
    if gaps.any():
        mean, S = kernel.mean_, kernel.covariance_
        slope = S[np.ix_(gaps, ~gaps)] @ np.linalg.pinv(S[np.ix_(~gaps, ~gaps)])
        centre = mean[gaps] + slope @ (row[~gaps] - mean[~gaps])
        spread = S[np.ix_(gaps, gaps)] - slope @ S[np.ix_(~gaps, gaps)]
        completed[:, gaps] = (
            multivariate_normal(centre, spread).rvs(n_draws, rng).reshape(n_draws, -1)
        )
    return completed


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "gaps", [((), (1,)), ((0,), (0,)), ((0, 1), (2, 3)), ((0, 1, 2), (1,)), ((0, 1, 2, 3), (3,))]
)
def test_it_is_the_expectation_over_independent_completions(metric, gaps):
    X, truth = table()
    kernel = GenRBFKernel(metric=metric, normalize=False).fit(X)
    pair = truth[[5, 9]].copy()
    for row, columns in enumerate(gaps):
        pair[row, list(columns)] = np.nan
    rng = np.random.default_rng(7)
    u, v = (draws(kernel, row, 40_000, rng) for row in pair)
    precision = np.eye(4) if metric == "euclidean" else np.linalg.inv(kernel.covariance_)
    squared = np.einsum("np,pq,nq->n", u - v, precision, u - v)
    for gamma in (0.05, 0.5, 2.0):
        values = np.exp(-gamma * squared)
        error = values.std() / np.sqrt(values.size)
        expected = kernel(pair[:1], pair[1:], gamma=gamma)[0, 0]
        assert abs(values.mean() - expected) <= 4.0 * error + 1e-12
        assert kernel(pair, gamma=gamma)[0, 1] == pytest.approx(expected, rel=1e-12)


def test_a_row_meets_an_independent_copy_of_itself(rows):
    kernel = GenRBFKernel(metric="euclidean", normalize=False).fit(rows)
    rng = np.random.default_rng(1)
    row = rows[np.isnan(rows).sum(axis=1) == 2][0]
    u, v = (draws(kernel, row, 40_000, rng) for _ in range(2))
    values = np.exp(-np.square(u - v).sum(axis=1))
    expected = kernel(row[None], gamma=1.0)[0, 0]
    assert expected < 1.0
    assert abs(values.mean() - expected) <= 4.0 * values.std() / np.sqrt(values.size)
    assert kernel(row[None], row[None], gamma=1.0)[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 8.0])
def test_it_agrees_with_the_closed_forms_of_the_source(gamma):
    # In the source G is the precision, J the gaps, and the difference's part along the gaps is
    # G_JJ^-1 (G difference)_J. One complete row; then two rows with the same gaps.
    X, truth = table()
    kernel = GenRBFKernel().fit(X)
    G = np.linalg.inv(kernel.covariance_)
    gaps = np.array([1, 3])
    u, v = truth[4].copy(), truth[6].copy()
    u[gaps] = v[gaps] = np.nan
    complete = truth[8]

    def parts(difference):
        along = np.linalg.solve(G[np.ix_(gaps, gaps)], (G @ difference)[gaps])
        return difference @ G @ difference, along @ G[np.ix_(gaps, gaps)] @ along

    fill = [draws(kernel, row, 50_000, np.random.default_rng(0)).mean(axis=0) for row in (u, v)]
    mean_u, mean_v = fill
    for mean, row in ((mean_u, u), (mean_v, v)):
        seen = ~np.isnan(row)
        slope = kernel.covariance_[np.ix_(gaps, seen)] @ np.linalg.inv(
            kernel.covariance_[np.ix_(seen, seen)]
        )
        mean[gaps] = kernel.mean_[gaps] + slope @ (row[seen] - kernel.mean_[seen])
    square, along = parts(mean_u - complete)
    factor = (1.0 + 4.0 * gamma) ** (gaps.size / 4) / (1.0 + 2.0 * gamma) ** (gaps.size / 2)
    expected = factor * np.exp(-gamma * (square - 2.0 * gamma / (1.0 + 2.0 * gamma) * along))
    assert kernel(u[None], complete[None], gamma=gamma)[0, 0] == pytest.approx(expected, rel=1e-9)
    square, along = parts(mean_u - mean_v)
    expected = np.exp(-gamma * (square - 4.0 * gamma / (1.0 + 4.0 * gamma) * along))
    assert kernel(u[None], v[None], gamma=gamma)[0, 0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("normalize", [True, False])
def test_complete_rows_have_the_gaussian_kernel(rows, normalize):
    truth = table()[1]
    kernel = GenRBFKernel(metric="euclidean", normalize=normalize).fit(rows)
    assert_allclose(kernel(truth, gamma=0.7), rbf_kernel(truth, gamma=0.7), atol=1e-12)
    whitened = GenRBFKernel(normalize=normalize).fit(rows)
    root = np.linalg.inv(np.linalg.cholesky(whitened.covariance_))
    expected = rbf_kernel(truth @ root.T, gamma=0.7)
    assert_allclose(whitened(truth, gamma=0.7), expected, atol=1e-10)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("normalize", [True, False])
def test_matrices_are_symmetric_and_positive_semidefinite(rows, metric, normalize):
    matrices = (
        GenRBFKernel(metric=metric, normalize=normalize).fit(rows).matrices(rows, gammas=GAMMAS)
    )
    assert matrices.shape == (len(GAMMAS), 40, 40)
    for K in matrices:
        assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12
        assert K.min() >= 0.0
        assert K.max() <= 1.0 + 1e-12
        if normalize:
            assert_array_equal(np.diag(K), 1.0)


@pytest.mark.parametrize("metric", METRICS)
def test_every_way_to_ask_gives_the_same(rows, metric):
    kernel = GenRBFKernel(metric=metric).fit(rows)
    matrices = kernel.matrices(rows, gammas=GAMMAS)
    for K, gamma in zip(matrices, GAMMAS, strict=True):
        assert_allclose(kernel(rows, gamma=gamma), K, rtol=1e-12)
        assert_allclose(kernel(rows, rows.copy(), gamma=gamma), K, rtol=1e-9)
        assert_allclose(kernel(rows[:7], rows[3:], gamma=gamma), K[:7, 3:], rtol=1e-9)


def test_blocks_of_pairs_do_not_show(rows, monkeypatch):
    kernel = GenRBFKernel().fit(rows)
    whole = kernel(rows, gamma=0.3)
    monkeypatch.setattr("experiments.baselines._expected_kernel.BLOCK_PAIRS", 3)
    assert_array_equal(kernel(rows, gamma=0.3), whole)


def test_rows_with_nothing_observed_are_alike_and_stand_for_the_whole_gaussian(rows):
    kernel = GenRBFKernel(metric="euclidean", normalize=False).fit(rows)
    empty = np.full((2, 4), np.nan)
    S = kernel.covariance_
    expected = np.linalg.det(np.eye(4) + 4.0 * S) ** -0.5
    assert_allclose(kernel(empty, gamma=1.0), expected, rtol=1e-12)
    assert_allclose(GenRBFKernel().fit(rows)(empty, gamma=1.0), 1.0, rtol=1e-12)


def test_small_gammas_leave_the_expected_squared_distance(rows):
    kernel = GenRBFKernel(metric="euclidean", normalize=False).fit(rows)
    u = rows[np.isnan(rows).any(axis=1)][:3]
    gamma = 1e-7
    rng = np.random.default_rng(0)
    squared = [
        np.square(draws(kernel, row, 40_000, rng) - draws(kernel, u[0], 40_000, rng)).sum(axis=1)
        for row in u[1:]
    ]
    slopes = (1.0 - kernel(u, gamma=gamma)[0, 1:]) / gamma
    for slope, sample in zip(slopes, squared, strict=True):
        assert abs(slope - sample.mean()) <= 4.0 * sample.std() / np.sqrt(sample.size) + 1e-5
    assert_allclose(kernel(rows, gamma=1e-300), 1.0, rtol=1e-12)


def test_units_of_measurement_do_not_matter_to_the_source_metric(rows):
    units = np.array([1e-3, 1.0, 5.0, 1e3])
    K = GenRBFKernel().fit(rows)(rows, gamma=0.2)
    assert_allclose(GenRBFKernel().fit(rows * units)(rows * units, gamma=0.2), K, atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_scale_is_two_over_the_expected_squared_distance(metric):
    X, truth = table(missing_rate=0.0)
    X = np.where(np.isnan(X), truth, X)
    kernel = GenRBFKernel(metric=metric, prior_rows=0.0).fit(X)
    # Over all pairs, a row with itself included, the average is twice the trace.
    logs = -np.log(kernel(X, gamma=1.0))
    assert kernel.scale_ == pytest.approx(2.0 / logs.mean(), rel=1e-8)
    assert GenRBFClassifier(metric=metric).fit(X, X[:, 0] > 0.5).gamma_ > 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_columns_that_nearly_repeat_do_no_harm(metric):
    X, truth = table()
    noise = 1e-7 * np.random.default_rng(0).normal(size=40)
    X = np.column_stack([X, truth[:, 0] + noise])
    kernel = GenRBFKernel(metric=metric, prior_rows=1e-9).fit(X)
    for K in kernel.matrices(X, gammas=[1e-6, 1.0, 1e6]):
        assert np.isfinite(K).all()
        assert np.linalg.eigvalsh(K)[0] >= -1e-9


@pytest.mark.parametrize("name", ["X", "Z"])
@pytest.mark.parametrize("shape", [(2, 1), (3,)])
def test_rows_must_have_the_columns_of_fit(rows, name, shape):
    kernel = GenRBFKernel().fit(rows)
    sides = {"X": rows, "Z": rows, name: np.zeros(shape)}
    n_features = rows.shape[1]
    must_be = f"'{name}' parameter of GenRBFKernel must be a matrix .* as in fit, {n_features}"
    with pytest.raises(ValueError, match=must_be):
        kernel(sides["X"], sides["Z"], gamma=1.0)


def test_gammas_are_checked(rows):
    kernel = GenRBFKernel().fit(rows)
    with pytest.raises(ValueError, match=r"'gamma' parameter of GenRBFKernel must be .* Got 0\.0"):
        kernel.matrices(rows, gammas=[1.0, 0.0])


def test_em_that_ends_early_is_announced(rows):
    with pytest.warns(ConvergenceWarning, match="EM of GenRBFKernel: Stopped at max_iter"):
        GenRBFKernel(tol=0.0, max_iter=1).fit(rows)


def test_the_classifier_is_a_machine_on_the_kernel():
    X, truth = table(60)
    y = np.where(truth[:, 0] > 0.5, "yes", "no")
    classifier = GenRBFClassifier(C=2.0, gamma=0.1).fit(X, y)
    kernel = GenRBFKernel().fit(X)
    machine = SVC(C=2.0, kernel="precomputed").fit(kernel(X, gamma=0.1), y)
    new = table(30, seed=2)[0]
    K = kernel(new, X, gamma=0.1)
    assert_allclose(classifier.decision_function(new), machine.decision_function(K), atol=1e-9)
    assert_array_equal(classifier.predict(new), machine.predict(K))
    assert classifier.predict(new).dtype.kind == "U"


def test_the_classifier_takes_more_classes():
    X, truth = table(90, missing_rate=0.1)
    y = np.digitize(truth[:, 0], [0.3, 0.7])
    classifier = GenRBFClassifier(C=10.0).fit(X, y)
    assert classifier.decision_function(X).shape == (90, 3)
    assert np.mean(classifier.predict(truth) == y) > 0.85


def test_columns_in_another_order_decide_the_same():
    X, truth = table(60)
    y = truth[:, 0] > 0.5
    order = [2, 0, 3, 1]
    values = GenRBFClassifier().fit(X, y).decision_function(X)
    other = GenRBFClassifier().fit(X[:, order], y).decision_function(X[:, order])
    assert_allclose(other, values, atol=2e-3)


@parametrize_with_checks(
    [
        GenRBFKernel(),
        GenRBFClassifier(),
        GenRBFClassifier(metric="euclidean", normalize=False, gamma=1.0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
