"""Class separation and filled-cell errors: closed forms, invariances and the published row."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

from experiments.metrics import (
    FilledErrors,
    filled_errors,
    fisher_ratio,
    inter_class_distance,
    scatter_ratio,
)

SEPARATIONS = (inter_class_distance, fisher_ratio, scatter_ratio)


def labelled(seed, n_classes=2):
    generator = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), generator.integers(n_classes, size=20)]
    return generator.normal(size=(y.size, 3)) + y[:, None], y


def test_published_row_of_mean_imputation_on_australian(data_dir):
    table = np.loadtxt(data_dir / "australian.csv", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1]
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    splits = np.load(data_dir / "australian_splits.npz")
    rate = int(np.flatnonzero(np.isclose(splits["missing_rate"], 0.5))[0])
    readings = []
    for repetition in range(8):
        train = splits["train"][repetition]
        rows = np.where(splits["missing"][rate, repetition], np.nan, X[train])
        filled = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
        readings.append(
            [
                score(filled, y[train])
                for score in (
                    inter_class_distance,
                    fisher_ratio,
                    calinski_harabasz_score,
                    davies_bouldin_score,
                )
            ]
        )
    distance, ratio, chi, dbi = np.mean(readings, axis=0)
    assert f"{distance:.4f}" == "0.4329"
    assert f"{ratio:.4f}" == "0.1608"
    assert f"{chi:.3f}" == "21.655"
    assert f"{dbi:.4f}" == "3.4165"


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_scatter_ratio_is_calinski_harabasz_without_its_degrees_of_freedom(n_classes):
    X, y = labelled(0, n_classes)
    expected = calinski_harabasz_score(X, y) * (n_classes - 1) / (y.size - n_classes)
    assert math.isclose(scatter_ratio(X, y), expected, rel_tol=1e-12)


def test_fisher_ratio_in_numpys_words():
    X, y = labelled(1)
    one, other = X[y == 0], X[y == 1]
    within = one.var(axis=0).sum() + other.var(axis=0).sum()
    distance = np.linalg.norm(one.mean(axis=0) - other.mean(axis=0))
    assert math.isclose(fisher_ratio(X, y), distance**2 / within, rel_tol=1e-12)
    assert math.isclose(inter_class_distance(X, y), distance, rel_tol=1e-12)


@pytest.mark.parametrize("separation", [inter_class_distance, fisher_ratio])
def test_more_classes_are_read_by_pairs(separation):
    X, y = labelled(2, 3)
    pairs = [separation(X[y != left_out], y[y != left_out]) for left_out in range(3)]
    assert math.isclose(separation(X, y), np.mean(pairs), rel_tol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.1, 10.0), shift=st.floats(-5.0, 5.0))
def test_ratios_know_no_units_and_the_distance_has_those_of_the_table(seed, scale, shift):
    X, y = labelled(seed)
    moved = scale * X + shift
    for ratio in (fisher_ratio, scatter_ratio):
        assert math.isclose(ratio(moved, y), ratio(X, y), rel_tol=1e-9)
    assert math.isclose(
        inter_class_distance(moved, y), scale * inter_class_distance(X, y), rel_tol=1e-9
    )


@pytest.mark.parametrize("separation", SEPARATIONS)
def test_labels_are_names_only(separation):
    X, y = labelled(3)
    assert separation(X, np.array(["yes", "no"])[y]) == pytest.approx(separation(X, y))


@pytest.mark.parametrize("ratio", [fisher_ratio, scatter_ratio])
def test_classes_that_do_not_vary(ratio):
    assert ratio([[0.0], [0.0], [1.0]], [0, 0, 1]) == math.inf
    assert math.isnan(ratio([[1.0], [1.0]], [0, 1]))


@pytest.mark.parametrize("sizes", [(3, 7), (1, 2, 10)])
def test_a_constant_table_has_no_ratio_whatever_rounding_makes_of_its_means(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.tile([0.1, 1.0 / 3.0, 1e-7], (y.size, 1))
    assert math.isnan(fisher_ratio(X, y))
    assert math.isnan(scatter_ratio(X, y))
    assert inter_class_distance(X, y) == 0.0


def test_a_pair_of_classes_without_a_ratio_leaves_their_mean_without_one():
    assert math.isnan(fisher_ratio([[0.0], [0.0], [1.0], [2.0]], [0, 1, 2, 2]))
    assert scatter_ratio([[0.0], [0.0], [1.0], [2.0]], [0, 1, 2, 2]) > 0.0


@pytest.mark.parametrize("separation", SEPARATIONS)
@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([[1.0], [np.nan]], [0, 1], "'X' parameter of .* must be a matrix of finite"),
        ([1.0, 2.0], [0, 1], r"Got an array of shape \(2,\) instead"),
        (np.zeros((2, 0)), [0, 1], r"Got an array of shape \(2, 0\) instead"),
        ([[1.0], [2.0]], [0], r"'y' .* must be of shape \(2,\).* Got an array of shape \(1,\)"),
        ([[1.0], [2.0]], [1, 1], "'y' parameter of .* of at least 2 classes. Got 1 class, 1,"),
        ([[1.0], [2.0]], [0.0, np.nan], "'y' .* complete, without NaN .* Got nan in row 1 instead"),
        ([[1.0], [2.0]], [None, 0], "'y' .* complete, without NaN or None. Got None in row 0"),
        ([[1.0], [2.0]], ["a", None], "'y' .* complete, without NaN or None. Got None in row 1"),
        ([[1.0], [2.0]], pd.array(["a", pd.NA]), "'y' .* complete, without NaN or None"),
    ],
)
def test_refusals_of_separations(separation, X, y, match):
    with pytest.raises(ValueError, match=match):
        separation(X, y)


@pytest.mark.parametrize("separation", SEPARATIONS)
@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([["low"], ["high"]], [0, 1], "'X' parameter of .* must be numeric: .*'low'"),
        ([[1.0], [2.0]], np.array([0, "a"], dtype=object), "'y' .* must be of labels of one kind"),
    ],
)
def test_refusals_of_kinds(separation, X, y, match):
    with pytest.raises(TypeError, match=match):
        separation(X, y)


def test_errors_by_hand():
    truth = np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 0.5]])
    filled = np.array([[1.0, 9.0], [0.0, 0.0], [0.9, 0.1]])
    observed = np.array([[False, True], [False, True], [True, False]])
    # The first column's values are swapped: each is off by 1, their distribution is not.
    errors = filled_errors(filled, truth, observed)
    assert errors.mae == pytest.approx((1.0 + 1.0 + 0.4) / 3)
    assert errors.rmse == pytest.approx(math.sqrt((1.0 + 1.0 + 0.16) / 3))
    assert errors.wasserstein == pytest.approx((0.0 + 0.4) / 2)


@given(seed=st.integers(0, 2**32 - 1))
def test_errors_are_ordered_as_norms_are(seed):
    generator = np.random.default_rng(seed)
    filled, truth = generator.random((2, 12, 1))
    errors = filled_errors(filled, truth, np.zeros((12, 1), dtype=bool))
    assert errors.wasserstein <= errors.mae + 1e-12
    assert errors.mae <= errors.rmse + 1e-12


def test_what_nobody_knows_is_left_out():
    truth = np.array([[0.0, np.nan], [np.nan, np.nan]])
    errors = filled_errors(np.full((2, 2), 0.25), truth, np.zeros((2, 2), dtype=bool))
    assert errors == FilledErrors(0.25, 0.25, 0.25)
    nothing = filled_errors(truth, truth, np.ones((2, 2), dtype=bool))
    assert all(map(math.isnan, (nothing.mae, nothing.rmse, nothing.wasserstein)))


@pytest.mark.parametrize(
    "observed",
    [
        [[1, 0], [0, 1]],
        [[1.0, 0.0], [0.0, 1.0]],
        np.array([[True, False], [False, True]], dtype=object),
        pd.DataFrame({"a": [True, False], "b": [False, True]}, dtype="boolean"),
    ],
)
def test_masks_of_other_types_are_masks(observed):
    filled, truth = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[9.0, 1.5], [1.5, 9.0]])
    expected = filled_errors(filled, truth, [[True, False], [False, True]])
    assert filled_errors(filled, truth, observed) == expected
    assert expected.mae == 0.5


@pytest.mark.parametrize(
    ("filled", "match"),
    [
        ([[0.0, np.nan]], "finite at every cell to compare. Got NaN in row 0, column 1 instead"),
        ([[0.0]], r"must be a matrix of the shape of truth and of observed. Got shapes \(1, 1\)"),
        ([[np.inf, 0.0]], "'filled' .* without infinite cells. Got inf in row 0, column 0"),
        ([0.0, 0.0], r"Got shapes \(2,\), \(1, 2\) and \(1, 2\) instead"),
    ],
)
def test_refusals_of_errors(filled, match):
    with pytest.raises(ValueError, match=match):
        filled_errors(filled, [[0.0, 0.0]], [[False, False]])


def test_an_infinite_truth_is_refused_where_it_is_observed_too():
    with pytest.raises(ValueError, match="'truth' .* without infinite cells. Got -inf in row 0, c"):
        filled_errors([[0.0, 0.0]], [[0.0, -np.inf]], [[False, True]])


@pytest.mark.parametrize(
    ("observed", "error", "got"),
    [
        ([[0, 2]], ValueError, "2 among its values"),
        ([[0.0, np.nan]], ValueError, "nan among its values"),
        ([[1, 0], [1]], ValueError, "rows of many lengths"),
        ([["yes", "no"]], TypeError, "an array of <U3 values"),
        ([["True", "False"]], TypeError, "an array of <U5 values"),
        ([[True, None]], TypeError, "an array of object values"),
    ],
)
def test_masks_that_are_none_are_refused(observed, error, got):
    must_be = "'observed' parameter of filled_errors must be an array of booleans, or of 0 and 1"
    with pytest.raises(error, match=f"{must_be}. Got {got} instead"):
        filled_errors([[0.0, 0.0]], [[0.0, 0.0]], observed)


def test_truth_and_mask_in_each_others_place_are_refused():
    truth, observed = [[0.25, 1.0]], [[False, True]]
    with pytest.raises(ValueError, match="'observed' .* Got 0.25 among"):
        filled_errors([[0.5, 1.0]], observed, truth)


@pytest.mark.parametrize("name", ["filled", "truth"])
def test_text_is_refused(name):
    tables = {"filled": [[0.0]], "truth": [[1.0]], name: [["low"]]}
    with pytest.raises(TypeError, match=f"'{name}' parameter of filled_errors must be numeric"):
        filled_errors(**tables, observed=[[False]])
