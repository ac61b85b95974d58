"""Adam against the formulas of its paper, number by number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernimpute.core.projections import AdamMoments, adam_step


def test_steps_are_those_of_the_algorithm_as_printed():
    # Algorithm 1 of Kingma and Ba, on plain floats.
    rate, b1, b2, guard = 0.05, 0.8, 0.95, 1e-6
    gradients = [3.0, -1.0, 0.5, 0.0, -2.0, 1e-4]
    m = v = 0.0
    moments = AdamMoments.zeros(np.zeros(1))
    for t, g in enumerate(gradients, start=1):
        m = b1 * m + (1.0 - b1) * g
        v = b2 * v + (1.0 - b2) * g * g
        expected = rate * (m / (1.0 - b1**t)) / (math.sqrt(v / (1.0 - b2**t)) + guard)
        step, moments = adam_step(
            np.array([g]), moments, rate, beta_mean=b1, beta_square=b2, guard=guard
        )
        assert step[0] == pytest.approx(expected, rel=1e-14)
        assert moments.t == t
        assert moments.mean[0] == pytest.approx(m, rel=1e-14)
        assert moments.square[0] == pytest.approx(v, rel=1e-14)


@pytest.mark.parametrize("gradient", [1e-3, 1.0, -40.0])
def test_a_constant_gradient_gives_steps_of_the_learning_rate_from_the_first(gradient):
    # Without the correction of the bias the first step would be 0.1 / sqrt(0.001) times that.
    moments = AdamMoments.zeros(np.zeros(2))
    for _ in range(5):
        step, moments = adam_step(np.full(2, gradient), moments, 0.01)
        np.testing.assert_allclose(step, math.copysign(0.01, gradient), rtol=2e-5)


def test_entries_do_not_see_each_other():
    gradient = np.random.default_rng(0).standard_normal((3, 4))
    moments, alone = AdamMoments.zeros(gradient), AdamMoments.zeros(np.zeros(1))
    for factor in (1.0, -0.5, 2.0):
        step, moments = adam_step(factor * gradient, moments, 0.1)
        own, alone = adam_step(factor * gradient[1, 2:3], alone, 0.1)
        assert step[1, 2] == own[0]


def test_no_gradient_is_no_step():
    step, moments = adam_step(np.zeros(3), AdamMoments.zeros(np.zeros(3)), 0.1)
    np.testing.assert_array_equal(step, np.zeros(3))
    assert moments.t == 1


def test_arguments_are_left_alone():
    gradient = np.ones(3)
    moments = AdamMoments(np.full(3, 0.1), np.full(3, 0.2), 4)
    for array in (gradient, moments.mean, moments.square):
        array.setflags(write=False)
    _, after = adam_step(gradient, moments, 0.1)
    assert (moments.t, after.t) == (4, 5)


def test_ascent_reaches_the_top_of_a_parabola():
    top, x = np.array([0.3, -0.7]), np.zeros(2)
    moments = AdamMoments.zeros(x)
    for _ in range(2000):
        step, moments = adam_step(2.0 * (top - x), moments, 0.01)
        x = x + step
    np.testing.assert_allclose(x, top, atol=1e-6)
