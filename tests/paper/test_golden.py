"""The `released` variant equals the authors' released code on the golden inputs, to 1e-9."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernimpute import impute, learn_kernel
from kernimpute.core.rows import check_labelled_rows
from kernimpute.core.status import Status
from kernimpute.kernels import Gaussian
from kernimpute.stage_one import VARIANTS
from kernimpute.stage_one.problem import StageOneProblem
from kernimpute.stage_one.released_steps import released_machine
from kernimpute.stage_two.released import recover_features_released

FOLDER = Path(
    os.environ.get("KERNIMPUTE_GOLDEN", Path(__file__).resolve().parents[3] / "shared" / "golden")
)
pytestmark = pytest.mark.skipif(
    not (FOLDER / "tiny.npz").exists(),
    reason=f"the golden numbers are not in {FOLDER}; name their folder by KERNIMPUTE_GOLDEN",
)
CLOSE = {"rtol": 0.0, "atol": 1e-9}


@pytest.fixture(scope="module", params=["tiny", "tiny_b", "aus60"])
def golden(request):
    with np.load(FOLDER / f"{request.param}.npz") as arrays:
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


def loop(golden, n_rounds):
    """Run the three steps and return the problem and the state after each round."""
    rows = check_labelled_rows(
        incomplete(golden),
        golden["y"],
        Gaussian(float(golden["gamma"])),
        owner="test",
        C=float(golden["C"]),
        task="classification",
        epsilon=0.0,
        categorical=None,
    )
    variant = VARIANTS["released"]
    relaxation = variant.relax(rows.X, rows.observed, rows.kernel, None)
    problem = StageOneProblem(
        rows.X,
        rows.observed,
        rows.kernel,
        rows.dual,
        relaxation,
        float(golden["eta"]),
        1.0,
        float(golden["r"]),
    )
    state, states = variant.start(problem), []
    for iteration in range(1, n_rounds + 1):
        first = variant.kernel_step(problem, replace(state, iteration=iteration))
        state = replace(state, adjustment=first.value, kernel_moments=first.moments)
        second = variant.perturbation_step(problem, state)
        state = replace(state, perturbation=second.value, perturbation_moments=second.moments)
        third = variant.dual_step(problem, state)
        state = replace(state, dual_coef=third.value, dual_moments=third.moments)
        states.append(state)
    return problem, states


def test_the_bounds(golden):
    problem, _ = loop(golden, 0)
    np.testing.assert_allclose(problem.relaxation.base, golden["K_o"], **CLOSE)
    np.testing.assert_allclose(problem.relaxation.lower, golden["B_l_released"], **CLOSE)
    np.testing.assert_allclose(problem.relaxation.upper, golden["B_u_released"], **CLOSE)


def test_the_first_five_rounds(golden):
    problem, states = loop(golden, 5)
    for index, state in enumerate(states):
        np.testing.assert_allclose(state.adjustment, golden["trace_K_Delta"][index], **CLOSE)
        np.testing.assert_allclose(state.perturbation, golden["trace_E"][index], **CLOSE)
        K = problem.perturbed_kernel(state)
        np.testing.assert_allclose(K, golden["trace_K"][index], **CLOSE)
        alpha = golden["y"] * state.dual_coef[:, 0]
        np.testing.assert_allclose(alpha, golden["trace_alpha"][index], **CLOSE)


def test_the_whole_loop_and_the_machine_after_it(golden):
    problem, states = loop(golden, int(golden["stage1_iterations"]))
    last = states[-1]
    np.testing.assert_allclose(last.adjustment, golden["K_Delta"], **CLOSE)
    np.testing.assert_allclose(last.perturbation, golden["E"], **CLOSE)
    np.testing.assert_allclose(problem.perturbed_kernel(last), golden["K_loop"], **CLOSE)
    alpha = golden["y"] * last.dual_coef[:, 0]
    np.testing.assert_allclose(alpha, golden["alpha_before_qp"], **CLOSE)
    coefficients = np.stack([state.dual_coef[:, 0] for state in states])
    norms = np.linalg.norm(np.diff(coefficients, axis=0), axis=1)[1:]
    np.testing.assert_allclose(norms, golden["stage1_alpha_step_norms"], **CLOSE)
    K, dual_coef, intercept = released_machine(problem, last)
    np.testing.assert_allclose(K, golden["K_qp"], **CLOSE)
    np.testing.assert_allclose(golden["y"] * dual_coef[:, 0], golden["alpha"], **CLOSE)
    np.testing.assert_allclose(intercept[0], golden["bias"], **CLOSE)


def test_learn_kernel_stops_where_the_released_code_does(golden, learned):
    assert learned.status is Status.CONVERGED
    assert learned.n_iter == int(golden["stage1_iterations"])
    np.testing.assert_allclose(golden["y"] * learned.dual_coef, golden["alpha"], **CLOSE)
    np.testing.assert_allclose(learned.intercept, golden["bias"], **CLOSE)
    np.testing.assert_allclose(learned.K, golden["K_tilde"], **CLOSE)
    np.testing.assert_allclose(learned.target, -golden["stage2_target"], **CLOSE)


def test_stage_two_on_the_learned_kernel(golden, learned):
    recovered = recover_features_released(incomplete(golden), learned.target)
    np.testing.assert_allclose(recovered.X, golden["X_filled"], **CLOSE)
    assert recovered.n_sweeps == int(golden["stage2_sweeps"])
    history = recovered.trace.column("objective")
    np.testing.assert_allclose(history, golden["stage2_objective_history"], **CLOSE)
    np.testing.assert_allclose(recovered.objective, golden["stage2_objective"], **CLOSE)


@pytest.mark.parametrize("golden", ["tiny"], indirect=True)
def test_impute_runs_both_stages(golden, learned):
    result = impute(incomplete(golden), golden["y"], **settings(golden))
    np.testing.assert_array_equal(result.stage_one.K, learned.K)
    np.testing.assert_allclose(result.X, golden["X_filled"], **CLOSE)


def test_stage_two_on_the_true_kernel(golden):
    target = Gaussian(float(golden["gamma"])).inverse_link(golden["K_true"])
    recovered = recover_features_released(incomplete(golden), target)
    np.testing.assert_allclose(recovered.X, golden["stage2_true_X_filled"], **CLOSE)
    assert recovered.n_sweeps == int(golden["stage2_true_sweeps"])
    history = recovered.trace.column("objective")
    np.testing.assert_allclose(history, golden["stage2_true_objective_history"], **CLOSE)
    np.testing.assert_allclose(recovered.objective, golden["stage2_true_objective"], **CLOSE)
    feature_error = np.abs(recovered.X - golden["X_gt"])
    gram_error = np.abs(
        Gaussian(float(golden["gamma"]))(recovered.X, recovered.X) - golden["K_true"]
    )
    errors = [e for error in (feature_error, gram_error) for e in (error.max(), error.mean())]
    np.testing.assert_allclose(errors, golden["stage2_true_errors"], **CLOSE)
