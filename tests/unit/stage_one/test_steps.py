"""Each step of Stage I does what its equation says."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from kernimpute.core.dual import coupling, make_dual
from kernimpute.core.projections import project_box_psd
from kernimpute.core.status import Status
from kernimpute.stage_one import VARIANTS, dual_steps, kernel_steps, perturbation_steps
from tests.unit.stage_one.conftest import problem_of, small_rows


def state_of(problem, variant, seed=3):
    """Return a start with generic coefficients, feasible."""
    state = VARIANTS[variant].start(problem)
    noise = np.random.default_rng(seed).random(state.dual_coef.shape)
    dual = problem.dual
    point = dual.lower + noise * (dual.upper - dual.lower)
    return replace(state, dual_coef=dual.proximal_point(point, 0.0), iteration=1)


def test_the_closed_form_is_a_stationary_point_of_the_objective():
    problem = problem_of(small_rows(), "appendix", eta=2.0)
    state = state_of(problem, "appendix")
    at = replace(state, adjustment=problem.unconstrained_adjustment(state))
    direction = np.random.default_rng(0).standard_normal(at.adjustment.shape)
    direction += direction.T
    step = 1e-3
    ahead = replace(at, adjustment=at.adjustment + step * direction)
    behind = replace(at, adjustment=at.adjustment - step * direction)
    slope = (problem.objective(ahead) - problem.objective(behind)) / (2 * step)
    assert abs(slope) < 1e-8
    assert problem.objective(ahead) > problem.objective(at)


def test_the_exact_projection_agrees_with_a_conic_solver():
    problem = problem_of(small_rows(8), "appendix", eta=0.2)
    state = state_of(problem, "appendix")
    for _ in range(60):
        move = kernel_steps.exact_projection_step(problem, state)
        state = replace(state, kernel_moments=move.moments)
    P = cp.Variable((8, 8), PSD=True)
    box = [problem.relaxation.lower <= P, problem.relaxation.upper >= P]
    M = problem.unconstrained_adjustment(state)
    cp.Problem(cp.Minimize(cp.sum_squares(P - M)), box).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(move.value, P.value, atol=2e-4)


def test_the_eigenvalue_program_agrees_with_a_quadratic_solver():
    rows = small_rows(8, missing_rate=0.6, n_complete=0)
    problem = problem_of(rows, "paper", eta=0.5)
    state = state_of(problem, "paper")
    M = problem.unconstrained_adjustment(state)
    _, U = np.linalg.eigh(M)
    d = cp.Variable(8, nonneg=True)
    A = U @ cp.diag(d) @ U.T
    constraints = [problem.relaxation.lower <= A, problem.relaxation.upper >= A]
    program = cp.Problem(cp.Minimize(cp.sum_squares(A - M)), constraints)
    program.solve(solver=cp.CLARABEL)
    assert program.status == cp.OPTIMAL
    for _ in range(200):
        move = kernel_steps.eigenvalue_step(problem, state)
        state = replace(state, kernel_moments=move.moments)
    assert move.note == ""
    np.testing.assert_allclose(move.value, A.value, atol=2e-3)
    eigenvalues = np.diag(U.T @ move.value @ U)
    np.testing.assert_allclose(move.value, (U * eigenvalues) @ U.T, atol=1e-10)


@pytest.mark.parametrize("variant", ["paper", "appendix"])
def test_two_complete_rows_make_the_eigenvalue_program_infeasible(variant):
    # The printed diagonal: two complete rows; the exact one: n equations.
    problem = problem_of(small_rows(n_complete=2 if variant == "paper" else 0), variant)
    state = state_of(problem, variant)
    move = kernel_steps.eigenvalue_step(problem, replace(state, kernel_moments=None))
    assert "infeasible" in move.note
    assert np.linalg.eigvalsh(move.value)[0] >= -1e-10


def test_one_complete_row_leaves_it_feasible():
    problem = problem_of(small_rows(n_complete=1), "paper", eta=20.0)
    move = kernel_steps.eigenvalue_step(problem, state_of(problem, "paper"))
    assert "infeasible" not in move.note


def test_the_perturbation_is_the_projected_closed_form():
    problem = problem_of(small_rows(), "appendix", rho=0.7)
    state = state_of(problem, "appendix")
    E = perturbation_steps.closed_form_step(problem, state).value
    pull = coupling(state.dual_coef) * problem.relaxation.base * state.adjustment
    unprojected = 1.0 - pull / (4 * 0.7)
    values, vectors = np.linalg.eigh(unprojected)
    np.testing.assert_allclose(E, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-12)
    # It lowers the machine's objective, as the worst case it stands for should.
    perturbed = replace(state, perturbation=E)
    assert problem.dual.value(problem.perturbed_kernel(perturbed), state.dual_coef) > (
        problem.dual.value(problem.perturbed_kernel(state), state.dual_coef)
    )


def test_clip_and_centre_meets_the_hyperplane_but_not_the_box():
    problem = problem_of(small_rows(labels=np.array([0] * 9 + [1] * 3)), "paper")
    state = state_of(problem, "paper")
    dual = problem.dual
    state = replace(state, dual_coef=np.where(dual.targets > 0, dual.upper, 0.5 * dual.lower))
    printed = dual_steps.adam_clip_and_centre_step(problem, state).value
    exact = dual_steps.adam_projection_step(problem, state).value
    assert abs(printed.sum()) < 1e-12
    assert abs(exact.sum()) < 1e-12
    outside = np.maximum(dual.lower - printed, printed - dual.upper).max()
    assert outside > 1e-3
    assert np.maximum(dual.lower - exact, exact - dual.upper).max() <= 0.0


@pytest.mark.parametrize("labels", [2, 3])
def test_the_proximal_step_of_anchored_never_lowers_the_bound(labels):
    problem = problem_of(small_rows(20, labels=np.arange(20) % labels), "anchored", eta=0.3)
    state = state_of(problem, "anchored")
    bounds = []
    for _ in range(12):
        move = kernel_steps.spectrum_step(problem, state)
        state = replace(state, adjustment=move.value, kernel_moments=move.moments)
        Z = move.moments.multiplier
        assert np.linalg.eigvalsh(Z)[0] >= -1e-10
        before = kernel_steps.saddle_value(problem, state.dual_coef, Z)
        move = dual_steps.proximal_step(problem, state)
        state = replace(state, dual_coef=move.value, dual_moments=move.moments)
        after = kernel_steps.saddle_value(problem, state.dual_coef, Z)
        assert after >= before
        bounds.append(move.moments.bound)
        assert bounds[-1] == pytest.approx(max([after, *bounds[:-1]]), rel=1e-12)
    assert bounds[-1] > bounds[0] + 1e-3


@pytest.mark.parametrize(("n_samples", "missing_rate"), [(20, 0.3), (12, 0.5), (12, 0.8)])
def test_the_multiplier_of_anchored_leads_to_the_exact_projection(n_samples, missing_rate):
    # With the coefficients held, the minimiser over the set is a projection on it.
    problem = problem_of(small_rows(n_samples, missing_rate=missing_rate), "anchored", eta=0.3)
    state = state_of(problem, "anchored")
    state = replace(state, dual_coef=problem.solve(problem.relaxation.anchor))
    for iteration in range(1, 401):
        state = replace(state, iteration=iteration)
        move = kernel_steps.spectrum_step(problem, state)
        state = replace(state, adjustment=move.value, kernel_moments=move.moments)
    projected = project_box_psd(
        problem.unconstrained_adjustment(state),
        problem.relaxation.lower,
        problem.relaxation.upper,
        tol=1e-11,
    )
    assert projected.status is Status.CONVERGED
    np.testing.assert_allclose(move.value, projected.point, atol=1e-7)
    np.testing.assert_allclose(move.moments.in_cone, projected.point, atol=1e-7)
    assert np.linalg.eigvalsh(move.moments.in_cone)[0] >= -1e-10


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("weight", [0.0, 0.5, 20.0])
def test_the_proximal_machine_agrees_with_a_conic_solver(weight, task):
    generator = np.random.default_rng(0)
    root = generator.standard_normal((24, 24))
    K = root @ root.T / 24
    y = np.arange(24) % 3 if task == "classification" else generator.standard_normal(24)
    dual = make_dual(y, 24, C=0.7, task=task, epsilon=0.2)
    problem = replace(problem_of(small_rows(24), "anchored"), dual=dual)
    now = dual.proximal_point(generator.standard_normal(dual.targets.shape), 0.0)
    found = problem.proximal_machine(K, now, weight)

    def value(b):
        return dual.value(K, b) - 0.5 * weight * np.square(b - now).sum()

    for k in range(dual.n_problems):
        b = cp.Variable(24)
        objective = dual.targets[:, k] @ b - dual.epsilon * cp.norm1(b)
        objective -= 0.5 * cp.sum_squares(np.linalg.cholesky(K + 1e-12 * np.eye(24)).T @ b)
        objective -= 0.5 * weight * cp.sum_squares(b - now[:, k])
        feasible = [cp.sum(b) == 0, b >= dual.lower[:, k], b <= dual.upper[:, k]]
        cp.Problem(cp.Maximize(objective), feasible).solve(solver=cp.CLARABEL)
        best = np.array(found)
        best[:, k] = b.value
        assert value(found) >= value(best) - 1e-4 * abs(value(best))
    assert np.abs(found.sum(axis=0)).max() <= 1e-12
    assert (found >= dual.lower).all()
    assert (found <= dual.upper).all()


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_anchored_starts_where_the_kernel_has_answered(C):
    rows = small_rows(20)
    rows = replace(rows, dual=make_dual(np.arange(20) % 2, 20, C=C))
    problem = problem_of(rows, "anchored", eta=1.0)
    machine = problem.solve(problem.relaxation.anchor)
    start = VARIANTS["anchored"].start(problem).dual_coef

    def answered(b):
        return problem.dual.value(problem.relaxation.anchor, b) - np.square(b.T @ b).sum() / 16.0

    shares = np.linspace(0.0, 1.0, 1001)
    best = max(answered(share * machine) for share in shares)
    assert answered(start) >= best - 1e-9 * abs(best)
    share = np.linalg.norm(start) / np.linalg.norm(machine)
    np.testing.assert_allclose(start, share * machine, atol=1e-12)
    assert C == 1.0 or share < 0.5
