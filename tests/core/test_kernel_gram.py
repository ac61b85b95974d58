"""The kernel matrix made chunk by chunk: the same as the array, and the same machines."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from kernimpute import impute
from kernimpute.core.dual import make_dual
from kernimpute.core.gram import DenseGram, KernelGram, RaisedGram
from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

KERNELS = [
    Gaussian(2.0),
    Gaussian(1.0, categorical=(1, 3)),
    Laplacian(1.5, categorical=(0,)),
    Linear(),
    Polynomial(degree=2),
    Chi2(),
]


@pytest.fixture
def tiny_chunks(monkeypatch):
    """Hold no matrix that libsvm has the kernel of, and make few entries at a time."""
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 0)
    monkeypatch.setattr("kernimpute.core.gram.CHUNK_CELLS", 100)


def rows_of(kernel, n=60, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.random((n, 5))
    for column in kernel.categorical:
        X[:, column] = generator.integers(0, 4, n)
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_answer_is_that_of_the_array(kernel, tiny_chunks):
    X = rows_of(kernel)
    generator = np.random.default_rng(1)
    K = kernel.link(sum_by_sum(kernel, X))
    gram, dense = KernelGram(kernel, X), DenseGram(K)
    b = generator.standard_normal((60, 3)) * (generator.random((60, 1)) < 0.4)
    some, others = np.arange(0, 60, 7), np.arange(3, 50, 2)
    near = 1e-12 * np.abs(K).max()
    np.testing.assert_allclose(gram.matrix(), K, atol=near)
    np.testing.assert_allclose(gram.block(some, others), K[np.ix_(some, others)], atol=near)
    np.testing.assert_allclose(gram.among(some).matrix(), K[np.ix_(some, some)], atol=near)
    np.testing.assert_allclose(gram.product(b), K @ b, atol=60 * near)
    np.testing.assert_allclose(gram.product(b[:, 0]), K @ b[:, 0], atol=60 * near)
    assert gram.quadratic(b) == pytest.approx(dense.quadratic(b), rel=1e-12)
    assert gram.largest() == pytest.approx(dense.largest(), rel=1e-12)
    assert gram.product(np.zeros(60)).tolist() == [0.0] * 60


@pytest.mark.parametrize("kernel", [*KERNELS, Linear(0.0)], ids=repr)
def test_a_factor_is_that_of_the_matrix_and_known_of_linear_kernels(kernel):
    X = rows_of(kernel)
    gram, some = KernelGram(kernel, X), np.arange(0, 60, 2)
    held = gram.held_in(np.empty((60, 60)))
    for each in (gram, gram.held(), held, held.held()):
        assert (each.factor is None) == (not isinstance(kernel, Linear))
        if each.factor is None:
            continue
        np.testing.assert_allclose(each.factor @ each.factor.T, kernel(X, X), atol=1e-14)
        among = each.among(some)
        np.testing.assert_allclose(among.factor @ among.factor.T, among.matrix(), atol=1e-14)
    # As wide as the matrix it is of no use.
    assert KernelGram(kernel, X[:5]).factor is None


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_matrix_held_in_a_buffer_answers_the_same(kernel, tiny_chunks):
    X = rows_of(kernel)
    generator = np.random.default_rng(5)
    gram, buffer = KernelGram(kernel, X), np.full((60, 60), np.nan)
    held = gram.held_in(buffer)
    assert held.matrix() is buffer
    assert held.held().matrix() is buffer
    assert gram.held_in(None) is gram
    b = generator.standard_normal((60, 2)) * (generator.random((60, 1)) < 0.4)
    some, others = np.arange(0, 60, 7), np.arange(3, 50, 2)
    near = 1e-12 * np.abs(buffer).max()
    np.testing.assert_allclose(held.matrix(), gram.matrix(), atol=near)
    np.testing.assert_allclose(held.block(some, others), gram.block(some, others), atol=near)
    np.testing.assert_allclose(held.product(b), gram.product(b), atol=60 * near)
    assert held.quadratic(b) == pytest.approx(gram.quadratic(b), rel=1e-12)
    expected = slope_by_slope(kernel, X, some, others)
    for one in (gram, held):
        np.testing.assert_allclose(slopes_of(one, some, others), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("held", [False, True])
def test_rows_that_coincide_have_no_slope_where_the_kernel_is_steep(held):
    X = rows_of(Gaussian())[[0, 1, 1, 2]]
    everyone = np.arange(4)
    for kernel, at_itself in ((Gaussian(1e3), -1e3), (Gaussian(1e9), 0.0)):
        gram = KernelGram(kernel, X).held_in(np.empty((4, 4)) if held else None)
        slopes = slopes_of(gram, everyone, everyone)
        same = np.equal.outer([0, 1, 1, 2], [0, 1, 1, 2])
        np.testing.assert_allclose(slopes[same], at_itself, rtol=1e-12)
        np.testing.assert_allclose(slopes[~same], 0.0, atol=1e-10)


def slopes_of(gram, rows, columns):
    return np.vstack([slopes for _, slopes in gram.slopes(rows, columns)])


def slope_by_slope(kernel, X, rows, columns):
    """Return the derivatives of the link by central differences of it."""
    sums, step = sum_by_sum(kernel, X)[np.ix_(rows, columns)], 1e-6
    return (kernel.link(sums + step) - kernel.link(sums - step)) / (2.0 * step)


def sum_by_sum(kernel, X):
    """Return the sums from their definition, column by column."""
    sums = np.zeros((X.shape[0], X.shape[0]))
    for column in range(X.shape[1]):
        x, z = X[:, column, None], X[None, :, column]
        sums += (x != z) if column in kernel.categorical else kernel.feature_term(x, z)
    return sums


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_machine_is_that_of_the_array_and_optimal(kernel, task, weighted, tiny_chunks):
    X = rows_of(kernel)
    generator = np.random.default_rng(2)
    noisy = X[:, 2] + 0.3 * generator.standard_normal(60)
    y = noisy if task == "regression" else np.digitize(noisy, [0.3, 0.7])
    weights = generator.choice([0.0, 0.5, 1.0, 3.0], 60) if weighted else None
    dual = make_dual(y, 60, C=2.0, task=task, epsilon=0.1, sample_weight=weights)
    K = kernel(X, X)
    gram = KernelGram(kernel, X)
    b = dual.solve(gram)
    scale = np.abs(K).max()
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    assert np.abs(b.sum(axis=0)).max() <= 1e-12 * np.abs(b).sum()
    # A kernel of low rank has many best coefficients, but one value and one decision function.
    value = dual.value(K, b)
    assert abs(dual.gap(K, b)) <= 1e-8 * max(1.0, value) * scale
    other = dual.solve(K)
    assert value == pytest.approx(dual.value(K, other), rel=1e-8)
    np.testing.assert_allclose(
        gram.product(b) + dual.intercept(gram, b), K @ other + dual.intercept(K, other), atol=1e-6
    )


@pytest.mark.parametrize("kernel", [*KERNELS, Sigmoid(0.8)], ids=repr)
def test_rows_are_filled_the_same_in_tiny_chunks(kernel, monkeypatch):
    X = rows_of(kernel).copy()
    generator = np.random.default_rng(3)
    y = np.arange(60) % 3
    X[generator.random(X.shape) < 0.3] = np.nan
    whole = impute(X, y, kernel=kernel, eta=4.0, max_iter=5)
    monkeypatch.setattr("kernimpute.core.gram.CHUNK_CELLS", 100)
    chunked = impute(X, y, kernel=kernel, eta=4.0, max_iter=5)
    np.testing.assert_allclose(chunked.X, whole.X, atol=1e-8)
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 0)
    # The machines on the way are as exact as the loose stop rule asks for, and differ by that.
    from_rows = impute(X, y, kernel=kernel, eta=4.0, max_iter=5, tol=1e-6)
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 3000)
    held = impute(X, y, kernel=kernel, eta=4.0, max_iter=5, tol=1e-6)
    numeric = kernel.numeric(5)
    np.testing.assert_allclose(from_rows.X[:, numeric], held.X[:, numeric], atol=1e-5)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_rows_of_real_tables_are_filled_the_same_whether_or_not_a_matrix_is_held(load, monkeypatch):
    X, y = load(return_X_y=True)
    X, y = X[::2], y[::2]
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    X[np.random.default_rng(6).random(X.shape) < 0.4] = np.nan
    held = impute(X, y, max_iter=8, tol=1e-6)
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 0)
    monkeypatch.setattr("kernimpute.core.gram.CHUNK_CELLS", 1000)
    from_rows = impute(X, y, max_iter=8, tol=1e-6)
    np.testing.assert_allclose(
        from_rows.trace.column("objective"), held.trace.column("objective"), rtol=1e-7
    )
    np.testing.assert_allclose(from_rows.X, held.X, atol=1e-5)


def test_no_matrix_is_held_of_many_rows(monkeypatch):
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 0)
    generator = np.random.default_rng(4)
    y = np.arange(1500) % 2
    X = np.clip(0.4 + 0.2 * y[:, None] + 0.2 * generator.standard_normal((1500, 8)), 0.0, 1.0)
    X[generator.random(X.shape) < 0.3] = np.nan
    tracemalloc.start()
    impute(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The tables of the descent and a chunk; the matrix alone would be 18 MB.
    assert peak < 36 * X.nbytes + 8 * 2**20


def test_a_raised_gram_is_the_matrix_plus_a_multiple_of_the_identity():
    generator = np.random.default_rng(0)
    root = generator.standard_normal((9, 9))
    K, b = root @ root.T, generator.standard_normal((9, 2))
    raised, dense = RaisedGram(K, 0.3), DenseGram(K + 0.3 * np.eye(9))
    rows, columns = np.array([1, 4, 7]), np.array([0, 4, 7, 8])
    np.testing.assert_allclose(raised.product(b), dense.product(b), rtol=1e-12)
    assert raised.quadratic(b) == pytest.approx(dense.quadratic(b))
    np.testing.assert_array_equal(raised.block(rows, columns), dense.block(rows, columns))
    np.testing.assert_array_equal(raised.among(rows).matrix(), dense.block(rows, rows))
    np.testing.assert_array_equal(raised.held().matrix(), dense.matrix())
    np.testing.assert_array_equal(raised.libsvm_form()[0], dense.matrix())
    assert raised.largest() >= dense.largest()
