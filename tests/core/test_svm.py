"""One machine's dual: libsvm's start, and the active set that ends at an optimum, always."""

import numpy as np
import pytest

from kernimpute.core.svm import libsvm_start, solve_dual
from kernimpute.kernels import Gaussian


def floored_spectrum(X):
    values, vectors = np.linalg.eigh(Gaussian(1.0)(X, X) - 0.3 * np.eye(len(X)))
    K = (vectors * np.maximum(values, 1e-8)) @ vectors.T
    return 0.5 * (K + K.T)


# Positive semidefinite, and singular in most of them.
MATRICES = {
    "gaussian": lambda X: Gaussian(1.0)(X, X),
    "nearly constant": lambda X: Gaussian(1e-4)(X, X),
    "duplicate rows": lambda X: np.kron(Gaussian(1.0)(X, X), np.ones((2, 2)))[::2, ::2],
    "low rank": lambda X: X @ X.T,
    "large entries": lambda X: (5.0 * X @ X.T + 1.0) ** 3,
    "floored spectrum": floored_spectrum,
    "zero": lambda X: np.zeros((len(X), len(X))),
    "identical rows": lambda X: np.kron(np.eye(-(-len(X) // 4)), np.ones((4, 4)))[
        : len(X), : len(X)
    ],
}
every_matrix = pytest.mark.parametrize("matrix", MATRICES)


def classification(n, C, generator):
    y = np.where(generator.random(n) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    upper = np.where(y > 0.0, C, 0.0)
    return y, upper - C, upper, 0.0


def regression(n, C, generator, epsilon):
    return generator.random(n) + 100.0, np.full(n, -C), np.full(n, C), epsilon


def problems(matrix, seed=0):
    """Yield problems of every sort on matrices of a kind, which nobody may write to."""
    generator = np.random.default_rng(seed)
    for C in (1e-3, 1.0, 1e5):
        n = int(generator.integers(12, 60))
        K = MATRICES[matrix](generator.random((n, 4)))
        for problem in (
            classification(n, C, generator),
            *(regression(n, C, generator, epsilon) for epsilon in (0.0, 0.1, 2.0)),
        ):
            for array in (K, *problem[:3]):
                array.setflags(write=False)
            yield (K, *problem)


def value(K, y, lower, upper, epsilon, b):
    # 1'b = 0: the constant spares the rounding of a large y.
    return (y - y.mean()) @ b - epsilon * np.abs(b).sum() - 0.5 * b @ K @ b


def assert_optimal(K, y, lower, upper, epsilon, b, tol=1e-8):
    """Feasible, and a common slope fits between what raising gains and what lowering loses."""
    size = np.abs(b).sum()
    assert (b >= lower).all() and (b <= upper).all()
    assert abs(b.sum()) <= 1e-12 * size
    gradient = y - y.mean() - K @ b
    # The subgradients of -epsilon |b| reach from one of these to the other.
    rise = (gradient - np.where(b >= 0.0, epsilon, -epsilon))[b < upper]
    fall = (gradient - np.where(b > 0.0, epsilon, -epsilon))[b > lower]
    assert rise.max() - fall.min() <= max(tol * 0.5 * np.ptp(y), 2e-15 * np.abs(K).max() * size)


def libsvm(K, y, lower, upper, epsilon):
    return libsvm_start(K, y, np.maximum(upper, -lower), epsilon if lower.max() < 0.0 else None)


def anywhere(K, y, lower, upper, epsilon):
    return np.random.default_rng(1).uniform(2.0 * lower - 1.0, 2.0 * upper + 1.0)


def zero(K, y, lower, upper, epsilon):
    return np.zeros_like(y)


@pytest.mark.parametrize("start", [zero, anywhere, libsvm])
@every_matrix
def test_every_start_leads_to_an_optimum(matrix, start):
    rounds = []
    for problem in problems(matrix):
        solution = solve_dual(*problem, start(*problem), max_rounds=500)
        assert solution.converged
        assert_optimal(*problem, solution.point)
        noise = 1e-15 * np.abs(problem[0]).max() * np.abs(solution.point).sum() ** 2
        expected = value(*problem, solution.point)
        assert solution.value == pytest.approx(expected, rel=1e-12, abs=noise + 1e-14)
        rounds.append(solution.n_rounds)
    if start is libsvm:
        assert np.median(rounds) <= 8


@every_matrix
def test_the_value_never_falls(matrix):
    for problem in problems(matrix, seed=2):
        K, y, *_ = problem
        b = np.zeros(y.size)
        for _ in range(30):
            before = value(*problem, b)
            solution = solve_dual(*problem, b, max_rounds=1)
            assert solution.n_rounds == 1
            b = solution.point
            noise = 1e-13 * (np.abs(y - y.mean()).max() + K.max() * np.abs(b).sum())
            assert value(*problem, b) >= before - noise * np.abs(b).sum()


@pytest.mark.parametrize("seed", range(4))
def test_an_indefinite_matrix_ends_and_does_not_get_worse(seed):
    generator = np.random.default_rng(seed)
    noise = 0.2 * generator.standard_normal((30, 30))
    K = MATRICES["gaussian"](generator.random((30, 3))) + noise + noise.T
    for problem in (
        (K, *classification(30, 10.0, generator)),
        (K, *regression(30, 1.0, generator, 0.1)),
    ):
        for start in (libsvm(*problem), np.zeros(30)):
            solution = solve_dual(*problem, start, max_rounds=100)
            assert solution.n_rounds <= 100
            b = solution.point
            assert (b >= problem[2]).all() and (b <= problem[3]).all()
            assert abs(b.sum()) <= 1e-12 * np.abs(b).sum()
            assert value(*problem, b) >= 0.0
            if solution.converged:
                assert_optimal(*problem, b)
