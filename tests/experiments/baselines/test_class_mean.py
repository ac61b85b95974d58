"""Class means: what fills training rows, what fills new ones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments.baselines import ClassMeanImputer


def gappy(seed, n_rows=40):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3))
    y = np.array(["a", "b", "c"])[generator.integers(3, size=n_rows)]
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, y


def test_training_rows_are_filled_within_their_classes():
    X, y = gappy(0)
    filled = ClassMeanImputer().fit_transform(X, y)
    for name in np.unique(y):
        assert np.allclose(filled[y == name], SimpleImputer().fit_transform(X[y == name]))


def test_new_rows_are_filled_by_column_means():
    X, y = gappy(1)
    new, _ = gappy(2)
    imputer = ClassMeanImputer().fit(X, y)
    assert np.allclose(imputer.transform(new), SimpleImputer().fit(X).transform(new))


def test_observed_cells_stay():
    X, y = gappy(3)
    filled = ClassMeanImputer().fit_transform(X, y)
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_a_class_that_shows_nothing_takes_the_column_mean():
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    filled = ClassMeanImputer().fit_transform(X, [0, 0, 1])
    assert np.array_equal(filled, [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]])


def test_one_class_is_the_column_means():
    X, y = gappy(4)
    imputer = ClassMeanImputer()
    filled = imputer.fit_transform(X, np.zeros(len(y)))
    assert np.allclose(filled, imputer.transform(X))


def test_labels_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        ClassMeanImputer().fit([[0.0], [1.0]], [0.5, 1.7])


@parametrize_with_checks([ClassMeanImputer()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
