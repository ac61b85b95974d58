"""MI: the same as scikit-learn's parts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments.baselines import MeanClassifier


def gappy(seed, n_rows=40):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0.0, "yes", "no")
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, y


@pytest.mark.parametrize(("C", "gamma"), [(1.0, "scale"), (8.0, 0.25)])
def test_the_same_by_hand(C, gamma):
    X, y = gappy(0)
    new, _ = gappy(1)
    means = np.nanmean(X, axis=0)
    machine = SVC(C=C, gamma=gamma).fit(np.where(np.isnan(X), means, X), y)
    filled = np.where(np.isnan(new), means, new)
    model = MeanClassifier(C, gamma).fit(X, y)
    assert np.array_equal(model.predict(new), machine.predict(filled))
    assert np.allclose(model.decision_function(new), machine.decision_function(filled))


def test_a_column_without_any_observed_cell_decides_nothing():
    X, y = gappy(2)
    wider = np.column_stack([X, np.full(len(X), np.nan)])
    model = MeanClassifier(gamma=1.0).fit(wider, y)
    values = MeanClassifier(gamma=1.0).fit(X, y).decision_function(X)
    assert np.allclose(model.decision_function(wider), values)


def test_more_classes():
    X, _ = gappy(3, 60)
    y = np.argmax(np.nan_to_num(X, nan=-9.0), axis=1)
    assert MeanClassifier(10.0).fit(X, y).score(X, y) > 0.8


def test_refusals():
    with pytest.raises(ValueError, match="'C' parameter of MeanClassifier"):
        MeanClassifier(C=0.0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="'y' parameter of MeanClassifier must be of at least 2"):
        MeanClassifier().fit([[0.0], [1.0]], [0, 0])


@parametrize_with_checks([MeanClassifier()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
