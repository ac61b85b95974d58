"""The active-set method and the interior-point method that starts it: optimality, always."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.core.svm import solve_dual


def gaussian(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def kernel_matrix(kind, n, generator):
    """Return a positive semidefinite matrix of the kind, singular in most of them."""
    X = generator.random((n, 4))
    if kind == "gaussian":
        return gaussian(X, 1.0)
    if kind == "nearly constant":
        return gaussian(X, 1e-4)
    if kind == "duplicate rows":
        return gaussian(X[generator.integers(0, n // 3, n)], 1.0)
    if kind == "low rank":
        return X @ X.T
    if kind == "large entries":
        return (5.0 * X @ X.T + 1.0) ** 3
    if kind == "floored spectrum":
        values, vectors = np.linalg.eigh(gaussian(X, 1.0) - 0.3 * np.eye(n))
        K = (vectors * np.maximum(values, 1e-8)) @ vectors.T
        return 0.5 * (K + K.T)
    if kind == "zero":
        return np.zeros((n, n))
    assert kind == "identical rows"
    return np.kron(np.eye(-(-n // 4)), np.ones((4, 4)))[:n, :n]


KINDS = (
    "gaussian",
    "nearly constant",
    "duplicate rows",
    "low rank",
    "large entries",
    "floored spectrum",
    "zero",
    "identical rows",
)


def classification(n, C, generator):
    y = np.where(generator.random(n) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    upper = np.where(y > 0.0, C, 0.0)
    return y, upper - C, upper, 0.0


def regression(n, C, generator, epsilon):
    y = generator.random(n) + 100.0
    return y, np.full(n, -C), np.full(n, C), epsilon


def problems(kind, seed=0):
    """Return problems of every sort on matrices of a kind."""
    generator = np.random.default_rng(seed)
    for C in (1e-3, 1.0, 1e2, 1e5):
        n = int(generator.integers(12, 60))
        K = kernel_matrix(kind, n, generator)
        yield K, *classification(n, C, generator)
        for epsilon in (0.0, 0.1, 2.0):
            yield K, *regression(n, C, generator, epsilon)


def value(K, y, lower, upper, epsilon, b):
    # 1'b = 0: the constant spares the rounding of a large y.
    return (y - y.mean()) @ b - epsilon * np.abs(b).sum() - 0.5 * b @ K @ b


def assert_optimal(K, y, lower, upper, epsilon, b, tol=1e-8):
    """Feasible, and a common slope fits between what raising and what lowering is worth."""
    size = np.abs(b).sum()
    assert (b >= lower).all() and (b <= upper).all()
    assert abs(b.sum()) <= 1e-12 * size
    gradient = y - y.mean() - K @ b
    # The subgradients of -epsilon |b| reach from one of these to the other.
    rise = (gradient - np.where(b >= 0.0, epsilon, -epsilon))[b < upper]
    fall = (gradient - np.where(b > 0.0, epsilon, -epsilon))[b > lower]
    allowed = max(tol * 0.5 * np.ptp(y), 2e-15 * np.abs(K).max() * size)
    assert rise.max() - fall.min() <= allowed


@pytest.mark.parametrize("kind", KINDS)
def test_from_nothing(kind):
    for problem in problems(kind):
        solution = solve_dual(*problem, np.zeros(problem[1].size), max_rounds=500)
        assert solution.converged
        assert_optimal(*problem, solution.point)
        noise = 1e-15 * np.abs(problem[0]).max() * np.abs(solution.point).sum() ** 2
        expected = value(*problem, solution.point)
        assert solution.value == pytest.approx(expected, rel=1e-12, abs=noise + 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_from_an_infeasible_start(kind):
    generator = np.random.default_rng(1)
    for problem in problems(kind):
        _, y, lower, upper, _ = problem
        start = generator.uniform(2.0 * lower - 1.0, 2.0 * upper + 1.0)
        solution = solve_dual(*problem, start, max_rounds=500)
        assert solution.converged
        assert_optimal(*problem, solution.point)


@pytest.mark.parametrize("kind", KINDS)
def test_from_the_interior_point_method_few_rounds_suffice(kind):
    rounds = []
    for problem in problems(kind):
        guess = near_solution(*problem)
        assert (guess >= problem[2]).all() and (guess <= problem[3]).all()
        solution = solve_dual(*problem, guess)
        assert solution.converged
        assert_optimal(*problem, solution.point)
        rounds.append(solution.n_rounds)
    assert np.median(rounds) <= 3


def test_the_solution_is_its_own_start():
    for problem in problems("gaussian"):
        solution = solve_dual(*problem, np.zeros(problem[1].size))
        again = solve_dual(*problem, solution.point)
        assert again.n_rounds <= 2
        np.testing.assert_allclose(
            again.point, solution.point, rtol=0.0, atol=1e-9 * np.abs(solution.point).max()
        )


def test_the_value_never_falls():
    for kind in KINDS:
        for problem in problems(kind, seed=2):
            K, y, lower, upper, epsilon = problem
            b = np.zeros(y.size)
            for _ in range(30):
                before = value(*problem, b)
                b = solve_dual(*problem, b, max_rounds=1).point
                noise = 1e-13 * (np.abs(y - y.mean()).max() + K.max() * np.abs(b).sum())
                assert value(*problem, b) >= before - noise * np.abs(b).sum()


@pytest.mark.parametrize("seed", range(8))
def test_an_indefinite_matrix_ends_and_does_not_get_worse(seed):
    generator = np.random.default_rng(seed)
    n = 30
    noise = 0.2 * generator.standard_normal((n, n))
    K = gaussian(generator.random((n, 3)), 1.0) + noise + noise.T
    for problem in (
        (K, *classification(n, 10.0, generator)),
        (K, *regression(n, 1.0, generator, 0.1)),
    ):
        for start in (near_solution(*problem), np.zeros(n)):
            solution = solve_dual(*problem, start, max_rounds=100)
            assert solution.n_rounds <= 100
            b = solution.point
            assert (b >= problem[2]).all() and (b <= problem[3]).all()
            assert abs(b.sum()) <= 1e-12 * np.abs(b).sum()
            # The start, infeasible from the one method, counts for nothing; 0 is feasible.
            if not start.any():
                assert value(*problem, b) >= 0.0
            if solution.converged:
                assert_optimal(*problem, b)


def test_a_bound_on_the_rounds_is_kept():
    problem = next(iter(problems("large entries")))
    solution = solve_dual(*problem, np.zeros(problem[1].size), max_rounds=1)
    assert solution.n_rounds == 1
    assert not solution.converged
    assert solution.violation > 1e-3


def test_constant_targets_need_no_coefficients():
    K = gaussian(np.random.default_rng(0).random((9, 2)), 1.0)
    bounds = np.full(9, 5.0)
    for epsilon in (0.0, 0.3):
        problem = (K, np.full(9, 7.0), -bounds, bounds, epsilon)
        for start in (np.zeros(9), near_solution(*problem)):
            solution = solve_dual(*problem, start)
            np.testing.assert_allclose(solution.point, 0.0, atol=1e-12)


def test_a_wide_tube_leaves_nothing_to_fit():
    K = gaussian(np.random.default_rng(0).random((9, 2)), 1.0)
    y, bounds = np.linspace(0.0, 1.0, 9), np.full(9, 5.0)
    start = np.where(np.arange(9) % 2, 1.0, -1.0)
    np.testing.assert_array_equal(solve_dual(K, y, -bounds, bounds, 0.6, start).point, 0.0)


def test_arguments_are_not_written_to():
    for problem in problems("gaussian"):
        start = np.zeros(problem[1].size)
        for array in (*problem[:4], start):
            array.setflags(write=False)
        solve_dual(*problem, start)
        near_solution(*problem)
