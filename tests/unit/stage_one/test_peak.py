"""What `anchored` holds at its peak, in matrices of its rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kernimpute import learn_kernel
from kernimpute.core.arrays import by_rows, row_blocks, squared_distance, to_numpy
from kernimpute.kernels import Gaussian
from kernimpute.stage_one.kernel_steps import clipped_adjustment, saddle_value
from tests.namespaces import CONVERT
from tests.unit.stage_one.conftest import problem_of, small_rows


@pytest.mark.parametrize("missing_rate", [0.5, 0.8])
def test_a_run_holds_at_most_ten_matrices(missing_rate):
    generator = np.random.default_rng(0)
    X = generator.random((360, 10))
    y = (X[:, 0] + 0.3 * generator.random(360) > 0.65).astype(int)
    X[generator.random(X.shape) < missing_rate] = np.nan
    # What is imported and compiled at first use is not the run's.
    learn_kernel(X[:30], y[:30], kernel=Gaussian(1.0))
    tracemalloc.start()
    learned = learn_kernel(X, y, kernel=Gaussian(1.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert learned.status.success
    assert learned.gap <= 1e-3
    assert peak <= 10 * 8 * 360**2


def test_sums_by_blocks_of_rows_are_the_sums():
    rows = small_rows(45, missing_rate=0.5, labels=np.arange(45) % 3)
    problem = problem_of(rows, "anchored", eta=0.7)
    generator = np.random.default_rng(1)
    b = problem.dual.proximal_point(generator.standard_normal((45, 3)), 0.0)
    root = generator.standard_normal((45, 5))
    Z, relaxation = 0.1 * root @ root.T, problem.relaxation
    A = np.clip(
        relaxation.anchor + (b @ b.T + 2.0 * Z) / (4.0 * 0.7), relaxation.lower, relaxation.upper
    )
    np.testing.assert_allclose(clipped_adjustment(problem, b, Z), A, atol=1e-14)
    offset = A - relaxation.anchor
    value = problem.dual.value(A, b) + 0.7 * np.vdot(offset, offset) - np.vdot(Z, A)
    assert saddle_value(problem, b, Z) == pytest.approx(value, rel=1e-12)
    assert squared_distance(A, Z) == pytest.approx(np.square(A - Z).sum(), rel=1e-12)


@pytest.mark.parametrize("library", CONVERT)
@pytest.mark.parametrize("n_rows", [1, 16, 17, 200, 2000])
def test_blocks_part_the_rows_in_any_namespace(library, n_rows):
    M = CONVERT[library](np.arange(2.0 * n_rows).reshape(n_rows, 2))
    joined = by_rows(lambda rows: M[rows, :], n_rows)
    np.testing.assert_array_equal(to_numpy(joined), to_numpy(M))
    assert max(rows.stop - rows.start for rows in row_blocks(n_rows)) <= max(16, n_rows // 8)
