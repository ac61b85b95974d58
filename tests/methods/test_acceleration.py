"""The extrapolation finds the fixed point of an affine map, and forgets."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.methods.recover import MEMORY, Extrapolation


def affine_map(n_cells, seed=0):
    """Return a contraction with its fixed point in [0, 1]."""
    generator = np.random.default_rng(seed)
    slope = generator.normal(size=(n_cells, n_cells))
    slope *= 0.7 / np.linalg.norm(slope, 2)
    fixed = generator.random(n_cells)
    return (lambda x: fixed + slope @ (x - fixed)), fixed


@pytest.mark.parametrize("n_cells", [2, 3, 5])
def test_as_many_differences_as_cells_find_the_fixed_point(n_cells):
    sweep, fixed = affine_map(n_cells)
    extrapolation = Extrapolation(n_cells)
    x = np.full(n_cells, 0.5)
    for _ in range(n_cells + 1):
        before, x = x, sweep(x)
        guess = extrapolation.guess(before, x)
    np.testing.assert_allclose(guess, fixed, rtol=0.0, atol=1e-6)


def test_guesses_in_the_place_of_sweeps_end_at_the_fixed_point():
    n_cells = 3 * MEMORY
    sweep, fixed = affine_map(n_cells)
    extrapolation = Extrapolation(n_cells)
    x = np.full(n_cells, 0.5)
    for _ in range(30):
        after = sweep(x)
        guess = extrapolation.guess(x, after)
        assert guess is None or ((guess >= 0.0) & (guess <= 1.0)).all()
        x = after if guess is None else guess
    assert np.abs(x - fixed).max() < 1e-6 < 0.7**30


def test_what_came_before_it_forgot_plays_no_part():
    old, _ = affine_map(4, seed=1)
    new, _ = affine_map(4, seed=2)
    used, fresh = Extrapolation(4), Extrapolation(4)
    for seed in range(3):
        x = np.random.default_rng(seed).random(4)
        used.guess(x, old(x))
    used.forget()
    x = np.full(4, 0.5)
    for _ in range(4):
        before, x = x, new(x)
        guess, expected = used.guess(before, x), fresh.guess(before, x)
        assert guess is None or (guess == expected).all()
        assert (guess is None) == (expected is None)


def test_without_a_move_there_is_no_guess():
    extrapolation = Extrapolation(3)
    x = np.full(3, 0.5)
    assert all(extrapolation.guess(x, x) is None for _ in range(5))
