"""Labelled rows as the solvers take them, and the kernel and anchor that are taken by default."""

import math

import numpy as np
import pytest

from kernimpute.core.rows import anchor_weight, check_labelled_rows, default_kernel, scaled_kernel
from kernimpute.kernels import Gaussian, Laplacian, Linear, Polynomial, make_kernel

NAN = np.nan


def rows(n=12, d=3):
    generator = np.random.default_rng(0)
    X = generator.random((n, d))
    X[generator.random(X.shape) < 0.3] = NAN
    X.setflags(write=False)
    return X, np.arange(n) % 2


def with_codes(column):
    """Return rows whose column holds codes, and labels."""
    X, y = rows()
    codes = X.copy()
    codes[:, column] = np.arange(12) % 3 + 4.0
    return codes, y


def checked(X, y, kernel="gaussian", **options):
    defaults = {"C": 1.0, "task": "classification", "epsilon": 0.1, "categorical": None}
    return check_labelled_rows(X, y, kernel, owner="impute", **{**defaults, **options})


def centred_columns(n):
    """Return numbers whose columns have different spreads but one mean."""
    X = np.random.default_rng(0).random((n, 4)) * [0.1, 0.3, 0.6, 1.0]
    return X - X.mean(axis=0) + 0.5


@pytest.mark.parametrize("n", [2, 101, 102, 1000])
def test_gamma_is_that_of_scikit_learn_where_the_columns_have_one_mean(n):
    X = centred_columns(n)
    kernel = scaled_kernel("gaussian", X)
    # More than 101 values of a column are replaced by their quantiles.
    assert kernel.gamma == pytest.approx(1.0 / (4 * X.var()), rel=1e-12 if n <= 101 else 0.01)
    shifted = X * 0.5 + [0.0, 0.1, 0.2, 0.3]
    assert scaled_kernel("gaussian", shifted).gamma == pytest.approx(4.0 * kernel.gamma)


@pytest.mark.parametrize(
    "shape", [lambda u: u**6, np.round, lambda u: u < 0.03], ids=["u^6", "round", "rare"]
)
@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gamma_of_skewed_columns_is_close_to_that_of_all_pairs(name, shape, weighted):
    X = shape(np.random.default_rng(2).random((700, 3))).astype(float)
    weights = np.random.default_rng(3).random(700) ** 2 if weighted else np.ones(700)
    kernel = make_kernel(name, 1.0)
    # Two over the mean of the sums of feature terms.
    terms = [kernel.feature_term(x[:, None], x[None, :]) for x in X.T]
    exact = 2.0 / sum(np.average(term, weights=np.outer(weights, weights)) for term in terms)
    found = scaled_kernel(name, X, (), weights).gamma
    assert found == pytest.approx(exact, rel=0.07 if weighted else 0.05)


@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
@pytest.mark.parametrize("n", [40, 400])
def test_gamma_of_weights_is_that_of_as_many_copies(name, n):
    generator = np.random.default_rng(5)
    X = generator.random((n, 3))
    X[:, 2] = generator.integers(0, 4, n)
    X[generator.random(X.shape) < 0.3] = NAN
    weights = generator.integers(0, 4, n)
    expected = scaled_kernel(name, np.repeat(X, weights, axis=0), (2,)).gamma
    for scale in (1, 1e290) if n == 40 else (1,):
        found = scaled_kernel(name, X, (2,), scale * weights).gamma
        assert found == pytest.approx(expected, rel=1e-12)
    assert scaled_kernel(name, X, (2,), np.ones(n)) == scaled_kernel(name, X, (2,))


def test_gamma_of_categories_counts_how_often_they_differ():
    X = np.array([[0.0], [0.0], [5.0], [9.0], [NAN]])
    # Shares 1/2, 1/4, 1/4: two draws differ with probability 5/8.
    assert scaled_kernel("laplacian", X, (0,)) == Laplacian(2.0 / 0.625, categorical=(0,))
    assert default_kernel("laplacian", X, (0,), part=0.25).gamma == pytest.approx(0.5 / 0.625)


@pytest.mark.parametrize(
    "X",
    [np.full((4, 2), 0.3), np.full((4, 2), NAN), np.array([[0.0], [1e-160]])],
    ids=["constant", "nothing observed", "next to constant"],
)
def test_gamma_of_tables_without_distances_is_one(X):
    assert scaled_kernel("gaussian", X).gamma == 1.0
    # And kernels without a gamma that fits stay as they are.
    assert scaled_kernel("linear", X) == default_kernel("linear", X, ()) == Linear()


def test_the_anchor_weighs_more_where_less_is_observed():
    X = np.array([[0.5, NAN], [NAN, NAN], [0.1, 0.2]])
    assert anchor_weight(3.0, X, 16.0, np.ones(3)) == pytest.approx(16.0 * 3.0 / 0.5)
    assert anchor_weight(3.0, X, 16.0, np.array([0.0, 0.0, 2.0])) == pytest.approx(48.0)
    assert anchor_weight(3.0, X, 16.0, np.array([0.0, 1.0, 0.0])) == math.inf


@pytest.mark.parametrize("categorical", [[1], [False, True, False], np.array([1])], ids=str)
def test_categorical_columns_are_marked(categorical):
    X, y = with_codes(1)
    named = checked(X, y, "gaussian", categorical=categorical)
    assert named.kernel == scaled_kernel("gaussian", X, (1,))
    for kernel in (Gaussian(2.0), Gaussian(2.0, categorical=(0,))):
        marked = checked(X, y, kernel, categorical=categorical).kernel
        assert marked == Gaussian(2.0, categorical=(1,))
    own = Laplacian(categorical=(1,))
    assert checked(X, y, own).kernel == own


@pytest.mark.parametrize(
    ("kernel", "categorical", "error", "match"),
    [
        (None, None, TypeError, "'kernel' parameter of impute must be a Kernel or"),
        (Gaussian, None, TypeError, "'kernel' parameter of impute must be a Kernel or"),
        (Gaussian(categorical=(5,)), None, ValueError, "a mask over, or indices of, the 3 columns"),
        (Linear(), [0], ValueError, "'categorical' parameter of Linear must be empty"),
        *(
            (kernel, None, ValueError, "does not overflow, nor exceed 1e.100, for 3 features")
            for kernel in (
                Linear(1e200),
                Polynomial(1000),
                Polynomial(3, 1e150),
                Gaussian(1.7e308),
                Laplacian(1.7e308),
            )
        ),
    ],
    ids=str,
)
def test_kernels_that_are_refused(kernel, categorical, error, match):
    with pytest.raises(error, match=match):
        checked(*rows(), kernel, categorical=categorical)
