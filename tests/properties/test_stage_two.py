"""What holds of Stage II for any table, target and weights: descent, ranges, observed cells."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from kernimpute.methods.new_rows import fill_from_similar
from kernimpute.methods.recover import recover_features
from kernimpute.methods.starts import recovery_problem
from tests.conftest import BATTERY, N_FEATURES

# Values that differ by less than rounding leaves of a residual say nothing of the descent.
UNIT = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(1e-6, 1.0)
CODES = st.sampled_from([-1.0, 0.5, 3.0])
KERNELS = st.sampled_from(BATTERY)
SUMS = st.floats(-2.0, 8.0)


@st.composite
def tables(draw, kernel, n_rows):
    """Draw a table with gaps; every categorical column has an observed code."""
    columns = []
    for column in range(N_FEATURES):
        values = CODES if column in kernel.categorical else UNIT
        drawn = draw(npst.arrays(float, n_rows, elements=values))
        gaps = draw(npst.arrays(bool, n_rows))
        if column in kernel.categorical:
            gaps[draw(st.integers(0, n_rows - 1))] = False
        columns.append(np.where(gaps, np.nan, drawn))
    return np.column_stack(columns)


@st.composite
def recoveries(draw):
    """Draw a kernel, a table with gaps, a target and weights."""
    kernel = draw(KERNELS)
    n = draw(st.integers(1, 7))
    table = draw(tables(kernel, n))
    half = draw(npst.arrays(float, (n, n), elements=SUMS))
    target = half + half.T
    weights = draw(st.none() | st.just("kernel") | npst.arrays(float, (n, n), elements=UNIT))
    if isinstance(weights, np.ndarray):
        weights = weights + weights.T
        weights[0, 0] = 1.0
    for array in (table, target):
        array.setflags(write=False)
    return kernel, table, target, weights


@settings(max_examples=150)
@given(recoveries())
def test_descent_within_the_ranges(drawn):
    kernel, table, target, weights = drawn
    found = recover_features(
        table, target, kernel=kernel, weights=weights, starts=["spectral", "half"], max_sweeps=30
    )
    observed = ~np.isnan(table)
    assert found.X[observed].tobytes() == table[observed].tobytes()
    for column in range(N_FEATURES):
        values = found.X[:, column]
        if column in kernel.categorical:
            assert np.isin(values, table[observed[:, column], column]).all()
        else:
            assert ((values >= 0.0) & (values <= 1.0)).all()
    problem = recovery_problem(table, target, kernel=kernel, weights=weights)
    scale = problem.weight_scale * float((problem.weights * (1.0 + target**2)).sum())
    assert abs(found.objective - problem.objective(found.X)) <= 1e-12 * scale
    objective = found.trace.column("objective")
    assert (np.diff(objective) <= 1e-12 * objective[:-1] + 1e-28 * scale).all()


@st.composite
def new_rows(draw):
    """Draw a kernel, complete rows and new rows with gaps."""
    kernel = draw(KERNELS)
    train = draw(tables(kernel, draw(st.integers(1, 6))))
    train = np.where(np.isnan(train), 0.5, train)
    return kernel, train, draw(tables(kernel, draw(st.integers(1, 5))))


@settings(max_examples=100)
@given(new_rows())
def test_each_new_row_on_its_own(drawn):
    kernel, train, new = drawn
    together = fill_from_similar(new, train, kernel)
    observed = ~np.isnan(new)
    assert together[observed].tobytes() == new[observed].tobytes()
    for column in range(N_FEATURES):
        filled = together[~observed[:, column], column]
        if column in kernel.categorical:
            assert np.isin(filled, train[:, column]).all()
        else:
            assert ((filled >= 0.0) & (filled <= 1.0)).all()
    for row in range(new.shape[0]):
        alone = fill_from_similar(new[row : row + 1], train, kernel)
        assert (alone == together[row]).all()
