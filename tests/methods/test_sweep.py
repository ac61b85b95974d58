"""The compiled sweep puts cells and rows on their minima."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kernimpute.methods import sweep as compiled
from kernimpute.methods.recover import recovery_problem
from tests.methods.problems import (
    CASES,
    KERNELS,
    lowest_by_cell,
    random_table,
    random_target,
    random_weights,
    row_objectives,
    small_problem,
    with_gaps,
)


def sweep(problem, rows):
    compiled.sweep(rows, problem.target, problem.weights, ~problem.observed)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kernel", "categorical"), CASES, ids=repr)
def test_every_cell_goes_to_its_minimum_in_its_turn(kernel, categorical, weighted, noise):
    # Where the terms are squares or products, several cells of a row would move together.
    together = kernel.cell in ("gaussian", "product") and len(categorical) < 5
    problem, table = small_problem(
        kernel, categorical=categorical, weighted=weighted, noise=noise, rate=0.3
    )
    if together:
        last = np.where(problem.observed, -1, np.arange(5)).max(axis=1)
        kept = np.where(np.arange(5) == last[:, None], problem.X, table)
        problem = recovery_problem(
            np.where(np.isnan(kept), np.nan, kept),
            problem.target,
            kernel=problem.kernel,
            weights=random_weights(25) if weighted else None,
        )
    rows = problem.rows(table)
    sweep(problem, rows)
    swept = problem.table(rows.columns)
    for row in range(25):
        missing = np.flatnonzero(~problem.observed[row])
        # Categorical cells have their turn first.
        for column in sorted(missing, key=lambda p: (p not in categorical, p)):
            lowest = lowest_by_cell(problem, table, row, column)
            before = row_objectives(problem, table, row, table[row : row + 1])[0]
            table[row, column] = swept[row, column]
            after = row_objectives(problem, table, row, table[row : row + 1])[0]
            assert after <= min(before, lowest) + 1e-12 * (1.0 + before)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d"), [(12, 9), (25, 9), (40, 16)], ids=str)
@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.is_euclidean], ids=repr)
def test_a_row_is_at_its_minimum_within_three_sweeps(kernel, n, d, weighted):
    categorical = (1, 7) if kernel.is_distance else ()
    kernel = kernel.with_categorical(list(categorical), d)
    table = random_table(n, d, categorical)
    gappy = table.copy()
    gappy[3, [0, 2, 3, 5, 6, 8]] = np.nan
    problem = recovery_problem(
        gappy,
        random_target(kernel, table, noise=0.05),
        kernel=kernel,
        weights=random_weights(n) if weighted else None,
    )
    rows = problem.rows(np.where(problem.observed, problem.X, 0.5))
    for _ in range(3):
        sweep(problem, rows)
    missing = ~problem.observed[3]

    def at(cells):
        filled = table.copy()
        filled[3, missing] = cells
        return problem.objective(filled)

    found = rows.columns[missing, 3]
    better = minimize(at, found, method="L-BFGS-B", bounds=[(0.0, 1.0)] * 6, tol=1e-12)
    assert at(found) <= better.fun * (1.0 + 1e-10) + 1e-14


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


def test_without_a_place_for_a_cache_it_compiles_all_the_same():
    namespace = {}
    exec(compile("def twice(x):\n    return 2 * x\n", "<nowhere>", "exec"), namespace)
    assert compiled.compile_cached()(namespace["twice"])(3) == 6
