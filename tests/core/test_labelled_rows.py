"""Labelled rows as the solvers take them, and the kernel that a name stands for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from kernimpute.core.rows import check_labelled_rows, scaled_kernel
from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, make_kernel

NAN = np.nan
OPTIONS = {
    "owner": "impute",
    "C": 1.0,
    "task": "classification",
    "epsilon": 0.1,
    "categorical": None,
}


def rows(n=12, d=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.random((n, d))
    X[generator.random(X.shape) < 0.3] = NAN
    X.setflags(write=False)
    return X, np.arange(n) % 2


def checked(X, y, kernel="gaussian", **options):
    return check_labelled_rows(X, y, kernel, **{**OPTIONS, **options})


# ------------------------------------------------------------------------ the scaled kernel


def centred_columns(n, seed=0):
    """Return numbers of [0, 1] whose columns have different spreads but one mean.

    There scikit-learn's variance of all cells is the mean variance of the columns.
    """
    generator = np.random.default_rng(seed)
    X = generator.random((n, 4)) * [0.1, 0.3, 0.6, 1.0]
    return X - X.mean(axis=0) + 0.5


@pytest.mark.parametrize("n", [2, 30, 101])
def test_gamma_is_that_of_scikit_learn_where_the_columns_have_one_mean(n):
    X = centred_columns(n)
    assert scaled_kernel("gaussian", X).gamma == pytest.approx(1.0 / (4 * X.var()), rel=1e-12)


@pytest.mark.parametrize("n", [102, 300, 1000])
def test_gamma_of_many_rows_is_that_of_scikit_learn_to_the_grid(n):
    X = centred_columns(n)
    kernel = scaled_kernel("gaussian", X)
    assert kernel.gamma == pytest.approx(1.0 / (4 * X.var()), rel=0.01)
    y = np.arange(n) % 2
    theirs = SVC(gamma="scale").fit(X, y)
    ours = SVC(kernel="precomputed").fit(kernel(X, X), y)
    np.testing.assert_allclose(
        ours.decision_function(kernel(X, X)), theirs.decision_function(X), atol=0.05
    )


def test_gamma_counts_no_spread_of_the_means():
    X = centred_columns(50)
    shifted = X * 0.5 + [0.0, 0.1, 0.2, 0.3]
    assert scaled_kernel("gaussian", shifted).gamma == pytest.approx(
        4.0 * scaled_kernel("gaussian", X).gamma
    )


@pytest.mark.parametrize("shape", [lambda u: u**6, np.round, lambda u: u < 0.03], ids=str)
@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_gamma_of_skewed_columns_is_close_to_that_of_all_pairs(name, shape):
    X = shape(np.random.default_rng(2).random((700, 3))).astype(float)
    kernel = make_kernel(name, 1.0)
    # Two over the mean of the sums of feature terms.
    exact = 2.0 / sum(kernel.feature_term(x[:, None], x[None, :]).mean() for x in X.T)
    assert scaled_kernel(name, X).gamma == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_gamma_sees_the_observed_cells_only(name):
    X = np.random.default_rng(3).random((20, 2))
    twice = np.vstack([X, np.full((5, 2), NAN)])
    assert scaled_kernel(name, twice).gamma == scaled_kernel(name, X).gamma


def test_gamma_of_categories_counts_how_often_they_differ():
    X = np.array([[0.0], [0.0], [5.0], [9.0], [NAN]])
    # Shares 1/2, 1/4, 1/4: two draws differ with probability 5/8.
    assert scaled_kernel("laplacian", X, (0,)) == Laplacian(2.0 / 0.625, categorical=(0,))


@pytest.mark.parametrize(
    "X", [np.full((4, 2), 0.3), np.full((4, 2), NAN)], ids=["constant", "nothing observed"]
)
def test_gamma_of_tables_without_distances_is_one(X):
    assert scaled_kernel("gaussian", X).gamma == 1.0


def test_other_kernels_keep_their_defaults():
    assert scaled_kernel("linear", rows()[0]) == Linear()
    assert scaled_kernel("chi2", rows()[0]) == Chi2()


def mixed_table(n, seed=5):
    """Return a table with gaps, whose last column holds codes, and whole weights, some 0."""
    generator = np.random.default_rng(seed)
    X = generator.random((n, 3))
    X[:, 2] = generator.integers(0, 4, n)
    X[generator.random(X.shape) < 0.3] = NAN
    return X, generator.integers(0, 4, n)


@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_gamma_of_weights_is_that_of_as_many_copies(name):
    X, weights = mixed_table(40)
    repeated = np.repeat(X, weights, axis=0)
    expected = scaled_kernel(name, repeated, (2,)).gamma
    assert scaled_kernel(name, X, (2,), weights).gamma == pytest.approx(expected, rel=1e-12)
    assert scaled_kernel(name, X, (2,), 1e290 * weights).gamma == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_gamma_of_many_weighted_rows_is_that_of_as_many_copies(name):
    # Both from the same quantiles, by two ways.
    X, weights = mixed_table(400)
    repeated = np.repeat(X, weights, axis=0)
    expected = scaled_kernel(name, repeated, (2,)).gamma
    assert scaled_kernel(name, X, (2,), weights).gamma == pytest.approx(expected, rel=1e-12)


def test_gamma_of_fractions_of_copies_is_close_to_that_of_all_pairs():
    X = np.random.default_rng(2).random((700, 3)) ** 3
    weights = np.random.default_rng(3).random(700) ** 2
    terms = [np.square(x[:, None] - x[None, :]) for x in X.T]
    exact = 2.0 / sum(np.average(term, weights=np.outer(weights, weights)) for term in terms)
    assert scaled_kernel("gaussian", X, (), weights).gamma == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("n", [40, 400])
def test_gamma_of_weights_of_one_is_that_of_none(n):
    X, _ = mixed_table(n)
    ones = np.ones(n)
    assert scaled_kernel("laplacian", X, (2,), ones) == scaled_kernel("laplacian", X, (2,))


# -------------------------------------------------------------------------- what is taken


def test_rows_kernel_and_dual_are_returned():
    X, y = rows()
    found = checked(X, y, Gaussian(3.0))
    assert found.X is X
    np.testing.assert_array_equal(found.observed, ~np.isnan(X))
    assert found.kernel == Gaussian(3.0)
    assert found.dual.targets.shape == (12, 1)


def test_weights_are_ones_unless_given_and_reach_kernel_and_dual():
    X, y = rows()
    np.testing.assert_array_equal(checked(X, y).sample_weight, np.ones(12))
    weights = np.arange(12) % 4
    found = checked(X, y, "gaussian", C=3.0, sample_weight=weights.tolist())
    np.testing.assert_array_equal(found.sample_weight, weights)
    np.testing.assert_array_equal((found.dual.upper - found.dual.lower)[:, 0], 3.0 * weights)
    assert found.kernel == scaled_kernel("gaussian", X, (), weights)
    with pytest.raises(ValueError, match="'sample_weight' parameter of impute must be of shape"):
        checked(X, y, sample_weight=[1.0])


def test_a_name_takes_the_scaled_kernel():
    X, y = rows()
    assert checked(X, y, "laplacian").kernel == scaled_kernel("laplacian", X)
    assert checked(X, y, "linear").kernel == Linear()


@pytest.mark.parametrize("categorical", [[1], [False, True, False], np.array([1])], ids=str)
def test_categorical_columns_are_marked(categorical):
    X, y = rows()
    codes = X.copy()
    codes[:, 1] = np.arange(12) % 3 + 4.0
    named = checked(codes, y, "gaussian", categorical=categorical)
    assert named.kernel == scaled_kernel("gaussian", codes, (1,))
    for kernel in (Gaussian(2.0), Gaussian(2.0, categorical=(0,))):
        assert checked(codes, y, kernel, categorical=categorical).kernel == Gaussian(
            2.0, categorical=(1,)
        )


def test_a_kernel_keeps_its_own_categorical_columns():
    X, y = rows()
    codes = X.copy()
    codes[:, 0] = 7.0
    kernel = Laplacian(categorical=(0,))
    assert checked(codes, y, kernel).kernel == kernel


def test_frames_and_lists_are_taken():
    X, y = rows()
    for given in (pd.DataFrame(X), X.tolist()):
        np.testing.assert_array_equal(checked(given, y.tolist(), Gaussian()).X, X)


# --------------------------------------------------------------------------- what is refused


def test_unknown_kernels_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="'kernel' parameter of impute must be one of 'chi2'"):
        checked(X, y, "rbf")
    for kernel in (None, 3, Gaussian, lambda X, Z: X @ Z.T):
        with pytest.raises(TypeError, match="'kernel' parameter of impute must be a Kernel or"):
            checked(X, y, kernel)


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        ([[0.1, 0.2], [0.3]], TypeError, "'X' parameter of impute must be numeric"),
        ([["a"], ["b"]], TypeError, "'X' parameter of impute must be numeric"),
        ([0.1, 0.2], ValueError, "'X' parameter of impute must be a matrix"),
        (np.zeros((0, 2)), ValueError, "'X' parameter of impute must be a matrix"),
        ([[0.1], [np.inf]], ValueError, "'X' .* finite or NaN.* row 1, column 0"),
        ([[0.1], [1.5]], ValueError, r"'X' .* in \[0, 1\] or NaN.* row 1, column 0"),
    ],
    ids=["ragged", "text", "one axis", "empty", "infinite", "outside"],
)
def test_tables_that_are_refused(X, error, match):
    for kernel in ("gaussian", Gaussian()):
        with pytest.raises(error, match=match):
            checked(X, [0, 1], kernel)


def test_what_is_no_matrix_is_refused_before_its_columns_are():
    with pytest.raises(ValueError, match="'X' parameter of impute must be a matrix"):
        checked([0.1, 0.2], [0, 1], Gaussian(), categorical=[0])


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian()], ids=str)
def test_columns_that_do_not_exist_are_refused(kernel):
    X, y = rows()
    with pytest.raises(ValueError, match="a mask over, or indices of, the 3 columns"):
        checked(X, y, kernel, categorical=[3])
    with pytest.raises(ValueError, match="a mask over, or indices of, the 3 columns"):
        checked(X, y, Gaussian(categorical=(5,)))


def test_categorical_columns_are_refused_where_the_kernel_has_no_term_for_them():
    X, y = rows()
    for kernel in ("linear", Linear()):
        with pytest.raises(ValueError, match="'categorical' parameter of Linear must be empty"):
            checked(X, y, kernel, categorical=[0])


@pytest.mark.parametrize(
    "kernel",
    [Linear(1e200), Polynomial(1000), Polynomial(3, 1e150), Gaussian(1.7e308), Laplacian(1.7e308)],
    ids=repr,
)
def test_kernels_that_overflow_are_refused(kernel):
    X, y = rows()
    with pytest.raises(ValueError, match="does not overflow, nor exceed 1e.100, for 3 features"):
        checked(X, y, kernel)


@pytest.mark.parametrize("gamma", [5e-324, 1e-300, 1e300])
def test_kernels_of_any_width_are_taken(gamma):
    X, y = rows()
    assert checked(X, y, Gaussian(gamma)).kernel == Gaussian(gamma)


def test_gamma_of_distances_that_are_next_to_nothing_is_one():
    assert scaled_kernel("gaussian", np.array([[0.0], [1e-160]])).gamma == 1.0


def test_a_categorical_column_without_codes_is_refused():
    X, y = rows()
    codeless = X.copy()
    codeless[:, 2] = NAN
    with pytest.raises(ValueError, match="'X' parameter of impute .*only NaN in column 2"):
        checked(codeless, y, categorical=[2])


@pytest.mark.parametrize(
    ("y", "options", "error", "match"),
    [
        ([0, 1], {}, ValueError, r"'y' parameter of impute must be of shape \(12,\)"),
        (np.zeros(12), {}, ValueError, "at least 2 classes .* single class 0.0"),
        ([0, 1] * 5 + [0, None], {}, ValueError, "'y' .* complete, without NaN or None"),
        ([0.0, 1.0] * 5 + [0.0, NAN], {}, ValueError, "'y' .* complete, without NaN or None"),
        (np.linspace(0, 1, 12), {}, ValueError, "'y' .* class labels for task='classification'"),
        ([0, 1] * 6, {"C": 0.0}, ValueError, r"'C' parameter of impute must be a float in \(0"),
        ([0, 1] * 6, {"C": "1"}, TypeError, "'C' parameter of impute"),
        ([0, 1] * 6, {"task": "ranking"}, ValueError, "'task' parameter of impute must be one of"),
        (
            ["a", "b"] * 6,
            {"task": "regression"},
            TypeError,
            "'y' parameter of impute must be numeric for a regression",
        ),
        (
            [0, 1] * 6,
            {"task": "regression", "epsilon": -1.0},
            ValueError,
            r"'epsilon' parameter of impute must be a float in \[0",
        ),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str | dict) else None,
)
def test_labels_and_options_that_are_refused(y, options, error, match):
    X, _ = rows()
    with pytest.raises(error, match=match):
        checked(X, y, Gaussian(), **options)
