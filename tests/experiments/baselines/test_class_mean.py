"""Class means: what fills training rows, what fills new ones."""

import numpy as np
from sklearn.impute import SimpleImputer

from experiments.baselines.class_mean import ClassMeanImputer


def gappy(seed, n_rows=40):
    generator = np.random.default_rng(seed)
    X, y = generator.normal(size=(n_rows, 3)), generator.integers(3, size=n_rows)
    X[generator.random(X.shape) < 0.3] = np.nan
    return X, y


def test_training_rows_are_filled_by_class_and_new_rows_by_column():
    X, y = gappy(0)
    new, _ = gappy(1)
    imputer = ClassMeanImputer()
    filled = imputer.fit_transform(X, y)
    for label in np.unique(y):
        assert np.allclose(filled[y == label], SimpleImputer().fit_transform(X[y == label]))
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert np.allclose(imputer.transform(new), SimpleImputer().fit(X).transform(new))
