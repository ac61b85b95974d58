from __future__ import annotations

import math
from inspect import isgenerator
from itertools import islice, product

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments.baselines import GenRBFKernel, GEOMClassifier, KARMAClassifier
from experiments.methods.candidates import choose
from experiments.methods.guided import mean_choice
from experiments.methods.machines import GRID, WIDE, gaussian_svc, near
from experiments.methods.named import method
from experiments.methods.rivals import OWN_C, OWN_SMOOTH
from experiments.metrics import filling_scores, prediction_scores, separation_scores
from kernimpute import KernelImputationClassifier
from tests.experiments.small_problem import small_problem

NAMES = [
    "mean+svc",
    "mean+svc_near",
    "mean+logistic",
    "mean+mlp",
    "mean+hgb",
    "mean+indicators+svc_near",
    "mean+indicators+logistic",
    "class_mean+svc_near",
    "knn[k=3]+svc_near",
    "iterative+logistic",
    "iterative_label+svc_near",
    "missforest+logistic",
    "kernel_imputer+logistic",
    "kernel_imputer[subsets=2]+svc_near",
    "direct+own",
    "direct+refit",
    "direct+logistic",
    "direct+mlp",
    "direct+indicators+logistic",
    "direct[labels=shuffled]+refit",
    "anchored+own",
    "expected+refit",
    "paper[max_iter=5]+own",
    "appendix[max_iter=5]+refit",
    "appendix[perturbation=no,max_iter=5]+own",
    "released[max_iter=5]+own",
    "K_o+refit",
    "K_o+logistic",
    "hgb",
    "hgb+indicators",
    "gaussian",
    "karma",
    "genrbf",
    "geom",
    "direct[eta=select]+own",
    "direct[eta=select]+refit",
    "expected_kernel",
    "kernel_classifier",
    "kernel_classifier[C=1,smooth=0.5]",
]

PROBLEMS = {
    "complete": small_problem(n_rows=80),
    "amputed": small_problem(held_out="amputed", n_rows=80),
    "empty column": small_problem(held_out="amputed", empty_column=True, n_rows=80),
}


@pytest.mark.filterwarnings("ignore:.*columns without any observed value:UserWarning")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_every_method_selects_and_predicts(name, problem):
    compared = method(name)
    selected = choose(compared.candidates(problem), problem, compared.rules)["plain"]
    scores = prediction_scores(selected.candidate.model, problem.test)
    assert scores["accuracy"] > 0.6
    assert math.isfinite(scores["auc"])
    assert 0.0 <= selected.candidate.train_accuracy <= 1.0
    filled = selected.candidate.filled
    assert (filled is None) == ("+" not in name or name.startswith("hgb"))
    if filled is not None:
        assert filled.shape == problem.train.X.shape
        assert all(map(math.isfinite, filling_scores(filled, problem.train).values()))
        assert all(map(math.isfinite, separation_scores(filled, problem.train.y).values()))


@pytest.mark.parametrize("name", [one for one in NAMES if one != "geom"])
def test_methods_take_more_than_two_classes(name):
    problem = small_problem(n_classes=3, n_rows=60)
    first = next(method(name).candidates(problem))
    assert set(first.model.predict(problem.test.X)) <= {0, 1, 2}


@pytest.mark.parametrize("name", NAMES)
def test_candidates_are_fitted_as_they_are_asked_for(name):
    assert isgenerator(method(name).candidates(PROBLEMS["complete"]))


@pytest.mark.parametrize("name", ["mean+svc", "genrbf", "geom"])
def test_candidates_come_with_the_smallest_c_first_and_then_the_smallest_gamma(name):
    parameters = [one.parameters for one in method(name).candidates(PROBLEMS["complete"])]
    settings = [tuple(one.values()) for one in parameters]
    assert settings == sorted(settings)
    assert {(one["C"], one["gamma"]) for one in parameters} == set(product(GRID, GRID))


def test_the_grid_of_machines_is_scikit_learn_s():
    problem = PROBLEMS["amputed"]
    means = np.nanmean(problem.train.X, axis=0)
    train = np.where(np.isnan(problem.train.X), means, problem.train.X)
    test = np.where(np.isnan(problem.test.X), means, problem.test.X)
    candidates = method("mean+svc").candidates(problem)
    for (C, gamma), candidate in zip(product(GRID, GRID), candidates, strict=True):
        machine = SVC(C=C, gamma=gamma).fit(train, problem.train.y)
        np.testing.assert_allclose(
            candidate.model.decision_function(problem.test.X),
            machine.decision_function(test),
            atol=5e-3,
        )
        assert candidate.train_accuracy == machine.score(train, problem.train.y)


def test_the_near_grid_is_around_mean_imputation_s_choice():
    problem = PROBLEMS["complete"]
    C, gamma = mean_choice(problem)
    chosen = choose(method("mean+svc").candidates(problem), problem, ("plain",))["plain"]
    assert (C, gamma) == tuple(chosen.candidate.parameters.values())
    candidates = method("iterative+svc_near").candidates(problem)
    settings = [tuple(candidate.parameters.values()) for candidate in candidates]
    assert settings == list(product(near(C), near(gamma)))


def test_equal_holdout_accuracies_go_to_the_smallest_c_and_then_gamma():
    problem = PROBLEMS["complete"]
    method_ = method("mean+svc")
    accuracies = {
        (one.parameters["C"], one.parameters["gamma"]): np.mean(
            one.model.predict(problem.holdout.X) == problem.holdout.y
        )
        for one in method_.candidates(problem)
    }
    best = max(accuracies.values())
    ties = [setting for setting, accuracy in accuracies.items() if accuracy == best]
    assert len(ties) > 1
    assert mean_choice(problem) == min(ties)


def test_rivals_are_the_baselines():
    problem = PROBLEMS["amputed"]
    X, y = problem.train.X, problem.train.y
    for candidate in islice(method("geom").candidates(problem), 40, 44):
        C, gamma, rounds = candidate.parameters.values()
        alone = GEOMClassifier(C=C, gamma=gamma, n_rounds=rounds).fit(X, y)
        np.testing.assert_allclose(
            candidate.model.decision_function(problem.test.X),
            alone.decision_function(problem.test.X),
            atol=1e-6,
        )
        predicted = alone.predict(problem.test.X)
        np.testing.assert_array_equal(candidate.model.predict(problem.test.X), predicted)
    one = next(islice(method("karma").candidates(problem), 2, 3))
    alone = KARMAClassifier(**one.parameters).fit(X, y)
    predicted = alone.predict(problem.test.X)
    np.testing.assert_array_equal(one.model.predict(problem.test.X), predicted)
    one = next(islice(method("genrbf").candidates(problem), 60, 61))
    kernel = GenRBFKernel().fit(X)
    C, gamma = one.parameters.values()
    machine = SVC(C=C, kernel="precomputed").fit(kernel(X, gamma=gamma), y)
    expected = machine.predict(kernel(problem.test.X, X, gamma=gamma))
    np.testing.assert_array_equal(one.model.predict(problem.test.X), expected)


def test_only_the_paper_s_rivals_are_read_by_the_released_rule():
    both = ("mean+svc", "geom", "karma", "genrbf", "newimp+svc", "newimp+svc_near")
    for name in both:
        assert method(name).rules == ("plain", "released")
        assert method(name).family == "rival"
    for name in ("mean+mlp", "mean+logistic", "knn+svc_near", "direct+own", "hgb"):
        assert method(name).rules == ("plain",)


def test_distances_of_held_out_rows_are_computed_once(monkeypatch):
    problem = PROBLEMS["amputed"]
    calls = []

    class Counting:
        train = problem.train.truth
        filled = train
        status = ""

        def new_rows(self, X):
            calls.append(X)
            return np.where(np.isnan(X), 0.5, X)

    for candidate in gaussian_svc(problem, Counting()):
        candidate.model.predict(problem.holdout.X)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("median+svc", "The filler of the method 'median\\+svc' must be one of: mean, class_mean"),
        ("mean+forest", "The classifier of the method 'mean\\+forest' must be one of: svc"),
        ("mean+own", "must be one of: svc, svc_near, logistic, mlp, hgb; got 'own'"),
        ("direct+indicators+own", "must be one of: svc, svc_near, logistic, mlp, hgb; got 'own'"),
        ("K_o+own", "must not be 'own': that filling has no machine"),
        ("direct[labels=shuffled]+own", "must not be 'own'"),
        ("mean", "A method must be filler\\+classifier, filler\\+indicators\\+classifier or one"),
        ("mean+flags+svc", "A method must be filler\\+classifier"),
        ("mean[k=3]+svc", "mean has no options; got 'k'"),
        ("mean+svc[C=1]", "svc has no options; got 'C'"),
        ("geom[C=1]", "geom has no options; got 'C'"),
        ("direct[eta=]+own", "Options must read key=value"),
    ],
)
def test_unknown_parts_are_refused_before_any_work(name, message):
    with pytest.raises(ValueError, match=message):
        method(name)


def test_a_plus_within_brackets_parts_nothing():
    assert method("direct[eta=1e+3]+own").name == "direct[eta=1e+3]+own"


def test_merged_fillings_keep_the_order_of_ties():
    candidates = method("knn+svc_near").candidates(small_problem())
    tried = [tuple(one.parameters.values()) for one in candidates]
    assert tried == sorted(tried)
    assert {parameters[-1] for parameters in tried} == {5, 10, 20}


@pytest.mark.parametrize("name, at", [("genrbf[grid=wide]", "gamma"), ("karma[grid=wide]", "C")])
def test_a_wide_grid_goes_further_down(name, at):
    candidates = method(name).candidates(small_problem())
    assert min(candidate.parameters[at] for candidate in candidates) == min(WIDE) < min(GRID)


def test_a_grid_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="The grid of karma must be one of: paper, wide"):
        method("karma[grid=tall]")


def test_the_default_classifier_is_named_by_its_own_defaults():
    problem = PROBLEMS["amputed"]
    plain, named, former = (
        next(iter(method(name).candidates(problem))).model
        for name in (
            "kernel_classifier",
            f"kernel_classifier[C={OWN_C},smooth={OWN_SMOOTH}]",
            "kernel_classifier[C=1,smooth=1]",
        )
    )
    assert plain.C == named.C == KernelImputationClassifier().C
    assert plain.kernel_.gamma == named.kernel_.gamma == former.kernel_.gamma / 4
