"""The saddle gap certifies, and the saddle is the one that a conic solver finds."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from kernimpute.kernels import Gaussian, Linear, Sigmoid
from kernimpute.stage_one import learn_kernel
from kernimpute.stage_one.certificate import certify
from tests.unit.stage_one.conftest import problem_of, small_rows


def saddle_value_by_cone(problem):
    """Return the saddle value, the inner maximum dualised into a matrix inequality."""
    n, dual = problem.n_samples, problem.dual
    relaxation = problem.relaxation
    K = cp.Variable((n, n), symmetric=True)
    nu, s = cp.Variable(), cp.Variable()
    above, below = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    v = cp.reshape(dual.targets[:, 0] + nu - above + below, (n, 1), order="F")
    block = cp.bmat([[K, v], [v.T, cp.reshape(2 * s, (1, 1), order="F")]])
    cost = s + dual.upper[:, 0] @ above - dual.lower[:, 0] @ below
    cost += problem.eta * cp.sum_squares(K - relaxation.anchor)
    constraints = [block >> 0, K >= relaxation.lower, K <= relaxation.upper]
    return cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize(
    ("kernel", "eta"),
    [
        (Gaussian(1.0), 0.02),
        (Gaussian(1.0), 0.3),
        (Gaussian(1.0), 5.0),
        (Linear(), 0.3),
        (Linear(), 5.0),
        (Sigmoid(), 5.0),
    ],
    ids=repr,
)
def test_the_saddle_is_that_of_a_conic_solver(kernel, eta):
    rows = small_rows(9, kernel=kernel, seed=4)
    problem = problem_of(rows, "anchored", eta=eta)
    labels = rows.dual.targets[:, 0]
    learned = learn_kernel(rows.X, labels, kernel=kernel, eta=eta, tol=1e-5, max_iter=20000)
    assert learned.status.success
    K = learned.K + problem.relaxation.ridge * np.eye(9)
    offset = K - problem.relaxation.anchor
    beta = learned.dual_coef[:, None]
    value = problem.dual.value(K, beta) + eta * np.vdot(offset, offset)
    reference = saddle_value_by_cone(problem)
    assert value == pytest.approx(reference, rel=2e-5)


def test_the_learned_kernel_is_feasible_and_its_gap_recomputable():
    rows = small_rows(30, missing_rate=0.5, seed=2)
    problem = problem_of(rows, "anchored", eta=0.5)
    learned = learn_kernel(rows.X, rows.dual.targets[:, 0], kernel=rows.kernel, eta=0.5)
    assert learned.gap <= 1e-3
    assert (learned.K >= problem.relaxation.lower).all()
    assert (learned.K <= problem.relaxation.upper).all()
    assert np.linalg.eigvalsh(learned.K)[0] >= -1e-11
    # D at the returned pair is at most the primal bound, and the pair is a machine's solution.
    assert problem.dual.gap(learned.K, learned.dual_coef[:, None]) <= 1e-6 * problem.dual.value(
        learned.K, learned.dual_coef[:, None]
    )


def test_a_matrix_far_from_the_cone_is_not_repaired_for_a_small_gap():
    rows = small_rows(20)
    problem = problem_of(rows, "anchored", eta=1.0)
    zeros = np.zeros((20, 20))
    certificate = certify(
        problem,
        problem.relaxation.lower,
        np.zeros((20, 1)),
        zeros,
        problem.relaxation.anchor,
        tol=1e-3,
    )
    assert certificate.gap == np.inf or certificate.gap > 1e-3
