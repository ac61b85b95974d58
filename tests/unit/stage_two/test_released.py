"""The released descent of Stage II: how it ends and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernimpute import impute
from kernimpute.core.status import Status
from kernimpute.kernels import Gaussian, Laplacian
from kernimpute.methods.recover import recover_features
from kernimpute.stage_two.released import recover_features_released


def recoverable(n_samples=25, n_features=4, missing_rate=0.3, seed=0):
    """Return a table with gaps, the complete one, and the latter's squared distances."""
    generator = np.random.default_rng(seed)
    complete = generator.random((n_samples, n_features))
    X = np.where(generator.random(complete.shape) < missing_rate, np.nan, complete)
    return X, complete, cdist(complete, complete, "sqeuclidean")


def test_it_comes_near_to_the_exact_minimum():
    X, complete, target = recoverable()
    released = recover_features_released(X, target)
    assert released.status is Status.CONVERGED
    assert released.n_sweeps == len(released.trace)
    assert released.objective == released.trace.column("objective")[-1]
    np.testing.assert_allclose(released.X, complete, atol=1e-3)
    exact = recover_features(X, target, kernel=Gaussian())
    assert exact.objective <= released.objective**2


def test_observed_cells_and_arguments_stay_as_they_are():
    X, _, target = recoverable()
    X.setflags(write=False)
    target.setflags(write=False)
    filled = recover_features_released(X, target, max_sweeps=5).X
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(filled[observed], X[observed])
    assert filled.min() >= 0.0 and filled.max() <= 1.0


def test_the_first_sweep_moves_every_missing_cell_by_the_rate():
    # Adam's first step has the length of the rate, whatever the gradient.
    X, _, target = recoverable()
    filled = recover_features_released(X, target, max_sweeps=1).X
    np.testing.assert_allclose(np.abs(filled[np.isnan(X)] - 0.5), 0.1, atol=1e-6)


def test_too_few_sweeps():
    X, _, target = recoverable()
    recovered = recover_features_released(X, target, max_sweeps=3)
    assert recovered.status is Status.MAX_ITER
    assert recovered.n_sweeps == 3
    none = recover_features_released(X, target, max_sweeps=0)
    assert none.n_sweeps == 0
    np.testing.assert_array_equal(none.X[np.isnan(X)], 0.5)


def test_nothing_missing():
    _, complete, target = recoverable()
    recovered = recover_features_released(complete, target)
    assert recovered.status is Status.NOTHING_MISSING
    np.testing.assert_array_equal(recovered.X, complete)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_a_target_that_is_not_finite_leaves_the_start(value):
    X, _, target = recoverable()
    target[0, 1] = target[1, 0] = value
    recovered = recover_features_released(X, target)
    assert recovered.status is Status.DIVERGED
    np.testing.assert_array_equal(recovered.X[np.isnan(X)], 0.5)


def test_the_callback_stops_it():
    X, _, target = recoverable()
    recovered = recover_features_released(X, target, callback=lambda record: record.iteration == 4)
    assert recovered.status is Status.INTERRUPTED
    assert recovered.n_sweeps == 4
    assert recovered.trace.records[0].stage == "Stage II"


def test_refusals():
    X, _, target = recoverable()
    with pytest.raises(ValueError, match=r"'target' .* of shape \(25, 25\)"):
        recover_features_released(X, target[:5])
    with pytest.raises(ValueError, match="'X' parameter of recover_features_released"):
        recover_features_released(2.0 * X, target)
    with pytest.raises(ValueError, match="'tol'"):
        recover_features_released(X, target, tol=-1.0)


def test_the_laplacian_kernel_is_recovered_exactly():
    X, complete, _ = recoverable(30)
    y = (complete[:, 0] > 0.5).astype(int)
    kernel = Laplacian(0.2)
    result = impute(X, y, kernel=kernel, variant="released", max_iter=20)
    misfit = ((kernel.sums(result.X, result.X) - result.stage_one.target) ** 2).sum()
    assert result.stage_two.objective == pytest.approx(misfit, rel=1e-6)
