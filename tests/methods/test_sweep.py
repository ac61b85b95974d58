"""The compiled sweep does what the one in NumPy does, and never raises the objective."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.optimize import minimize

from kernimpute.kernels import Gaussian, Laplacian, Linear
from kernimpute.methods import sweep as compiled
from kernimpute.methods.new_rows import recover_new_rows
from kernimpute.methods.recover import recover_features
from kernimpute.methods.starts import recovery_problem
from tests.methods import cell_minimisers
from tests.methods.problems import (
    DISTANCES,
    KERNELS,
    random_table,
    random_target,
    random_weights,
    read_only,
    small_problem,
    with_gaps,
)

CASES = [(kernel, ()) for kernel in KERNELS]
CASES += [(kernel, (1, 3)) for kernel in DISTANCES]
CASES += [(kernel, (0, 1, 2, 3, 4)) for kernel in DISTANCES]


def sweep(problem, rows):
    return compiled.sweep(rows, problem.target, problem.weights, ~problem.observed)


def objective(problem, rows):
    return compiled.objective(rows, problem.target, problem.weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kernel", "categorical"), CASES, ids=repr)
def test_one_sweep_is_that_of_numpy(kernel, categorical, weighted):
    problem, start = small_problem(kernel, categorical=categorical, weighted=weighted)
    rows = problem.rows(start)
    reference = rows.columns.copy()
    step = sweep(problem, rows)
    assert step == pytest.approx(cell_minimisers.sweep(problem, reference), abs=1e-12)
    assert step > 0.0
    np.testing.assert_allclose(rows.columns, reference, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("n", "d"), [(4, 9), (9, 9), (30, 11), (40, 16)], ids=str)
@pytest.mark.parametrize("categorical", [(), (2, 7)], ids=str)
@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=repr)
def test_so_it_is_whatever_the_number_of_columns(kernel, categorical, n, d):
    categorical = categorical if kernel.is_distance else ()
    problem, start = small_problem(kernel, categorical=categorical, n=n, d=d, rate=0.4)
    rows = problem.rows(start)
    reference = rows.columns.copy()
    for _ in range(2):
        sweep(problem, rows)
        cell_minimisers.sweep(problem, reference)
        np.testing.assert_allclose(rows.columns, reference, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=repr)
def test_a_row_is_at_its_minimum_within_three_sweeps(kernel, weighted):
    table = random_table(25, 9)
    gappy = table.copy()
    gappy[7, [0, 2, 3, 5, 6, 8]] = np.nan
    problem = recovery_problem(
        gappy,
        random_target(kernel, table, noise=0.05),
        kernel=kernel,
        weights=random_weights(25) if weighted else None,
    )
    rows = problem.rows(np.where(problem.observed, problem.X, 0.5))
    for _ in range(3):
        sweep(problem, rows)
    missing = ~problem.observed[7]

    def at(cells):
        filled = table.copy()
        filled[7, missing] = cells
        return problem.objective(filled)

    found = rows.columns[missing, 7]
    better = minimize(at, found, method="L-BFGS-B", bounds=[(0.0, 1.0)] * 6, tol=1e-12)
    assert at(found) <= better.fun * (1.0 + 1e-10)


def test_no_step_lowers_a_quartic_more():
    generator = np.random.default_rng(0)
    quartics = generator.normal(size=(2000, 4)) * 10.0 ** generator.integers(-9, 3, (2000, 4))
    quartics[:, 3] = np.abs(quartics[:, 3])
    quartics[:, :3][generator.random((2000, 3)) < 0.1] = 0.0
    ends = np.sort(generator.random((2000, 2)), axis=1) * [-1.0, 1.0]
    ends[generator.random((2000, 2)) < 0.1] = 0.0
    helper = compiled._quartic_step
    step_of = numba.njit(lambda q, low, high: helper(q[0], q[1], q[2], q[3], low, high))
    for quartic, (low, high) in zip(quartics, ends, strict=True):
        step = step_of(quartic, low, high)
        assert low <= step <= high
        grid = np.linspace(low, high, 200)
        grid = np.append(grid, cell_minimisers.quartic_step(quartic, low, high))
        lowest = (grid * np.polyval(quartic[::-1], grid)).min()
        scale = np.abs(quartic).max()
        assert step * np.polyval(quartic[::-1], step) <= min(lowest, 0.0) + 1e-15 * scale


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_row_that_nothing_weighs_stays(kernel):
    table = random_table(12, 5)
    weights = random_weights(12).copy()
    weights[3] = weights[:, 3] = 0.0
    problem = recovery_problem(
        with_gaps(table, 0.5), random_target(kernel, table), kernel=kernel, weights=weights
    )
    rows = problem.rows(np.where(problem.observed, problem.X, 0.5))
    before = rows.columns[:, 3].copy()
    sweep(problem, rows)
    assert (rows.columns[:, 3] == before).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kernel", "categorical"), CASES, ids=repr)
def test_the_objective_is_that_of_the_problem(kernel, categorical, weighted):
    problem, start = small_problem(kernel, categorical=categorical, weighted=weighted)
    value = problem.weight_scale * objective(problem, problem.rows(start))
    assert value == pytest.approx(problem.objective(start), rel=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kernel", "categorical"), CASES, ids=repr)
def test_no_sweep_raises_the_objective(kernel, categorical, weighted, noise):
    problem, start = small_problem(kernel, categorical=categorical, weighted=weighted, noise=noise)
    rows = problem.rows(start)
    # Where nothing but rounding is left of the residuals, their squares rise and fall at will.
    rounding = 1e-30 * float((problem.weights * problem.target**2).sum())
    values = [objective(problem, rows)]
    for _ in range(40):
        sweep(problem, rows)
        values.append(objective(problem, rows))
    before, after = np.array(values[:-1]), np.array(values[1:])
    assert (after <= before * (1.0 + 1e-12) + rounding).all()
    assert values[-1] < values[0]


def test_the_order_of_the_columns_is_kept_up():
    problem, start = small_problem(Laplacian())
    rows = problem.rows(start)
    for _ in range(3):
        sweep(problem, rows)
        sorted_columns = np.take_along_axis(rows.columns, rows.order, axis=1)
        assert (np.diff(sorted_columns, axis=1) >= 0.0).all()
        assert (np.sort(rows.order, axis=1) == np.arange(rows.order.shape[1])).all()


def test_observed_cells_do_not_move():
    problem, start = small_problem(KERNELS[0])
    rows = problem.rows(start)
    before = rows.columns.copy()
    sweep(problem, rows)
    fixed = problem.observed.T
    assert (rows.columns[fixed] == before[fixed]).all()


def test_each_function_is_compiled_for_one_kind_of_arguments():
    columns = np.asfortranarray(random_table(9, 3))
    single = random_table(1, 3)
    for table in (columns, columns[:, :1], single, read_only(columns[::2])):
        target = random_target(Gaussian(), table)
        gappy = np.asfortranarray(with_gaps(table, 0.4))
        for weights in (None, np.asfortranarray(np.ones(target.shape))):
            options = {"kernel": Gaussian(), "weights": weights}
            recover_features(gappy, target, **options, tol=0, max_sweeps=2)
            recover_new_rows(gappy, table, target=target, **options, tol=0, max_sweeps=2)
    for function in ("sweep", "objective", "fill_from_similar", "recover_rows"):
        assert len(getattr(compiled, function).signatures) == 1


def test_without_a_place_for_a_cache_it_compiles_all_the_same():
    namespace = {}
    exec(compile("def twice(x):\n    return 2 * x\n", "<nowhere>", "exec"), namespace)
    assert compiled._entry(namespace["twice"])(3) == 6
