"""Methods: every one selects and predicts, tries its settings in order, fills as it should."""

import math
from itertools import islice, product

import numpy as np
import pytest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.svm import SVC

from experiments import registry
from experiments.methods.candidates import GRID, Candidate, choose
from experiments.methods.fillers import LabelAppended, imputer_filling
from experiments.methods.filling import with_indicators
from experiments.methods.guided import (
    GUIDED,
    SELECTED_ETAS,
    guidance,
    guided_filling,
    mean_choice,
    refit,
)
from experiments.methods.machines import near
from experiments.methods.named import method
from experiments.metrics import filling_scores, prediction_scores, separation_scores
from experiments.naming import parse_name
from kernimpute import impute
from kernimpute.kernels import Gaussian
from tests.experiments.small_problem import small_problem

C, GAMMA = 2.0, 0.5
PROBLEM = small_problem(held_out="amputed")
LARGER = small_problem(held_out="amputed", empty_column=True, n_rows=50)

NAMES = """
mean+svc_near mean+mlp mean+hgb mean+indicators+logistic
class_mean+svc_near knn[k=3]+svc_near iterative_label+svc_near
missforest+logistic joint+logistic kernel_imputer+logistic kernel_imputer[subsets=2]+svc_near
direct+own direct+refit direct+indicators+logistic direct[labels=shuffled]+refit
direct[eta=select]+refit anchored+own expected+refit paper[max_iter=5]+own
appendix[perturbation=no,max_iter=5]+own released[max_iter=5]+own K_o+refit
hgb+indicators gaussian karma genrbf geom expected_kernel
kernel_classifier kernel_classifier[C=1,smooth=0.5]
""".split()


@pytest.mark.filterwarnings("ignore:.*columns without any observed value:UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_every_method_selects_and_predicts(name):
    compared = method(name)
    selected = choose(compared.candidates(LARGER), LARGER, compared.rules)["plain"]
    scores = prediction_scores(selected.candidate.model, LARGER.test)
    assert scores["accuracy"] > 0.6 and math.isfinite(scores["auc"])
    filled = selected.candidate.filled
    assert (filled is None) == ("+" not in name or name.startswith("hgb"))
    if filled is not None:
        assert all(map(math.isfinite, filling_scores(filled, LARGER.train).values()))
        assert all(map(math.isfinite, separation_scores(filled, LARGER.train.y).values()))


@pytest.mark.parametrize(
    "name",
    """mean+svc mean+mlp class_mean+logistic iterative_label+hgb direct+own direct+refit
    anchored+own released[max_iter=5]+own hgb gaussian karma genrbf kernel_classifier""".split(),
)
def test_methods_take_more_than_two_classes(name):
    first = next(iter(method(name).candidates(small_problem(n_classes=3))))
    assert set(first.model.predict(PROBLEM.test.X)) <= {0, 1, 2}


def test_the_grid_of_machines_is_scikit_learns():
    means = np.nanmean(PROBLEM.train.X, axis=0)
    train = np.where(np.isnan(PROBLEM.train.X), means, PROBLEM.train.X)
    test = np.where(np.isnan(PROBLEM.test.X), means, PROBLEM.test.X)
    candidates = method("mean+svc").candidates(PROBLEM)
    for (C, gamma), candidate in zip(product(GRID, GRID), candidates, strict=True):
        machine = SVC(C=C, gamma=gamma).fit(train, PROBLEM.train.y)
        found = candidate.model.decision_function(PROBLEM.test.X)
        np.testing.assert_allclose(found, machine.decision_function(test), atol=5e-3)
        assert candidate.train_accuracy == machine.score(train, PROBLEM.train.y)


def test_ties_go_to_the_smallest_setting_and_near_grids_are_around_it():
    method_ = method("mean+svc")
    accuracies = {
        tuple(one.parameters.values()): np.mean(
            one.model.predict(PROBLEM.holdout.X) == PROBLEM.holdout.y
        )
        for one in method_.candidates(PROBLEM)
    }
    best = max(accuracies.values())
    ties = [setting for setting, accuracy in accuracies.items() if accuracy == best]
    assert len(ties) > 1
    C, gamma = mean_choice(PROBLEM)
    assert (C, gamma) == min(ties)
    around = list(product(near(C), near(gamma)))
    for name in ("iterative+svc_near", "direct+own", "direct+refit"):
        found = [tuple(one.parameters.values()) for one in method(name).candidates(PROBLEM)]
        assert found == around
    one = method("paper[max_iter=2]+refit").candidates(PROBLEM)
    assert [tuple(candidate.parameters.values()) for candidate in one] == [(C, gamma)]


@pytest.mark.parametrize(
    "name", [name for name in registry.FILLERS if name not in (*GUIDED, "newimp")]
)
def test_all_gaps_are_filled_and_observed_cells_stay(name):
    problem = small_problem(held_out="amputed", empty_column=True)
    filling = imputer_filling(problem, name)
    assert filling is imputer_filling(problem, name)
    for before, after in (
        (problem.train.X, filling.train),
        (problem.test.X, filling.new_rows(problem.test.X)),
    ):
        observed = ~np.isnan(before)
        np.testing.assert_array_equal(after[observed], before[observed])
        assert (after >= 0).all() and (after <= 1).all()
        assert (after[~observed[:, 2], 2] == 0.5).all()


def test_fillings_are_those_of_the_imputers():
    for name, imputer in (("mean", SimpleImputer()), ("knn[k=3]", KNNImputer(n_neighbors=3))):
        filling = imputer_filling(PROBLEM, name)
        np.testing.assert_array_equal(filling.train, imputer.fit_transform(PROBLEM.train.X))
        expected = imputer.transform(PROBLEM.test.X)
        np.testing.assert_allclose(filling.new_rows(PROBLEM.test.X), expected, atol=1e-12)
    assert imputer_filling(PROBLEM, "kernel_imputer").status == "CONVERGED"
    assert imputer_filling(PROBLEM, "mean").status == ""


def test_the_appended_label_guides_training_rows_and_is_unknown_for_new_ones():
    problem = small_problem(held_out="amputed", n_classes=3)
    X, y = problem.train.X, problem.train.y
    appended = LabelAppended(IterativeImputer(random_state=0, max_iter=3, tol=1e9))
    filled = appended.fit_transform(X, y)
    columns = np.column_stack([y == 1, y == 2]).astype(float)
    alone = IterativeImputer(random_state=0, max_iter=3, tol=1e9)
    np.testing.assert_array_equal(filled, alone.fit_transform(np.hstack([X, columns]))[:, :4])
    unknown = np.full((problem.test.y.size, 2), np.nan)
    expected = alone.transform(np.hstack([problem.test.X, unknown]))[:, :4]
    np.testing.assert_array_equal(appended.transform(problem.test.X), expected)


def test_indicators_are_those_of_training_columns_with_gaps():
    X = PROBLEM.train.X.copy()
    X[:, 1] = 0.5
    filling = imputer_filling(PROBLEM, "mean")
    both = with_indicators(filling, X)
    np.testing.assert_array_equal(both.train[:, :4], filling.train)
    np.testing.assert_array_equal(both.train[:, 4:], np.isnan(X[:, [0, 2, 3]]))
    new = both.new_rows(PROBLEM.test.X)
    np.testing.assert_array_equal(new[:, 4:], np.isnan(PROBLEM.test.X[:, [0, 2, 3]]))


def test_an_option_is_selected_unless_the_name_gives_it():
    tried = [one.parameters["k"] for one in method("knn+svc_near").candidates(PROBLEM)]
    assert tried == [5, 10, 20] * 9
    named = islice(method("knn[k=10]+svc_near").candidates(PROBLEM), 1)
    assert "k" not in next(named).parameters


def filled(name, problem=PROBLEM, C=C, gamma=GAMMA):
    how = guidance(parse_name(name))
    return guided_filling(problem, how, C, gamma, *how.etas)


def imputed(y=PROBLEM.train.y, **parameters):
    return impute(PROBLEM.train.X, y, kernel=Gaussian(GAMMA), C=C, **parameters)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("direct", {}),
        ("direct[eta=4,max_iter=3]", {"eta": 4 * C, "max_iter": 3}),
        ("direct[eta=inf]", {"eta": math.inf}),
        ("anchored", {"variant": "anchored"}),
        ("expected", {"variant": "anchored", "reference": "expected"}),
        ("paper[max_iter=5]", {"variant": "paper", "max_iter": 5}),
        ("appendix[max_iter=20]", {"variant": "appendix", "max_iter": 20}),
        (
            "released[perturbation=no,max_iter=20]",
            {"variant": "released", "radius": 0.0, "max_iter": 20},
        ),
    ],
)
def test_a_filling_and_its_machine_are_those_of_impute(name, parameters):
    result = imputed(**parameters)
    guided = filled(name)
    np.testing.assert_array_equal(guided.filling.train, result.X)
    assert guided.filling.status == result.status.name
    rows = guided.filling.new_rows(PROBLEM.test.X)
    decided = Gaussian(GAMMA)(rows, result.X) @ result.dual_coef + result.intercept
    np.testing.assert_allclose(guided.machine.decision_function(rows), decided, atol=1e-12)
    np.testing.assert_array_equal(guided.machine.predict(rows), (decided > 0).astype(int))


def test_shuffled_labels_guide_the_filling_only():
    y = PROBLEM.train.y
    shuffled = np.random.default_rng(PROBLEM.seed("shuffled labels")).permutation(y)
    assert (shuffled != y).any()
    guided = filled("direct[labels=shuffled]")
    np.testing.assert_array_equal(guided.filling.train, imputed(shuffled).X)
    for candidate in refit(PROBLEM, guidance(parse_name("direct[labels=shuffled]"))):
        # The machine after it learned from the true labels.
        assert candidate.train_accuracy > 0.6


def test_a_selected_eta_ends_at_mean_imputation():
    candidates = list(method("direct[eta=select]+refit").candidates(PROBLEM))
    etas = [candidate.parameters["eta"] for candidate in candidates]
    assert etas[: len(SELECTED_ETAS)] == list(SELECTED_ETAS)
    X = PROBLEM.train.X
    means = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    for candidate in candidates:
        assert (candidate.parameters["eta"] == np.inf) == np.allclose(candidate.filled, means)


class Right:
    """Predicts so many of the holdout rows rightly."""

    def __init__(self, n_right):
        self.n_right = n_right

    def predict(self, X):
        wrong = np.arange(len(X)) >= self.n_right
        return np.where(wrong, 1 - PROBLEM.holdout.y, PROBLEM.holdout.y)


@pytest.mark.parametrize(
    ("offered", "plain", "released"),
    [
        ([(10, 1.0), (20, 1.0), (20, 1.0), (5, 1.0)], 1, 1),
        ([(25, 0.8), (24, 0.8), (15, 0.6), (15, 0.9)], 0, 2),
        ([(20, 0.1)], 0, None),
    ],
    ids=["first among equals", "training above holdout", "none passes"],
)
def test_the_rules_select(offered, plain, released):
    candidates = [Candidate({"at": i}, Right(n), train) for i, (n, train) in enumerate(offered)]
    chosen = choose(iter(candidates), PROBLEM, ("plain", "released"))
    assert chosen["plain"].candidate.parameters["at"] == plain
    assert chosen["plain"].holdout_accuracy == offered[plain][0] / PROBLEM.holdout.y.size
    found = chosen["released"].candidate.parameters["at"] if "released" in chosen else None
    assert found == released
