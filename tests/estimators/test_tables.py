"""Containers and kinds of columns: what comes back for what was given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer
from tests.estimators.problems import (
    assert_table_filled,
    mixed_table,
    regression_rows,
    uniform_rows,
)

MACHINES = [KernelImputationClassifier(cv=None), KernelImputationRegressor()]


@pytest.fixture
def table():
    """Return a mixed table and its labels."""
    return mixed_table()


# ---------------------------------------------------------------------------- containers


def test_a_pandas_table_comes_back_with_its_dtypes(table):
    frame, y = table
    kept = frame.copy(deep=True)
    imputer = KernelImputer()
    assert_table_filled(frame, imputer.fit_transform(frame, y))
    assert_table_filled(frame, imputer.transform(frame))
    assert_table_filled(frame.iloc[5:6], imputer.transform(frame.iloc[5:6]))
    pd.testing.assert_frame_equal(frame, kept)
    assert imputer.feature_names_in_.tolist() == frame.columns.tolist()


def polar(frame):
    """Return a mixed table as polars' own, gaps as nulls."""
    return pl.DataFrame(
        {
            "height": pl.Series(frame["height"].to_numpy(), nan_to_null=True),
            "weight": pl.Series(frame["weight"].to_numpy(), nan_to_null=True, dtype=pl.Float32),
            "age": pl.Series(
                [None if pd.isna(v) else int(v) for v in frame["age"]], dtype=pl.Int16
            ),
            "smoker": [None if pd.isna(v) else bool(v) for v in frame["smoker"]],
            "town": [None if pd.isna(v) else v for v in frame["town"]],
            "grade": pl.Series(
                [None if pd.isna(v) else v for v in frame["grade"]],
                dtype=pl.Enum(["low", "mid", "high"]),
            ),
        }
    )


def test_a_polars_table_comes_back_with_its_schema_and_the_same_fills(table):
    frame, y = table
    given = polar(frame)
    kept = given.clone()
    imputer = KernelImputer()
    expected = KernelImputer().fit(frame, y)
    for filled, like in (
        (imputer.fit_transform(given, y), expected.fit_transform(frame, y)),
        (imputer.transform(given), expected.transform(frame)),
    ):
        assert isinstance(filled, pl.DataFrame)
        assert filled.schema == given.schema
        assert sum(filled.null_count().row(0)) == 0
        for name in frame.columns:
            assert filled[name].to_list() == like[name].tolist()
    assert given.equals(kept)


def test_a_pyarrow_table_comes_back_with_its_schema(table):
    frame, y = table
    given = polar(frame).drop("grade").to_arrow()
    imputer = KernelImputer()
    for filled in (imputer.fit_transform(given, y), imputer.transform(given)):
        assert isinstance(filled, pa.Table)
        assert filled.schema.names == given.schema.names
        assert filled.schema.types == given.schema.types
        assert all(column.null_count == 0 for column in filled.columns)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_machines_predict_alike_from_pandas_and_polars(table, machine):
    frame, y = table
    one = clone(machine).fit(frame, y).predict(frame)
    other = clone(machine).fit(polar(frame), pl.Series(y)).predict(polar(frame))
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-10)


def test_an_object_array_of_mixed_columns_comes_back_as_one():
    X = np.array([[1.5, "a"], [None, "b"], [2.5, None], [3.5, "a"]] * 6, dtype=object)
    y = np.arange(24) % 2
    filled = KernelImputer().fit_transform(X, y)
    assert filled.dtype == object
    assert set(filled[:, 1]) <= {"a", "b"}
    assert all(1.5 <= value <= 3.5 for value in filled[:, 0])


def test_set_output_changes_the_container(table):
    frame, y = table
    imputer = KernelImputer().set_output(transform="polars").fit(frame, y)
    assert isinstance(imputer.transform(frame), pl.DataFrame)
    imputer.set_output(transform="pandas")
    filled = imputer.transform(polar(frame))
    assert isinstance(filled, pd.DataFrame)
    assert not filled.isna().any(axis=None)


# ---------------------------------------------------------------------------- categories


def test_filled_categories_are_observed_ones(table):
    frame, y = table
    frame["grade"] = frame["grade"].cat.add_categories("never")
    filled = KernelImputer().fit_transform(frame, y)
    assert filled["grade"].cat.categories.tolist() == ["low", "mid", "high", "never"]
    assert "never" not in set(filled["grade"])
    assert set(filled["town"]) <= {"Ulm", "Bonn"}


@pytest.mark.parametrize("estimator", [KernelImputer(), *MACHINES], ids=repr)
def test_an_unknown_category_is_refused_by_column_and_name(table, estimator):
    frame, y = table
    fitted = clone(estimator).fit(frame, y)
    new = frame.copy()
    new.loc[new.index[3], "town"] = "Rome"
    apply = getattr(fitted, "transform", getattr(fitted, "predict", None))
    with pytest.raises(ValueError, match=r"'town'.*'Rome'.*handle_unknown='missing'"):
        apply(new)


@pytest.mark.parametrize("estimator", [KernelImputer(), *MACHINES], ids=repr)
def test_an_unknown_category_may_count_as_a_gap_with_a_warning(table, estimator):
    frame, y = table
    fitted = clone(estimator).set_params(handle_unknown="missing").fit(frame, y)
    new = frame.copy()
    new.loc[new.index[[3, 4]], "town"] = "Rome"
    new.loc[new.index[5], "town"] = "Oslo"
    gap = frame.copy()
    gap.loc[gap.index[[3, 4, 5]], "town"] = None
    apply = getattr(fitted, "transform", getattr(fitted, "predict", None))
    with pytest.warns(UserWarning, match="town") as given:
        got = apply(new)
    message = str(given[0].message)
    assert len(given) == 1
    assert "Rome" in message
    assert "Oslo" in message
    assert "3" in message
    expected = apply(gap)
    if isinstance(got, pd.DataFrame):
        pd.testing.assert_frame_equal(got, expected)
    else:
        np.testing.assert_array_equal(got, expected)


def test_numbers_are_categories_where_named():
    X, y = uniform_rows()
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, np.ceil(X[:, 1] * 3))
    X[:, 3] = np.where(np.isnan(X[:, 3]), np.nan, np.ceil(X[:, 3] * 4))
    frame = pd.DataFrame(X, columns=[*"abcde"])
    filled = [
        KernelImputer(categorical_features=form).fit_transform(data, y)
        for form, data in (
            (["b", "d"], frame),
            ([1, 3], X),
            ([1, 3], frame),
            (np.array([False, True, False, True, False]), X),
        )
    ]
    for one in filled:
        np.testing.assert_array_equal(np.asarray(one), np.asarray(filled[0]))
        assert set(np.asarray(one)[:, 1]) <= {1.0, 2.0, 3.0}
    as_numbers = KernelImputer(categorical_features=None).fit_transform(X, y)
    assert not set(as_numbers[:, 1]) <= {1.0, 2.0, 3.0}
    np.testing.assert_array_equal(as_numbers, KernelImputer().fit_transform(X, y))


@pytest.mark.parametrize("form", [["z"], [9], np.array([True, False])], ids=repr)
def test_categories_that_are_no_columns_are_refused(form):
    X, y = uniform_rows()
    frame = pd.DataFrame(X, columns=[*"abcde"])
    with pytest.raises((ValueError, TypeError), match="categorical_features"):
        KernelImputer(categorical_features=form).fit(frame, y)


# ----------------------------------------------------------------------- ranges and gaps


def test_fills_stay_in_the_declared_range_and_follow_it():
    X, y = uniform_rows()
    X = 10.0 * X
    frame = pd.DataFrame(X, columns=[*"abcde"])
    limits = np.column_stack([np.full(5, -20.0), np.full(5, 40.0)])
    forms = [(-20.0, 40.0), {name: (-20.0, 40.0) for name in "abcde"}, limits]
    filled = [
        np.asarray(KernelImputer(feature_range=form, eta=1.0).fit_transform(frame, y))
        for form in forms
    ]
    for one in filled:
        np.testing.assert_array_equal(one, filled[0])
        assert (one >= -20.0).all()
        assert (one <= 40.0).all()
    by_index = KernelImputer(feature_range={0: (-20.0, 40.0)}).fit(X, y)
    assert np.isfinite(by_index.transform(X)).all()


@pytest.mark.parametrize(
    "form", [(3.0, 1.0), {"z": (0.0, 1.0)}, np.zeros((2, 2)), (0.2, 0.8)], ids=repr
)
def test_ranges_that_cannot_be_are_refused(form):
    X, y = uniform_rows()
    with pytest.raises((ValueError, TypeError), match=r"feature_range|range"):
        KernelImputer(feature_range=form).fit(pd.DataFrame(X, columns=[*"abcde"]), y)


@pytest.mark.parametrize(
    "form", [(0.0, 1.0), {2: (0.0, 1.0)}, {"c": (0.0, 1.0)}, [(0.0, 1.0)] * 5], ids=repr
)
def test_a_constant_outside_its_declared_range_is_refused_in_every_form(form):
    X, y = uniform_rows()
    frame = pd.DataFrame(X, columns=[*"abcde"])
    imputer = KernelImputer(feature_range=form)
    frame["c"] = 7.0
    with pytest.raises(ValueError, match=r"'c' column .*declared range \[0.0, 1.0\]. Got 7.0"):
        imputer.fit(frame, y)
    frame["c"] = 0.5
    assert imputer.fit_transform(frame, y)["c"].eq(0.5).all()
    # Categories have no range to lie in.
    everywhere = KernelImputer(feature_range=(0.0, 1.0))
    assert everywhere.fit_transform(frame.assign(c="x"), y)["c"].eq("x").all()


@pytest.mark.parametrize("form", [(1.0, 1.0), {"a": (1.0, 1.0)}, [(1.0, 1.0)] * 5], ids=repr)
def test_a_range_of_one_number_is_refused_in_every_form(form):
    X, y = uniform_rows()
    message = "'feature_range' parameter of KernelImputer must hold pairs .* low < high"
    with pytest.raises(ValueError, match=message):
        KernelImputer(feature_range=form).fit(pd.DataFrame(X, columns=[*"abcde"]), y)


@pytest.mark.parametrize(
    ("marker", "markers"), [(-9.0, -9.0), (-9.0, [-9.0, -8.0]), ("?", "?"), (None, np.nan)]
)
def test_what_else_counts_as_a_gap(marker, markers):
    X, y = uniform_rows()
    marked = X.astype(object)
    marked[np.isnan(X)] = marker
    frame, plain = (pd.DataFrame(part, columns=[*"abcde"]).astype(object) for part in (marked, X))
    kept = frame.copy(deep=True)
    filled = KernelImputer(missing_values=markers).fit_transform(frame, y)
    expected = KernelImputer().fit_transform(plain, y)
    np.testing.assert_array_equal(filled.to_numpy(float), expected.to_numpy(float))
    pd.testing.assert_frame_equal(frame, kept)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_the_usual_gaps_count_whatever_else_does(gap):
    frame = pd.DataFrame({"a": pd.Series([0.1, gap, 0.7, -1.0] * 8, dtype=object)})
    frame["b"] = np.linspace(0.0, 1.0, 32)
    filled = KernelImputer(missing_values=-1).fit_transform(frame, np.arange(32) % 2)
    assert set(filled["a"].iloc[[0, 2]]) == {0.1, 0.7}
    assert all(0.1 <= value <= 0.7 for value in filled["a"])


# --------------------------------------------------------------------- columns that vary


def test_indicators_are_appended_for_the_columns_with_gaps_in_fit(table):
    frame, y = table
    frame["whole"] = np.arange(len(frame)) % 7
    imputer = KernelImputer(add_indicator=True)
    filled = imputer.fit_transform(frame, y)
    gappy = [name for name in frame.columns if frame[name].isna().any()]
    appended = [f"missingindicator_{name}" for name in gappy]
    assert filled.columns.tolist() == [*frame.columns, *appended]
    assert imputer.get_feature_names_out().tolist() == filled.columns.tolist()
    for name in gappy:
        assert filled[f"missingindicator_{name}"].tolist() == frame[name].isna().tolist()
    plain = KernelImputer().fit_transform(frame, y)
    pd.testing.assert_frame_equal(filled[frame.columns], plain)


def test_empty_columns_of_every_dtype_are_kept_with_a_documented_constant(table):
    frame, y = table
    gaps = np.ones(len(frame), dtype=bool)
    empty = frame.copy()
    for name in ("height", "age", "smoker", "town", "grade"):
        empty[name] = frame[name].mask(gaps)
    filled = KernelImputer(keep_empty_features=True).fit_transform(empty, y)
    assert filled.columns.tolist() == frame.columns.tolist()
    assert filled["height"].eq(0.0).all()
    assert filled["age"].eq(0).all()
    assert not filled["smoker"].any()
    assert filled["town"].eq("missing").all()
    assert filled["grade"].eq("low").all()
    assert filled.drop(columns="town").dtypes.equals(empty.drop(columns="town").dtypes)


def test_a_table_of_nothing_has_no_column_left_unless_they_are_kept():
    """As scikit-learn's SimpleImputer has it."""
    X, y = np.full((20, 3), np.nan), np.arange(20) % 2
    with pytest.warns(UserWarning, match=r"0.*1.*2"):
        assert KernelImputer().fit_transform(X, y).shape == (20, 0)
    filled = KernelImputer(keep_empty_features=True).fit_transform(X, y)
    np.testing.assert_array_equal(filled, np.zeros((20, 3)))


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_machines_predict_a_constant_from_a_table_of_nothing(machine):
    X, y = np.full((21, 3), np.nan), np.arange(21) % 2
    with pytest.warns(UserWarning, match=r"0.*1.*2"):
        fitted = clone(machine).fit(X, y)
    assert np.ptp(fitted.predict(X)) == 0.0


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_machines_check_names_of_columns_as_scikit_learn_does(table, machine):
    frame, y = table
    fitted = clone(machine).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"has 2 features, but .* is expecting 4 features"):
        X, target = regression_rows()
        clone(machine).fit(X, target > np.median(target)).predict(X[:, :2])


def test_repeated_column_names_are_refused_in_our_words():
    X, y = np.random.default_rng(0).random((20, 2)), np.arange(20) % 2
    for given in (
        pd.DataFrame(X, columns=["a", "a"]),
        pa.table([pa.array(X[:, 0]), pa.array(X[:, 1])], names=["a", "a"]),
    ):
        with pytest.raises(ValueError, match="KernelImputer .*distinct names.*'a'"):
            KernelImputer().fit(given, y)


def test_numbers_beside_text_stay_numbers_in_another_library():
    frame = pl.DataFrame({"n": [1.0, None, 3.0, 4.0] * 5, "t": ["p", "q", None, "q"] * 5})
    y = np.arange(20) % 2
    for given in (frame, frame.to_arrow()):
        imputer = KernelImputer().set_output(transform="pandas")
        filled = imputer.fit_transform(given, y)
        assert isinstance(filled, pd.DataFrame)
        assert filled["n"].dtype == np.float64
        assert imputer.transform(given)["n"].dtype == np.float64
