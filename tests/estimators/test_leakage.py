"""On pure noise a cross-validated imputer scores chance; one fitted beforehand does not."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernimpute import KernelImputationClassifier, KernelImputer
from tests.estimators.problems import GUIDED, GUIDED_SVM, amputed

N_SEEDS = 4
CHANCE = 0.5
BAND = 4.0 * 0.5 / np.sqrt(100 * N_SEEDS)
"""Four standard errors of the share of right guesses among all rows of all seeds: .1. (Folds
share rows, which widens the spread of a fold's accuracy and hardly that of the mean.)"""


def noise(seed, n_samples=100, n_features=12, share=0.5):
    """Return uniform rows with gaps, and balanced labels that have nothing to do with them."""
    generator = np.random.default_rng(seed)
    X = amputed(generator.random((n_samples, n_features)), share, generator)
    return X, generator.permutation(np.arange(n_samples) % 2)


def accuracies(imputer, seed):
    """Return the cross-validated accuracy of a machine on noise, imputed in folds and before."""
    X, y = noise(seed)
    folds = StratifiedKFold(2, shuffle=True, random_state=seed)
    pipeline = make_pipeline(clone(imputer), SVC())
    inside = cross_val_score(pipeline, X, y, cv=folds, error_score="raise").mean()
    filled = clone(imputer).fit_transform(X, y)
    outside = cross_val_score(SVC(), filled, y, cv=folds).mean()
    return inside, outside


@pytest.mark.parametrize("options", [GUIDED, {"guidance": "direct"}], ids=str)
def test_inside_a_pipeline_the_score_is_chance_and_beforehand_it_is_worth_nothing(options):
    imputer = KernelImputer(**options, eta=1.0)
    scores = [accuracies(imputer, seed) for seed in range(N_SEEDS)]
    inside, outside = np.mean(scores, axis=0)
    assert abs(inside - CHANCE) < BAND and outside > 0.9


@pytest.mark.parametrize("options", [{}, {**GUIDED_SVM, "eta": 1.0}], ids=str)
def test_the_classifier_scores_chance(options):
    scores = []
    for seed in range(N_SEEDS):
        X, y = noise(seed)
        folds = StratifiedKFold(2, shuffle=True, random_state=seed)
        machine = KernelImputationClassifier(**options)
        scores.append(cross_val_score(machine, X, y, cv=folds, error_score="raise").mean())
    assert abs(np.mean(scores) - CHANCE) < BAND
