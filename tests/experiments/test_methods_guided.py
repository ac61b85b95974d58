from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.methods.candidates import choose
from experiments.methods.guided import (
    GUIDED,
    SELECTED_ETAS,
    guidance,
    guided_filling,
    mean_choice,
    own,
    refit,
)
from experiments.methods.named import method
from experiments.naming import parse_name
from kernimpute import (
    KernelImputationClassifier,
    KernelImputer,
    impute,
    learn_kernel,
    recover_features,
)
from kernimpute.kernels import Gaussian
from tests.experiments.small_problem import small_problem

C, GAMMA = 2.0, 0.5
PROBLEM = small_problem(held_out="amputed")


def filled(name, problem=PROBLEM, C=C, gamma=GAMMA):
    how = guidance(parse_name(name))
    return guided_filling(problem, how, C, gamma, *how.etas)


def imputed(problem=PROBLEM, y=None, **parameters):
    y = problem.train.y if y is None else y
    return impute(problem.train.X, y, kernel=Gaussian(GAMMA), C=C, **parameters)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("direct", {}),
        ("direct[eta=4,max_iter=3]", {"eta": 4 * C, "max_iter": 3}),
        ("anchored", {"variant": "anchored"}),
        ("expected", {"variant": "anchored", "reference": "expected"}),
        ("paper[max_iter=5]", {"variant": "paper", "max_iter": 5}),
        ("appendix", {"variant": "appendix", "max_iter": 150}),
        (
            "appendix[perturbation=no,max_iter=20]",
            {"variant": "appendix", "rho": math.inf, "max_iter": 20},
        ),
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


def test_direct_is_the_public_estimators():
    parameters = dict(C=C, gamma=GAMMA, eta=16 * C, feature_range=(0.0, 1.0))
    imputer = KernelImputer(**parameters)
    train = imputer.fit_transform(PROBLEM.train.X, PROBLEM.train.y)
    guided = filled("direct")
    np.testing.assert_allclose(guided.filling.train, train, atol=1e-12)
    new = guided.filling.new_rows(PROBLEM.test.X)
    np.testing.assert_allclose(new, imputer.transform(PROBLEM.test.X), atol=1e-12)
    classifier = KernelImputationClassifier(cv=None, **parameters)
    classifier.fit(PROBLEM.train.X, PROBLEM.train.y)
    expected = classifier.decision_function(PROBLEM.test.X)
    np.testing.assert_allclose(guided.machine.decision_function(new), expected, atol=1e-12)


def test_a_perturbation_without_bound_is_none_at_all():
    learned = learn_kernel(
        PROBLEM.train.X,
        PROBLEM.train.y,
        kernel=Gaussian(GAMMA),
        C=C,
        variant="appendix",
        rho=math.inf,
        max_iter=5,
    )
    assert np.isfinite(learned.K).all()
    assert np.isfinite(learned.dual_coef).all()


def test_shuffled_labels_guide_the_filling_only():
    problem = PROBLEM
    shuffled = np.random.default_rng(problem.seed("shuffled labels")).permutation(problem.train.y)
    assert (shuffled != problem.train.y).any()
    guided = filled("direct[labels=shuffled]")
    np.testing.assert_array_equal(guided.filling.train, imputed(y=shuffled).X)
    how = guidance(parse_name("direct[labels=shuffled]"))
    for candidate in refit(problem, how):
        # The machine after it learned from the true labels.
        assert candidate.train_accuracy > 0.6
    assert not how.has_machine


def test_stage_two_alone_fits_the_observed_sums_at_any_gamma():
    X = PROBLEM.train.X
    kernel = Gaussian(GAMMA)
    observed = ~np.isnan(X)
    target = kernel.inverse_link(
        kernel.link(kernel.observed_sums(np.where(observed, X, 0.0), observed))
    )
    expected = recover_features(X, target, kernel=kernel).X
    np.testing.assert_allclose(filled("K_o").filling.train, expected, atol=1e-6)
    assert filled("K_o").filling is filled("K_o", gamma=8.0).filling
    assert filled("K_o").machine is None


def test_more_than_two_classes_share_a_filling():
    problem = small_problem(n_classes=3)
    guided = filled("direct", problem)
    assert guided.machine.decision_function(problem.test.X).shape == (problem.test.y.size, 3)
    chosen = choose(own(problem, guidance(parse_name("direct"))), problem, ("plain",))["plain"]
    assert chosen.holdout_accuracy > 0.5


def test_settings_lie_around_mean_imputation_s_choice():
    C_mean, gamma_mean = mean_choice(PROBLEM)
    settings = [
        (one.parameters["C"], one.parameters["gamma"])
        for one in own(PROBLEM, guidance(parse_name("direct")))
    ]
    factors = (0.5, 1.0, 2.0)
    assert settings == [(C_mean * f, gamma_mean * g) for f in factors for g in factors]
    middle = [one.parameters for one in refit(PROBLEM, guidance(parse_name("paper[max_iter=2]")))]
    assert middle == [{"C": C_mean, "gamma": gamma_mean}]
    fixed = [one.parameters for one in own(PROBLEM, guidance(parse_name("direct[C=1,gamma=1]")))]
    assert fixed == [{"C": 1, "gamma": 1}]


def test_one_filling_serves_every_classifier():
    how = guidance(parse_name("direct"))
    tables = [one.filled for one in own(PROBLEM, how)]
    again = [one.filled for one in refit(PROBLEM, how)]
    assert all(one is other for one, other in zip(tables, again, strict=True))


@pytest.mark.parametrize("name", GUIDED)
def test_unknown_options_are_refused(name):
    with pytest.raises(ValueError, match=f"An option of {name} must be one of: C, gamma"):
        guidance(parse_name(f"{name}[width=3]"))


@pytest.mark.parametrize(
    "name",
    ["direct[labels=none]", "direct[eta=-1]", "direct[eta=small]", "direct[perturbation=no]"],
)
def test_options_of_other_values_are_refused(name):
    with pytest.raises(ValueError, match="must be"):
        guidance(parse_name(name))


def test_an_infinite_eta_is_the_reference():
    guided = filled("direct[eta=inf]")
    reference = imputed(eta=math.inf).X
    np.testing.assert_array_equal(guided.filling.train, reference)


def test_a_selected_eta_ends_at_mean_imputation():
    problem = small_problem()
    candidates = list(method("direct[eta=select]+refit").candidates(problem))
    etas = [candidate.parameters["eta"] for candidate in candidates]
    assert etas[: len(SELECTED_ETAS)] == list(SELECTED_ETAS)
    means = np.nanmean(problem.train.X, axis=0)
    anchored = np.where(np.isnan(problem.train.X), means, problem.train.X)
    for candidate in candidates:
        assert (candidate.parameters["eta"] == np.inf) == np.allclose(candidate.filled, anchored)


def test_a_selected_eta_needs_a_machine_of_the_filling():
    with pytest.raises(ValueError, match="The eta of direct must be a number here"):
        method("direct[eta=select]+logistic")
