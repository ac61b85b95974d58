"""Gaps and ranges: what is observed, what is refused, and the map to [0, 1] and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from kernimpute.core.checks import (
    ObservedRange,
    check_incomplete,
    check_matrix,
    check_pair,
    observed_cells,
    observed_range,
)

NAN = np.nan


def test_observed_cells_are_those_that_are_not_nan():
    X = np.array([[0.0, NAN], [NAN, np.inf]])
    np.testing.assert_array_equal(observed_cells(X), [[True, False], [False, True]])


# ---------------------------------------------------------------------------- what is taken


def test_a_matrix_of_floats_is_taken_as_it_is():
    X = np.array([[0.0, NAN], [1.0, 0.5]])
    X.setflags(write=False)
    assert check_incomplete(X, "f") is X
    assert check_matrix(X, "f") is X


@pytest.mark.parametrize(
    "X",
    [
        [[0, 1], [1, None]],
        np.array([[0, 1], [1, None]], dtype=object),
        pd.DataFrame({"a": [0, 1], "b": [1.0, NAN]}),
        np.array([[0.0, 1.0], [1.0, NAN]], dtype=np.float32),
    ],
    ids=["lists", "objects", "data frame", "float32"],
)
def test_matrices_of_any_numbers_become_floats(X):
    found = check_incomplete(X, "f")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[0.0, 1.0], [1.0, NAN]])


@pytest.mark.parametrize(
    "X",
    [
        [["0.5"]],
        [[0.5, "a"]],
        np.array([[b"1"]]),
        np.array([[0.5 + 0.5j]]),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        np.array([[1]], dtype="timedelta64[D]"),
        pd.DataFrame({"a": ["red"]}),
        [[0.1, 0.2], [0.3]],
        [[object()]],
    ],
    ids=[
        "numbers as text",
        "text",
        "bytes",
        "complex",
        "dates",
        "times",
        "text columns",
        "ragged",
        "objects",
    ],
)
def test_what_is_not_numeric_is_refused(X):
    with pytest.raises(TypeError, match="The 'rows' parameter of f must be numeric"):
        check_incomplete(X, "f", name="rows")


@pytest.mark.parametrize(
    ("X", "shape"),
    [(0.5, r"\(\)"), ([0.5, 0.1], r"\(2,\)"), (np.zeros((2, 1, 1)), r"\(2, 1, 1\)")],
    ids=["number", "one axis", "three axes"],
)
def test_what_is_no_matrix_is_refused(X, shape):
    with pytest.raises(ValueError, match=rf"'X' parameter of f must be a matrix .* shape {shape}"):
        check_incomplete(X, "f")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_matrices_are_refused(shape):
    with pytest.raises(ValueError, match="a matrix with at least one row and one column"):
        check_incomplete(np.zeros(shape), "f")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("categorical", [False, True])
def test_infinities_are_refused_with_their_place(value, categorical):
    X = np.full((4, 3), 0.5)
    X[2, 1] = value
    numeric = np.array([True, not categorical, True])
    with pytest.raises(
        ValueError, match=rf"finite or NaN\. Got {value} in row 2, column 1 instead"
    ):
        check_incomplete(X, "f", numeric)


@pytest.mark.parametrize("value", [-1e-300, np.nextafter(1.0, 2.0), 7.0])
def test_numbers_outside_the_unit_interval_are_refused_with_their_place(value):
    X = np.full((4, 3), 0.5)
    X[3, 0] = value
    with pytest.raises(
        ValueError,
        match=r"The 'X' parameter of f must hold .* in \[0, 1\] or NaN.* row 3, column 0",
    ):
        check_incomplete(X, "f")


def test_category_codes_may_be_any_numbers():
    X = np.array([[7.0, 0.5], [NAN, 0.25], [-3.0, NAN]])
    np.testing.assert_array_equal(check_incomplete(X, "f", np.array([False, True])), X)
    with pytest.raises(ValueError, match=r"in \[0, 1\] or NaN.* row 0, column 0"):
        check_incomplete(X, "f")


def test_columns_and_rows_without_anything_observed_are_accepted():
    X = np.array([[NAN, NAN], [NAN, 0.5]])
    np.testing.assert_array_equal(check_incomplete(X, "f"), X)


@pytest.mark.parametrize(
    ("X", "Z", "match"),
    [
        ([[0.0, 1.0]], [[0.0]], r"'Z' .* as many columns as X, 2. Got an array of shape \(1, 1\)"),
        ([[0.0]], [0.0], r"'Z' parameter of f must be a matrix .* Got an array of shape \(1,\)"),
        ([[np.inf]], None, r"'X' .* finite or NaN\. Got inf in row 0, column 0"),
        ([[0.0]], [[NAN], [-np.inf]], r"'Z' .* finite or NaN\. Got -inf in row 1, column 0"),
    ],
)
def test_pairs_of_matrices_share_their_columns(X, Z, match):
    with pytest.raises(ValueError, match=match):
        check_pair(X, Z, "f")


def test_a_pair_of_one_matrix_is_one_array():
    X = np.array([[0.5, NAN]])
    assert all(side is X for side in check_pair(X, None, "f"))
    left, right = check_pair(X, [[None, 7.0]], "f")
    assert left is X
    np.testing.assert_array_equal(right, [[NAN, 7.0]])


def test_a_categorical_column_without_any_code_is_refused():
    X = np.array([[0.5, NAN], [0.1, NAN]])
    with pytest.raises(ValueError, match="each have an observed code.*only NaN in column 1"):
        check_incomplete(X, "f", np.array([True, False]))


# ------------------------------------------------------------------------------ the range


def test_the_range_is_that_of_the_observed_cells():
    X = np.array([[1.0, NAN, NAN, 4.0], [3.0, -2.0, NAN, 4.0], [NAN, 0.0, NAN, NAN]])
    found = observed_range(X)
    np.testing.assert_array_equal(found.minimum, [1.0, -2.0, 0.0, 4.0])
    np.testing.assert_array_equal(found.width, [2.0, 2.0, 0.0, 0.0])


def test_constant_columns_become_zero_and_come_back():
    X = np.array([[4.2, NAN], [4.2, 1.0], [NAN, 1.0]])
    scale = observed_range(X)
    unit = scale.to_unit(X)
    np.testing.assert_array_equal(unit, [[0.0, NAN], [0.0, 0.0], [NAN, 0.0]])
    # Whatever is filled there.
    np.testing.assert_array_equal(
        scale.from_unit(np.array([[0.0, 0.3], [0.5, 1.0]])), [[4.2, 1.0], [4.2, 1.0]]
    )


def test_columns_with_nothing_observed_pass_through():
    scale = observed_range(np.full((3, 1), NAN))
    assert np.isnan(scale.to_unit(np.full((3, 1), NAN))).all()
    np.testing.assert_array_equal(scale.from_unit(np.array([[0.7]])), [[0.0]])


def test_new_rows_may_leave_the_range_and_come_back():
    scale = ObservedRange(minimum=np.array([1.0]), width=np.array([2.0]))
    unit = scale.to_unit(np.array([[0.0], [5.0]]))
    np.testing.assert_array_equal(unit, [[-0.5], [2.0]])
    np.testing.assert_array_equal(scale.from_unit(unit), [[0.0], [5.0]])


def test_the_largest_value_is_not_exceeded_by_rounding():
    # 0.3 - (-0.1) = 0.4 and -0.1 + 0.4 > 0.3, in floats.
    X = np.array([[-0.1], [0.2], [0.3]])
    scale = observed_range(X)
    np.testing.assert_array_equal(scale.to_unit(X)[[0, 2]], [[0.0], [1.0]])
    assert scale.from_unit(np.array([[1.0]]))[0, 0] <= 0.3


COLUMNS = npst.arrays(
    float,
    st.tuples(st.integers(1, 8), st.integers(1, 4)),
    elements=st.one_of(st.floats(-1e300, 1e300), st.floats(-1.0, 1.0), st.just(NAN)),
)


@settings(max_examples=300)
@given(X=COLUMNS)
def test_the_round_trip_is_exact_to_rounding_and_stays_inside(X):
    X.setflags(write=False)
    scale = observed_range(X)
    unit = scale.to_unit(X)
    observed = observed_cells(X)
    np.testing.assert_array_equal(np.isnan(unit), ~observed)
    assert ((unit >= 0.0) & (unit <= 1.0))[observed].all()
    back = scale.from_unit(unit)
    np.testing.assert_array_equal(np.isnan(back), ~observed)
    for column in np.flatnonzero(observed.any(axis=0)):
        known = observed[:, column]
        low, high = X[known, column].min(), X[known, column].max()
        # An ulp of the range, or of the value.
        ulp = np.spacing(max(abs(low), abs(high), high - low))
        assert np.abs(back[known, column] - X[known, column]).max() <= ulp
        assert ((back[known, column] >= low) & (back[known, column] <= high)).all()
        # The ends come first: they are what a filled cell may not leave.
        assert scale.from_unit(np.zeros(X.shape[1]))[column] == low
        assert low <= scale.from_unit(np.ones(X.shape[1]))[column] <= high


@settings(max_examples=200)
@given(X=COLUMNS, shares=npst.arrays(float, 4, elements=st.floats(0.0, 1.0)))
def test_anything_of_the_unit_interval_lands_in_the_range(X, shares):
    observed = observed_cells(X)
    filled = observed_range(X).from_unit(shares[: X.shape[1]])
    for column in np.flatnonzero(observed.any(axis=0)):
        known = X[observed[:, column], column]
        assert known.min() <= filled[column] <= known.max()
