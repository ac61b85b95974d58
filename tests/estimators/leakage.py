"""The experiment on pure noise: what imputing before cross-validation does to the score."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from tests.estimators.problems import amputed


def noise(seed, n_samples=100, n_features=30, share=0.5):
    """Return uniform rows with gaps, and balanced labels that have nothing to do with them."""
    generator = np.random.default_rng(seed)
    X = amputed(generator.random((n_samples, n_features)), share, generator)
    return X, generator.permutation(np.arange(n_samples) % 2)


def accuracies(imputer, seed):
    """Return the cross-validated accuracy of a machine on noise, imputed properly and not.

    Parameters
    ----------
    imputer : estimator
        An imputer that is guided by labels.
    seed : int
        Of the noise and of the folds.

    Returns
    -------
    inside, outside : float
        With the imputer fitted in each fold on its training rows; and with all rows imputed at
        once, their labels in hand, before the folds are made.
    """
    X, y = noise(seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    pipeline = make_pipeline(clone(imputer), SVC())
    inside = cross_val_score(pipeline, X, y, cv=folds, error_score="raise").mean()
    filled = clone(imputer).fit_transform(X, y)
    outside = cross_val_score(SVC(), filled, y, cv=folds).mean()
    return inside, outside
