"""Properties of kernels on random incomplete tables: what any completion can and cannot do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tests.conftest import BATTERY, N_FEATURES

N_COMPLETIONS = 200
CODES = (0.0, 1.0, 2.0, 7.0)
UNIT = st.floats(0.0, 1.0)

every_kernel = pytest.mark.parametrize("kernel", BATTERY, ids=repr)


@st.composite
def tables(draw, kernel, max_rows=6):
    """Return a protected incomplete table: numbers in [0, 1], codes, NaN at the gaps."""
    n_rows = draw(st.integers(1, max_rows))
    shape = (n_rows, N_FEATURES)
    X = draw(npst.arrays(float, shape, elements=st.one_of(st.sampled_from([0.0, 0.5, 1.0]), UNIT)))
    codes = draw(npst.arrays(float, shape, elements=st.sampled_from(CODES)))
    observed = draw(npst.arrays(bool, shape))
    X = np.where(kernel.numeric(N_FEATURES), X, codes)
    X[~observed] = np.nan
    X.setflags(write=False)
    return X


def completions(kernel, X, seed):
    """Return random completions, of shape (n_completions, n_rows, n_features).

    Gaps hold numbers of [0, 1], often its ends or what another row holds, or observed codes.
    """
    generator = np.random.default_rng(seed)
    shape = (N_COMPLETIONS, *X.shape)
    drawn = generator.random(shape)
    observed = ~np.isnan(X)
    for p in range(X.shape[1]):
        known = X[observed[:, p], p]
        if p in kernel.categorical:
            # Without any code nothing can differ: any one will do.
            drawn[:, :, p] = generator.choice(known if known.size else [0.0], shape[:2])
        else:
            special = generator.choice([0.0, 1.0, *known], shape[:2])
            drawn[:, :, p] = np.where(generator.random(shape[:2]) < 0.5, special, drawn[:, :, p])
    return np.where(observed, X, drawn)


@every_kernel
@settings(max_examples=25)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_bounds_contain_every_completion(kernel, data, seed):
    X = data.draw(tables(kernel))
    lower, upper = kernel.bounds(X, ~np.isnan(X))
    K_ends = kernel.link(lower), kernel.link(upper)
    K_lower, K_upper = K_ends[::-1] if kernel.is_exponential else K_ends
    completed = completions(kernel, X, seed)
    sums = np.array([kernel.sums(rows, rows) for rows in completed])
    K = np.array([kernel(rows, rows) for rows in completed])
    assert (lower <= upper).all()
    # 1e-13: distances by matrix products round differently from a sum of terms.
    assert (sums >= lower - 1e-13).all()
    assert (sums <= upper + 1e-13).all()
    slack = 1e-12 * (1.0 + np.abs(K_upper))
    assert (K >= K_lower - slack).all()
    assert (K <= K_upper + slack).all()


@every_kernel
@settings(max_examples=20)
@given(data=st.data())
def test_observed_sums_lie_within_the_bounds(kernel, data):
    X = data.draw(tables(kernel))
    observed = ~np.isnan(X)
    sums = kernel.observed_sums(X, observed)
    lower, upper = kernel.bounds(X, observed)
    assert ((lower <= sums) & (sums <= upper)).all()
    assert (lower >= 0.0).all()


@every_kernel
@settings(max_examples=20)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_learning_a_cell_never_widens_the_bounds(kernel, data, seed):
    X = data.draw(tables(kernel))
    completed = completions(kernel, X, seed)[0]
    learned = data.draw(npst.arrays(bool, X.shape))
    lower, upper = kernel.bounds(X, ~np.isnan(X))
    more = np.where(learned, completed, X)
    # The first code of a column that had none is news of another kind.
    codeless = np.isnan(X).all(axis=0) & ~kernel.numeric(N_FEATURES)
    more[:, codeless] = np.nan
    lower_after, upper_after = kernel.bounds(more, ~np.isnan(more))
    assert (lower_after >= lower - 1e-13).all()
    assert (upper_after <= upper + 1e-13).all()


@every_kernel
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_rows_and_columns_may_be_permuted(kernel, data, seed):
    X = data.draw(tables(kernel))
    generator = np.random.default_rng(seed)
    rows, columns = generator.permutation(len(X)), generator.permutation(N_FEATURES)
    where = tuple(int(np.flatnonzero(columns == p)[0]) for p in kernel.categorical)
    moved_kernel = kernel.with_categorical(list(where), N_FEATURES)
    moved = X[rows][:, columns]
    for before, after in zip(
        (kernel.observed_sums(X, ~np.isnan(X)), *kernel.bounds(X, ~np.isnan(X))),
        (
            moved_kernel.observed_sums(moved, ~np.isnan(moved)),
            *moved_kernel.bounds(moved, ~np.isnan(moved)),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(after, before[np.ix_(rows, rows)], atol=1e-13)


@every_kernel
@settings(max_examples=25)
@given(sums=npst.arrays(float, 8, elements=st.floats(0.0, 20.0)))
def test_inverse_link_undoes_the_link(kernel, sums):
    sums.setflags(write=False)
    K = kernel.link(sums)
    back = kernel.inverse_link(K)
    # What a link resolves: an ulp of K, divided by its slope.
    lost = np.spacing(np.abs(K)) / np.maximum(np.abs(kernel.link_gradient(sums)), 1e-300)
    resolved = lost < 1e-3
    assert (np.abs(back - sums)[resolved] <= 8.0 * lost[resolved] + 1e-12).all()
