"""A search that judges eta last: what it judges, and that it judges as a search over all does."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer

from kernimpute import KernelImputationClassifierCV, KernelImputationRegressorCV, KernelImputerCV
from kernimpute.estimators._candidates import Candidate
from kernimpute.estimators._search import judge_eta_last
from kernimpute.estimators._search_results import SearchResults
from tests.estimators.problems import related_rows

GRID = {
    "kernels": ["linear", "gaussian"],
    "Cs": [0.25, 4.0],
    "gammas": [0.1, 1.0],
    "etas": ["auto", 2.0],
    "cv": 3,
}
SEARCHES = [KernelImputerCV, KernelImputationClassifierCV, KernelImputationRegressorCV]


def scores_of(search):
    """Return the scores of all folds by candidate."""
    results = search.cv_results_
    splits = np.column_stack([results[f"split{k}_test_score"] for k in range(search.n_splits_)])
    return {
        tuple(map(str, params.values())): scores
        for params, scores in zip(results["params"], splits, strict=True)
    }


def pairs_of(results):
    """Return the C and gamma of each candidate."""
    return list(zip(results["param_C"], results["param_gamma"], strict=True))


@pytest.mark.parametrize("search_class", SEARCHES, ids=lambda value: value.__name__)
def test_what_is_judged_has_the_scores_of_a_search_over_all(search_class):
    X, y = related_rows()
    last = search_class(**GRID).fit(X, y)
    judged, everything = scores_of(last), scores_of(search_class(**GRID, search="all").fit(X, y))
    assert len(judged) < len(everything)
    for candidate, scores in judged.items():
        np.testing.assert_allclose(scores, everything[candidate], rtol=1e-9, atol=1e-12)
    assert last.best_score_ == max(scores.mean() for scores in judged.values())


def test_the_other_etas_are_judged_at_the_best_settings_of_each_kernel_and_reference():
    X, y = related_rows()
    references = ["mean", SimpleImputer(strategy="median")]
    grid = {**GRID, "Cs": [0.25, 1.0, 4.0, 16.0]}
    search = KernelImputerCV(**grid, references=references).fit(X, y)
    results = search.cv_results_
    for kernel in GRID["kernels"]:
        for reference in references:
            of_both = [
                params["kernel"] == kernel and params["reference"] is reference
                for params in results["params"]
            ]
            plain = of_both & (results["param_eta"].astype(float) == np.inf)
            others = np.flatnonzero(of_both & ~plain)
            assert len(others) == 3 * len(GRID["etas"])
            settings = {(results["param_C"][i], results["param_gamma"][i]) for i in others}
            assert len(settings) == 3
            chosen = np.array([setting in settings for setting in pairs_of(results)])
            scores = results["mean_test_score"]
            assert scores[plain & chosen].min() >= scores[plain & ~chosen].max() - 1e-12


def test_it_misses_what_is_best_with_another_eta_only():
    candidates = [
        Candidate("linear", C, "scale", eta, "mean") for C in (1.0, 2.0) for eta in (np.inf, 1.0)
    ]
    scores = dict(zip(candidates, (0.6, 0.7, 0.5, 0.9), strict=True))
    calls = []

    def judge(chosen):
        calls.append(len(chosen))
        return SearchResults(tuple(chosen), np.array([[scores[each]] for each in chosen]))

    found = judge_eta_last(judge, candidates, n_pairs=1)
    assert calls == [2, 1]
    assert found.candidates == tuple(candidates[:3])
    assert found.scores.ravel().tolist() == [0.6, 0.7, 0.5]
    assert found.best_index == 1
    calls.clear()
    # Where nothing is left out the folds are read once.
    assert judge_eta_last(judge, candidates, n_pairs=2).best_index == 3
    assert judge_eta_last(judge, candidates[::2], n_pairs=1).best_index == 0
    assert calls == [4, 2]


@pytest.mark.parametrize(
    ("finite", "judged_at"), [((5.0,), {5.0}), ((), {1.0, 2.0, 3.0, 4.0, 5.0})]
)
def test_settings_without_a_score_are_not_looked_about_from(finite, judged_at):
    candidates = [
        Candidate("linear", C, "scale", eta, "mean")
        for C in (1.0, 2.0, 3.0, 4.0, 5.0)
        for eta in (np.inf, 1.0)
    ]

    def judge(chosen):
        scores = [0.5 if each.C in finite or not each.is_plain else np.nan for each in chosen]
        return SearchResults(tuple(chosen), np.array(scores)[:, None])

    found = judge_eta_last(judge, candidates)
    assert {each.C for each in found.candidates if not each.is_plain} == judged_at


def test_of_equal_candidates_those_looked_about_from_are_spread():
    Cs = (4.0, 1.0, 2.0, 8.0, 16.0)
    candidates = tuple(Candidate("linear", C, "scale", np.inf, "mean") for C in Cs)
    results = SearchResults(candidates, np.array([[0.5], [0.5], [np.nan], [0.7], [0.5]]))
    assert results.best_index == 3
    assert results.leading(9) == [3, 1, 0, 4]
    assert results.leading(3) == [3, 1, 4]
    assert results.leading(2) == [3, 1]
    assert results.leading(0) == []


def test_the_reference_alone_is_enough():
    X, y = related_rows()
    options = {**GRID, "etas": []}
    last, everything = (
        KernelImputerCV(**options, search=search).fit(X, y) for search in ("eta_last", "all")
    )
    assert scores_of(last).keys() == scores_of(everything).keys()
    assert last.best_params_ == everything.best_params_
