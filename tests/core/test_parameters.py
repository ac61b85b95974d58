"""Scalar parameters: what each check lets pass, and the one sentence of every refusal."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from kernimpute.core.checks import (
    check_choice,
    check_integer,
    check_real,
    refusal,
    refusal_in_words,
)


def test_a_refusal_says_what_whose_must_be_and_got():
    assert refusal("learn_kernel", "eta", "a float in (0, inf)", -1.0) == (
        "The 'eta' parameter of learn_kernel must be a float in (0, inf). Got -1.0 instead."
    )
    assert refusal("f", "task", "one of 'a'", "b").endswith("Got 'b' instead.")


def test_a_refusal_in_words_quotes_nothing():
    sentence = refusal_in_words("f", "X", "a matrix", "an array of shape (2,)")
    assert sentence == (
        "The 'X' parameter of f must be a matrix. Got an array of shape (2,) instead."
    )


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int8(1), Fraction(1, 2), 1e-320])
def test_real_numbers_of_any_kind_become_floats(value):
    found = check_real("f", "x", value, 0.0)
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize(
    ("included", "inside", "outside"),
    [
        ({}, [0.5], [0.0, 1.0]),
        ({"low_included": True}, [0.0, 0.5], [1.0]),
        ({"high_included": True}, [0.5, 1.0], [0.0]),
        ({"low_included": True, "high_included": True}, [0.0, 1.0], []),
    ],
)
def test_ends_belong_to_an_interval_if_included(included, inside, outside):
    for value in inside:
        assert check_real("f", "x", value, 0.0, 1.0, **included) == value
    interval = ("[" if "low_included" in included else "(") + "0, 1"
    interval += "]" if "high_included" in included else ")"
    for value in (*outside, -0.1, 1.1, math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError) as refused:
            check_real("f", "x", value, 0.0, 1.0, **included)
        assert str(refused.value) == refusal("f", "x", f"a float in {interval}", value)


def test_infinity_is_a_number_only_where_it_is_included():
    assert check_real("f", "eta", math.inf, 0.0, high_included=True) == math.inf
    with pytest.raises(ValueError, match=r"'eta' parameter of f must be a float in \(0, inf\)"):
        check_real("f", "eta", math.inf, 0.0)


def test_integers_too_large_for_a_float_are_refused():
    with pytest.raises(ValueError, match=r"'C' parameter of f must be a float in \(0, inf\)"):
        check_real("f", "C", 10**400, 0.0)


@pytest.mark.parametrize(
    "value", [True, np.True_, "1", None, [1.0], 1j, Decimal(1), np.array([1.0, 2.0])], ids=repr
)
def test_what_is_no_real_number_is_refused(value):
    with pytest.raises(TypeError, match=r"The 'C' parameter of f must be a float in \(0, inf\)"):
        check_real("f", "C", value, 0.0)


@pytest.mark.parametrize("value", [1, 3, np.int64(7), 10**30])
def test_integers_of_any_kind_become_ints(value):
    found = check_integer("f", "n", value, 1)
    assert type(found) is int
    assert found == value


@pytest.mark.parametrize("value", [1.0, True, np.True_, "1", None, np.float64(2.0)], ids=repr)
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(TypeError, match=r"The 'n' parameter of f must be an int in \[1, inf\)"):
        check_integer("f", "n", value, 1)


@pytest.mark.parametrize("value", [0, -5, -(10**30)])
def test_integers_below_the_lowest_are_refused(value):
    with pytest.raises(ValueError, match=rf"'n' .* must be an int in \[1, inf\)\. Got {value} "):
        check_integer("f", "n", value, 1)


def test_choices_are_returned():
    assert check_choice("f", "task", "b", ("a", "b")) == "b"
    assert check_choice("f", "task", "a", {"a": 1}) == "a"


@pytest.mark.parametrize("value", ["", "c", "A", None, 1, ["a"], ("a",), {"a"}], ids=repr)
def test_other_choices_are_refused_with_the_list(value):
    with pytest.raises(
        ValueError, match=r"The 'task' parameter of f must be one of 'a', 'b'\. Got "
    ):
        check_choice("f", "task", value, ("b", "a"))
