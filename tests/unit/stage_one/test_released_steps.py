"""The released recursion off the golden inputs: where it runs away, and beyond two classes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kernimpute.core.projections import project_psd
from kernimpute.core.status import Status
from kernimpute.kernels import Gaussian, Laplacian, Linear
from kernimpute.stage_one import VARIANTS, learn_kernel
from kernimpute.stage_one.released_steps import (
    floor_spectrum,
    project_product,
    released_kernel_step,
    released_machine,
    released_perturbation_step,
    released_start,
)
from tests.unit.stage_one.conftest import problem_of, small_rows


def incomplete(n_samples, n_features, missing_rate, seed=0, *, binary=False):
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, n_features))
    y = (X[:, 0] + X[:, 1] + 0.3 * generator.random(n_samples) > 1.1).astype(int)
    X = np.round(X) if binary else X
    return np.where(generator.random(X.shape) < missing_rate, np.nan, X), y


def test_the_projected_product_has_a_unit_diagonal_and_a_floor():
    generator = np.random.default_rng(0)
    K = generator.standard_normal((9, 9))
    K = K + K.T + 2.0 * np.eye(9)
    product = project_product(K)
    np.testing.assert_array_equal(np.diagonal(product), 1.0)
    assert product.min() == 1e-8
    scaled = project_psd(K) / np.mean(np.diagonal(project_psd(K)))
    above = (scaled > 1e-8) & ~np.eye(9, dtype=bool)
    np.testing.assert_allclose(product[above], scaled[above], rtol=1e-12)


def test_the_floored_spectrum():
    K = np.diag([3.0, 1e-12, -2.0])
    np.testing.assert_allclose(floor_spectrum(K, 0.5), np.diag([3.0, 0.5, 0.5]), atol=1e-15)


def test_the_start_is_half_of_C_whether_feasible_or_not():
    rows = small_rows(9)
    state = released_start(problem_of(rows, "released"))
    np.testing.assert_array_equal(state.dual_coef, 0.5 * rows.dual.targets)
    assert state.dual_coef.sum() != 0.0
    np.testing.assert_array_equal(state.adjustment, 1.0)


@pytest.mark.parametrize("step", [released_kernel_step, released_perturbation_step])
def test_the_product_of_the_factors_is_the_projected_product(step):
    problem = problem_of(small_rows(), "released")
    state = released_start(problem)
    move = step(problem, state)
    name = "adjustment" if step is released_kernel_step else "perturbation"
    K = problem.perturbed_kernel(replace(state, **{name: move.value}))
    np.testing.assert_allclose(np.diagonal(K), 1.0, rtol=1e-12)
    assert K.min() >= 1e-8 * (1.0 - 1e-12)
    assert move.status is Status.CONVERGED


@pytest.mark.parametrize("gamma", [2.0, 4.0])
def test_a_run_that_runs_away_says_so_and_keeps_the_last_regular_round(gamma):
    X, y = incomplete(120, 12, 0.4)
    learned = learn_kernel(X, y, kernel=Gaussian(gamma), variant="released", max_iter=60)
    assert learned.status is Status.DIVERGED
    assert learned.n_iter < 60
    for array in (learned.K, learned.target, learned.dual_coef):
        assert np.isfinite(array).all()
    assert learned.K.max() <= 1e6
    if learned.n_iter == 1:
        # No regular round: the start, where the adjustment is 11'.
        sums = Gaussian(gamma).observed_sums(X, ~np.isnan(X))
        np.testing.assert_allclose(learned.K, np.exp(-gamma * sums), rtol=1e-12)


@pytest.mark.parametrize("eta", [None, 1e-6, 1e4])
def test_an_observed_kernel_close_to_underflow_does_not_overflow(eta):
    X, y = incomplete(60, 14, 0.05, binary=True)
    learned = learn_kernel(X, y, kernel=Gaussian(32.0), variant="released", eta=eta, max_iter=25)
    assert learned.status is Status.DIVERGED
    assert np.isfinite(learned.K).all()
    assert np.isfinite(learned.target).all()


def test_the_target_is_not_kept_within_bounds():
    X, y = incomplete(40, 6, 0.4)
    learned = learn_kernel(X, y, kernel=Gaussian(0.5), variant="released", max_iter=50)
    off = ~np.eye(40, dtype=bool)
    np.testing.assert_allclose(learned.target[off], -np.log(learned.K[off]) / 0.5, atol=1e-12)
    np.testing.assert_array_equal(np.diagonal(learned.target), 0.0)
    lower, _ = Gaussian(0.5).bounds(X, ~np.isnan(X))
    assert (learned.target < lower - 1e-9).any()


def test_the_intercept_is_the_mean_over_all_support_vectors():
    rows = small_rows(14)
    problem = problem_of(rows, "released")
    state = VARIANTS["released"].start(problem)
    K, dual_coef, intercept = released_machine(problem, state)
    residual = rows.dual.targets[:, 0] - K @ dual_coef[:, 0]
    assert intercept[0] == pytest.approx(residual[dual_coef[:, 0] != 0.0].mean(), rel=1e-12)
    assert np.linalg.eigvalsh(K)[0] >= 0.9e-8


def test_a_class_against_the_rest_goes_through_the_same_code():
    X, _ = incomplete(45, 5, 0.4)
    y = np.arange(45) % 3
    learned = learn_kernel(X, y, kernel=Gaussian(0.5), variant="released", max_iter=40)
    assert learned.dual_coef.shape == (45, 3)
    assert learned.intercept.shape == (3,)
    np.testing.assert_allclose(learned.dual_coef.sum(axis=0), 0.0, atol=1e-4)


def test_regression_goes_through_the_same_code():
    X, _ = incomplete(40, 5, 0.3)
    y = np.where(np.isnan(X[:, 0]), 0.5, X[:, 0])
    learned = learn_kernel(
        X, y, kernel=Gaussian(0.5), variant="released", task="regression", max_iter=40
    )
    assert np.isfinite(learned.K).all()
    assert np.abs(learned.dual_coef).max() <= 1.0


def test_swapping_the_classes_flips_the_coefficients_only():
    X, y = incomplete(40, 5, 0.4)
    settings = {"kernel": Gaussian(0.5), "variant": "released", "max_iter": 40}
    one, other = learn_kernel(X, y, **settings), learn_kernel(X, 1 - y, **settings)
    np.testing.assert_allclose(other.K, one.K, rtol=1e-10)
    np.testing.assert_allclose(other.dual_coef, -one.dual_coef, atol=1e-10)
    assert other.intercept == pytest.approx(-one.intercept, abs=1e-10)


def test_the_laplacian_kernel_has_a_first_stage():
    X, y = incomplete(40, 5, 0.4)
    learned = learn_kernel(X, y, kernel=Laplacian(0.2), variant="released", max_iter=20)
    assert np.isfinite(learned.target).all()


def test_refusals():
    X, y = incomplete(20, 4, 0.4)
    with pytest.raises(ValueError, match=r"'eta' .* in \(0, inf\) for variant='released'.* inf"):
        learn_kernel(X, y, kernel=Gaussian(), variant="released", eta=math.inf)
    for kernel in (Linear(), Gaussian(categorical=(1,))):
        with pytest.raises(ValueError, match="gaussian or laplacian, .* for variant='released'"):
            learn_kernel(X, y, kernel=kernel, variant="released")
    X, y = incomplete(30, 40, 0.02, binary=True)
    with pytest.raises(ValueError, match="lower its gamma.*gives 0 for rows"):
        learn_kernel(X, y, kernel=Gaussian(80.0), variant="released")
