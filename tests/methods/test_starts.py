"""The named starts are complete tables; the spectral one is exact where the target is."""

import numpy as np
import pytest

from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear
from kernimpute.methods.recover import STARTS, recovery_problem
from tests.methods.problems import KERNELS, random_table, random_target, small_problem, with_gaps


def start(problem, name, seed=0):
    return STARTS[name](problem, np.random.default_rng(seed))


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    ("kernel", "categorical"), [(kernel, ()) for kernel in KERNELS] + [(Gaussian(), (1, 3))]
)
def test_a_start_is_a_complete_table_with_the_observed_cells(name, kernel, categorical):
    problem, _ = small_problem(kernel, categorical=categorical)
    table = start(problem, name)
    assert (table[problem.observed] == problem.X[problem.observed]).all()
    for column, codes in enumerate(problem.codes):
        values = table[:, column]
        fits = np.isin(values, codes) if codes.size else (values >= 0.0) & (values <= 1.0)
        assert fits.all()


def test_random_starts_differ_by_their_seed():
    problem, _ = small_problem(Gaussian())
    assert (start(problem, "random", 0) == start(problem, "random", 0)).all()
    assert (start(problem, "random", 0) != start(problem, "random", 1)).any()


@pytest.mark.parametrize(
    ("kernel", "categorical", "rate"),
    [
        (Gaussian(), (), 0.8),
        (Gaussian(), (), 0.93),
        (Gaussian(), (0, 2), 0.7),
        (Linear(), (), 0.8),
        (Linear(), (), 0.93),
    ],
)
def test_the_spectral_start_of_an_exact_target_is_the_table(kernel, categorical, rate):
    kernel = kernel.with_categorical(list(categorical), 6)
    table = random_table(120, 6, categorical)
    problem = recovery_problem(with_gaps(table, rate), random_target(kernel, table), kernel=kernel)
    np.testing.assert_allclose(start(problem, "spectral"), table, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("kernel", [Laplacian(), Chi2()], ids=repr)
def test_the_spectral_start_is_near_the_table_for_other_terms(kernel):
    table = random_table(120, 6)
    problem = recovery_problem(with_gaps(table, 0.5), random_target(kernel, table), kernel=kernel)
    errors = (start(problem, "spectral") - table)[~problem.observed]
    blind = (start(problem, "mean") - table)[~problem.observed]
    assert np.sqrt(np.mean(errors**2)) < 0.3 * np.sqrt(np.mean(blind**2))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("target", [np.zeros((4, 4)), -np.ones((4, 4)), np.eye(4)])
def test_the_spectral_start_takes_any_target(kernel, target):
    X = np.array([[0.2, np.nan], [0.2, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    problem = recovery_problem(X, target, kernel=kernel)
    table = start(problem, "spectral")
    assert np.isfinite(table).all()
    assert ((table >= 0.0) & (table <= 1.0)).all()
