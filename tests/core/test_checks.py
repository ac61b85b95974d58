"""Checks: what each lets pass, the sentence of every refusal, and the map to [0, 1] and back."""

import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from kernimpute.core.checks import (
    CONTROL_GROUPS,
    check_incomplete,
    check_integer,
    check_matrix,
    check_real,
    free_memory,
    infer_task,
    observed_cells,
    observed_range,
    plain_labels,
    refusal,
)

NAN = np.nan
BOTH = np.array([True, True])  # Two numeric columns.


@pytest.mark.parametrize(
    ("check", "low", "kind", "value"),
    [(check_real, 0.0, float, v) for v in (0.5, 1, np.float32(0.5), np.int8(1), Fraction(1, 2))]
    + [(check_integer, 1, int, v) for v in (1, 3, np.int64(7), 10**30)],
)
def test_numbers_of_any_kind_become_those_of_python(check, low, kind, value):
    found = check("f", "x", value, low)
    assert type(found) is kind and found == value


@pytest.mark.parametrize(
    ("included", "inside", "outside", "interval"),
    [
        ((False, False), [1.5], [1.0, math.inf], "(1, inf)"),
        ((True, False), [1.0, 1.5], [math.inf], "[1, inf)"),
        ((False, True), [1.5, math.inf], [1.0], "(1, inf]"),
        ((True, True), [1.0, math.inf], [], "[1, inf]"),
    ],
)
def test_ends_belong_to_an_interval_if_included(included, inside, outside, interval):
    options = dict(zip(("low_included", "inf_included"), included, strict=True))
    for value in inside:
        assert check_real("f", "x", value, 1.0, **options) == value
    for value in (*outside, 0.9, math.nan, -math.inf, 10**400):
        with pytest.raises(ValueError) as refused:
            check_real("f", "x", value, 1.0, **options)
        assert str(refused.value) == refusal("f", "x", f"a float in {interval}", value)


@pytest.mark.parametrize(
    ("check", "value", "error"),
    [(check_real, v, TypeError) for v in (True, np.True_, "1", None, [1.0], 1j, Decimal(1))]
    + [(check_integer, v, TypeError) for v in (1.0, True, np.True_, "1", np.float64(2.0))]
    + [(check_integer, v, ValueError) for v in (0, -5, -(10**30))],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_what_is_no_such_number_is_refused(check, value, error):
    kind = r"a float in \(1" if check is check_real else r"an int in \[1"
    with pytest.raises(error, match=f"The 'C' parameter of f must be {kind}, inf\\)\\. Got "):
        check("f", "C", value, 1)


def test_a_matrix_of_floats_is_taken_as_it_is():
    X = np.array([[0.0, NAN], [1.0, 0.5]])
    X.setflags(write=False)
    assert check_incomplete(X, "f", BOTH) is X
    assert check_matrix(X, "f") is X
    np.testing.assert_array_equal(observed_cells(X), [[True, False], [True, True]])


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
    found = check_incomplete(X, "f", BOTH)
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
        pd.DataFrame({"a": ["red"]}),
        [[0.1, 0.2], [0.3]],
    ],
    ids=str,
)
def test_what_is_not_numeric_is_refused(X):
    with pytest.raises(TypeError, match="The 'X' parameter of f must be numeric"):
        check_matrix(X, "f")


@pytest.mark.parametrize("shape", [(), (2,), (2, 1, 1), (0, 3), (3, 0), (0, 0)], ids=str)
def test_what_is_no_matrix_is_refused(shape):
    with pytest.raises(ValueError, match="'X' parameter of f must be a matrix with at least") as no:
        check_matrix(np.full(shape, 0.5), "f")
    assert str(no.value).endswith(f"Got an array of shape {shape} instead.")


@pytest.mark.parametrize("is_numeric", [False, True])
@pytest.mark.parametrize("value", [np.inf, -np.inf, -1e-300, np.nextafter(1.0, 2.0), 7.0])
def test_cells_that_are_refused_are_named_with_their_place(value, is_numeric):
    X = np.full((4, 3), 0.5)
    X[2, 1] = value
    numeric = np.array([True, is_numeric, True])
    if np.isfinite(value) and not is_numeric:
        # A code may be any number.
        assert check_incomplete(X, "f", numeric) is X
        return
    must_be = r"in \[0, 1\] or NaN" if np.isfinite(value) else "finite or NaN"
    with pytest.raises(ValueError, match=rf"that are {must_be}\. Got .* in row 2, column 1 inste"):
        check_incomplete(X, "f", numeric)


def test_columns_without_anything_observed_are_accepted_if_numeric():
    X = np.array([[NAN, NAN], [NAN, 0.5]])
    np.testing.assert_array_equal(check_incomplete(X, "f", BOTH), X)
    with pytest.raises(ValueError, match="each have an observed code.*only NaN in column 0"):
        check_incomplete(X, "f", np.array([False, True]))


def test_the_range_is_that_of_the_observed_cells():
    X = np.array([[1.0, NAN, NAN, 4.0], [3.0, -2.0, NAN, 4.0], [NAN, 0.0, NAN, NAN]])
    scale = observed_range(X)
    np.testing.assert_array_equal(scale.minimum, [1.0, -2.0, 0.0, 4.0])
    np.testing.assert_array_equal(scale.width, [2.0, 2.0, 0.0, 0.0])
    # Constant columns become 0 and come back whatever is filled there.
    np.testing.assert_array_equal(scale.to_unit(X)[:, 3], [0.0, 0.0, NAN])
    np.testing.assert_array_equal(scale.from_unit(np.full((1, 4), 0.5)), [[2.0, -1.0, 0.0, 4.0]])
    # New rows may leave the range and come back.
    new = np.array([[0.0, 5.0, 0.0, 4.0]])
    np.testing.assert_array_equal(scale.from_unit(scale.to_unit(new)), new)


COLUMNS = npst.arrays(
    float,
    st.tuples(st.integers(1, 8), st.integers(1, 4)),
    elements=st.one_of(st.floats(-1e300, 1e300), st.floats(-1.0, 1.0), st.just(NAN)),
)


# 0.3 - (-0.1) = 0.4 and -0.1 + 0.4 > 0.3, in floats.
@settings(max_examples=100)
@example(X=np.array([[-0.1], [0.2], [0.3]]), shares=np.ones(4))
@given(X=COLUMNS, shares=npst.arrays(float, 4, elements=st.floats(0.0, 1.0)))
def test_the_round_trip_is_exact_to_rounding_and_stays_inside(X, shares):
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
        assert scale.from_unit(np.zeros(X.shape[1]))[column] == low
        for filled in (np.ones(X.shape[1]), shares[: X.shape[1]]):
            assert low <= scale.from_unit(filled)[column] <= high


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([True, False], "b"),
        (np.array([True, False], dtype=object), "b"),
        (np.array([1, 2], dtype=object), "i"),
        (np.array([1, 2.5], dtype=object), "f"),
        (np.array(["a", "b"], dtype=object), "U"),
        (pd.Series(["a", "b"], dtype="category"), "U"),
        ([[0.5], [1.5]], "f"),
    ],
)
def test_labels_of_one_kind_get_its_type(y, kind):
    found = plain_labels(y, "fit")
    assert found.dtype.kind == kind and found.shape == np.asarray(y).shape


GAPS = [None, NAN, np.datetime64("NaT"), pd.NaT, pd.NA]


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        ([0.0, NAN], ValueError, "complete, without NaN or None. Got gaps instead: leave out"),
        *((np.array(["a", gap], object), ValueError, "complete, without NaN") for gap in GAPS),
        (pd.array([1, None], dtype="Int64"), ValueError, "complete, without NaN or None"),
        ([0.0, np.inf], ValueError, "finite. Got an infinite value"),
        (np.array(["a", 1], dtype=object), TypeError, "of one kind. Got text and other labels"),
        ([1j, 2j], TypeError, "made of numbers, booleans or text. Got complex128"),
        (np.array(["2020-01-01"], "datetime64[D]"), TypeError, "made of numbers, booleans or text"),
    ],
)
def test_labels_that_are_refused(y, error, match):
    with pytest.raises(error, match=f"The 'y' parameter of fit must be {match}"):
        plain_labels(y, "fit")


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["no", "yes", "no"], "classification"),
        ([True, False], "classification"),
        ([1.0, 2.0, 2.0], "classification"),
        (list(range(10)) * 2, "classification"),
        (list(range(11)) * 2, "regression"),
        ([1, 2, 3, 3, 3], "regression"),
        ([0.5, 2.0, 2.0], "regression"),
    ],
)
def test_the_task_is_told_by_the_labels(labels, task):
    assert infer_task(np.array(labels)) == task


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [("600", "500", 130), ("400", "500", 0), ("9000", "500", 1000), ("max", "500", 1000)],
)
def test_what_is_free_is_that_of_the_machine_and_of_the_container(
    version, limit, used, expected, tmp_path, monkeypatch
):
    (tmp_path / "memory").mkdir()
    texts = (limit, used, "cache 70\ninactive_file 30\n")
    for name, text in zip(CONTROL_GROUPS[2 - version], texts, strict=True):
        (tmp_path / name).write_text(text)
    checks = "kernimpute.core.checks"
    monkeypatch.setattr(f"{checks}.Path", lambda root, name: tmp_path / name)
    monkeypatch.setattr(f"{checks}.psutil.virtual_memory", lambda: SimpleNamespace(available=1000))
    assert free_memory() == expected
