"""The estimators that choose their settings: candidates, ties, scores, folds, and the result."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputationRegressor,
    KernelImputationRegressorCV,
    KernelImputer,
    KernelImputerCV,
)
from tests.estimators.problems import QUICK_SEARCH, regression_rows, related_rows

PAIRS = [
    (KernelImputerCV, KernelImputer, related_rows),
    (KernelImputationClassifierCV, KernelImputationClassifier, related_rows),
    (KernelImputationRegressorCV, KernelImputationRegressor, regression_rows),
]
pairs = pytest.mark.parametrize(
    ("search_class", "plain_class", "make_rows"), PAIRS, ids=lambda value: value.__name__
)
SEARCHES = [pair[0] for pair in PAIRS]


def apply(estimator, X):
    """Return what a fitted estimator makes of rows."""
    return getattr(estimator, "transform", getattr(estimator, "predict", None))(X)


def table_of(search):
    """Return the mean score of each candidate by its setting."""
    return {
        (params["kernel"], params["C"], params["gamma"], params["eta"]): score
        for params, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        )
    }


@pairs
def test_the_result_is_the_plain_estimator_with_the_best_parameters(
    search_class, plain_class, make_rows
):
    X, y = make_rows()
    X_new = make_rows(seed=1)[0]
    search = search_class(**QUICK_SEARCH).fit(X, y)
    assert set(search.best_params_) == {"kernel", "C", "gamma", "eta", "reference"}
    plain = plain_class(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(apply(search, X_new), apply(plain, X_new), rtol=0.0, atol=1e-10)
    assert search.eta_ == plain.eta_
    assert search.kernel_ == plain.kernel_
    assert search.n_features_in_ == 4


@pairs
def test_the_results_are_laid_out_as_scikit_learn_does(search_class, plain_class, make_rows):
    X, y = make_rows()
    search = search_class(**QUICK_SEARCH).fit(X, y)
    results = search.cv_results_
    n_candidates = len(results["params"])
    parameters = {f"param_{name}" for name in search.best_params_}
    splits = {f"split{fold}_test_score" for fold in range(3)}
    scores = {"mean_test_score", "std_test_score", "rank_test_score"}
    assert parameters | splits | scores | {"params"} <= set(results)
    assert all(len(column) == n_candidates for column in results.values())
    by_split = np.stack([results[name] for name in sorted(splits)])
    np.testing.assert_allclose(results["mean_test_score"], by_split.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], by_split.std(axis=0))
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == results["mean_test_score"].max()
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.n_splits_ == 3
    for name in search.best_params_:
        assert list(results[f"param_{name}"]) == [params[name] for params in results["params"]]


@pytest.mark.parametrize("search_class", SEARCHES, ids=lambda value: value.__name__)
@pytest.mark.parametrize("etas", ["auto", [5.0], [5.0, np.inf]], ids=str)
def test_the_reference_is_always_a_candidate(search_class, etas):
    X, y = related_rows() if search_class is not KernelImputationRegressorCV else regression_rows()
    search = search_class(**{**QUICK_SEARCH, "Cs": [1.0], "etas": etas}).fit(X, y)
    offered = {params["eta"] for params in search.cv_results_["params"]}
    assert np.inf in offered
    assert len(offered) >= 2
    table = table_of(search)
    assert len(table) == len(search.cv_results_["params"])


def test_with_the_reference_alone_it_is_a_grid_search_over_mean_imputation():
    X, y = related_rows(n_samples=80, share=0.4)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    Cs, gammas = [0.1, 1.0, 10.0], [0.3, 3.0]
    search = KernelImputationClassifierCV(
        Cs=Cs, gammas=gammas, etas=[np.inf], cv=folds, new_rows="reference"
    ).fit(X, y)
    pipeline = make_pipeline(SimpleImputer(), MinMaxScaler(), SVC(tol=1e-9))
    grid = GridSearchCV(
        pipeline,
        [
            {"svc__kernel": ["linear"], "svc__C": Cs},
            {"svc__kernel": ["rbf"], "svc__C": Cs, "svc__gamma": gammas},
        ],
        cv=folds,
    ).fit(X, y)
    ours = table_of(search)
    results = grid.cv_results_
    theirs = {}
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        kernel = {"linear": "linear", "rbf": "gaussian"}[params["svc__kernel"]]
        theirs[kernel, params["svc__C"], params.get("svc__gamma")] = score
    assert len(ours) == len(theirs) == 9
    for (kernel, C, gamma, eta), score in ours.items():
        assert eta == np.inf
        key = (kernel, C, None if kernel == "linear" else gamma)
        assert score == pytest.approx(theirs[key], abs=1e-12)
    assert search.best_score_ == pytest.approx(grid.best_score_, abs=1e-12)
    np.testing.assert_array_equal(search.predict(X), best_pipeline(search, pipeline, X, y))


def best_pipeline(search, pipeline, X, y):
    """Return predictions of scikit-learn's pipeline with the settings that were chosen."""
    best = search.best_params_
    kernel = {"linear": "linear", "gaussian": "rbf"}[best["kernel"]]
    pipeline.set_params(svc__C=best["C"], svc__kernel=kernel)
    if kernel == "rbf":
        pipeline.set_params(svc__gamma=best["gamma"])
    return pipeline.fit(X, y).predict(X)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_each_candidates_score_is_that_of_the_plain_estimator_in_the_folds(class_weight):
    X, y = related_rows(share=0.4)
    y[:14] = 0
    # Unequal shares of the classes, so that what is balanced in a fold is not so in all.
    folds = list(KFold(3).split(X, y))
    options = {"class_weight": class_weight}
    search = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": folds}, **options).fit(X, y)
    for place, params in enumerate(search.cv_results_["params"]):
        plain = KernelImputationClassifier(**params, cv=None, **options)
        for number, (train, test) in enumerate(folds):
            score = plain.fit(X[train], y[train]).score(X[test], y[test])
            assert search.cv_results_[f"split{number}_test_score"][place] == pytest.approx(score)


def test_ties_go_to_the_reference_then_to_the_smallest_penalty_and_gamma():
    X = np.linspace(0.0, 1.0, 40)[:, None] + np.zeros((1, 3))
    X[X > 0.5] += 20.0
    y = (X[:, 0] > 5.0).astype(int)
    X[::5, 1] = np.nan
    search = KernelImputationClassifierCV(
        kernels=("gaussian",), Cs=[4.0, 1.0, 2.0], gammas=[0.9, 0.5], etas=[30.0, 50.0], cv=4
    ).fit(X, y)
    assert np.ptp(search.cv_results_["mean_test_score"]) == 0.0
    assert search.best_params_["eta"] == np.inf
    assert search.best_params_["C"] == 1.0
    assert search.best_params_["gamma"] == 0.5


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", "roc_auc", make_scorer(balanced_accuracy_score)], ids=str
)
def test_scores_are_names_or_functions(scoring):
    X, y = related_rows(share=0.4)
    folds = list(StratifiedKFold(3).split(X, y))
    search = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": folds}, scoring=scoring)
    search.fit(X, y)
    scorer = sklearn.metrics.check_scoring(search, scoring)
    train, test = folds[0]
    plain = KernelImputationClassifier(**search.best_params_, cv=None).fit(X[train], y[train])
    expected = scorer(plain, X[test], y[test])
    got = search.cv_results_["split0_test_score"][search.best_index_]
    assert got == pytest.approx(expected)


def test_a_regressions_score_is_r2_unless_told():
    X, y = regression_rows()
    folds = list(KFold(3).split(X))
    options = {**QUICK_SEARCH, "cv": folds}
    search = KernelImputationRegressorCV(**options).fit(X, y)
    train, test = folds[1]
    plain = KernelImputationRegressor(**search.best_params_).fit(X[train], y[train])
    got = search.cv_results_["split1_test_score"][search.best_index_]
    assert got == pytest.approx(plain.score(X[test], y[test]))
    other = KernelImputationRegressorCV(**options, scoring="neg_mean_absolute_error").fit(X, y)
    assert (other.cv_results_["mean_test_score"] < 0.0).all()


def test_folds_are_a_number_a_splitter_or_the_splits_themselves():
    X, y = related_rows(share=0.4)
    tables = []
    for cv in (3, StratifiedKFold(3), list(StratifiedKFold(3).split(X, y))):
        search = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": cv}).fit(X, y)
        tables.append(table_of(search))
    assert tables[0] == tables[1] == tables[2]
    assert KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": None}).fit(X, y).n_splits_ == 5


def test_groups_are_routed_to_the_splitter():
    X, y = related_rows(share=0.4)
    groups = np.arange(60) // 4 % 6
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": splits}).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        search = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": GroupKFold(3)})
        search.fit(X, y, groups=groups)
    assert table_of(search) == table_of(expected)


def test_several_references_are_tried():
    X, y = related_rows(share=0.4)
    median = SimpleImputer(strategy="median")
    search = KernelImputationClassifierCV(**QUICK_SEARCH, references=("mean", median)).fit(X, y)
    offered = search.cv_results_["param_reference"]
    assert sum(reference == "mean" for reference in offered) == len(offered) // 2
    assert not hasattr(median, "statistics_")


@pytest.mark.parametrize("search_class", SEARCHES, ids=lambda value: value.__name__)
def test_the_defaults_work_on_a_small_table(search_class):
    X, y = related_rows() if search_class is not KernelImputationRegressorCV else regression_rows()
    search = search_class().fit(X, y)
    assert np.isfinite(apply(search, X)).all()
    assert search.n_splits_ == 5
    assert {params["kernel"] for params in search.cv_results_["params"]} == {"linear", "gaussian"}


def test_jobs_change_nothing():
    X, y = related_rows(share=0.4)
    one, two = (
        KernelImputationClassifierCV(**QUICK_SEARCH, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    )
    assert table_of(one) == table_of(two)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
