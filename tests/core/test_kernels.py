"""Kernels: sums, bounds, gradients and links, every kernel in one battery."""

import operator
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import pairwise

from kernimpute.kernels import (
    KERNELS,
    Chi2,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    make_kernel,
)
from tests.conftest import BATTERY, N_FEATURES, TERMS, read_only


def table_for(kernel, n_samples, seed=0, *, missing=0.4):
    """Return a protected table with NaN at its gaps, the ends of [0, 1] among its numbers."""
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, N_FEATURES))
    X[generator.random(X.shape) < 0.3] = 0.0
    X[generator.random(X.shape) < 0.2] = 1.0
    for column in kernel.categorical:
        X[:, column] = generator.choice([0.0, 1.0, 4.0], n_samples)
    X[generator.random(X.shape) < missing] = np.nan
    return read_only(X)


def complete_table_for(kernel, n_samples, seed=0):
    return table_for(kernel, n_samples, seed, missing=0.0)


def term_of(kernel, p):
    """Return the term of two cells of a column."""
    return operator.ne if p in kernel.categorical else TERMS[type(kernel).__name__]


def looped_sums(kernel, X, Z):
    """Return the sums over the features that both rows have, term by term."""
    sums = np.zeros((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            for p in range(X.shape[1]):
                if np.isnan(x[p]) or np.isnan(z[p]):
                    continue
                sums[i, j] += term_of(kernel, p)(x[p], z[p])
    return sums


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_sums_are_those_of_a_double_loop(any_kernel, missing):
    X, Z = (table_for(any_kernel, n, seed=n, missing=missing) for n in (9, 5))
    for Y, others in ((X, ()), (Z, (Z, ~np.isnan(Z)))):
        expected = looped_sums(any_kernel, X, Y)
        found = any_kernel.observed_sums(X, ~np.isnan(X), *others)
        np.testing.assert_allclose(found, expected, atol=1e-14)
        if not missing:
            np.testing.assert_allclose(any_kernel.sums(X, Y), expected, atol=1e-14)


@pytest.mark.parametrize("rubbish", [0.7, 1e9, np.inf])
def test_what_stands_at_gaps_is_ignored(any_kernel, rubbish):
    X = table_for(any_kernel, 8)
    observed = ~np.isnan(X)
    filled = read_only(np.where(observed, X, rubbish))
    for found, expected in zip(
        (any_kernel.observed_sums(filled, observed), *any_kernel.bounds(filled, observed)),
        (any_kernel.observed_sums(X, observed), *any_kernel.bounds(X, observed)),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


def test_matrices_are_symmetric_to_the_last_bit(any_kernel):
    # 255 rows and more columns than a vector register: there a general product is not.
    generator = np.random.default_rng(0)
    X, observed = read_only(generator.random((255, 33)), generator.random((255, 33)) < 0.5)
    X = np.where(any_kernel.numeric(33), X, np.round(3.0 * X))
    for matrix in (
        any_kernel(X, X),
        any_kernel.observed_sums(X, observed),
        *any_kernel.bounds(X, observed),
    ):
        np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("kernel", [k for k in BATTERY if k.is_distance], ids=repr)
def test_distances_of_equal_rows_are_not_negative_by_rounding(kernel):
    half = np.random.default_rng(0).random((20, 33))
    X = read_only(np.repeat(half, 3, axis=0) * (1.0 + 1e-15))
    for sums in (kernel.sums(X, X), kernel.observed_sums(X, X < 0.8), *kernel.bounds(X, X < 0.8)):
        assert sums.min() == 0.0 and kernel.link(sums).max() == 1.0


SAME_IN_SKLEARN = {
    "Gaussian": lambda k, X, Z: pairwise.rbf_kernel(X, Z, gamma=k.gamma),
    "Laplacian": lambda k, X, Z: pairwise.laplacian_kernel(X, Z, gamma=k.gamma),
    "Linear": lambda k, X, Z: pairwise.linear_kernel(X, Z) + k.offset,
    "Polynomial": lambda k, X, Z: pairwise.polynomial_kernel(X, Z, k.degree, 1.0, k.offset),
    "Sigmoid": lambda k, X, Z: pairwise.sigmoid_kernel(X, Z, k.gamma, k.offset),
    # 2xz/(x + z) = (x + z)/2 - (x - z)^2/(x + z)/2
    "Chi2": lambda k, X, Z: (
        (X.sum(axis=1)[:, None] + Z.sum(axis=1)) / 2.0
        + pairwise.additive_chi2_kernel(X, Z) / 2.0
        + k.offset
    ),
}


@pytest.mark.parametrize(
    "kernel",
    [k for k in BATTERY if type(k).__name__ in SAME_IN_SKLEARN and not k.categorical],
    ids=repr,
)
def test_kernels_of_numeric_rows_are_those_of_scikit_learn(kernel):
    # Copies, because scikit-learn's compiled kernels take no protected arrays.
    X, Z = complete_table_for(kernel, 8, 1).copy(), complete_table_for(kernel, 6, 2).copy()
    expected = SAME_IN_SKLEARN[type(kernel).__name__](kernel, X, Z)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-13, atol=1e-13)


def extreme_sums(kernel, x, z, codes, *, alone):
    """Return the least and the largest sum of feature terms over the completions of two rows."""
    ends = np.zeros(2)
    for p, cells in enumerate(zip(x, z, strict=True)):
        # A term is extreme at an end of the range, or where the two cells are equal.
        values = [*codes.get(p, (0.0, 1.0)), *(cell for cell in cells if not np.isnan(cell))]
        first, second = (values if np.isnan(cell) else [cell] for cell in cells)
        pairs = zip(first, first, strict=True) if alone else product(first, second)
        terms = [term_of(kernel, p)(*pair) for pair in pairs]
        ends += min(terms), max(terms)
    return ends


@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_the_extremes_over_the_completions_of_every_pair(any_kernel, seed):
    X = table_for(any_kernel, 7, seed)
    codes = {p: np.unique(X[~np.isnan(X[:, p]), p]) for p in any_kernel.categorical}
    bounds = np.array(any_kernel.bounds(X, ~np.isnan(X)))
    for i, j in np.ndindex(7, 7):
        attained = extreme_sums(any_kernel, X[i], X[j], codes, alone=i == j)
        np.testing.assert_allclose(bounds[:, i, j], attained, atol=1e-12)


def rows_without_kinks(kernel, *sizes):
    """Return tables whose numbers are all different, so that differences exist, and codes."""
    generator = np.random.default_rng(5)
    n = sum(sizes)
    values = generator.permutation(np.linspace(0.05, 0.95, n * N_FEATURES))
    X = values.reshape(n, N_FEATURES)
    for column in kernel.categorical:
        X[:, column] = generator.integers(0, 3, n)
    return np.split(X, np.cumsum(sizes)[:-1])


def differences(function, X, numeric, step=1e-6):
    """Return central differences of a scalar function in the numeric cells; 0 in the others."""
    gradient = np.zeros(X.shape)
    for i in range(X.shape[0]):
        for p in np.flatnonzero(numeric):
            above, below = X.copy(), X.copy()
            above[i, p] += step
            below[i, p] -= step
            gradient[i, p] = (function(above) - function(below)) / (2.0 * step)
    return gradient


def test_largest_term_is_the_maximum_over_the_other_value(any_kernel):
    x = read_only(np.linspace(0.0, 1.0, 21))
    others = np.linspace(0.0, 1.0, 101)
    found = any_kernel.feature_term(x[:, None], others[None, :])
    np.testing.assert_allclose(any_kernel.largest_term(x), found.max(axis=1), atol=1e-15)
    np.testing.assert_allclose(found.min(axis=1), 0.0, atol=1e-15)


def test_gradients_are_the_slopes_of_the_link_and_of_the_feature_term(any_kernel):
    sums = read_only(np.linspace(0.1, 5.0, 50))
    step = 1e-6
    slope = (any_kernel.link(sums + step) - any_kernel.link(sums - step)) / (2.0 * step)
    found = any_kernel.link_gradient(sums)
    np.testing.assert_allclose(found, slope, rtol=1e-7, atol=1e-8)
    terms = any_kernel.feature_term(sums + step, 2.0) - any_kernel.feature_term(sums - step, 2.0)
    slope = any_kernel.feature_gradient(sums, read_only(np.array(2.0)))
    np.testing.assert_allclose(slope, terms / (2.0 * step), atol=1e-7)
    # A link rises or falls throughout, which the bounds rely on.
    assert (found <= 0.0).all() or (found >= 0.0).all()


def test_sums_gradient_is_the_slope_and_half_of_it_where_both_arguments_move(any_kernel):
    X, Z = rows_without_kinks(any_kernel, 4, 6)
    numeric = any_kernel.numeric(N_FEATURES)
    weights = read_only(np.random.default_rng(6).standard_normal((4, 6)))
    expected = differences(lambda x: np.vdot(weights, any_kernel.sums(x, Z)), X, numeric)
    found = any_kernel.sums_gradient(read_only(X), read_only(Z), weights)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    symmetric = read_only(weights[:, :4] + weights[:, :4].T)
    expected = differences(lambda x: np.vdot(symmetric, any_kernel.sums(x, x)), X, numeric)
    found = any_kernel.sums_gradient(X, X, symmetric)
    np.testing.assert_allclose(found, 0.5 * expected, atol=1e-7)


@pytest.mark.parametrize(
    ("kernel", "K", "sums"),
    [
        (Gaussian(), [0.0, -1.0, -np.inf], [np.inf] * 3),
        (Laplacian(), [0.0, -1.0, -np.inf], [np.inf] * 3),
        (Sigmoid(), [1.0, 1.5, -1.0, -2.0], [np.inf, np.inf, -np.inf, -np.inf]),
        (Polynomial(3, 0.5), [-1.0, 0.0], [-0.5, -0.5]),
    ],
    ids=repr,
)
def test_inverse_links_end_where_their_range_does(kernel, K, sums):
    np.testing.assert_array_equal(kernel.inverse_link(read_only(np.array(K))), sums)


def test_inverse_links_undo_the_link_and_keep_what_is_not_a_number(any_kernel):
    sums = read_only(np.random.default_rng(0).uniform(0.0, 20.0, 200))
    K = any_kernel.link(sums)
    # What a link resolves: an ulp of K, divided by its slope.
    lost = np.spacing(np.abs(K)) / np.maximum(np.abs(any_kernel.link_gradient(sums)), 1e-300)
    resolved = lost < 1e-3
    error = np.abs(any_kernel.inverse_link(K) - sums)
    assert (error[resolved] <= 8.0 * lost[resolved] + 1e-12).all()
    assert np.isnan(any_kernel.inverse_link(np.array([np.nan]))).all()


def test_chi2_terms_are_finite_for_the_smallest_numbers():
    tiny = np.nextafter(0.0, 1.0)
    x = read_only(np.array([0.0, tiny, 1e-200, 1.0]))
    terms = Chi2().feature_term(x[:, None], x[None, :])
    assert ((terms >= 0.0) & (terms <= 1.0)).all()
    slopes = Chi2().feature_gradient(x[:, None], x[None, :])
    assert ((slopes >= 0.0) & (slopes <= 2.0)).all()


@pytest.mark.parametrize("kernel", [k for k in BATTERY if k.is_positive_semidefinite], ids=repr)
def test_matrices_of_complete_rows_are_positive_semidefinite(kernel):
    for seed in range(3):
        X = complete_table_for(kernel, 40, seed)
        K = kernel(X, X)
        assert np.linalg.eigvalsh(K).min() >= -1e-13 * 40 * np.abs(K).max()


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ([], ()),
        ([2], (2,)),
        ((3, 1, 3), (1, 3)),
        (np.array([0, 4], dtype=np.uint8), (0, 4)),
        ([False, True, False, False, True], (1, 4)),
        (np.zeros(N_FEATURES, dtype=bool), ()),
        (None, (0,)),
    ],
    ids=repr,
)
def test_with_categorical_takes_masks_and_indices(given, columns):
    kernel = Gaussian(3.0, categorical=(0,)).with_categorical(given, N_FEATURES)
    assert kernel == Gaussian(3.0, categorical=columns)
    assert all(type(column) is int for column in kernel.categorical)
    np.testing.assert_array_equal(np.flatnonzero(~kernel.numeric(N_FEATURES)), columns)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_made_by_their_names(name):
    assert make_kernel(name) == KERNELS[name]()
    if hasattr(KERNELS[name](), "gamma"):
        assert make_kernel(name, 0.25) == KERNELS[name](gamma=0.25)
    else:
        with pytest.raises(ValueError, match=f"'gamma' .* must be None for the {name} kernel"):
            make_kernel(name, 0.25)


HALF = np.full((1, 1), 0.5)
REFUSALS = [
    (lambda: Gaussian(gamma=0.0), ValueError, r"'gamma' parameter of Gaussian must be a float in"),
    (lambda: Sigmoid(gamma="scale"), TypeError, r"'gamma' parameter of Sigmoid must be"),
    (lambda: Linear(offset=-0.1), ValueError, r"'offset' parameter of Linear must be a float in"),
    (lambda: Chi2(offset=np.nan), ValueError, r"'offset' parameter of Chi2 must be a float in"),
    (lambda: Polynomial(offset="1"), TypeError, r"'offset' parameter of Polynomial must be"),
    (lambda: Polynomial(degree=0), ValueError, r"'degree' parameter of Polynomial must be an int"),
    (lambda: Polynomial(degree=2.0), TypeError, r"'degree' parameter of Polynomial must be an int"),
    (lambda: make_kernel("rbf"), ValueError, r"'name' parameter of make_kernel must be one of"),
    (lambda: make_kernel("chi2", categorical=[0]), ValueError, r"of Chi2 must be empty"),
    (lambda: Gaussian(categorical=(2,)).with_categorical(None, 2), ValueError, r"the 2 columns"),
    (lambda: Gaussian().observed_sums(HALF, HALF > 0.0, HALF), TypeError, r"together with observe"),
]
REFUSALS += [
    (lambda columns=columns: Gaussian(categorical=columns), ValueError, r"a tuple of distinct ints")
    for columns in ([0], (0, 0), (-1,), (0.0,), (True,), None, "01")
]
REFUSALS += [
    (lambda given=given: Laplacian().with_categorical(given, 5), ValueError, r"a mask over, or ind")
    for given in ([5], [-1], [0.0], ["a"], [[1, 2]], 3, [True], np.ones((5, 1), dtype=bool))
]
REFUSALS += [
    (lambda kind=kind: kind(categorical=(0,)), ValueError, rf"of {kind.__name__} must be empty")
    for kind in KERNELS.values()
    if not kind.is_distance
]


@pytest.mark.parametrize(("made", "error", "match"), REFUSALS)
def test_refusals(made, error, match):
    with pytest.raises(error, match=match):
        made()
