"""Codes as indicators and back, and when a label may move a category."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.table.code import indicator_columns, to_codes, to_indicators

NAN = np.nan
COLUMNS = indicator_columns([0, 3, 2])
MATRIX = np.array([[0.5, 2.0, 1.0], [NAN, NAN, 0.0], [1.0, 0.0, NAN]])


def test_two_categories_have_one_indicator_and_three_have_three():
    assert COLUMNS == ((0, None), (1, 0), (1, 1), (1, 2), (2, 1))


def test_a_gap_is_nan_in_each_of_its_indicators():
    np.testing.assert_array_equal(
        to_indicators(MATRIX, COLUMNS),
        [[0.5, 0, 0, 1, 1], [NAN, NAN, NAN, NAN, 0], [1, 1, 0, 0, NAN]],
    )


def test_a_gap_takes_the_largest_indicator_and_the_first_of_equal_ones():
    filled = np.array([[0.0, 1, 0, 0, 0], [0.25, 0.2, 0.4, 0.4, 1], [0, 0, 1, 0, 0.5]])
    np.testing.assert_array_equal(
        to_codes(filled, MATRIX, COLUMNS), [[0.5, 2, 1], [0.25, 1, 0], [1, 0, 0]]
    )


@pytest.mark.parametrize(
    ("now", "code"),
    [
        ([0.5, 0.3, 0.2], 0),
        # Largest now, but moved by less than half the range against the reference's own.
        ([0.3, 0.5, 0.2], 0),
        ([0.26, 0.54, 0.2], 0),
        ([0.2, 0.51, 0.2], 1),
        ([0.2, 0.3, 0.5], 2),
    ],
)
def test_a_category_leaves_the_references_own_for_a_gain_of_more_than_half_the_range(now, code):
    columns = indicator_columns([3])
    reference = np.array([[0.5, 0.3, 0.2]])
    filled = to_codes(np.array([now]), np.array([[NAN]]), columns, reference)
    assert filled == [[code]]


@pytest.mark.parametrize(("now", "code"), [(0.4, 0), (0.64, 0), (0.66, 1)])
def test_of_two_categories_each_loses_what_the_other_gains(now, code):
    columns = indicator_columns([2])
    filled = to_codes(np.array([[now]]), np.array([[NAN]]), columns, np.array([[0.4]]))
    assert filled == [[code]]


def test_the_matrix_is_never_changed():
    matrix = MATRIX.copy()
    matrix.flags.writeable = False
    indicators = np.nan_to_num(to_indicators(matrix, COLUMNS), nan=0.3)
    indicators.flags.writeable = False
    assert not np.isnan(to_codes(indicators, matrix, COLUMNS, indicators)).any()
