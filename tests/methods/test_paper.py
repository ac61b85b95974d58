"""`paper` and `appendix` do what the equations of Algorithm 1 say, round by round."""

import math

import cvxpy as cp
import numpy as np
import pytest

from kernimpute import Status, learn_kernel
from kernimpute.core.dual import coupling
from kernimpute.core.status import StopRule
from kernimpute.kernels import Gaussian
from kernimpute.methods.paper import (
    Adjusted,
    adjust_eigenvalues,
    adjustment_bounds,
    project_exactly,
    stage_one,
)
from tests.methods.problems import (
    KERNELS,
    Cauchy,
    completions,
    feasible_coefficients,
    labels_of,
    small_rows,
)


def closed_form_of(rows, eta, *, exact_diagonal):
    """Return eq. (7) at generic coefficients and ``E = 11'``, with the bounds."""
    K_o, lower, upper = adjustment_bounds(rows, exact_diagonal=exact_diagonal)
    b = feasible_coefficients(rows.dual)
    return 1.0 + K_o * coupling(b) / (4.0 * eta), lower, upper


@pytest.mark.parametrize("kernel", [*KERNELS, Cauchy()], ids=repr)
@pytest.mark.parametrize("exact_diagonal", [True, False])
def test_the_adjustment_of_every_completion_is_within_the_bounds(kernel, exact_diagonal):
    rows = small_rows(kernel=kernel)
    K_o, lower, upper = adjustment_bounds(rows, exact_diagonal=exact_diagonal)
    for X in completions(rows):
        adjustment = kernel(X, X) / K_o
        assert (adjustment >= lower - 1e-12).all() and (adjustment <= upper + 1e-12).all()


def test_the_exact_diagonal_of_a_distance_is_one_and_the_printed_one_is_not():
    rows = small_rows()
    _, exact, _ = adjustment_bounds(rows, exact_diagonal=True)
    _, printed, _ = adjustment_bounds(rows, exact_diagonal=False)
    gaps = (~rows.observed).sum(axis=1)
    np.testing.assert_array_equal(np.diag(exact), 1.0)
    np.testing.assert_allclose(np.diag(printed), np.exp(-gaps), rtol=1e-15)
    off_diagonal = ~np.eye(len(gaps), dtype=bool)
    np.testing.assert_array_equal(exact[off_diagonal], printed[off_diagonal])


def test_the_bounds_do_not_underflow_where_the_observed_kernel_does():
    X = np.array([[0.0] * 35 + [np.nan], [1.0] * 35 + [np.nan]])
    learned = learn_kernel(X, [0, 1], kernel=Gaussian(32.0), variant="appendix", max_iter=2)
    assert learned.K[0, 1] == 0.0
    # The two rows are 35 apart where both are observed, and at most 36.
    assert 35.0 <= learned.target[0, 1] <= 36.0


def test_the_eigenvalue_program_is_that_of_a_quadratic_solver():
    M, lower, upper = closed_form_of(small_rows(8, missing_rate=0.6), 0.5, exact_diagonal=False)
    U = np.linalg.eigh(M)[1]
    d = cp.Variable(8, nonneg=True)
    A = U @ cp.diag(d) @ U.T
    program = cp.Problem(cp.Minimize(cp.sum_squares(A - M)), [lower <= A, upper >= A])
    program.solve(solver=cp.CLARABEL)
    assert program.status == cp.OPTIMAL
    found = Adjusted(M)
    for _ in range(200):
        found = adjust_eigenvalues(M, lower, upper, found)
    assert found.note == ""
    np.testing.assert_allclose(found.adjustment, A.value, atol=2e-3)
    eigenvalues = np.diag(U.T @ found.adjustment @ U)
    np.testing.assert_allclose(found.adjustment, (U * eigenvalues) @ U.T, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "eta", "exact_diagonal", "note"),
    [
        ({"n_complete": 2}, 20.0, False, "is infeasible"),
        ({}, 20.0, True, "is infeasible"),
        ({"n_complete": 1}, 20.0, False, ""),
        ({"n_samples": 8, "missing_rate": 0.6}, 0.02, False, "not solved within its iterations"),
    ],
)
def test_an_eigenvalue_program_without_a_solution_is_told(options, eta, exact_diagonal, note):
    M, lower, upper = closed_form_of(small_rows(**options), eta, exact_diagonal=exact_diagonal)
    found = adjust_eigenvalues(M, lower, upper, Adjusted(M))
    assert note in found.note
    assert bool(found.note) == bool(note)
    if note:
        # The fallback is the exact projection.
        exact = project_exactly(M, lower, upper, Adjusted(M))
        np.testing.assert_array_equal(found.adjustment, exact.adjustment)


TASKS = {
    "two classes": {},
    "three classes": {"labels": np.arange(12) % 3},
    "regression": {"labels": np.linspace(-1.0, 2.0, 12), "task": "regression"},
    "a row of weight 0": {"sample_weight": [0.0, 2.0] + 10 * [1.0]},
    "unbalanced": {"labels": np.array([0] * 9 + [1] * 3)},
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("appendix", [False, True])
def test_a_round_is_what_the_equations_say(appendix, task):
    rows, eta, rho = small_rows(**TASKS[task]), 2.0, 0.7
    dual = rows.dual
    K_o, lower, upper = adjustment_bounds(rows, exact_diagonal=appendix)
    # Line 2 and Step 1, of which the projections are tested above.
    b = dual.proximal_point(0.5 * (dual.lower + dual.upper), 0.0)
    M = 1.0 + K_o * (b @ b.T) / (4.0 * eta)
    adjust = project_exactly if appendix else adjust_eigenvalues
    A = adjust(M, lower, upper, Adjusted(M)).adjustment
    # Eq. (OptE).
    values, vectors = np.linalg.eigh(1.0 - (b @ b.T) * K_o * A / (4.0 * rho))
    E = (vectors * np.maximum(values, 0.0)) @ vectors.T
    # The first step of Adam has the length of its rate, whatever the gradient.
    slope = dual.targets - (K_o * A * E) @ b - dual.epsilon * np.sign(b)
    moved = b + 0.1 * dual.C * slope / (np.abs(slope) + 1e-8)
    if appendix:
        expected = dual.proximal_point(moved, 0.0)
    else:
        room = dual.lower < dual.upper
        clipped = np.clip(moved, dual.lower, dual.upper)
        expected = np.where(room, clipped - clipped.sum(axis=0) / room.sum(axis=0), 0.0)
    learned = stage_one(rows, eta, rho, StopRule(0.0, 1), appendix=appendix)
    found = learned.dual_coef.reshape(dual.targets.shape)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    outside = np.maximum(dual.lower - found, found - dual.upper).max()
    assert outside <= 0.0 or not appendix
    value = dual.value(K_o * A * E, found)
    value += eta * np.square(A - 1.0).sum() - rho * np.square(E - 1.0).sum()
    assert learned.trace.column("objective")[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("variant", ["paper", "appendix"])
def test_both_come_to_rest_between_the_bounds(variant):
    rows = small_rows(14, missing_rate=0.5, kernel=Gaussian(0.5))
    learned = learn_kernel(
        rows.X, labels_of(rows), kernel=rows.kernel, variant=variant, tol=5e-3, max_iter=500
    )
    assert learned.status is Status.CONVERGED
    assert math.isnan(learned.gap)
    K_o, lower, upper = adjustment_bounds(rows, exact_diagonal=variant == "appendix")
    assert (learned.K >= K_o * lower).all() and (learned.K <= K_o * upper).all()
    assert np.linalg.eigvalsh(learned.K / K_o)[0] >= -1e-6


@pytest.mark.parametrize("variant", ["paper", "appendix"])
def test_infinite_weights_leave_the_observed_kernel(variant):
    rows = small_rows(10, missing_rate=0.5)
    options = {"eta": math.inf, "rho": math.inf, "variant": variant, "max_iter": 5}
    learned = learn_kernel(rows.X, labels_of(rows), kernel=rows.kernel, **options)
    K_o = rows.kernel.link(rows.kernel.observed_sums(rows.X, rows.observed))
    np.testing.assert_allclose(learned.K, K_o, atol=1e-6)


def test_the_trace_tells_of_the_fallback():
    rows = small_rows(n_complete=3)
    learned = stage_one(rows, 1.0, 5.0, StopRule(1e-3, 3))
    assert any("infeasible" in note for note in learned.trace.notes)
