"""L-BFGS in a box: where it ends is optimal, it never rises, and it never leaves the box."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize, rosen, rosen_der

from kernimpute.core.box_descent import Place, descend_in_box
from kernimpute.core.status import Status


def run(function, start, lower, upper, *, max_steps=500, tol=1e-9):
    """Descend until the projected gradient is small; return status, places and evaluations."""
    evaluations, places = [], []

    def evaluate(x):
        assert (x >= lower).all()
        assert (x <= upper).all()
        value, gradient = function(x)
        place = Place(x, value, gradient, len(evaluations))
        evaluations.append(place)
        return place

    def accept(place):
        assert any(place is one for one in evaluations)
        places.append(place)
        return projected(place, lower, upper) <= tol

    first = evaluate(start)
    places.append(first)
    status = descend_in_box(
        evaluate, first, lower=lower, upper=upper, max_steps=max_steps, accept=accept
    )
    return status, places, evaluations


def projected(place, lower, upper):
    return np.abs(np.clip(place.x - place.gradient, lower, upper) - place.x).max()


def quadratic(A, b):
    return lambda x: (0.5 * float(np.sum((A @ x - b) ** 2)), A.T @ (A @ x - b))


@pytest.mark.parametrize("seed", range(8))
def test_a_least_squares_problem_ends_where_another_solver_does(seed):
    generator = np.random.default_rng(seed)
    A = generator.standard_normal((60, 25)) * np.geomspace(0.1, 10.0, 25)
    b = 3.0 * generator.standard_normal(60)
    lower, upper = -generator.random(25), generator.random(25)
    # Falls too small to be seen in the value are no steps.
    status, places, _ = run(quadratic(A, b), np.zeros(25), lower, upper, tol=1e-4)
    assert status is Status.CONVERGED
    theirs = lsq_linear(A, b, (lower, upper), tol=1e-14)
    held = np.isclose(theirs.x, lower) | np.isclose(theirs.x, upper)
    assert 0 < held.sum() < 25
    np.testing.assert_allclose(places[-1].x, theirs.x, atol=1e-4)
    assert np.diff([place.value for place in places]).max() < 0.0


@pytest.mark.parametrize("upper", [2.0, 0.8])
def test_a_curved_valley_is_followed_in_about_as_many_evaluations_as_scipy_needs(upper):
    n = 10
    box = np.full(n, -2.0), np.full(n, upper)
    start = np.full(n, -1.0)
    status, places, evaluations = run(
        lambda x: (float(rosen(x)), rosen_der(x)), start, *box, tol=1e-6
    )
    options = {"gtol": 1e-6, "ftol": 0.0}
    theirs = minimize(
        rosen,
        start,
        jac=rosen_der,
        method="L-BFGS-B",
        bounds=np.stack(box, axis=1),
        options=options,
    )
    assert status is Status.CONVERGED
    assert places[-1].value == pytest.approx(theirs.fun, abs=1e-9)
    assert len(evaluations) <= 1.5 * theirs.nfev


def test_variables_that_start_at_a_bound_leave_it_and_others_stay():
    A, b = np.eye(4), np.array([0.5, -1.0, 2.0, 0.3])
    start = np.array([0.0, 0.0, 1.0, 1.0])
    status, places, _ = run(quadratic(A, b), start, np.zeros(4), np.ones(4))
    assert status is Status.CONVERGED
    np.testing.assert_allclose(places[-1].x, [0.5, 0.0, 1.0, 0.3], atol=1e-12)


def test_at_a_minimum_no_step_falls():
    A, b = np.eye(3), np.array([0.5, -1.0, 2.0])
    at_minimum = np.array([0.5, 0.0, 1.0])
    status, places, evaluations = run(quadratic(A, b), at_minimum, np.zeros(3), np.ones(3))
    assert status is Status.STALLED
    assert len(places) == len(evaluations) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_maximum_over_bounded_coefficients_is_descended_to_the_end(seed):
    generator = np.random.default_rng(seed)
    A, c = generator.standard_normal((40, 12)), generator.standard_normal(40)

    def function(x):
        residual = A @ x - c
        b = np.clip(residual, -0.5, 0.5)
        return float(b @ residual - 0.5 * b @ b), A.T @ b

    lower, upper = -0.3 * np.ones(12), 0.3 * np.ones(12)
    status, places, _ = run(function, np.zeros(12), lower, upper, tol=1e-6)
    theirs = minimize(
        function,
        np.zeros(12),
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack([lower, upper], axis=1),
        options={"gtol": 1e-9, "ftol": 0.0},
    )
    assert status is Status.CONVERGED
    assert places[-1].value == pytest.approx(theirs.fun, abs=1e-9)
    assert np.diff([place.value for place in places]).max() < 0.0


def test_a_far_too_long_first_step_is_cut_to_about_its_minimum():
    A, b = 1e4 * np.eye(6), np.full(6, 3e3)
    status, places, evaluations = run(quadratic(A, b), np.full(6, 0.2), np.zeros(6), np.ones(6))
    assert status is Status.CONVERGED
    np.testing.assert_allclose(places[-1].x, 0.3, atol=1e-12)
    assert len(evaluations) <= 6


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1.0, 1e4, 1e9])
def test_it_arrives_whatever_unit_the_function_has(unit):
    A, b = np.diag([1.0, 2.0, 3.0]), np.array([0.5, 1.2, 4.0])

    def function(x):
        value, gradient = quadratic(A, b)(x)
        return unit * value, unit * gradient

    box = np.zeros(3), np.ones(3)
    _, places, evaluations = run(function, np.full(3, 0.2), *box, tol=0.0, max_steps=20)
    np.testing.assert_allclose(places[-1].x, [0.5, 0.6, 1.0], atol=1e-6)
    assert len(places) <= 12


def test_a_value_that_is_infinite_or_a_slope_that_is_enormous_only_shortens_the_step():
    def function(x):
        if x[0] > 0.5:
            return np.inf, np.full(1, 1e153)
        # Squares of these are numbers still; those of their sums are none.
        return float(1e153 * (x[0] - 0.3) ** 2), 2e153 * (x - 0.3)

    _, places, _ = run(function, np.zeros(1), np.zeros(1), np.ones(1), tol=0.0, max_steps=60)
    np.testing.assert_allclose(places[-1].x, 0.3, atol=1e-6)


def test_it_stops_when_told_and_when_out_of_steps():
    function = quadratic(np.diag([1.0, 3.0, 9.0, 27.0]), np.full(4, 0.7))
    box = np.zeros(4), np.ones(4)
    status, places, _ = run(function, np.ones(4), *box, max_steps=3)
    assert (status, len(places)) == (Status.MAX_ITER, 4)
    status, places, _ = run(function, np.ones(4), *box, tol=np.inf)
    assert (status, len(places)) == (Status.CONVERGED, 2)
