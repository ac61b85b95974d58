"""Projections against an independent conic solver (clarabel, through cvxpy)."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from kernimpute.core.projections import (
    project_box_cone,
    project_box_hyperplane,
    project_box_psd,
    project_frobenius_ball,
    project_psd,
    symmetrise,
)
from kernimpute.core.status import Status
from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear

PRECISE = {
    "solver": cp.CLARABEL,
    "tol_gap_abs": 1e-9,
    "tol_gap_rel": 1e-9,
    "tol_feas": 1e-9,
}


def solved(objective, constraints):
    """Solve and return the optimal value; fail where the solver does not."""
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(**PRECISE)
    assert problem.status == cp.OPTIMAL
    return problem.value


def symmetric(n, seed, scale=1.0):
    return symmetrise(scale * np.random.default_rng(seed).standard_normal((n, n)))


def kernel_box(n, seed, kernel):
    """Return the bounds of a kernel of a table with half its cells missing, and a completion."""
    generator = np.random.default_rng(seed)
    X = generator.random((n, 4))
    ends = [kernel.link(sums) for sums in kernel.bounds(X, generator.random(X.shape) < 0.5)]
    lower, upper = ends[::-1] if kernel.is_decreasing else ends
    return lower, upper, kernel(X, X)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_psd_projection(n):
    M = symmetric(n, n)
    P = cp.Variable((n, n), PSD=True)
    solved(cp.sum_squares(P - M), [])
    np.testing.assert_allclose(project_psd(M), P.value, atol=1e-6)


def test_ball_projection():
    M, centre = symmetric(5, 0, 3.0), symmetric(5, 1)
    P = cp.Variable((5, 5))
    solved(cp.sum_squares(P - M), [cp.norm(P - centre, "fro") <= 1.5])
    np.testing.assert_allclose(project_frobenius_ball(M, centre, 1.5), P.value, atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(16.0), Laplacian(), Linear(), Chi2()])
@pytest.mark.parametrize("n", [2, 6, 10])
def test_box_psd_projection(n, kernel):
    lower, upper, completion = kernel_box(n, n, kernel)
    M = completion + symmetric(n, n, 0.8)
    found = project_box_psd(M, lower, upper, tol=1e-10, max_iter=20_000)
    assert found.status is Status.CONVERGED
    P = cp.Variable((n, n), PSD=True)
    value = solved(cp.sum_squares(P - M), [P >= lower, P <= upper])
    np.testing.assert_allclose(found.point, P.value, atol=1e-5)
    assert np.sum((found.point - M) ** 2) == pytest.approx(value, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_box_psd_projection_of_an_adjustment(seed):
    # The box of K_upper / K_observed, which holds 11'.
    lower, upper, _ = kernel_box(8, seed, Gaussian(1.0))
    adjustment_lower, adjustment_upper = lower / upper, np.ones((8, 8))
    M = 1.0 + symmetric(8, seed, 2.0)
    found = project_box_psd(M, adjustment_lower, adjustment_upper, tol=1e-10, max_iter=20_000)
    P = cp.Variable((8, 8), PSD=True)
    solved(cp.sum_squares(P - M), [P >= adjustment_lower, P <= adjustment_upper])
    np.testing.assert_allclose(found.point, P.value, atol=1e-5)


def eigenvalue_cone(vectors):
    """Return the projection on ``{U diag(d) U' : d >= 0}``."""

    def project(M):
        d = np.maximum(np.einsum("ik,ij,jk->k", vectors, M, vectors), 0.0)
        return (vectors * d) @ vectors.T

    return project


@pytest.mark.parametrize("seed", range(4))
def test_the_eigenvalue_program(seed):
    # The paper's eq. (find_d): the nearest eigenvalues with which the bounds hold.
    M = 1.0 + symmetric(7, seed, 0.5)
    values, vectors = np.linalg.eigh(M)
    # Feasible by construction, and active: a box around the closed form with clipped, shrunk
    # eigenvalues.
    centre = (vectors * (0.6 * np.maximum(values, 0.1))) @ vectors.T
    lower, upper = centre - 0.2, centre + 0.2
    found = project_box_cone(M, eigenvalue_cone(vectors), lower, upper, tol=1e-11, max_iter=50_000)
    assert found.status is Status.CONVERGED
    d = cp.Variable(7, nonneg=True)
    P = vectors @ cp.diag(d) @ vectors.T
    solved(cp.sum_squares(P - M), [P >= lower, P <= upper])
    np.testing.assert_allclose(found.point, P.value, atol=1e-5)
    # Not that of the whole cone.
    assert np.abs(project_box_psd(M, lower, upper, max_iter=20_000).point - P.value).max() > 1e-3


def test_the_eigenvalue_program_is_infeasible_with_two_complete_rows():
    # They ask for 1 in all four places, and so for d = 0 wherever an eigenvector separates them.
    M = 1.0 + symmetric(5, 0, 0.5)
    _, vectors = np.linalg.eigh(M)
    lower, upper = np.full((5, 5), 0.2), np.full((5, 5), 1.8)
    lower[:2, :2] = upper[:2, :2] = 1.0
    found = project_box_cone(M, eigenvalue_cone(vectors), lower, upper, max_iter=20_000)
    assert found.infeasible
    d = cp.Variable(5, nonneg=True)
    P = vectors @ cp.diag(d) @ vectors.T
    problem = cp.Problem(cp.Minimize(cp.sum_squares(P - M)), [P >= lower, P <= upper])
    problem.solve(**PRECISE)
    assert problem.status == cp.INFEASIBLE
    # The whole cone holds 11', and so meets the box.
    assert project_box_psd(M, lower, upper).status is Status.CONVERGED


@pytest.mark.parametrize("n_complete", [2, 3, 6, 8])
@pytest.mark.parametrize("seed", range(3))
def test_box_psd_projection_with_complete_rows(seed, n_complete):
    # Complete rows fix the adjustment at 1 in all their entries: a box without interior in the
    # cone, whose dual has no solution.
    n = 8
    lower, upper = np.full((n, n), 0.2), np.full((n, n), 1.4)
    rows = np.random.default_rng(seed).permutation(n)[:n_complete]
    lower[np.ix_(rows, rows)] = upper[np.ix_(rows, rows)] = 1.0
    M = 1.0 + symmetric(n, seed, 0.6)
    found = project_box_psd(M, lower, upper, tol=1e-10)
    assert found.status is Status.CONVERGED
    assert found.violation <= 1e-9
    assert np.linalg.eigvalsh(found.point).min() >= -1e-13
    # The solver is not up to that either, unless told that complete rows are equal.
    group = np.where(np.isin(np.arange(n), rows), rows[0], np.arange(n))
    membership = (group[:, None] == np.unique(group)).astype(float)
    reduced = cp.Variable((membership.shape[1],) * 2, PSD=True)
    P = membership @ reduced @ membership.T
    free = np.nonzero(np.triu(lower < upper))
    constraints = [P[rows[0], rows[0]] == 1.0]
    if free[0].size:
        constraints += [P[free] >= lower[free], P[free] <= upper[free]]
    value = solved(cp.sum_squares(P - M), constraints)
    np.testing.assert_allclose(found.point, P.value, atol=1e-5)
    assert np.sum((found.point - M) ** 2) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("threshold", [0.0, 0.2, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_box_hyperplane_projection(seed, threshold):
    generator = np.random.default_rng(seed)
    v = 2.0 * generator.standard_normal(12)
    lower, upper = -generator.random(12), generator.random(12)
    lower[:3], upper[3:5] = 0.0, 0.0
    b = cp.Variable(12)
    value = solved(
        cp.sum_squares(b - v) / 2.0 + threshold * cp.norm1(b),
        [cp.sum(b) == 0.0, b >= lower, b <= upper],
    )
    found = project_box_hyperplane(v, lower, upper, threshold)
    np.testing.assert_allclose(found, b.value, atol=1e-6)
    attained = np.sum((found - v) ** 2) / 2.0 + threshold * np.abs(found).sum()
    assert attained == pytest.approx(value, rel=1e-8)
