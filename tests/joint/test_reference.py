"""Reference tables and kernels: means, given tables, fitted imputers, expectations."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from kernimpute.joint.reference import (
    expected_kernel,
    mean_kernel_of_completions,
    reference_kernel,
    reference_table,
)
from kernimpute.kernels import Gaussian, Laplacian
from tests.conftest import BATTERY, N_FEATURES

NAN = np.nan
EXPONENTIAL = [kernel for kernel in BATTERY if kernel.is_exponential]


def table_for(kernel, n_samples, seed=0, missing=0.5):
    """Return a protected incomplete table, with at least one code in each categorical column."""
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, N_FEATURES))
    for column in kernel.categorical:
        X[:, column] = generator.choice([0.0, 1.0, 4.0], n_samples)
    gaps = generator.random(X.shape) < missing
    gaps[0, list(kernel.categorical)] = False
    X[gaps] = NAN
    X.setflags(write=False)
    return X


def kernel_bounds(kernel, X):
    ends = [kernel.link(sums) for sums in kernel.bounds(X, ~np.isnan(X))]
    return np.minimum(*ends), np.maximum(*ends)


@pytest.mark.parametrize("reference", [None, "mean"])
def test_gaps_are_filled_with_means_and_most_frequent_codes(reference):
    X = np.array([[0.2, 3.0, NAN], [NAN, 3.0, NAN], [0.6, 1.0, NAN], [NAN, NAN, NAN]])
    X.setflags(write=False)
    kernel = Gaussian(categorical=(1,))
    expected = [[0.2, 3.0, 0.5], [0.4, 3.0, 0.5], [0.6, 1.0, 0.5], [0.4, 3.0, 0.5]]
    np.testing.assert_allclose(reference_table(X, kernel, reference), expected)
    # Rows without weight do not count, unless nobody else has an observed code.
    X = np.array([[0.2, NAN], [NAN, 7.0], [NAN, 3.0]])
    found = reference_table(X, kernel, reference, sample_weight=[0.0, 0.0, 1.0])
    np.testing.assert_array_equal(found, [[0.2, 3.0], [0.5, 7.0], [0.5, 3.0]])
    found = reference_table(X, kernel, reference, sample_weight=[1.0, 0.0, 0.0])
    np.testing.assert_array_equal(found, [[0.2, 3.0], [0.2, 7.0], [0.2, 3.0]])


WHOLE_WEIGHTS = np.array([2, 0, 3, 1, 1, 2, 0, 1, 4])


def test_a_weight_fills_as_many_copies_do():
    kernel = Gaussian(categorical=(1, 3))
    X = table_for(kernel, 9)
    copies = np.repeat(np.arange(9), WHOLE_WEIGHTS)
    found = reference_table(X, kernel, "mean", sample_weight=WHOLE_WEIGHTS)
    repeated = reference_table(X[copies], kernel, "mean")
    np.testing.assert_allclose(found[copies], repeated, rtol=1e-12)
    # Rows without weight are filled all the same.
    assert not np.isnan(found).any()


@pytest.mark.parametrize("kernel", EXPONENTIAL, ids=repr)
def test_the_expected_kernel_of_weights_is_that_of_as_many_copies(kernel):
    X = table_for(kernel, 9, missing=0.3)
    copies = np.repeat(np.arange(9), WHOLE_WEIGHTS)
    found = expected_kernel(X, kernel, WHOLE_WEIGHTS)
    repeated = expected_kernel(X[copies], kernel)
    first = np.unique(copies, return_index=True)[1]
    kept = WHOLE_WEIGHTS > 0
    np.testing.assert_allclose(
        found[np.ix_(kept, kept)], repeated[np.ix_(first, first)], rtol=1e-12
    )


def test_a_table_is_taken_at_the_gaps_and_clipped():
    X = np.array([[0.5, NAN, 2.0], [NAN, 0.5, NAN]])
    given = [[9.0, -0.3, 2.0], [1.2, 9.0, 2.0]]
    expected = [[0.5, 0.0, 2.0], [1.0, 0.5, 2.0]]
    kernel = Gaussian(categorical=(2,))
    for table in (given, np.array(given), pd.DataFrame(given), pd.DataFrame(given, dtype=object)):
        np.testing.assert_array_equal(reference_table(X, kernel, table), expected)


def complete_table_and_gaps(seed=0):
    generator = np.random.default_rng(seed)
    X = np.clip(0.5 + 0.2 * generator.standard_normal((40, 1)) * np.ones(4), 0.0, 1.0)
    X = np.clip(X + 0.05 * generator.standard_normal(X.shape), 0.0, 1.0)
    return np.where(generator.random(X.shape) < 0.3, NAN, X)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(strategy="median"),
        KNNImputer(n_neighbors=3),
        IterativeImputer(max_iter=30, random_state=0, tol=1e-2),
        KNNImputer(n_neighbors=3).set_output(transform="pandas"),
    ],
    ids=["median", "nearest", "iterative", "data frames"],
)
def test_fitted_imputers_fill_the_gaps(imputer):
    X = complete_table_and_gaps()
    X.setflags(write=False)
    imputer.fit(X)
    found = reference_table(X, Gaussian(), imputer)
    expected = np.clip(np.asarray(imputer.transform(X)), 0.0, 1.0)
    np.testing.assert_array_equal(found, np.where(np.isnan(X), expected, X))


GAPPY = np.array([[0.1, NAN], [0.2, 0.3]])
CODED = np.array([[1.0, 0.5], [3.0, 0.5], [NAN, NAN]])


@pytest.mark.parametrize(
    ("X", "reference", "error", "match"),
    [
        (GAPPY, np.zeros((2, 3)), ValueError, r"completed table of shape .* Got shape \(2, 3\)"),
        (GAPPY, GAPPY, ValueError, r"completed table of shape .* \(2, 2\) with 1 gaps"),
        (GAPPY, [["a", "b"]], TypeError, r"None, 'mean', a completed table of numbers"),
        (GAPPY, [[1.0], [1.0, 2.0]], TypeError, r"None, 'mean', a completed table of numbers"),
        (GAPPY, "expected", ValueError, r"where a table is needed. Got 'expected'"),
        (CODED, np.full((3, 2), 2.0), ValueError, r"column 0 holds only observed codes"),
        (CODED, SimpleImputer().fit(CODED), ValueError, r"column 0 holds only observed codes"),
        (GAPPY, KNNImputer(), NotFittedError, r"not fitted yet"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refusals(X, reference, error, match):
    kernel = Gaussian(categorical=(0,) if X is CODED else ())
    with pytest.raises(error, match=match):
        reference_table(X, kernel, reference, "impute")


@pytest.mark.parametrize("reference", [None, "mean", "table", "expected"])
def test_reference_kernels_lie_between_the_bounds(any_kernel, reference):
    if reference == "expected" and not any_kernel.is_exponential:
        with pytest.raises(ValueError, match="an imputer for a kernel that is no exponential"):
            reference_kernel(table_for(any_kernel, 8), any_kernel, reference)
        return
    X = table_for(any_kernel, 8)
    given = reference_table(X, any_kernel, None) if reference == "table" else reference
    K = reference_kernel(X, any_kernel, given)
    lower, upper = kernel_bounds(any_kernel, X)
    assert (K >= lower - 1e-13).all() and (K <= upper + 1e-12 * np.abs(upper)).all()
    np.testing.assert_array_equal(K, K.T)
    if reference != "expected":
        table = reference_table(X, any_kernel, given)
        np.testing.assert_array_equal(K, any_kernel(table, table))


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(1.5), Gaussian(1.0, categorical=(1,))])
def test_the_expected_kernel_is_that_of_all_draws_from_the_columns(kernel):
    X = np.array([[0.1, 0.0], [0.8, NAN], [NAN, 1.0], [NAN, NAN], [0.3, 1.0]])
    columns = [X[~np.isnan(X[:, p]), p] for p in range(2)]
    gaps = np.argwhere(np.isnan(X))
    total, count = np.zeros((5, 5)), 0
    for drawn in itertools.product(*(columns[p] for _, p in gaps)):
        completion = X.copy()
        completion[tuple(gaps.T)] = drawn
        total += kernel(completion, completion)
        count += 1
    assert count == 3**4
    np.testing.assert_allclose(expected_kernel(X, kernel), total / count, atol=1e-14)


def test_an_unobserved_column_takes_the_uniform_law():
    X = np.array([[NAN], [NAN]])
    # The distance of two uniform numbers has the density 2 (1 - r).
    exact = 2.0 * np.exp(-1.0)
    assert expected_kernel(X, Laplacian(1.0))[0, 1] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("kernel", EXPONENTIAL, ids=repr)
def test_the_expected_kernel_is_positive_semidefinite_with_ones_on_its_diagonal(kernel):
    for seed, missing in ((0, 0.3), (1, 0.6), (2, 0.9)):
        K = expected_kernel(table_for(kernel, 30, seed, missing), kernel)
        np.testing.assert_array_equal(np.diagonal(K), 1.0)
        np.testing.assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K).min() >= -1e-13


def test_mean_kernels_of_completions_lie_between_the_bounds(any_kernel):
    X = table_for(any_kernel, 10)
    K = mean_kernel_of_completions(X, any_kernel)
    lower, upper = kernel_bounds(any_kernel, X)
    assert (K >= lower - 1e-13).all() and (K <= upper + 1e-12 * np.abs(upper)).all()
    np.testing.assert_array_equal(K, K.T)
    # There is room on both sides wherever something is unknown.
    unknown = upper - lower > 1e-9
    assert ((K > lower) & (K < upper))[unknown].all()
    if any_kernel.is_positive_semidefinite:
        assert np.linalg.eigvalsh(K).min() >= -1e-13 * np.abs(K).max()


def test_completions_hold_observed_codes_only():
    # With one code in the column nothing is unknown.
    X = np.array([[7.0, 0.2], [NAN, 0.5], [NAN, 0.9]])
    kernel = Gaussian(categorical=(0,))
    lower, upper = kernel_bounds(kernel, X)
    np.testing.assert_array_equal(lower, upper)
    np.testing.assert_allclose(mean_kernel_of_completions(X, kernel), lower, atol=1e-15)
