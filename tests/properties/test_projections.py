"""What makes a map the projection on a convex set, for every set of Stage I.

The result lies in the set, is its own projection, and makes an obtuse angle with every feasible
point, ``<M - P(M), Q - P(M)> <= 0``; and no two points move apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from kernimpute.core.projections import (
    clip_and_centre,
    project_box,
    project_box_hyperplane,
    project_box_psd,
    project_frobenius_ball,
    project_psd,
    symmetrise,
)
from kernimpute.core.status import Status

NUMBER = st.floats(-10.0, 10.0)
SHARE = st.floats(0.0, 1.0)
SIZES = st.integers(1, 6)


@dataclass(frozen=True)
class ConvexSet:
    """A set with its projection.

    Parameters
    ----------
    project : callable
        The projection.
    violation : callable
        How far a point is from satisfying the constraints; 0 inside.
    points : SearchStrategy
        Points of the space.
    members : SearchStrategy
        Points of the set, made without the projection.
    accuracy : float
        To what the projection is exact, relative to the size of the points.
    """

    project: Callable
    violation: Callable
    points: st.SearchStrategy
    members: st.SearchStrategy
    accuracy: float = 1e-12


def protected(array):
    array.setflags(write=False)
    return array


def square(n, elements=NUMBER):
    return npst.arrays(float, (n, n), elements=elements).map(symmetrise).map(protected)


def vector(n, elements=NUMBER):
    return npst.arrays(float, n, elements=elements).map(protected)


def outside(M, lower, upper):
    return max(0.0, float((lower - M).max()), float((M - upper).max()))


def indefinite(M):
    return max(0.0, -float(np.linalg.eigvalsh(M).min()))


@st.composite
def psd_cones(draw):
    n = draw(SIZES)
    members = square(n).map(lambda A: A @ A.T / 10.0)
    return ConvexSet(project_psd, indefinite, square(n), members)


@st.composite
def boxes(draw):
    n = draw(SIZES)
    lower = draw(square(n))
    # A width of 0, too.
    upper = lower + draw(square(n, st.one_of(st.just(0.0), st.floats(0.0, 10.0))))
    return ConvexSet(
        lambda M: project_box(M, lower, upper),
        lambda M: outside(M, lower, upper),
        square(n),
        square(n, SHARE).map(lambda share: lower + share * (upper - lower)),
    )


@st.composite
def balls(draw):
    n = draw(SIZES)
    centre, radius = draw(square(n)), draw(st.one_of(st.just(0.0), st.floats(0.0, 20.0)))
    return ConvexSet(
        lambda M: project_frobenius_ball(M, centre, radius),
        lambda M: max(0.0, np.linalg.norm(M - centre) - radius),
        square(n),
        square(n).map(lambda M: centre + radius * M / max(1.0, np.linalg.norm(M))),
    )


@st.composite
def boxes_around_zero(draw, n):
    width = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.0, 10.0))
    return -draw(vector(n, width)), draw(vector(n, width))


def balanced(v, lower, upper):
    """Return a point of the box whose sum is 0, from any: the heavier side is scaled down."""
    v = np.clip(v, lower, upper)
    above, below = v[v > 0.0].sum(), -v[v < 0.0].sum()
    shares = min(above, below) / np.array([above or 1.0, below or 1.0])
    return v * np.where(v > 0.0, *shares)


@st.composite
def boxes_in_a_hyperplane(draw):
    n = draw(SIZES)
    lower, upper = draw(boxes_around_zero(n))
    return ConvexSet(
        lambda v: project_box_hyperplane(v, lower, upper),
        lambda v: max(outside(v, lower, upper), abs(v.sum())),
        vector(n),
        vector(n).map(lambda v: balanced(v, lower, upper)),
    )


@st.composite
def roomy_boxes(draw):
    """Return a box and a matrix of it and the cone, with room to every side.

    Without room the dual has no solution to converge to.
    """
    n = draw(st.integers(1, 4))
    A = draw(square(n))
    inside = A @ A.T / 10.0 + np.eye(n)
    room = st.floats(0.5, 5.0)
    return inside - draw(square(n, room)), inside + draw(square(n, room)), inside


@st.composite
def boxes_in_the_psd_cone(draw):
    lower, upper, inside = draw(roomy_boxes())
    n = len(inside)

    def project(M):
        found = project_box_psd(M, lower, upper, tol=1e-11, max_iter=20_000)
        assert found.status is Status.CONVERGED
        return found.point

    def between(share):
        point = lower + share * (upper - lower)
        # Towards the matrix inside, until it is positive semidefinite.
        lowest = np.linalg.eigvalsh(inside).min()
        return inside + min(1.0, lowest / (lowest + indefinite(point))) * (point - inside)

    return ConvexSet(
        project,
        lambda M: max(outside(M, lower, upper), indefinite(M)),
        square(n),
        square(n, SHARE).map(between),
        accuracy=1e-6,
    )


SETS = {
    "psd cone": psd_cones(),
    "box": boxes(),
    "ball": balls(),
    "box in the hyperplane": boxes_in_a_hyperplane(),
    "box in the psd cone": boxes_in_the_psd_cone(),
}

every_set = pytest.mark.parametrize("name", SETS)


def size(*points):
    return max(1.0, *(float(np.linalg.norm(point)) for point in points))


@every_set
@settings(max_examples=60)
@given(data=st.data())
def test_members_made_without_the_projection_are_members(name, data):
    # What the next tests compare with.
    convex = data.draw(SETS[name])
    Q = data.draw(convex.members)
    assert convex.violation(Q) <= 1e-12 * size(Q)


@every_set
@settings(max_examples=60)
@given(data=st.data())
def test_projections_are_feasible_idempotent_and_keep_members(name, data):
    convex = data.draw(SETS[name])
    M, Q = data.draw(convex.points), data.draw(convex.members)
    P = convex.project(M)
    slack = convex.accuracy * size(M, P, Q)
    assert convex.violation(P) <= slack
    assert np.abs(convex.project(P) - P).max() <= slack
    assert np.abs(convex.project(Q) - Q).max() <= slack
    np.testing.assert_array_equal(P, P.T)


@every_set
@settings(max_examples=60)
@given(data=st.data())
def test_projections_make_an_obtuse_angle_with_every_member(name, data):
    convex = data.draw(SETS[name])
    M, Q = data.draw(convex.points), data.draw(convex.members)
    P = convex.project(M)
    assert np.vdot(M - P, Q - P) <= convex.accuracy * size(M, P, Q) ** 2


@every_set
@settings(max_examples=60)
@given(data=st.data())
def test_projections_move_no_two_points_apart(name, data):
    convex = data.draw(SETS[name])
    M, L = data.draw(convex.points), data.draw(convex.points)
    moved = np.linalg.norm(convex.project(M) - convex.project(L))
    assert moved <= np.linalg.norm(M - L) + convex.accuracy * size(M, L)


@settings(max_examples=200)
@given(data=st.data(), n=SIZES, threshold=st.one_of(st.just(0.0), st.floats(0.0, 3.0)))
def test_thresholded_projections_are_the_proximal_operator(data, n, threshold):
    lower, upper = data.draw(boxes_around_zero(n))
    v = data.draw(vector(n))
    P = project_box_hyperplane(v, lower, upper, threshold)
    assert outside(P, lower, upper) == 0.0
    assert abs(P.sum()) <= 1e-12 * size(v)
    # Of a proximal operator: <v - P, Q - P> <= t (||Q||_1 - ||P||_1).
    Q = balanced(data.draw(vector(n)), lower, upper)
    dearer = threshold * (np.abs(Q).sum() - np.abs(P).sum())
    assert (v - P) @ (Q - P) <= dearer + 1e-12 * size(v, P, Q) ** 2


@settings(max_examples=100)
@given(data=st.data(), n=SIZES)
def test_clip_and_centre_meets_the_hyperplane_and_leaves_the_box_by_the_mean(data, n):
    lower, upper = data.draw(boxes_around_zero(n))
    v = data.draw(vector(n))
    centred = clip_and_centre(v, lower, upper)
    assert abs(centred.sum()) <= 1e-12 * size(upper, lower)
    mean = abs(np.clip(v, lower, upper).mean())
    # An entry is rounded in units of the box, however small the mean.
    assert outside(centred, lower, upper) <= mean * (1.0 + 1e-12) + 1e-15 * size(upper, lower)


@settings(max_examples=40)
@given(data=st.data(), box=roomy_boxes())
def test_the_start_does_not_change_the_projection(data, box):
    lower, upper, _ = box
    M, L = (data.draw(square(len(lower))) for _ in range(2))
    options = {"tol": 1e-11, "max_iter": 20_000}
    elsewhere = project_box_psd(L, lower, upper, **options)
    cold = project_box_psd(M, lower, upper, **options)
    warm = project_box_psd(M, lower, upper, multiplier=elsewhere.multiplier, **options)
    assert elsewhere.status is cold.status is warm.status is Status.CONVERGED
    assert np.abs(warm.point - cold.point).max() <= 1e-6 * size(M, L)
