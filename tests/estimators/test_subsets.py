"""Subsets: how many models are kept, what runs them, and what does not grow with the table."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

import kernimpute
from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer
from kernimpute.core.status import Status
from kernimpute.estimators import _filling
from kernimpute.estimators._filling import _with_own_codes
from kernimpute.estimators._labels import read_labels
from kernimpute.estimators._subsets import kept_subsets, stratified_subsets
from kernimpute.estimators.impute_table import impute_table
from kernimpute.kernels import Gaussian


def problem(n_rows=200, seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = generator.normal(size=(n_rows, 5)) + 0.7 * y[:, None]
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, y


@pytest.mark.parametrize("n_subsets", [1, 2, 7, 10, 2000])
@pytest.mark.parametrize("max_models", [1, 3, 10, None])
def test_the_kept_subsets_are_spread_evenly(n_subsets, max_models):
    kept = kept_subsets(n_subsets, max_models)
    assert kept.size == min(n_subsets, max_models or n_subsets)
    assert np.unique(kept).size == kept.size
    # As far from the first as from the last, up to one.
    assert abs(kept[0] - (n_subsets - 1 - kept[-1])) <= 1
    assert np.ptp(np.diff(kept)) <= 1 if kept.size > 1 else True


def test_the_kept_subsets_of_a_target_have_no_bias():
    y = np.random.default_rng(0).normal(size=5000)
    X = np.zeros((5000, 1))
    labels = read_labels(y, X, None, task="regression", class_weight=None, owner="test")
    subsets = stratified_subsets(labels, 50, 0)
    every = [labels.values[rows].mean() for rows in subsets]
    kept = np.mean([every[place] for place in kept_subsets(len(subsets), 10)])
    # The first ten have the smallest of each round of dealing; the mean of the table is 0.
    assert abs(kept) < 0.1 * abs(np.mean(every[:10]))


def test_rare_classes_are_lent_to_every_subset():
    y = np.repeat([0, 1, 2, 3], [150, 3, 1, 50])
    labels = read_labels(y, y[:, None], None, task="auto", class_weight=None, owner="test")
    subsets = stratified_subsets(labels, 20, 0)
    assert np.array_equal(np.unique(np.concatenate(subsets)), np.arange(y.size))
    for rows in subsets:
        assert np.bincount(y[rows], minlength=4)[1:3].tolist() in ([2, 1], [3, 1])


@pytest.mark.parametrize("max_models", [1, 3])
def test_predictions_are_the_mean_of_the_kept_machines(max_models):
    X, y = problem()
    new, _ = problem(30, seed=1)
    some = KernelImputationClassifier(subset_size=20, max_models=max_models, cv=None).fit(X, y)
    every = KernelImputationClassifier(subset_size=20, max_models=None, cv=None).fit(X, y)
    kept = kept_subsets(10, max_models)
    assert len(some._machines.members) == max_models and len(every._machines.members) == 10
    filled = some._new_rows.fill(some._matrix(some._encode(_frame(some, new))))
    mean = np.mean([every._machines.members[k].decision(filled)[:, 0] for k in kept], axis=0)
    np.testing.assert_allclose(some.decision_function(new), mean, rtol=0.0, atol=1e-12)


def _frame(estimator, X):
    return estimator._read(X, reset=False)[1]


def test_new_rows_are_filled_from_the_kept_rows_alone():
    X, y = problem()
    new, _ = problem(30, seed=1)
    imputer = KernelImputer(subset_size=20, max_models=2)
    filled = imputer.fit_transform(X, y)
    assert imputer._new_rows.training.shape == (40, 5) and imputer.n_subsets_ == 10
    # Every training row is filled all the same, and by its own subset.
    assert np.array_equal(
        filled, KernelImputer(subset_size=20, max_models=None).fit_transform(X, y)
    )
    assert not np.isnan(imputer.transform(new)).any()
    labels = read_labels(y, X, None, task="auto", class_weight=None, owner="test")
    subsets = stratified_subsets(labels, 20, 0)
    rows = np.sort(np.concatenate([subsets[k] for k in kept_subsets(10, 2)]))
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    np.testing.assert_allclose(
        imputer._new_rows.training, (filled[rows] - low) / (high - low), rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize("factor", [2, 4])
def test_what_is_saved_does_not_grow_with_the_table(tmp_path, factor):
    sizes = []
    for n_rows in (200, 200 * factor):
        X, y = problem(n_rows)
        imputer = KernelImputer(subset_size=20, max_models=3, tol=0.9).fit(X, y)
        kernimpute.save(imputer, tmp_path / "imputer.skops")
        sizes.append((tmp_path / "imputer.skops").stat().st_size)
        same = kernimpute.load(tmp_path / "imputer.skops")
        assert np.array_equal(same.transform(X[:20]), imputer.transform(X[:20]))
    # The number of rounds differs, that of support vectors too.
    assert abs(sizes[1] - sizes[0]) < 0.2 * sizes[0]


def test_the_number_of_models_is_checked():
    X, y = problem(40)
    with pytest.raises(ValueError, match="'max_models' parameter of KernelImputer"):
        KernelImputer(max_models=0).fit(X, y)


def test_disjoint_pairs_are_counted_within_subsets():
    X, y = problem()
    X[::2, :3] = np.nan
    X[1::2, 3:] = np.nan
    imputer = KernelImputer(subset_size=50).fit(X, y)
    labels = read_labels(y, X, None, task="auto", class_weight=None, owner="test")
    expected = 0
    for rows in stratified_subsets(labels, 50, 0):
        observed = (~np.isnan(X[rows])).astype(int)
        expected += int((observed @ observed.T == 0)[np.triu_indices(rows.size, 1)].sum())
    assert imputer.n_disjoint_pairs_ == expected > 0


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("given", ["argument", "context"])
def test_jobs_and_backends_give_the_same_bits(backend, given):
    X, y = problem()
    target = np.nansum(X, axis=1)
    n_jobs = 2 if given == "argument" else None
    expected = KernelImputer(subset_size=50).fit_transform(X, y)
    predicted = KernelImputationRegressor(subset_size=50).fit(X, target).predict(X)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert np.array_equal(
            KernelImputer(subset_size=50, n_jobs=n_jobs).fit_transform(X, y), expected
        )
        regressor = KernelImputationRegressor(subset_size=50, n_jobs=n_jobs).fit(X, target)
    assert np.array_equal(regressor.predict(X), predicted)


def test_the_context_says_how_many_jobs(monkeypatch):
    X, y = problem(60)
    told = []

    class Counting(joblib.Parallel):
        def __init__(self, **options):
            super().__init__(**options)
            told.append(self.n_jobs)

    monkeypatch.setattr("kernimpute.estimators._parallel.Parallel", Counting)
    KernelImputer(subset_size=20).fit(X, y)
    assert told == []
    with joblib.parallel_config(backend="threading", n_jobs=3):
        KernelImputer(subset_size=20).fit(X, y)
        assert told == [3]
        KernelImputer(subset_size=20, n_jobs=1).fit(X, y)
        KernelImputer().fit(X, y)
    assert told == [3]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_subset_has_one_thread_of_blas(monkeypatch, n_jobs):
    seen = []

    def watching(*arguments):
        seen.extend(
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        )
        return original(*arguments)

    original = _filling.fill_subset
    monkeypatch.setattr(_filling, "fill_subset", watching)
    before = [library["num_threads"] for library in threadpool_info()]
    X, y = problem(60)
    with joblib.parallel_config(backend="threading"):
        KernelImputer(subset_size=20, n_jobs=n_jobs).fit(X, y)
    assert seen and set(seen) == {1}
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_progress_is_told_only_where_subsets_take_turns():
    X, y = problem(60)
    table = _table(X, y)
    told = []
    with joblib.parallel_config(backend="threading"):
        impute_table(table, "y", subset_size=20, n_jobs=2, callback=told.append)
        assert not told
        impute_table(table, "y", subset_size=20, n_jobs=1, callback=told.append)
    assert told


def _table(X, y):
    import pandas as pd

    return pd.DataFrame(X, columns=list("abcde")).assign(y=y)


@pytest.mark.parametrize("kind", ["classes", "text", "quantity"])
def test_a_table_is_filled_as_by_the_imputer(kind):
    X, y = problem()
    labels = {"classes": y, "text": np.array(["b", "a"])[y], "quantity": np.nansum(X, axis=1)}
    table = _table(X, labels[kind])
    done = impute_table(table, "y", subset_size=30, random_state=5)
    imputer = KernelImputer(subset_size=30, random_state=5)
    expected = imputer.fit_transform(table.drop(columns="y"), table["y"])
    np.testing.assert_allclose(done.table.drop(columns="y"), expected, rtol=0.0, atol=1e-10)
    assert done.result is None and done.filling.n_subsets == imputer.n_subsets_ == 7
    assert done.status.success


def test_unlabelled_rows_of_a_table_are_new_rows_to_the_kept_subsets():
    X, y = problem()
    # The labelled rows have the range of all, so that both tables are scaled alike.
    has = np.arange(200) % 5 > 0
    X[~has] = np.clip(X[~has], np.nanmin(X[has], axis=0), np.nanmax(X[has], axis=0))
    done = impute_table(_table(X, np.where(has, y, np.nan)), "y", subset_size=30, max_models=2)
    imputer = KernelImputer(subset_size=30, max_models=2)
    known = imputer.fit_transform(X[has], y[has])
    got = done.table.drop(columns="y").to_numpy()
    np.testing.assert_allclose(got[has], known, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(got[~has], imputer.transform(X[~has]), rtol=0.0, atol=1e-10)
    assert done.table["y"].isna().sum() == done.n_unlabelled == 40


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"subset_size": 9}, "'subset_size' parameter of impute_table"),
        ({"subset_size": 10.5}, "'subset_size' parameter of impute_table"),
        ({"max_models": 0}, "'max_models' parameter of impute_table"),
        ({"random_state": -1}, "'random_state' parameter of impute_table"),
    ],
)
def test_options_of_subsets_are_checked(options, match):
    with pytest.raises((TypeError, ValueError), match=match):
        impute_table(_table(*problem(40)), "y", **options)


def test_complete_subsets_do_not_say_that_nothing_was_missing():
    X, y = problem()
    X = np.nan_to_num(X)
    X[-1, 0] = np.nan
    imputer = KernelImputer(subset_size=20).fit(X, y)
    assert imputer.status_ is Status.CONVERGED
    assert impute_table(_table(X, y), "y", subset_size=20).status is Status.CONVERGED
    labels = y.astype(float)
    labels[-1] = np.nan
    assert impute_table(_table(X, labels), "y", subset_size=20).status is Status.CONVERGED
    assert impute_table(_table(X, labels), "y").status is Status.CONVERGED
    labels[-2:] = np.nan, 1.0
    assert KernelImputer(subset_size=20).fit(X[:-1], y[:-1]).status_ is Status.NOTHING_MISSING


def test_threads_do_not_lift_the_limit_of_each_other():
    """The first to come leaves first: the other keeps its one thread, and none keeps it after."""
    # In a process of its own, for this one's limit is held by the tests.
    script = """
import threading
from threadpoolctl import ThreadpoolController
from kernimpute.estimators._parallel import on_one_thread
libraries = ThreadpoolController().select(user_api="blas").lib_controllers
blas = lambda: {library.num_threads for library in libraries}
came, goes = threading.Event(), threading.Event()
first = threading.Thread(target=on_one_thread, args=(lambda: came.set() or goes.wait(10), ()))

def second():
    goes.set()
    first.join(10)
    return blas()

before = blas()
first.start()
assert came.wait(10)
print(before, on_one_thread(second, ()), blas())
"""
    threads = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    run = [sys.executable, "-c", script]
    said = subprocess.run(run, env={**os.environ, **threads}, text=True, stdout=-1, check=True)
    assert said.stdout.split() == ["{2}", "{1}", "{2}"]


@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_a_subset_may_lack_a_category_or_all_of_them(variant):
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"a": generator.normal(size=60), "b": generator.choice(["u", "v", "w"], 60)})
    y = np.arange(60) % 2
    X["b"] = X["b"].where(generator.random(60) > 0.9).astype("category")
    filled = KernelImputer(variant=variant, subset_size=10).fit_transform(X, y)
    assert filled.notna().all(axis=None)
    kept = X["b"].notna()
    assert filled["b"][kept].equals(X["b"][kept])
    assert set(filled["b"]) <= set(X["b"].cat.categories)


def test_a_subset_is_held_at_its_own_most_frequent_category():
    # "v" is the table's, and the first subset, which is sorted by the label, has none.
    matrix = np.array([[0.0, 0.0], [0.5, 0.0], [0.7, 2.0], [1.0, np.nan]])
    kernel = Gaussian().with_categorical(np.array([False, True]), 2)
    held = np.where(np.isnan(matrix), [0.5, 1.0], matrix)
    X, reference = _with_own_codes(matrix, held, kernel, np.ones(4))
    np.testing.assert_array_equal(X, matrix)
    np.testing.assert_array_equal(reference[:, 1], [0.0, 0.0, 2.0, 0.0])
    empty = matrix.copy()
    empty[:, 1] = np.nan
    X, reference = _with_own_codes(empty, np.full((4, 2), 1.0), kernel, np.ones(4))
    np.testing.assert_array_equal(X[:, 1], np.ones(4))
