"""What a search makes of scores: weights that a scorer takes or not, and scores that are none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.metrics import accuracy_score, make_scorer, max_error
from sklearn.model_selection import KFold

from kernimpute import KernelImputationClassifierCV, KernelImputationRegressorCV
from kernimpute.estimators._candidates import Candidate
from kernimpute.estimators._search_results import SearchResults
from tests.estimators.problems import QUICK_SEARCH, regression_rows, related_rows


def share_of_hits(truth, predicted):
    """Return the accuracy, without weights."""
    return float(np.mean(truth == predicted))


def nothing(estimator, X, y):
    """Return a score that is none."""
    return np.nan


def linear_only(estimator, X, y):
    """Return a score of machines with a linear kernel alone."""
    machine = estimator.decide
    machine = machine.members[0] if hasattr(machine, "members") else machine
    return 0.5 if type(machine.kernel).__name__ == "Linear" else -np.inf


def mean_scores(search, X, y, sample_weight=None):
    """Return the mean scores of a search that is fitted here."""
    return search.fit(X, y, sample_weight=sample_weight).cv_results_["mean_test_score"]


def test_the_default_score_of_few_rows_is_a_number():
    X = regression_rows()[0][:7]
    y = np.random.default_rng(0).random(7)
    with pytest.warns(UserWarning, match="7 rows, .* has 3 folds instead of 5") as warned:
        search = KernelImputationRegressorCV(Cs=[1, 10]).fit(X, y)
    assert len(warned) == 1
    assert np.isfinite(search.best_score_)
    assert search.n_splits_ == 3


def test_of_fewer_than_four_rows_nothing_is_chosen():
    X, y = regression_rows()
    with pytest.warns(UserWarning, match="fewer than 4 rows leave nothing to hold out"):
        search = KernelImputationRegressorCV(Cs=[10]).fit(X[:3], y[:3])
    assert search.best_params_["C"] == 1.0
    assert not hasattr(search, "cv_results_")


def test_a_score_that_is_never_a_number_is_refused():
    X, y = related_rows()
    message = "The 'scoring' parameter of KernelImputationClassifierCV must .* none of 8 candidates"
    search = KernelImputationClassifierCV(**QUICK_SEARCH, scoring=nothing)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")


def test_candidates_without_a_score_rank_last():
    X, y = related_rows()
    search = KernelImputationClassifierCV(**QUICK_SEARCH, scoring=linear_only)
    with pytest.warns(UserWarning, match="4 of 8 candidates could not be judged") as warned:
        search.fit(X, y)
    assert len(warned) == 1
    results = search.cv_results_
    assert search.best_params_["kernel"] == "linear"
    ranks = dict(zip(results["param_kernel"], results["rank_test_score"], strict=True))
    assert ranks == {"linear": 1, "gaussian": 5}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_candidate_counts_where_every_fold_has_a_score(bad):
    candidates = tuple(Candidate("linear", C, "scale", np.inf, "mean") for C in (1.0, 2.0, 3.0))
    scores = np.array([[0.9, bad], [0.2, 0.3], [-bad, bad]])
    results = SearchResults(candidates, scores)
    assert results.best_index == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert results.cv_results()["rank_test_score"].tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    "scoring", ["neg_max_error", make_scorer(max_error, greater_is_better=False)], ids=str
)
def test_a_metric_without_weights_judges_rows_alike(scoring):
    X, y = regression_rows()
    weight = np.linspace(0.5, 2.0, 60)
    options = {**QUICK_SEARCH, "etas": [], "cv": KFold(3)}
    search = KernelImputationRegressorCV(**options, scoring=scoring)
    scores = mean_scores(search, X, y, weight)
    assert np.isfinite(scores).all()
    assert (scores < 0.0).all()


def test_weights_count_in_the_score_where_they_can():
    X, y = related_rows(share=0.4)
    # Weights within the folds that the machines never see.
    train, test = np.arange(40), np.arange(40, 60)
    weight = np.ones(60)
    weight[test] = np.arange(1.0, 21.0)
    options = {**QUICK_SEARCH, "cv": [(train, test)]}
    alike = mean_scores(KernelImputationClassifierCV(**options), X, y)
    weighted = mean_scores(KernelImputationClassifierCV(**options), X, y, weight)
    own = KernelImputationClassifierCV(**options, scoring=make_scorer(share_of_hits))
    unweighted = mean_scores(own, X, y, weight)
    # gammas and etas are given, so that only the scores see the weights.
    np.testing.assert_allclose(unweighted, alike)
    assert np.abs(weighted - alike).max() > 1e-6


@pytest.mark.parametrize("scoring", [None, "accuracy"])
@pytest.mark.parametrize("names", [("no", "yes"), (3, 1)], ids=str)
def test_the_accuracy_is_that_of_scikit_learn(scoring, names):
    X, y = related_rows(share=0.4)
    y = np.array(names)[y]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    searches = [
        KernelImputationClassifierCV(**QUICK_SEARCH, scoring=each)
        for each in (scoring, make_scorer(accuracy_score))
    ]
    for weights in (None, weight):
        ours, theirs = (mean_scores(search, X, y, weights) for search in searches)
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_a_request_forbids_a_scorer_its_weights():
    X, y = related_rows(share=0.4)
    weight = np.ones(60)
    weight[40:] = np.arange(1.0, 21.0)
    options = {**QUICK_SEARCH, "cv": [(np.arange(40), np.arange(40, 60))]}
    alike = mean_scores(KernelImputationClassifierCV(**options), X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=False)
        search = KernelImputationClassifierCV(**options, scoring=scorer)
        np.testing.assert_allclose(mean_scores(search, X, y, weight), alike)
