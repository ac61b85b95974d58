"""Each cell minimiser finds the global minimum on [0, 1], and leaves what it cannot better.

The joint step finds that of a parabola, and never raises the objective.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.methods.cell_minimisers import (
    categorical_cell,
    chi2_cell,
    gaussian_cell,
    joint_step,
    laplacian_cell,
    product_cell,
    quartic_step,
)

GRID = np.linspace(0.0, 1.0, 401) ** 4
"""Dense near 0, where the chi-squared term bends."""


def chi2_term(t, a):
    return 2.0 * t * a / np.maximum(t + a, 1e-300)


TERMS = {
    "gaussian": (lambda t, a: (t - a) ** 2, gaussian_cell),
    "laplacian": (lambda t, a: np.abs(t - a), laplacian_cell),
    "product": (lambda t, a: t * a, product_cell),
    "chi2": (chi2_term, chi2_cell),
}


class Cell:
    """A cell whose best value is sought: everything else is drawn."""

    def __init__(self, name, weighted, seed):
        generator = np.random.default_rng(seed)
        n = generator.integers(1, 30)
        self.term, self.minimiser = TERMS[name]
        self.column = generator.random(n)
        self.column[generator.random(n) < 0.3] = generator.choice([0.0, 0.5, 1.0])
        # What the other features leave: near a value's own terms, or far from any.
        truth = self.term(generator.random(), self.column)
        self.rest = -truth + generator.normal(size=n) * generator.choice([0.0, 0.1, 1.0])
        self.weights = generator.random(n) if weighted else np.ones(n)
        self.value = float(generator.choice([0.0, 0.5, 1.0, generator.random()]))
        self.has_own = name in ("product", "chi2")
        self.own_weight = float(generator.random()) if self.has_own else 0.0
        self.own_rest = float(generator.normal())

    def objective(self, t):
        value = (self.weights * (self.term(t, self.column) + self.rest) ** 2).sum()
        return value + 0.5 * self.own_weight * (self.term(t, t) + self.own_rest) ** 2

    def minimise(self):
        residuals = self.term(self.value, self.column) + self.rest
        own = (self.term(self.value, self.value) + self.own_rest, self.own_weight)
        return self.minimiser(
            self.value, self.column, residuals, self.weights, *(own if self.has_own else ())
        )

    def reference(self):
        """Return the least value over a grid, refined between its best nodes."""
        values = [self.objective(t) for t in GRID]
        lowest = min(values)
        for node in np.argsort(values)[:3]:
            bounds = GRID[max(node - 1, 0)], GRID[min(node + 1, GRID.size - 1)]
            found = minimize_scalar(
                self.objective, bounds=bounds, method="bounded", options={"xatol": 1e-12}
            )
            lowest = min(lowest, found.fun)
        return lowest


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("seed", range(25))
def test_no_value_is_better(name, weighted, seed):
    cell = Cell(name, weighted, seed)
    best = cell.minimise()
    assert 0.0 <= best <= 1.0
    assert cell.objective(best) <= cell.objective(cell.value) * (1.0 + 1e-14)
    assert cell.objective(best) <= cell.reference() + 1e-12


@pytest.mark.parametrize("name", TERMS)
def test_a_perfect_value_stays_to_the_last_bit(name):
    cell = Cell(name, True, 3)
    cell.rest = -cell.term(cell.value, cell.column)
    cell.own_rest = -float(cell.term(cell.value, cell.value))
    assert cell.minimise() == cell.value


@pytest.mark.parametrize("name", TERMS)
def test_a_cell_that_nothing_weighs_stays(name):
    cell = Cell(name, False, 4)
    cell.weights = np.zeros(cell.column.size)
    cell.own_weight = 0.0
    assert cell.minimise() == cell.value


@pytest.mark.parametrize("seed", range(10))
def test_every_code_is_tried(seed):
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 4, 20).astype(float)
    rest = generator.normal(size=20)
    weights = generator.random(20)
    code = int(generator.integers(0, 4))
    best = categorical_cell(code, codes, 4, (codes != code) + rest, weights)
    values = [(weights * ((codes != c) + rest) ** 2).sum() for c in range(4)]
    assert values[best] == min(values)


def test_a_code_stays_on_a_tie():
    codes = np.array([0.0, 1.0])
    assert categorical_cell(1, codes, 2, np.array([0.5, -0.5]), np.ones(2)) == 1


@pytest.mark.parametrize(
    ("coefficients", "step"),
    [
        ((0.0, 1.0, 0.0, 0.0), 0.0),
        ((-1.0, 1.0, 0.0, 0.0), 0.5),
        ((0.0, -1.0, 0.0, 0.1), -0.6),
        ((0.1, -1.0, 0.0, 100.0), -0.1 / 1.4),
        ((0.0, 0.0, 0.0, 0.0), 0.0),
    ],
)
def test_steps_of_quartics(coefficients, step):
    found = quartic_step(np.array(coefficients), -0.6, 0.5)
    quartic = np.polynomial.Polynomial((0.0, *coefficients))
    assert quartic(found) <= quartic(step) + 1e-15
    if coefficients[3] < 1.0:
        assert found == pytest.approx(step, abs=1e-12)


# ------------------------------------------------------------------------------ several cells


def drawn_cells(seed, n_cells=4, n_pairs=30):
    """Return values, slopes, bends, residuals and weights."""
    generator = np.random.default_rng(seed)
    values = generator.choice([0.0, 1.0, *generator.random(4)], n_cells)
    slopes = generator.normal(size=(n_cells, n_pairs))
    bends = generator.choice([0.0, 1.0], n_pairs)
    residuals = generator.normal(size=n_pairs) * generator.choice([0.1, 1.0, 10.0])
    return values, slopes, bends, residuals, generator.random(n_pairs)


@pytest.mark.parametrize("seed", range(200))
def test_a_joint_step_raises_no_objective_and_stays_in_the_box(seed):
    values, slopes, bends, residuals, weights = drawn_cells(seed)
    steps, length = joint_step(values, slopes, bends, residuals, weights)
    before = weights @ residuals**2
    after = weights @ (residuals + steps @ slopes + bends * (steps @ steps)) ** 2
    assert after <= before * (1.0 + 1e-14)
    assert (-1e-15 <= values + steps).all()
    assert (values + steps <= 1.0 + 1e-15).all()
    assert 0.0 <= length <= 2.0


@pytest.mark.parametrize("seed", range(20))
def test_a_joint_step_solves_a_least_squares_problem(seed):
    _, slopes, bends, residuals, weights = drawn_cells(seed)
    root = np.sqrt(weights)
    solution = np.linalg.lstsq((root * slopes).T, -root * residuals, rcond=None)[0]
    # Scaled so that the solution lies in the box.
    scale = 0.4 / np.abs(solution).max()
    steps, length = joint_step(
        np.full(4, 0.5), slopes, np.zeros_like(bends), scale * residuals, weights
    )
    assert length == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(steps, scale * solution, rtol=0.0, atol=1e-12)


def test_cells_that_are_pushed_out_of_the_box_stay():
    slopes = np.eye(3)
    residuals = np.array([0.5, -0.5, 0.2])
    values = np.array([0.0, 0.5, 0.5])
    steps, length = joint_step(values, slopes, np.zeros(3), residuals, np.ones(3))
    np.testing.assert_allclose(steps, [0.0, 0.5, -0.2], rtol=0.0, atol=1e-15)
    assert length == pytest.approx(1.0)


def test_a_joint_step_ends_where_the_first_cell_reaches_the_box():
    residuals = np.array([1.0, -0.2])
    steps, length = joint_step(np.array([0.5, 0.5]), np.eye(2), np.zeros(2), residuals, np.ones(2))
    np.testing.assert_allclose(steps, [-0.5, 0.1], rtol=0.0, atol=1e-15)
    assert length == pytest.approx(0.5)


@pytest.mark.parametrize("n_cells", [1, 2])
def test_without_a_second_cell_or_curvature_there_is_no_joint_step(n_cells):
    slopes = np.ones((n_cells, 3))
    steps, length = joint_step(np.full(n_cells, 0.5), slopes, np.zeros(3), np.ones(3), np.ones(3))
    assert (steps == 0.0).all()
    assert length == (1.0 if n_cells == 1 else 0.0)
