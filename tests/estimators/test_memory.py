"""The guard on memory: an estimate that holds, for every phase of a fit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import kernimpute.core.dual
from kernimpute import KernelImputationClassifier, KernelImputationClassifierCV, KernelImputer
from kernimpute.core.dual import make_dual
from kernimpute.estimators._labels import read_labels
from kernimpute.estimators._memory import estimated_peak
from kernimpute.estimators._subsets import stratified_subsets
from kernimpute.kernels import KERNELS, Chi2, Gaussian, Laplacian, Linear, Polynomial, Sigmoid


def table(n_samples, n_columns, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, n_columns))
    y = (X[:, 0] > 0.5).astype(int)
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, y


@pytest.mark.parametrize(("n_samples", "n_columns"), [(400, 8), (100, 1000), (300, 300)])
def test_a_fit_stays_below_the_estimate(n_samples, n_columns):
    X, y = table(n_samples, n_columns)
    KernelImputer().fit(X[:20], y[:20])
    tracemalloc.start()
    KernelImputer().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimated_peak(n_samples, n_columns, "direct")


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
def test_a_fit_of_anchored_stays_below_its_estimate(kernel, n_classes):
    X, _ = table(300, 8)
    y = np.arange(300) % n_classes
    imputer = KernelImputer(kernel=kernel, variant="anchored")
    imputer.fit(X[:20], y[:20])
    tracemalloc.start()
    imputer.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimated_peak(300, 8, "anchored", KERNELS[kernel])


@pytest.mark.parametrize("kernel", ["laplacian", "sigmoid", "linear"])
def test_a_fit_stays_below_the_estimate_of_its_kernel(kernel):
    X, y = table(300, 8)
    KernelImputer(kernel=kernel).fit(X[:20], y[:20])
    tracemalloc.start()
    KernelImputer(kernel=kernel).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimated_peak(300, 8, "direct", KERNELS[kernel])


# What a process grew by in a fit, in MiB, of 20 columns with 30 % missing; once with 85 %.
GROWN = [
    (2000, Sigmoid, 409),
    (5000, Gaussian, 109),
    (5000, Laplacian, 240),
    (5000, Chi2, 262),
    (10_000, Gaussian, 238),
    (10_000, Linear, 232),
    (10_000, Gaussian, 288),
    (10_000, Laplacian, 981),
]


@pytest.mark.parametrize(("n_samples", "kernel", "grown"), GROWN)
def test_the_estimate_is_near_what_processes_were_seen_to_grow_by(n_samples, kernel, grown):
    assert grown <= estimated_peak(n_samples, 20, "direct", kernel) / 2**20 <= 1.5 * grown


# As a rule, with labels that are noise, and where libsvm got lost.
@pytest.mark.parametrize(("n_samples", "grown"), [(1000, 25), (2000, 61), (3000, 206), (3000, 337)])
def test_the_estimate_counts_an_interior_point_method_of_few_rows(n_samples, grown):
    assert grown <= estimated_peak(n_samples, 20, "direct") / 2**20


def test_a_matrix_counts_where_libsvm_has_no_such_kernel():
    matrix = 8 * 10_000**2
    for kernel in (Gaussian, Linear, Polynomial):
        assert estimated_peak(10_000, 20, "direct", kernel) < matrix
    for kernel in (Laplacian, Chi2, Sigmoid):
        assert estimated_peak(10_000, 20, "direct", kernel) > matrix


def test_a_block_larger_than_the_memory_is_refused_when_its_size_is_known(monkeypatch):
    monkeypatch.setattr("kernimpute.core.svm.LARGE_BLOCK", 100)
    monkeypatch.setattr("kernimpute.core.svm.free_memory", lambda: 2**20)
    X, y = table(300, 5)
    # So narrow a kernel makes all rows free support vectors.
    imputer = KernelImputer(gamma=1000.0, C=100.0, max_iter=3, max_memory=2**40)
    with pytest.raises(MemoryError, match=r"300 rows must hold a block of 300 coefficients, of"):
        imputer.fit(X, y)
    KernelImputer().fit(X, y)


def test_many_rows_stay_below_the_estimate_with_every_coefficient_free(monkeypatch):
    # So narrow a kernel makes all rows free support vectors, and the block of them the matrix.
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 100)
    X, y = table(600, 5)
    tracemalloc.start()
    imputer = KernelImputer(gamma=1000.0, C=100.0, max_iter=3).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    machine = imputer._machines.members[0]
    assert machine.support.shape[0] > 570
    tables = 36 * 8 * 600 * 5
    assert peak <= 8 * 3.5 * 600**2 + tables


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_a_search_over_many_rows_holds_no_matrix_of_them(kernel, monkeypatch):
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 100)
    monkeypatch.setattr("kernimpute.estimators._bench.HELD_ROWS", 100)
    # Small chunks, which would else be as large as these matrices.
    monkeypatch.setattr("kernimpute.core.gram.CHUNK_CELLS", 2**14)
    X, y = table(900, 5)
    grid = {"kernels": [kernel], "Cs": [1.0], "etas": [np.inf], "cv": 3}
    held = KernelImputationClassifierCV(**grid).fit(X[:90], y[:90])
    tracemalloc.start()
    KernelImputationClassifierCV(**grid).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held.best_score_ > 0.5
    assert peak <= 8 * 0.6 * 900**2


@pytest.mark.parametrize("estimator_class", [KernelImputationClassifier])
def test_folds_at_the_same_time_count_together(estimator_class):
    X, y = table(400, 5)
    limit = estimated_peak(400, 5, "direct")
    with pytest.raises(ValueError, match="320 at once in each of 2 jobs"):
        estimator_class(max_memory=limit, n_jobs=2).fit(X, y)
    estimator_class(max_memory=limit, cv=None, n_jobs=2).fit(X, y)


def test_a_search_counts_its_folds():
    X, y = table(400, 5)
    search = KernelImputationClassifierCV(
        Cs=[1.0], gammas=[1.0], max_memory=estimated_peak(400, 5, "direct"), n_jobs=2
    )
    with pytest.raises(ValueError, match="320 at once in each of 2 jobs"):
        search.fit(X, y)


def test_advice_that_would_not_help_is_not_given():
    X, y = table(60, 5)
    with pytest.raises(ValueError, match="no subset_size would do"):
        KernelImputer(max_memory=1000).fit(X, y)
    with pytest.raises(ValueError, match="subset_size=30"):
        KernelImputer(max_memory=estimated_peak(59, 5, "direct")).fit(X, y)


def test_rare_classes_do_not_swell_the_subsets():
    y = np.concatenate([np.zeros(10_000, dtype=int), np.repeat(np.arange(1, 61), 167)])
    labels = read_labels(
        y, y[:, None], None, task="classification", class_weight=None, owner="test"
    )
    subsets = stratified_subsets(labels, 100, 0)
    assert np.array_equal(np.unique(np.concatenate(subsets)), np.arange(y.size))
    # Of each of the 60 rare classes at most two rows are lent.
    assert max(rows.size for rows in subsets) <= 101 + 2 * 60
    assert all(np.unique(y[rows]).size == 61 for rows in subsets)


def test_without_room_for_an_interior_point_method_the_active_set_goes_on(monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.random((80, 3))
    dual, K = make_dual(np.arange(80) % 2, 80), Gaussian(gamma=2.0)(X, X)
    expected = dual.solve(K)
    original = kernimpute.core.dual.libsvm_coefficients
    monkeypatch.setattr(
        "kernimpute.core.dual.libsvm_coefficients", lambda *a: (original(*a)[0], False)
    )
    monkeypatch.setattr("kernimpute.core.dual.near_solution", None)
    with pytest.raises(TypeError, match="not callable"):
        dual.solve(K)
    monkeypatch.setattr("kernimpute.core.dual.free_memory", lambda: 1000)
    with pytest.raises(TypeError, match="not callable"):
        # So few rows are not worth a look at the memory.
        dual.solve(K)
    monkeypatch.setattr("kernimpute.core.dual.SMALL", 10)
    np.testing.assert_allclose(dual.solve(K), expected, rtol=0.0, atol=1e-6)


def test_without_room_it_is_not_asked_either_where_the_active_set_does_not_arrive(monkeypatch):
    generator = np.random.default_rng(1)
    X = generator.random((120, 2))
    dual, K = make_dual(np.arange(120) % 2, 120, C=1e6), Linear()(X, X)
    monkeypatch.setattr("kernimpute.core.dual.SMALL", 10)
    monkeypatch.setattr("kernimpute.core.dual.free_memory", lambda: 1000)
    monkeypatch.setattr("kernimpute.core.dual.near_solution", None)
    found = dual.solve(K)
    assert (found >= dual.lower).all()
    assert (found <= dual.upper).all()
    assert abs(found.sum()) <= 1e-9 * np.abs(found).sum()
