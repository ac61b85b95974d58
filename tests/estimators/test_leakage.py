"""On pure noise a cross-validated imputer scores chance; one fitted beforehand does not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_score

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputer,
)
from tests.estimators.leakage import accuracies, noise

SEARCH = KernelImputationClassifierCV(
    kernels=("gaussian",), Cs=[1.0], gammas=[0.5], etas=[1.0], cv=3
)
"""A search between the reference alone and a weak anchor."""

N_SEEDS = 8
CHANCE = 0.5
BAND = 4.0 * 0.5 / np.sqrt(100 * N_SEEDS)
"""Four standard errors of the share of right guesses among all rows of all seeds: .071. (Folds
share rows, which widens the spread of a fold's accuracy and hardly that of the mean.)"""


@pytest.fixture(scope="module")
def free():
    """Return (inside, outside) of a weakly anchored imputer, shape (N_SEEDS, 2)."""
    return np.array([accuracies(KernelImputer(eta=1.0), seed) for seed in range(N_SEEDS)])


def test_inside_a_cross_validated_pipeline_the_score_is_chance(free):
    assert abs(free[:, 0].mean() - CHANCE) < BAND


def test_fitted_on_all_rows_beforehand_the_score_is_worth_nothing(free):
    assert free[:, 1].min() > 0.9


def test_a_strong_anchor_leaks_less_and_leaks():
    imputer = KernelImputer(eta=16.0, gamma="scale")
    inside, outside = np.mean([accuracies(imputer, seed) for seed in range(N_SEEDS)], axis=0)
    assert abs(inside - CHANCE) < BAND
    assert outside > CHANCE + BAND


def test_at_the_defaults_the_pipeline_is_honest():
    inside = [accuracies(KernelImputer(), seed)[0] for seed in range(N_SEEDS)]
    assert abs(np.mean(inside) - CHANCE) < BAND


def test_an_imputer_that_sees_no_labels_scores_chance_either_way():
    scores = np.mean([accuracies(SimpleImputer(), seed) for seed in range(N_SEEDS)], 0)
    assert (np.abs(scores - CHANCE) < BAND).all()


@pytest.mark.parametrize(
    "machine",
    [KernelImputationClassifier(eta=1.0, cv=None), SEARCH],
    ids=lambda machine: type(machine).__name__,
)
def test_the_classifiers_score_chance(machine):
    scores = []
    for seed in range(N_SEEDS):
        X, y = noise(seed)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        scores.append(cross_val_score(machine, X, y, cv=folds, error_score="raise").mean())
    assert abs(np.mean(scores) - CHANCE) < BAND


def test_the_searchs_own_score_is_that_of_its_better_guess():
    """The better of two candidates at chance: .56 standard errors of .05 above it, on average."""
    scores = []
    for seed in range(N_SEEDS):
        X, y = noise(seed)
        scores.append(clone(SEARCH).fit(X, y).best_score_)
    assert np.mean(scores) < CHANCE + 0.03 + BAND


def test_probabilities_learned_on_noise_are_those_of_the_classes():
    X, y = noise(0)
    X_new, _ = noise(1)
    shares = KernelImputationClassifier(eta=1.0).fit(X, y).predict_proba(X_new)
    assert np.abs(shares - CHANCE).max() < 0.25
