"""Projections: closed forms, special cases, and how the iteration ends."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kernimpute.core.arrays import to_numpy
from kernimpute.core.projections import (
    clip_and_centre,
    project_box_cone,
    project_box_hyperplane,
    project_box_psd,
    project_frobenius_ball,
    project_psd,
    psd_projection,
    symmetrise,
)
from kernimpute.core.status import Status
from kernimpute.kernels import Gaussian, Linear
from tests.namespaces import CONVERT


def symmetric(n, seed=0, scale=1.0):
    generator = np.random.default_rng(seed)
    M = symmetrise(scale * generator.standard_normal((n, n)))
    M.setflags(write=False)
    return M


def kernel_box(n, seed=0, *, missing=0.5, kernel=None):
    """Return the bounds of a kernel of an incomplete table, and the kernel of a completion."""
    kernel = kernel or Gaussian(2.0)
    generator = np.random.default_rng(seed)
    X = generator.random((n, 4))
    observed = generator.random(X.shape) >= missing
    ends = [kernel.link(sums) for sums in kernel.bounds(X, observed)]
    lower, upper = ends[::-1] if kernel.is_decreasing else ends
    lower.setflags(write=False)
    upper.setflags(write=False)
    return lower, upper, kernel(X, X)


# ----------------------------------------------------------------------------- closed forms


def test_symmetrise_is_symmetric_to_the_last_bit():
    M = np.random.default_rng(0).standard_normal((7, 7))
    np.testing.assert_array_equal(symmetrise(M), symmetrise(M).T)
    np.testing.assert_array_equal(symmetrise(symmetrise(M)), symmetrise(M))


@pytest.mark.parametrize("shift", [-3.0, -1.0, 0.0, 1.0, 3.0])
def test_psd_projection_clips_the_eigenvalues(shift):
    # Few and many negative eigenvalues take different products.
    M = symmetric(9) + shift * np.eye(9)
    values, vectors = np.linalg.eigh(M)
    P = project_psd(M)
    np.testing.assert_allclose(P, (vectors * np.maximum(values, 0.0)) @ vectors.T, atol=1e-13)
    np.testing.assert_array_equal(P, P.T)


def test_psd_projection_splits_a_matrix_into_orthogonal_parts():
    # Moreau: M = P(M) - P(-M), and the two are orthogonal.
    M = symmetric(8, 1)
    above, below = project_psd(M), project_psd(-M)
    np.testing.assert_allclose(above - below, M, atol=1e-13)
    np.testing.assert_allclose(above @ below, 0.0, atol=1e-12)


def test_psd_projection_is_that_of_the_symmetric_part():
    M = np.random.default_rng(2).standard_normal((6, 6))
    np.testing.assert_array_equal(project_psd(M), project_psd(symmetrise(M)))


@pytest.mark.parametrize("value", [-2.0, 0.0, 3.0])
def test_psd_projection_of_one_number(value):
    np.testing.assert_allclose(project_psd(np.array([[value]])), [[max(value, 0.0)]], atol=1e-15)


def matrix_with(values, seed=0):
    """Return a symmetric matrix with these eigenvalues."""
    vectors = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))[0]
    return symmetrise((vectors * values) @ vectors.T)


@pytest.mark.parametrize("expected", [0, 3, 40, 77, 80])
@pytest.mark.parametrize("n_negative", [0, 1, 3, 40, 77, 80])
def test_psd_projection_by_part_of_the_spectrum_is_that_by_all_of_it(n_negative, expected):
    # Whether the guess is right or wrong; eigenvalues from rounding to large, some of them 0.
    values = np.geomspace(1e-9, 1e3, 80)[np.random.default_rng(1).permutation(80)]
    values[:n_negative] *= -1.0
    values[n_negative : n_negative + 2] = 0.0
    M = matrix_with(values)
    plain = psd_projection(M)
    partial = psd_projection(M, expected)
    np.testing.assert_allclose(partial.point, plain.point, atol=1e-10)
    np.testing.assert_array_equal(partial.point, partial.point.T)
    # Of what is 0 up to rounding, either sign is right.
    assert abs(partial.n_negative - plain.n_negative) <= 2
    np.testing.assert_array_equal(plain.point, project_psd(M))


@pytest.mark.parametrize("shift", [1e-3, 1e-2, 0.1])
def test_psd_projection_by_part_of_a_real_spectrum_is_that_by_all_of_it(data_dir, shift):
    table = pd.read_csv(data_dir / "australian.csv").iloc[:300, :-1]
    X = table.to_numpy(float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    K = Gaussian(0.5)(X, X)
    noise = np.random.default_rng(0).standard_normal(K.shape)
    # A low rank, most eigenvalues next to 0, and some of either sign.
    for M in (K - shift * K.mean(), shift * K.mean() - K, K + shift * (noise + noise.T)):
        plain = psd_projection(M)
        for expected in (10, 290):
            partial = psd_projection(M, expected)
            np.testing.assert_allclose(partial.point, plain.point, atol=1e-10)


def test_only_few_eigenvalues_are_computed_where_few_are_expected(monkeypatch):
    M = matrix_with(np.r_[-np.ones(5), np.arange(1.0, 76.0)])
    expected = project_psd(M)
    monkeypatch.setattr(np.linalg, "eigh", None)
    monkeypatch.setattr("array_api_compat.numpy.linalg.eigh", None)
    np.testing.assert_allclose(psd_projection(M, 5).point, expected, atol=1e-12)
    np.testing.assert_allclose(psd_projection(-M, 75).point, expected - M, atol=1e-12)


def test_box_projection_clips():
    M = np.array([[-1.0, 0.5], [0.5, 2.0]])
    np.testing.assert_array_equal(
        project_box(M, np.zeros((2, 2)), np.ones((2, 2))), [[0.0, 0.5], [0.5, 1.0]]
    )


def test_ball_projection_keeps_the_inside_and_shrinks_the_outside():
    centre = np.ones((2, 2))
    M = centre + np.array([[3.0, 0.0], [0.0, 4.0]])
    np.testing.assert_array_equal(project_frobenius_ball(M, centre, 5.0), M)
    np.testing.assert_allclose(
        project_frobenius_ball(M, centre, 1.0), centre + np.array([[0.6, 0.0], [0.0, 0.8]])
    )
    np.testing.assert_array_equal(project_frobenius_ball(M, centre, 0.0), centre)


# ---------------------------------------------------------------------- box and hyperplane


def test_hyperplane_projection_of_one_number_is_zero():
    for v in (-3.0, 0.0, 0.3, 2.0):
        found = project_box_hyperplane(np.array([v]), np.array([-1.0]), np.array([2.0]))
        np.testing.assert_allclose(found, [0.0], atol=1e-15)


def test_hyperplane_projection_by_hand():
    # (2, 1, -1) shifted by 1/2 and clipped to [-1, 1]: the sum of (1, 1/2, -1) is not 0 ...
    v, end = np.array([2.0, 1.0, -1.0]), np.ones(3)
    # ... shifted by 1 it is (1, 0, -1).
    np.testing.assert_allclose(project_box_hyperplane(v, -end, end), [1.0, 0.0, -1.0], atol=1e-15)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_hyperplane_projection_where_only_zero_is_feasible(sign):
    # One class alone: coefficients of one sign that must sum to 0.
    ends = np.sort(np.array([np.zeros(4), sign * np.ones(4)]), axis=0)
    v = np.array([0.5, -2.0, 0.1, 9.0])
    np.testing.assert_allclose(project_box_hyperplane(v, *ends), np.zeros(4), atol=1e-15)


def test_hyperplane_projection_where_the_box_is_a_point():
    zeros = np.zeros(3)
    found = project_box_hyperplane(np.array([1.0, -2.0, 5.0]), zeros, zeros)
    np.testing.assert_array_equal(found, zeros)


def test_hyperplane_projection_keeps_fixed_coordinates_where_they_are():
    lower, upper = np.array([0.0, -1.0, -1.0]), np.array([0.0, 1.0, 1.0])
    found = project_box_hyperplane(np.array([4.0, 0.5, 0.1]), lower, upper)
    np.testing.assert_allclose(found, [0.0, 0.2, -0.2], atol=1e-15)


@pytest.mark.parametrize("threshold", [0.0, 0.3])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8, 1e14])
def test_hyperplane_is_met_to_rounding_of_the_box_however_far_the_point(size, threshold):
    generator = np.random.default_rng(3)
    v = size * generator.standard_normal(50)
    lower, upper = -generator.random(50), generator.random(50)
    found = project_box_hyperplane(v, lower, upper, threshold)
    assert abs(found.sum()) <= 1e-13
    assert ((lower <= found) & (found <= upper)).all()


def test_a_large_threshold_leaves_nothing():
    v = np.array([0.4, -0.2, 0.1])
    found = project_box_hyperplane(v, -np.ones(3), np.ones(3), threshold=1.0)
    np.testing.assert_allclose(found, np.zeros(3), atol=1e-15)


def test_clip_and_centre_is_not_the_projection():
    v, lower, upper = np.array([9.0, 9.0, -9.0]), -np.ones(3), np.ones(3)
    centred = clip_and_centre(v, lower, upper)
    # It meets the hyperplane, and leaves the box by the mean of (1, 1, -1).
    assert centred.sum() == pytest.approx(0.0, abs=1e-15)
    assert centred.min() == pytest.approx(-1.0 - 1.0 / 3.0)
    projected = project_box_hyperplane(v, lower, upper)
    assert ((lower <= projected) & (projected <= upper)).all()
    np.testing.assert_allclose(projected, [0.5, 0.5, -1.0], atol=1e-15)
    # Nor is it idempotent, as every projection is.
    again = clip_and_centre(centred, lower, upper)
    assert np.abs(again - centred).max() > 0.1


def test_clip_and_centre_is_the_projection_where_nothing_is_clipped():
    v, end = np.array([0.3, -0.1, 0.4]), np.full(3, 2.0)
    np.testing.assert_allclose(
        clip_and_centre(v, -end, end), project_box_hyperplane(v, -end, end), atol=1e-15
    )


# --------------------------------------------------------------------------- box and cone


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Gaussian(8.0), Linear()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_box_psd_projection_is_feasible_and_optimal(seed, kernel):
    lower, upper, completion = kernel_box(12, seed, kernel=kernel)
    M = completion + symmetric(12, seed, 0.7)
    found = project_box_psd(M, lower, upper, tol=1e-10, max_iter=20_000)
    P = found.point
    assert found.status is Status.CONVERGED
    assert not found.infeasible
    np.testing.assert_array_equal(P, P.T)
    assert np.linalg.eigvalsh(P).min() >= -1e-12 * len(P)
    assert found.violation <= 1e-9
    assert found.violation == max(0.0, (lower - P).max(), (P - upper).max())
    # Variational inequality, against a point that is feasible by construction.
    for Q in (completion, 0.5 * (completion + P)):
        assert np.vdot(M - P, Q - P) <= 1e-7


def test_box_psd_projection_of_a_feasible_matrix_is_itself():
    lower, upper, completion = kernel_box(10)
    found = project_box_psd(completion, lower, upper)
    np.testing.assert_allclose(found.point, completion, atol=1e-8)
    assert found.status is Status.CONVERGED
    assert found.n_iter <= 2


def test_box_psd_projection_goes_on_from_a_multiplier():
    lower, upper, completion = kernel_box(15, 4, missing=0.7)
    M = completion + symmetric(15, 4)
    cold = project_box_psd(M, lower, upper, tol=1e-9, max_iter=20_000)
    warm = project_box_psd(M, lower, upper, multiplier=cold.multiplier, tol=1e-9, max_iter=20_000)
    assert warm.n_iter <= 2 < cold.n_iter
    np.testing.assert_allclose(warm.point, cold.point, atol=1e-8)
    near = M + symmetric(15, 5, 1e-4)
    again = project_box_psd(near, lower, upper, tol=1e-9, max_iter=20_000)
    warmed = project_box_psd(
        near, lower, upper, multiplier=cold.multiplier, tol=1e-9, max_iter=20_000
    )
    assert warmed.n_iter < again.n_iter
    np.testing.assert_allclose(warmed.point, again.point, atol=1e-6)


def test_box_psd_projection_in_parts_is_that_in_one():
    lower, upper, completion = kernel_box(12, 6, missing=0.7)
    M = completion + symmetric(12, 6)
    whole = project_box_psd(M, lower, upper, tol=0.0, max_iter=30)
    part = None
    for _ in range(3):
        multiplier = None if part is None else part.multiplier
        part = project_box_psd(M, lower, upper, multiplier=multiplier, tol=0.0, max_iter=10)
    assert whole.status is part.status is Status.MAX_ITER
    assert (whole.n_iter, part.n_iter) == (30, 10)
    np.testing.assert_allclose(part.point, whole.point, atol=1e-12)


def test_box_psd_projection_counts_its_eigendecompositions():
    lower, upper, completion = kernel_box(8, 7)
    calls = []

    def counted(M):
        calls.append(None)
        return project_psd(M)

    M = completion + symmetric(8, 7)
    found = project_box_cone(M, counted, lower, upper, max_iter=20)
    assert len(calls) == found.n_iter == 20


def test_box_psd_projection_of_one_number():
    for value, lower, upper, nearest in [(-3, -1, 2, 0), (5, -1, 2, 2), (0.5, 1, 2, 1)]:
        found = project_box_psd(*(np.array([[float(x)]]) for x in (value, lower, upper)))
        assert found.point[0, 0] == pytest.approx(nearest, abs=1e-8)
        assert found.status is Status.CONVERGED


def test_a_box_that_is_one_positive_definite_matrix():
    _, _, completion = kernel_box(6)
    target = completion + 0.1 * np.eye(6)
    found = project_box_psd(symmetric(6, 8), target, target, tol=1e-10, max_iter=5000)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point, target, atol=1e-9)


def test_a_box_with_an_exact_diagonal():
    lower, upper, completion = kernel_box(10, 9, missing=0.6)
    assert (np.diagonal(lower) == np.diagonal(upper)).all()
    found = project_box_psd(completion + symmetric(10, 9), lower, upper, tol=1e-10, max_iter=20_000)
    np.testing.assert_allclose(np.diagonal(found.point), 1.0, atol=1e-9)


def test_rows_that_the_box_makes_equal_are_projected_as_one():
    # Two groups, and a row that is fixed at another value: equal to nobody.
    generator = np.random.default_rng(10)
    n, groups = 9, np.array([0, 1, 0, 1, 2, 0, 3, 1, 4])
    lower, upper = np.full((n, n), -0.4), np.full((n, n), 3.0)
    for group, value in ((0, 1.0), (1, 2.0)):
        inside = groups == group
        lower[np.ix_(inside, inside)] = upper[np.ix_(inside, inside)] = value
    lower[4, 4] = upper[4, 4] = 1.0
    # One member's interval binds the whole group.
    lower[2, 3] = lower[3, 2] = 0.3
    M = symmetric(n, 11, 2.0)
    found = project_box_psd(M, lower, upper, tol=1e-11)
    P = found.point
    assert found.status is Status.CONVERGED
    assert found.n_iter < 500
    np.testing.assert_array_equal(P, P.T)
    for group in (0, 1):
        members = P[groups == group]
        np.testing.assert_array_equal(members, np.broadcast_to(members[0], members.shape))
    assert found.violation <= 1e-10
    assert np.linalg.eigvalsh(P).min() >= -1e-12
    assert P[0, 1] >= 0.3 - 1e-10
    # Optimal among the feasible points, of which some are made by mixing in others'.
    for _ in range(20):
        L = symmetrise(2.0 * generator.standard_normal((n, n)))
        other = project_box_psd(L, lower, upper, tol=1e-11).point
        assert np.vdot(M - P, other - P) <= 1e-7
    warm = project_box_psd(M, lower, upper, tol=1e-11, multiplier=found.multiplier)
    assert warm.n_iter <= 2
    np.testing.assert_allclose(warm.point, P, atol=1e-10)


def test_rows_fixed_at_values_that_differ_are_not_equal():
    lower, upper = np.full((3, 3), -5.0), np.full((3, 3), 5.0)
    fixed = np.array([[1.0, 1.0], [1.0, 2.0]])
    lower[:2, :2] = upper[:2, :2] = fixed
    found = project_box_psd(symmetric(3, 2), lower, upper, tol=1e-11)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point[:2, :2], fixed, atol=1e-10)


def test_rows_that_the_box_makes_equal_but_bounds_apart_miss_the_cone():
    lower, upper = np.full((3, 3), -1.0), np.full((3, 3), 1.0)
    lower[:2, :2] = upper[:2, :2] = np.diagonal(upper)[0]
    lower[0, 2] = lower[2, 0] = 0.5
    upper[1, 2] = upper[2, 1] = 0.0
    assert project_box_psd(symmetric(3), lower, upper).infeasible


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        pytest.param(-np.ones((4, 4)), np.ones((4, 4)) - 1.5 * np.eye(4), id="negative diagonal"),
        pytest.param(
            np.where(np.eye(4) > 0, 0.0, 2.0),
            np.where(np.eye(4) > 0, 1.0, 3.0),
            id="entries above the diagonal",
        ),
        pytest.param(
            np.array([[1.0, 0.85, 0.85], [0.85, 1.0, -0.95], [0.85, -0.95, 1.0]]),
            np.array([[1.0, 0.95, 0.95], [0.95, 1.0, -0.85], [0.95, -0.85, 1.0]]),
            id="three rows that cannot be so related",
        ),
    ],
)
def test_a_box_that_misses_the_cone_is_found_out(lower, upper):
    for seed in range(3):
        M = symmetric(len(lower), seed)
        found = project_box_psd(M, lower, upper)
        assert found.status is Status.INFEASIBLE
        assert found.infeasible
        assert not found.status.success
        assert found.violation > 0.01
        assert found.n_iter <= 100


def test_the_iteration_says_that_it_ran_out():
    lower, upper, completion = kernel_box(12, 3, missing=0.7)
    found = project_box_psd(completion + symmetric(12, 3), lower, upper, max_iter=3)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 3


def test_projections_leave_their_arguments_alone():
    M, lower, upper = symmetric(5), symmetric(5, 1) - 2.0, symmetric(5, 1) + 2.0
    lower.setflags(write=False)
    upper.setflags(write=False)
    # All are protected, so that a write raises.
    project_psd(M)
    project_box(M, lower, upper)
    project_frobenius_ball(M, lower, 1.0)
    project_box_psd(M, lower, upper)
    v, below, above = M[0], np.minimum(lower[0], 0.0), np.maximum(upper[0], 0.0)
    for array in (below, above):
        array.setflags(write=False)
    project_box_hyperplane(v, below, above, 0.1)
    clip_and_centre(v, below, above)


@pytest.mark.parametrize("library", CONVERT)
@pytest.mark.parametrize("groups", [False, True])
def test_projections_of_matrices_are_numpys_in_any_namespace(library, groups):
    convert = CONVERT[library]
    generator = np.random.default_rng(5)
    M = symmetrise(generator.standard_normal((9, 9)))
    lower, upper = np.full((9, 9), -0.4), np.full((9, 9), 0.6)
    np.fill_diagonal(lower, 1.0)
    np.fill_diagonal(upper, 1.0)
    if groups:
        # Two pairs of rows that are equal in every positive semidefinite matrix of the box.
        for i, j in ((0, 1), (4, 7)):
            lower[i, j] = lower[j, i] = upper[i, j] = upper[j, i] = 1.0
    for negative in (M, -M, M + 3.0 * np.eye(9)):
        there = to_numpy(project_psd(convert(negative)))
        np.testing.assert_allclose(there, project_psd(negative), atol=1e-12)
    plain = project_box_psd(M, lower, upper, tol=1e-7)
    found = project_box_psd(convert(M), convert(lower), convert(upper), tol=1e-7)
    assert (found.status, found.n_iter) == (plain.status, plain.n_iter)
    np.testing.assert_allclose(to_numpy(found.point), plain.point, atol=1e-10)
    ball = project_frobenius_ball(convert(M), convert(lower), 0.5)
    np.testing.assert_allclose(to_numpy(ball), project_frobenius_ball(M, lower, 0.5), atol=1e-12)


@pytest.mark.parametrize("library", CONVERT)
@pytest.mark.parametrize("threshold", [0.0, 0.2])
def test_projections_of_coefficients_are_numpys_in_any_namespace(library, threshold):
    convert = CONVERT[library]
    generator = np.random.default_rng(6)
    for n in (1, 2, 31):
        v, lower = generator.standard_normal(n), -generator.random(n)
        upper = generator.random(n)
        there = [convert(array) for array in (v, lower, upper)]
        found = to_numpy(project_box_hyperplane(*there, threshold))
        expected = project_box_hyperplane(v, lower, upper, threshold)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(
            to_numpy(clip_and_centre(*there)), clip_and_centre(v, lower, upper), atol=1e-12
        )
