"""Inputs that broke other imputers, cases 1 to 8 of `cases/README.md`, each with its number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer
from tests.estimators.problems import (
    GUIDED,
    assert_filled,
    assert_table_filled,
    collected_warnings,
    uniform_rows,
)

MACHINES = [KernelImputationClassifier(cv=None), KernelImputationRegressor()]


@pytest.fixture
def rows():
    """Return the cases' X and y."""
    return uniform_rows()


def with_column(X, place, values):
    """Return a copy of X in which one column holds `values`."""
    X = X.copy()
    X[:, place] = values
    return X


def answer_of(fitted):
    """Return the method that answers for new rows."""
    methods = ("transform", "decision_function", "predict")
    return next(getattr(fitted, name) for name in methods if hasattr(fitted, name))


@pytest.mark.parametrize(
    "names", [["x0", "x1", "2", "x3", "x4"], [*"abcde"]], ids=["array", "frame"]
)
def test_case_1_an_empty_column_is_dropped_with_one_warning_that_names_it(rows, names):
    X, y = rows
    X = with_column(X, 2, np.nan)
    given, new = X, uniform_rows(seed=1)[0]
    if names[0] == "a":
        given, new = (pd.DataFrame(part, columns=names) for part in (given, new))
    imputer = KernelImputer()
    with collected_warnings() as collected:
        filled = imputer.fit_transform(given, y)
    assert [warning.category for warning in collected] == [UserWarning]
    assert names[2] in str(collected[0].message)
    assert_filled(X[:, [0, 1, 3, 4]], filled)
    assert imputer.get_feature_names_out().tolist() == names[:2] + names[3:]
    assert imputer.transform(new).shape == (40, 4)


def test_case_1_kept_it_holds_a_constant_and_the_other_columns_are_the_same(rows):
    X, y = rows
    X, X_new = with_column(X, 2, np.nan), uniform_rows(seed=1)[0]
    X_new = with_column(X_new, 2, np.nan)
    keeping, dropping = KernelImputer(keep_empty_features=True), KernelImputer()
    kept = keeping.fit_transform(X, y)
    with pytest.warns(UserWarning, match="2"):
        dropped = dropping.fit_transform(X, y)
    without = KernelImputer().fit(np.delete(X, 2, axis=1), y)
    assert kept.shape == (40, 5)
    np.testing.assert_array_equal(kept[:, 2], 0.0)
    np.testing.assert_array_equal(np.delete(kept, 2, axis=1), dropped)
    assert len(keeping.get_feature_names_out()) == 5
    new = keeping.transform(X_new)
    np.testing.assert_array_equal(new[:, 2], 0.0)
    np.testing.assert_array_equal(np.delete(new, 2, axis=1), dropping.transform(X_new))
    # It never reaches the reference: the fit is that of the other columns alone.
    np.testing.assert_array_equal(dropped, without.fit_transform(np.delete(X, 2, axis=1), y))


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_case_1_machines_predict_as_without_the_empty_column(rows, machine):
    X, y = rows
    with pytest.warns(UserWarning, match="2"):
        fitted = clone(machine).fit(with_column(X, 2, np.nan), y)
    without = clone(machine).fit(np.delete(X, 2, axis=1), y)
    expected = without.predict(np.delete(X, 2, axis=1))
    np.testing.assert_array_equal(fitted.predict(X), expected)


def constant(X):
    """Return a copy of X whose column 2 is 7.0 where it is observed."""
    return with_column(X, 2, np.where(np.isnan(X[:, 2]), np.nan, 7.0))


def test_case_2_gaps_of_a_constant_column_become_the_constant(rows):
    X, y = rows
    imputer = KernelImputer()
    filled = imputer.fit_transform(constant(X), y)
    np.testing.assert_array_equal(filled[:, 2], 7.0)
    np.testing.assert_array_equal(imputer.transform(constant(X))[:, 2], 7.0)
    without = KernelImputer().fit_transform(np.delete(X, 2, axis=1), y)
    np.testing.assert_array_equal(np.delete(filled, 2, axis=1), without)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_case_2_predictions_are_those_without_the_column(rows, machine):
    X, y = rows
    X_new = uniform_rows(seed=1)[0]
    fitted = clone(machine).fit(constant(X), y)
    without = clone(machine).fit(np.delete(X, 2, axis=1), y)
    expected = without.predict(np.delete(X_new, 2, axis=1))
    np.testing.assert_array_equal(fitted.predict(constant(X_new)), expected)
    # A new row whose value is another one is none the wiser.
    np.testing.assert_array_equal(fitted.predict(X_new), expected)


@pytest.mark.parametrize("estimator", [KernelImputer(), *MACHINES], ids=repr)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_case_3_infinity_is_refused_with_the_column_in_fit_and_after(rows, estimator, value):
    X, y = rows
    broken = X.copy()
    broken[4, 3] = value
    frame = pd.DataFrame(X, columns=[*"abcde"])
    broken_frame = pd.DataFrame(broken, columns=[*"abcde"])
    for clean, dirty, name in ((X, broken, r"\b3\b"), (frame, broken_frame, "'d'")):
        refused = pytest.raises(ValueError, match=f"(?s)inf.*{name}|{name}.*inf")
        with refused:
            clone(estimator).fit(dirty, y)
        answer = answer_of(clone(estimator).fit(clean, y))
        with refused:
            answer(dirty)


def test_case_4_four_rows_of_which_two_share_nothing():
    X = np.array([[0.0, np.nan], [np.nan, 1.0], [0.0, 1.0], [1.0, 0.0]])
    imputer = KernelImputer(guidance="direct")
    filled = imputer.fit_transform(X, [0, 1, 0, 1])
    assert_filled(X, filled)
    assert filled.min() >= 0.0
    assert filled.max() <= 1.0
    assert imputer.n_disjoint_pairs_ == 1


@pytest.mark.parametrize("guidance", ["direct", "anchored"])
def test_case_4_half_the_rows_observe_even_columns_and_half_odd_ones(guidance):
    X = np.random.default_rng(0).random((40, 5))
    y = (X[:, 0] > 0.5).astype(int)
    X[:20, 1::2] = np.nan
    X[20:, ::2] = np.nan
    imputer = KernelImputer(guidance=guidance)
    filled = imputer.fit_transform(X, y)
    assert_filled(X, filled)
    assert (filled >= np.nanmin(X, axis=0)).all()
    assert (filled <= np.nanmax(X, axis=0)).all()
    assert imputer.n_disjoint_pairs_ == 400
    machine = KernelImputationClassifier(guidance=guidance).fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("new_rows", ["auto", "similar", "reference"])
@pytest.mark.parametrize("feature_range", [None, (-5.0, 100.0)])
def test_case_5_gaps_at_transform_only(new_rows, feature_range):
    x = np.arange(30.0)
    X = np.column_stack([x, 2.0 * x])
    y = (x > 14).astype(int)
    imputer = KernelImputer(**GUIDED, new_rows=new_rows, feature_range=feature_range)
    np.testing.assert_array_equal(imputer.fit_transform(X, y), X)
    new = np.array([[6.0, np.nan], [33.0, np.nan]])
    filled = imputer.transform(new)
    assert_filled(new, filled)
    low, high = (0.0, 58.0) if feature_range is None else feature_range
    assert (filled[:, 1] >= low).all()
    assert (filled[:, 1] <= high).all()
    if new_rows != "reference":  # The mean knows nothing of the first column.
        assert filled[0, 1] < filled[1, 1]


def test_case_6_new_rows_lack_a_known_category():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(generator.choice(["a", "b", None], 40), categories=["a", "b"]),
            "x": generator.random(40),
        }
    )
    y = np.arange(40) % 2
    new = pd.DataFrame({"c": pd.Categorical(["a", None, "a"]), "x": [0.1, 0.2, np.nan]})
    imputer = KernelImputer().fit(frame, y)
    filled = imputer.transform(new)
    assert filled["c"].cat.categories.tolist() == ["a", "b"]
    assert not filled.isna().any(axis=None)
    assert filled["c"].iloc[[0, 2]].tolist() == ["a", "a"]
    assert KernelImputationClassifier(cv=None).fit(frame, y).predict(new).shape == (3,)


@pytest.mark.parametrize(
    "estimator",
    [
        KernelImputer(),
        *(KernelImputer(**GUIDED, new_rows=way) for way in ("auto", "similar", "reference")),
        *MACHINES,
    ],
    ids=repr,
)
def test_case_7_a_row_is_answered_alike_alone_and_in_any_batch(rows, estimator):
    X, y = rows
    answer = answer_of(clone(estimator).fit(X, y))
    alone, some, all_rows = (answer(part) for part in (X[3:4], X[3:14], X))
    np.testing.assert_allclose(alone[0], some[0], rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(alone[0], all_rows[3], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("estimator", [KernelImputer(), *MACHINES], ids=repr)
def test_case_7_an_empty_row_is_finite_and_an_empty_batch_is_refused(rows, estimator):
    X, y = rows
    answer = answer_of(clone(estimator).fit(X, y))
    assert np.isfinite(answer(np.full((1, 5), np.nan))).all()
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        answer(np.empty((0, 5)))


def test_case_8_nullable_dtypes_come_back_filled():
    frame = pd.DataFrame(
        {
            "count": pd.array([1, 2, pd.NA, 4] * 10, dtype="Int64"),
            "flag": pd.array([True, False, pd.NA, True] * 10, dtype="boolean"),
            "thing": pd.Series([1.0, None] * 20, dtype=object),
        }
    )
    y = np.arange(40) % 2
    imputer = KernelImputer()
    filled = imputer.fit_transform(frame, y)
    assert_table_filled(frame, filled)
    assert filled["thing"].tolist() == [1.0] * 40
    assert set(filled["count"]) <= {1, 2, 3, 4}
    assert_table_filled(frame, imputer.transform(frame))
    assert repr(imputer) == repr(clone(imputer)) == "KernelImputer()"
    assert KernelImputationClassifier().fit(frame, y).predict(frame).shape == (40,)
    assert np.isfinite(KernelImputationRegressor().fit(frame, y).predict(frame)).all()
