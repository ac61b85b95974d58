"""Projections: what makes a map one, an independent conic solver, closed forms, endings; Adam."""

import math

import cvxpy as cp
import numpy as np
import pytest

from kernimpute.core.projections import (
    AdamMoments,
    adam_step,
    project_box_hyperplane,
    project_box_psd,
    project_frobenius_ball,
    project_psd,
    symmetrise,
)
from kernimpute.core.status import Status
from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear
from tests.conftest import read_only


def symmetric(n, seed=0, scale=1.0):
    M = scale * np.random.default_rng(seed).standard_normal((n, n))
    return read_only(symmetrise(M))


def kernel_box(n, seed=0, *, missing=0.5, kernel=None):
    """Return the bounds of a kernel of an incomplete table, and the kernel of a completion."""
    kernel = kernel or Gaussian(2.0)
    generator = np.random.default_rng(seed)
    X = generator.random((n, 4))
    observed = generator.random(X.shape) >= missing
    ends = [kernel.link(sums) for sums in kernel.bounds(X, observed)]
    lower, upper = np.minimum(*ends), np.maximum(*ends)
    return *read_only(lower, upper), kernel(X, X)


def outside(M, lower, upper):
    return max(0.0, float((lower - M).max()), float((M - upper).max()))


def indefinite(M):
    return max(0.0, -float(np.linalg.eigvalsh(M).min()))


def vector(generator, n):
    """Return numbers of either sign, some of them 0."""
    return 5.0 * generator.standard_normal(n) * (generator.random(n) < 0.8)


def square(generator, n):
    return symmetrise(vector(generator, n * n).reshape(n, n))


def box_around_zero(generator, n):
    """Return a box that holds 0, some of its sides of no width."""
    return -np.abs(vector(generator, n)), np.abs(vector(generator, n))


def balanced(v, lower, upper):
    """Return a point of the box whose sum is 0, from any: the heavier side is scaled down."""
    v = np.clip(v, lower, upper)
    above, below = v[v > 0.0].sum(), -v[v < 0.0].sum()
    shares = min(above, below) / np.array([above or 1.0, below or 1.0])
    return v * np.where(v > 0.0, *shares)


# Each set gives its projection, how far a point is from its constraints, a way to points of the
# space, and one to points of the set that are made without the projection.


def psd_cone(generator, n):
    def member():
        A = square(generator, n)
        return A @ A.T / 10.0

    return project_psd, indefinite, lambda: square(generator, n), member


def ball(generator, n):
    centre, radius = square(generator, n), float(generator.choice([0.0, 1.0, 20.0]))

    def member():
        M = square(generator, n)
        return centre + radius * M / max(1.0, np.linalg.norm(M))

    return (
        lambda M: project_frobenius_ball(M, centre, radius),
        lambda M: max(0.0, np.linalg.norm(M - centre) - radius),
        lambda: square(generator, n),
        member,
    )


def box_in_the_hyperplane(generator, n):
    lower, upper = box_around_zero(generator, n)
    return (
        lambda v: project_box_hyperplane(v, lower, upper),
        lambda v: max(outside(v, lower, upper), abs(v.sum())),
        lambda: vector(generator, n),
        lambda: balanced(vector(generator, n), lower, upper),
    )


def size(*points):
    return max(1.0, *(float(np.linalg.norm(point)) for point in points))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("convex", [psd_cone, ball, box_in_the_hyperplane])
def test_what_makes_a_map_the_projection(convex, seed):
    generator = np.random.default_rng(seed)
    project, violation, point, member = convex(generator, 1 + seed % 6)
    M, L, Q = read_only(point(), point(), member())
    # The member was made without the projection.
    assert violation(Q) <= 1e-12 * size(Q)
    P = project(M)
    slack = 1e-12 * size(M, P, Q)
    assert violation(P) <= slack
    np.testing.assert_array_equal(P, P.T)
    assert np.abs(project(P) - P).max() <= slack and np.abs(project(Q) - Q).max() <= slack
    assert np.vdot(M - P, Q - P) <= 1e-12 * size(M, P, Q) ** 2
    moved = np.linalg.norm(P - project(L))
    assert moved <= np.linalg.norm(M - L) + 1e-12 * size(M, L)


@pytest.mark.parametrize("threshold", [0.0, 0.4, 3.0])
@pytest.mark.parametrize("seed", range(20))
def test_with_a_threshold_the_projection_is_the_proximal_operator(seed, threshold):
    generator = np.random.default_rng(seed)
    n = 1 + seed % 6
    lower, upper = box_around_zero(generator, n)
    v = vector(generator, n)
    P = project_box_hyperplane(v, lower, upper, threshold)
    assert outside(P, lower, upper) == 0.0
    assert abs(P.sum()) <= 1e-12 * size(v)
    # Of a proximal operator: <v - P, Q - P> <= t (||Q||_1 - ||P||_1).
    Q = balanced(vector(generator, n), lower, upper)
    dearer = threshold * (np.abs(Q).sum() - np.abs(P).sum())
    assert (v - P) @ (Q - P) <= dearer + 1e-12 * size(v, P, Q) ** 2


def solved(objective, constraints):
    """Solve by clarabel and return the minimum; fail if it does not solve."""
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status == cp.OPTIMAL
    return problem.value


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Gaussian(16.0), Laplacian(), Linear(), Chi2(), "adjustment"], ids=repr
)
@pytest.mark.parametrize("n", [2, 6, 10])
def test_a_box_in_the_cone_against_a_conic_solver(n, kernel):
    is_adjustment = kernel == "adjustment"
    lower, upper, inside = kernel_box(n, n, kernel=Gaussian(1.0) if is_adjustment else kernel)
    if is_adjustment:
        # The box of K_upper / K_observed, which holds 11'.
        lower, upper, inside = lower / upper, np.ones((n, n)), np.ones((n, n))
    M = inside + symmetric(n, n, 0.8)
    found = project_box_psd(M, lower, upper, tol=1e-10, max_iter=20_000)
    assert found.status is Status.CONVERGED
    assert found.violation == outside(found.point, lower, upper) <= 1e-9
    assert indefinite(found.point) <= 1e-12 * n
    P = cp.Variable((n, n), PSD=True)
    value = solved(cp.sum_squares(P - M), [P >= lower, P <= upper])
    np.testing.assert_allclose(found.point, P.value, atol=1e-5)
    assert np.sum((found.point - M) ** 2) == pytest.approx(value, rel=1e-6, abs=1e-7)


def test_the_symmetric_part_is_symmetric_to_the_last_bit_and_is_what_is_projected():
    M = np.random.default_rng(2).standard_normal((6, 6))
    np.testing.assert_array_equal(symmetrise(M), symmetrise(M).T)
    own = symmetric(6)
    assert symmetrise(own) is own
    np.testing.assert_array_equal(project_psd(M), project_psd(symmetrise(M)))


@pytest.mark.parametrize("threshold", [0.0, 0.3])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8, 1e14])
def test_the_hyperplane_is_met_to_rounding_of_the_box_however_far_the_point(size, threshold):
    generator = np.random.default_rng(3)
    v = size * generator.standard_normal(50)
    lower, upper = -generator.random(50), generator.random(50)
    found = project_box_hyperplane(v, lower, upper, threshold)
    assert abs(found.sum()) <= 1e-13
    assert outside(found, lower, upper) == 0.0


def test_a_multiplier_saves_iterations_here_and_nearby():
    lower, upper, completion = kernel_box(15, 4, missing=0.7)
    M = completion + symmetric(15, 4)
    options = {"tol": 1e-9, "max_iter": 20_000}
    first = project_box_psd(M, lower, upper, **options)
    for near, n_iter in ((M, 2), (M + symmetric(15, 5, 1e-4), None)):
        cold = project_box_psd(near, lower, upper, **options)
        warm = project_box_psd(near, lower, upper, multiplier=first.multiplier, **options)
        assert warm.n_iter <= (n_iter or cold.n_iter - 1)
        np.testing.assert_allclose(warm.point, cold.point, atol=1e-6)


def test_rows_that_the_box_makes_equal_are_projected_as_one():
    # Two groups, and a row that is fixed at another value: equal to nobody.
    n, groups = 9, np.array([0, 1, 0, 1, 2, 0, 3, 1, 4])
    lower, upper = np.full((n, n), -0.4), np.full((n, n), 3.0)
    for group, value in ((0, 1.0), (1, 2.0)):
        inside = np.ix_(groups == group, groups == group)
        lower[inside] = upper[inside] = value
    lower[4, 4] = upper[4, 4] = 1.0
    # One member's interval binds the whole group.
    lower[2, 3] = lower[3, 2] = 0.3
    M = symmetric(n, 11, 2.0)
    found = project_box_psd(M, lower, upper, tol=1e-11)
    P = found.point
    assert found.status is Status.CONVERGED and found.n_iter < 500
    np.testing.assert_array_equal(P, P.T)
    for group in (0, 1):
        members = P[groups == group]
        np.testing.assert_array_equal(members, np.broadcast_to(members[0], members.shape))
    assert found.violation <= 1e-10 and indefinite(P) <= 1e-12
    assert P[0, 1] >= 0.3 - 1e-10
    # A conic solver is up to that only if told which rows are equal.
    membership = (groups[:, None] == np.arange(5)).astype(float)
    Q = membership @ cp.Variable((5, 5), PSD=True) @ membership.T
    free = np.nonzero(np.triu(lower < upper))
    fixed = [Q[row, row] == lower[row, row] for row in (0, 1, 4)]
    value = solved(cp.sum_squares(Q - M), [*fixed, Q[free] >= lower[free], Q[free] <= upper[free]])
    np.testing.assert_allclose(P, Q.value, atol=1e-5)
    assert np.sum((P - M) ** 2) == pytest.approx(value, rel=1e-6)
    warm = project_box_psd(M, lower, upper, tol=1e-11, multiplier=found.multiplier)
    assert warm.n_iter <= 2


def test_rows_fixed_at_values_that_differ_are_not_equal():
    lower, upper = np.full((3, 3), -5.0), np.full((3, 3), 5.0)
    lower[:2, :2] = upper[:2, :2] = [[1.0, 1.0], [1.0, 2.0]]
    found = project_box_psd(symmetric(3, 2), lower, upper, tol=1e-11)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point[:2, :2], [[1.0, 1.0], [1.0, 2.0]], atol=1e-10)


def equal_rows_bounded_apart():
    lower, upper = np.full((3, 3), -1.0), np.full((3, 3), 1.0)
    lower[:2, :2] = 1.0
    lower[0, 2] = lower[2, 0] = 0.5
    upper[1, 2] = upper[2, 1] = 0.0
    return lower, upper


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        pytest.param(-np.ones((4, 4)), np.ones((4, 4)) - 1.5 * np.eye(4), id="negative diagonal"),
        pytest.param(2.0 - 2.0 * np.eye(4), 3.0 - 2.0 * np.eye(4), id="entries above the diagonal"),
        pytest.param(
            np.array([[1.0, 0.85, 0.85], [0.85, 1.0, -0.95], [0.85, -0.95, 1.0]]),
            np.array([[1.0, 0.95, 0.95], [0.95, 1.0, -0.85], [0.95, -0.85, 1.0]]),
            id="three rows that cannot be so related",
        ),
        pytest.param(*equal_rows_bounded_apart(), id="equal rows bounded apart"),
    ],
)
def test_a_box_that_misses_the_cone_is_found_out(lower, upper):
    for seed in range(3):
        found = project_box_psd(symmetric(len(lower), seed), lower, upper)
        assert found.status is Status.INFEASIBLE and not found.status.success
        assert found.violation > 0.01 and found.n_iter <= 100


def test_adams_steps_are_those_of_the_algorithm_as_printed():
    # Algorithm 1 of Kingma and Ba, on plain floats.
    rate, b1, b2, guard = 0.05, 0.9, 0.999, 1e-8
    m = v = 0.0
    moments = AdamMoments()
    for t, g in enumerate([3.0, -1.0, 0.5, 0.0, -2.0, 1e-4], start=1):
        m = b1 * m + (1.0 - b1) * g
        v = b2 * v + (1.0 - b2) * g * g
        expected = rate * (m / (1.0 - b1**t)) / (math.sqrt(v / (1.0 - b2**t)) + guard)
        step, moments = adam_step(read_only(np.array([g])), moments, rate)
        assert step[0] == pytest.approx(expected, rel=1e-14)
