"""Extreme numbers, refits and taken names: a finite answer or one sentence of ours."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer

from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer
from tests.estimators.problems import related_rows


@pytest.mark.parametrize("size", [1e200, 1e160, 1e-170, 1e-300])
def test_a_regression_does_not_depend_on_the_unit_of_the_target(size):
    X, y = related_rows()
    plain = KernelImputationRegressor().fit(X, y - 0.5).predict(X)
    scaled = KernelImputationRegressor().fit(X, (y - 0.5) * size).predict(X)
    np.testing.assert_allclose(scaled / size, plain, rtol=1e-6, atol=1e-9)


def test_a_target_that_predictions_would_overflow_is_refused():
    X, y = related_rows()
    with pytest.raises(ValueError, match="'y' parameter of KernelImputationRegressor"):
        KernelImputationRegressor().fit(X, (y - 0.5) * 1e306)


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
def test_a_number_far_outside_is_taken_to_be_far_with_a_warning(kernel):
    X, y = related_rows()
    classifier = KernelImputationClassifier(kernel=kernel).fit(X, y)
    row = np.full((1, X.shape[1]), np.nan)
    row[0, 0] = 1e300
    with pytest.warns(UserWarning, match=r"farther than 1e\+06 times the training range"):
        probabilities = classifier.predict_proba(row)
    assert np.isfinite(probabilities).all()
    with pytest.warns(UserWarning, match="farther than"):
        filled = KernelImputer(kernel=kernel).fit(X, y).transform(row)
    assert np.isfinite(filled).all()
    assert filled[0, 0] == 1e300


def test_a_refit_leaves_nothing_of_the_fit_before():
    X, y = related_rows()
    imputer = KernelImputer().fit(X, y)
    imputer.set_params(variant="anchored", task="regression").fit(X, y + 0.25)
    assert not hasattr(imputer, "eta_")
    assert not hasattr(imputer, "classes_")
    classifier = KernelImputationClassifier().fit(X, y)
    classifier.set_params(cv=None).fit(X, y)
    classifier.set_params(cv=5)
    assert not hasattr(classifier, "predict_proba")


def test_an_indicator_never_takes_a_column_of_the_users():
    X, y = related_rows()
    frame = pd.DataFrame(X[:, :2], columns=["a", "missingindicator_a"])
    with pytest.raises(ValueError, match="'a' and 'missingindicator_a'.*rename"):
        KernelImputer(add_indicator=True).fit(frame, y)
    assert KernelImputer().fit_transform(frame, y).columns.tolist() == [*frame.columns]


def test_indicators_of_a_table_with_two_levels_of_names():
    X, y = related_rows()
    levels = pd.MultiIndex.from_product([[f"c{k}" for k in range(X.shape[1])], ["mean"]])
    filled = KernelImputer(add_indicator=True).fit_transform(pd.DataFrame(X, columns=levels), y)
    assert filled.columns[: X.shape[1]].equals(levels)
    assert filled.columns[X.shape[1]] == ("missingindicator_c0", "mean")


def test_a_reference_of_another_width_is_refused_by_name():
    X, y = related_rows()
    imputer = KernelImputer(reference=SimpleImputer(add_indicator=True))
    with pytest.raises(ValueError, match="'reference' parameter of KernelImputer.*SimpleImputer"):
        imputer.fit(X, y)


def test_a_category_of_weightless_rows_is_refused_before_the_fit():
    X, y = related_rows()
    frame = pd.DataFrame({"number": X[:, 0], "code": ["z", *(["p", "q"] * y.size)[: y.size - 1]]})
    weights = np.ones(y.size)
    weights[0] = 0.0
    imputer = KernelImputer()
    with pytest.raises(ValueError, match="'code'.*'z'"):
        imputer.fit(frame, y, sample_weight=weights)
    assert not hasattr(imputer, "n_iter_")
    forgiving = KernelImputer(handle_unknown="missing")
    with pytest.warns(UserWarning, match="taken for gaps"):
        filled = forgiving.fit_transform(frame, y, sample_weight=weights)
    assert set(filled["code"]) == {"p", "q"}
