"""Folds, scores and tests of candidates."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline

from kernimpute.comparison.candidates import Candidate, candidates_of, make_filling
from kernimpute.comparison.judging import (
    Data,
    beyond_chance,
    compared,
    corrected_difference,
    make_folds,
    run_fold,
)


def made_data(n_classes=2, n_rows=90, groups=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n_rows), [0.0, 0.8][: n_classes - 1])
    X[rng.random(X.shape) < 0.2] = np.nan
    table = pd.DataFrame(X, columns=[*"abc"])
    table["d"] = pd.Categorical(rng.choice([*"uvw"], n_rows))
    return Data(table, table, y, "classification", groups)


def pair(filling="means", learner=None):
    learner = learner or LogisticRegression()
    return Candidate(
        f"{filling}, linear",
        make_pipeline(*make_filling(filling, "classification", 0), learner),
        filling,
        "linear",
    )


def test_every_row_is_tested_once_a_repeat_and_classes_are_even():
    data = made_data()
    folds = make_folds(data, 5, 2, seed=3)
    assert [fold.repeat for fold in folds] == [0] * 5 + [1] * 5
    for repeat in range(2):
        tests = np.concatenate([fold.test for fold in folds if fold.repeat == repeat])
        assert sorted(tests) == list(range(90))
    shares = [data.y[fold.test].mean() for fold in folds]
    assert np.ptp(shares) <= 1 / 18
    assert not np.array_equal(folds[0].test, folds[5].test)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_groups_are_never_parted(task):
    groups, data = np.repeat(np.arange(18), 5), made_data()
    data = Data(data.table, data.given, data.y, task, groups)
    for fold in make_folds(data, 3, 2, seed=0):
        assert not set(groups[fold.train]) & set(groups[fold.test])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_scikit_learn_and_failures_are_rows(n_classes):
    data = made_data(n_classes)
    fold = make_folds(data, 3, 1, seed=0)[1]
    broken = Candidate("broken", LogisticRegression(), is_own=True)
    scores = run_fold(data, [broken, pair()], fold, permuted=False, seed=0)["scores"]
    assert scores["broken"]["error"].startswith("ValueError: ")
    found = scores["means, linear"]
    model = pair().estimator.fit(data.table.iloc[fold.train], data.y[fold.train])
    p, y = model.predict_proba(data.table.iloc[fold.test]), data.y[fold.test]
    assert found["log_loss"] == pytest.approx(log_loss(y, p))
    assert found["accuracy"] == pytest.approx((p.argmax(axis=1) == y).mean())
    area = roc_auc_score(y, p[:, 1] if n_classes == 2 else p, multi_class="ovr")
    assert found["auc"] == pytest.approx(area)


class Spy(ClassifierMixin, BaseEstimator):
    """Predicts by the place of a row in the whole table, and knows which labels it has seen."""

    def __init__(self, whole=None, labels=None):
        self.whole, self.labels = whole, labels

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_seen_ = len(X)
        return self

    def predict_proba(self, X):
        known = [self.labels[np.flatnonzero(self.whole == key)[0]] for key in X["key"]]
        return np.where(np.array(known)[:, None] == self.classes_, 0.9, 0.1 / 1)


def test_a_candidate_that_peeks_is_told_from_an_honest_one_by_permuted_labels():
    data = made_data(n_rows=120)
    given = data.table.assign(key=np.arange(120.0))
    folds = make_folds(data, 3, 2, seed=0)
    seen = [np.random.default_rng([0, repeat]).permutation(data.y) for repeat in range(2)]
    results = []
    for fold in folds:
        spy = Candidate("spy", Spy(given["key"].to_numpy(), seen[fold.repeat]), is_own=True)
        dull = Candidate("dull", DummyClassifier(), is_own=True)
        own = Data(data.table, given, data.y, data.task)
        results.append(run_fold(own, [pair(), spy, dull], fold, permuted=True, seed=0))
    names = ["means, linear", "spy", "dull"]
    assert [*beyond_chance(results, names, "classification")] == ["spy"]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_all_run_on_many_classes_of_few_rows_and_on_sorted_rows(task):
    data = made_data(n_rows=100)
    y = np.repeat(np.arange(10), 10)
    data = Data(data.table, data.table, y, task)
    methods = ["means", "linear", "boosting", "unfilled"]
    candidates = candidates_of(task, methods, {}, 100, 10 if task == "classification" else 1, 1, 0)[
        0
    ]
    for fold in make_folds(data, 5, 1, seed=0)[:2]:
        scores = run_fold(data, candidates, fold, permuted=False, seed=0)["scores"]
        assert not [one["error"] for one in scores.values() if "error" in one]


def test_errors_of_fills_of_means_are_a_standard_deviation_and_the_joint_normal_does_better():
    rng = np.random.default_rng(0)
    a = rng.normal(5.0, 3.0, size=400)
    b = a + 0.3 * rng.normal(size=400)
    c = np.where(a > 5.0, "high", "low")
    table = pd.DataFrame({"a": a, "b": b, "c": pd.Categorical(c)})
    table.loc[::7, "a"] = np.nan
    data = Data(table, table, (b > 5).astype(int), "classification")
    fold = make_folds(data, 2, 1, seed=0)[1]
    candidates = [pair(name) for name in ("means", "knn", "joint")]
    errors = run_fold(data, candidates, fold, permuted=False, seed=0)["fill_errors"]
    assert 0.7 < errors["means"]["a"] < 1.3
    assert 0.3 < errors["means"]["c"] < 0.7
    assert errors["joint"]["a"] < 0.4
    assert errors["knn"]["a"] < 0.9
    assert errors["joint"]["c"] < 0.2


def test_the_corrected_test_widens_the_variance():
    differences = np.array([0.03, 0.01, 0.02, 0.05, -0.01])
    found = corrected_difference(differences, test_to_train=0.25)
    error = np.sqrt(differences.var(ddof=1) * (1 / 5 + 0.25))
    assert found["difference"] == pytest.approx(0.02)
    assert found["p"] == pytest.approx(2 * stats.t.sf(0.02 / error, 4))
    assert (found["lower"], found["upper"]) == pytest.approx(
        stats.t.interval(0.95, 4, loc=0.02, scale=error)
    )
    assert corrected_difference(np.zeros(5), 0.25)["p"] == 1.0


def test_findings_need_chance_and_margin():
    base = np.linspace(0.5, 0.6, 15)
    wave = 0.001 * np.sin(np.arange(15))
    losses = {
        "base": base,
        "better": base - 0.05 + wave,
        "worse": base + 0.05 + wave,
        "equivalent": base - 0.005 + 0.1 * wave,
        "undecided": base - 0.02 + 200 * wave,
        "failed once": [None, *base[1:]],
    }
    folds = [
        {
            "n_test": 2,
            "n_train": 8,
            "scores": {one: {"log_loss": s[k]} for one, s in losses.items()},
        }
        for k in range(15)
    ]
    tests = compared(folds, [(name, "base") for name in losses if name != "base"], "log_loss", 0.01)
    assert [one["candidate"] for one in tests] == ["better", "worse", "equivalent", "undecided"]
    assert all(one["finding"] == one["candidate"] for one in tests)
    assert tests[0]["difference"] == pytest.approx(0.05, abs=1e-3)
