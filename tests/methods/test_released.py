"""`released` equals the authors' code on the golden inputs to 1e-9, and is sound beyond them."""

import os
from pathlib import Path

import numpy as np
import pytest

from kernimpute import Status, impute, learn_kernel, recover_features
from kernimpute.kernels import Gaussian, Laplacian
from kernimpute.methods import released
from tests.methods.problems import labelled, random_table, random_target, with_gaps

FOLDER = Path(
    os.environ.get("KERNIMPUTE_GOLDEN", Path(__file__).resolve().parents[3] / "shared" / "golden")
)
CLOSE = {"rtol": 0.0, "atol": 1e-9}


@pytest.fixture(scope="module", params=["tiny", "tiny_b", "aus60"])
def golden(request):
    path = FOLDER / f"{request.param}.npz"
    if not path.exists():
        pytest.skip(
            f"the golden numbers are not in {FOLDER}; name their folder by KERNIMPUTE_GOLDEN"
        )
    with np.load(path) as arrays:
        return dict(arrays)


def incomplete(golden):
    return np.where(golden["mask_missing"] == 1, np.nan, golden["X_miss"])


def settings(golden):
    return {
        "kernel": Gaussian(float(golden["gamma"])),
        "C": float(golden["C"]),
        "eta": float(golden["eta"]),
        "radius": float(golden["r"]),
        "variant": "released",
    }


@pytest.fixture(scope="module")
def learned(golden):
    return learn_kernel(incomplete(golden), golden["y"], **settings(golden))


def test_the_rounds_and_the_machine_after_them(golden):
    options = {"C": float(golden["C"]), "epsilon": 0.0}
    rows = labelled(incomplete(golden), golden["y"], Gaussian(float(golden["gamma"])), **options)
    dual = rows.dual
    K_o, lower = released.mask_bounds(rows)
    np.testing.assert_allclose(K_o, golden["K_o"], **CLOSE)
    np.testing.assert_allclose(lower, golden["B_l_released"], **CLOSE)
    np.testing.assert_array_equal(golden["B_u_released"], 1.0)
    now, steps, weights = released.start(dual, K_o), [], (float(golden["eta"]), float(golden["r"]))
    for t in range(1, int(golden["stage1_iterations"]) + 1):
        before = now
        now = released.next_round(dual, K_o, lower, now, *weights, t)
        steps.append(np.linalg.norm(now.b - before.b))
        if t <= 5:
            np.testing.assert_allclose(now.A, golden["trace_K_Delta"][t - 1], **CLOSE)
            np.testing.assert_allclose(now.E, golden["trace_E"][t - 1], **CLOSE)
            alpha = golden["y"] * now.b[:, 0]
            np.testing.assert_allclose(alpha, golden["trace_alpha"][t - 1], **CLOSE)
    np.testing.assert_allclose(K_o * now.A * now.E, golden["K_loop"], **CLOSE)
    np.testing.assert_allclose(golden["y"] * now.b[:, 0], golden["alpha_before_qp"], **CLOSE)
    np.testing.assert_allclose(steps[2:], golden["stage1_alpha_step_norms"], **CLOSE)
    b, intercept = released.machine(dual, K_o * now.A * now.E)
    np.testing.assert_allclose(golden["y"] * b[:, 0], golden["alpha"], **CLOSE)
    np.testing.assert_allclose(intercept[0], golden["bias"], **CLOSE)


def test_stage_one_stops_where_the_released_code_does(golden, learned):
    assert learned.status is Status.CONVERGED
    assert learned.n_iter == int(golden["stage1_iterations"])
    np.testing.assert_allclose(golden["y"] * learned.dual_coef, golden["alpha"], **CLOSE)
    np.testing.assert_allclose(learned.intercept, golden["bias"], **CLOSE)
    np.testing.assert_allclose(learned.K, golden["K_tilde"], **CLOSE)
    np.testing.assert_allclose(learned.target, -golden["stage2_target"], **CLOSE)


@pytest.mark.parametrize("golden", ["tiny"], indirect=True)
def test_impute_runs_both_stages(golden, learned):
    result = impute(incomplete(golden), golden["y"], **settings(golden))
    np.testing.assert_array_equal(result.stage_one.K, learned.K)
    np.testing.assert_allclose(result.X, golden["X_filled"], **CLOSE)


@pytest.mark.parametrize("prefix", ["stage2", "stage2_true"])
def test_stage_two_on_the_learned_and_on_the_true_kernel(golden, learned, prefix):
    kernel = Gaussian(float(golden["gamma"]))
    is_true = prefix == "stage2_true"
    target = kernel.inverse_link(golden["K_true"]) if is_true else learned.target
    recovered = released.stage_two(incomplete(golden), target)
    filled = golden["stage2_true_X_filled" if is_true else "X_filled"]
    np.testing.assert_allclose(recovered.X, filled, **CLOSE)
    assert recovered.n_sweeps == int(golden[f"{prefix}_sweeps"])
    history = recovered.trace.column("objective")
    np.testing.assert_allclose(history, golden[f"{prefix}_objective_history"], **CLOSE)
    np.testing.assert_allclose(recovered.objective, golden[f"{prefix}_objective"], **CLOSE)
    if is_true:
        feature_error = np.abs(recovered.X - golden["X_gt"])
        gram_error = np.abs(kernel(recovered.X, recovered.X) - golden["K_true"])
        errors = [e for error in (feature_error, gram_error) for e in (error.max(), error.mean())]
        np.testing.assert_allclose(errors, golden["stage2_true_errors"], **CLOSE)


# Beyond the golden inputs.


def table(n_samples, n_features, missing_rate, *, binary=False):
    generator = np.random.default_rng(0)
    X = generator.random((n_samples, n_features))
    y = (X[:, 0] + X[:, 1] + 0.3 * generator.random(n_samples) > 1.1).astype(int)
    X = np.round(X) if binary else X
    return np.where(generator.random(X.shape) < missing_rate, np.nan, X), y


@pytest.mark.parametrize("gamma", [2.0, 4.0])
def test_a_run_that_runs_away_says_so_and_keeps_the_last_regular_round(gamma):
    X, y = table(120, 12, 0.4)
    learned = learn_kernel(X, y, kernel=Gaussian(gamma), variant="released", max_iter=60)
    assert learned.status is Status.DIVERGED and learned.n_iter < 60
    for array in (learned.K, learned.target, learned.dual_coef):
        assert np.isfinite(array).all()
    assert learned.K.max() <= 1e6
    if learned.n_iter == 1:
        # There was no regular round: this is the start, where the adjustment is 11'.
        sums = Gaussian(gamma).observed_sums(X, ~np.isnan(X))
        np.testing.assert_allclose(learned.K, np.exp(-gamma * sums), rtol=1e-12)


@pytest.mark.parametrize("eta", [None, 1e-6, 1e4])
def test_an_observed_kernel_close_to_underflow_does_not_overflow(eta):
    X, y = table(60, 14, 0.05, binary=True)
    learned = learn_kernel(X, y, kernel=Gaussian(32.0), variant="released", eta=eta, max_iter=25)
    assert learned.status is Status.DIVERGED
    assert np.isfinite(learned.K).all() and np.isfinite(learned.target).all()


def test_the_laplacian_kernel_is_recovered_exactly():
    X, y = table(30, 4, 0.3)
    kernel = Laplacian(0.2)
    result = impute(X, y, kernel=kernel, variant="released", max_iter=20)
    misfit = ((kernel.sums(result.X, result.X) - result.stage_one.target) ** 2).sum()
    assert result.stage_two.objective == pytest.approx(misfit, rel=1e-6)


def recoverable():
    """Return a read-only table with gaps, the complete one, and its squared distances."""
    complete = random_table(25, 4)
    return with_gaps(complete, 0.3), complete, random_target(Gaussian(), complete)


def test_stage_two_comes_near_to_the_exact_minimum():
    X, complete, target = recoverable()
    found = released.stage_two(X, target)
    assert found.status is Status.CONVERGED
    assert found.n_sweeps == len(found.trace)
    np.testing.assert_allclose(found.X, complete, atol=1e-3)
    np.testing.assert_array_equal(found.X[~np.isnan(X)], X[~np.isnan(X)])
    exact = recover_features(X, target, kernel=Gaussian())
    assert exact.objective <= found.objective**2


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_a_target_that_is_not_finite_leaves_the_start(value):
    X, _, target = recoverable()
    target = target.copy()
    target[0, 1] = target[1, 0] = value
    found = released.stage_two(X, target)
    assert found.status is Status.DIVERGED
    np.testing.assert_array_equal(found.X[np.isnan(X)], 0.5)


def test_the_callback_stops_stage_two():
    X, _, target = recoverable()
    found = released.stage_two(X, target, callback=lambda record: record.iteration == 4)
    assert found.status is Status.INTERRUPTED and found.n_sweeps == 4
    assert found.trace.records[0].stage == "Stage II"
