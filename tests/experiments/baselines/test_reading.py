"""Rows and labels of the baselines: what each refuses in a sentence that names its place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.baselines import (
    ClassMeanImputer,
    GaussianClassifier,
    GenRBFClassifier,
    GenRBFKernel,
    GEOMClassifier,
    KARMAClassifier,
    MeanClassifier,
)

LABELLED = (
    ClassMeanImputer(),
    GEOMClassifier(),
    GaussianClassifier(),
    GenRBFClassifier(),
    KARMAClassifier(),
    MeanClassifier(),
)
ALL = (*LABELLED, GenRBFKernel())


def named(estimators):
    return pytest.mark.parametrize(
        "estimator", estimators, ids=lambda estimator: type(estimator).__name__
    )


def frame():
    table = {"u": [0.0, 0.2, np.nan, 1.0], "v": [0.1, np.nan, 0.9, 0.8]}
    return pd.DataFrame(table), ["no", "no", "yes", "yes"]


def new_rows_read_by(estimator):
    if isinstance(estimator, ClassMeanImputer):
        return estimator.transform
    if isinstance(estimator, GenRBFKernel):
        return lambda X: estimator(X, gamma=1.0)
    return estimator.predict


@named(ALL)
@pytest.mark.parametrize(
    ("cells", "error", "why"),
    [
        (["low", "high", None, "low"], ValueError, "could not convert string to float: 'low'"),
        (pd.Categorical(list("abab")), ValueError, "could not convert string to float: 'a'"),
        ([1.0, pd.NA, 2.0, 3.0], TypeError, "float.* argument must be .*NAType"),
        (pd.to_datetime(["2020-01-01"] * 4), TypeError, "datetime64.* is no number"),
    ],
)
def test_a_column_that_holds_no_numbers_is_named(estimator, cells, error, why):
    X, y = frame()
    owner = type(estimator).__name__
    match = f"'X' parameter of {owner} must be numeric. Got .* in column 'w' instead: {why}"
    with pytest.raises(error, match=match):
        estimator.fit(X.assign(w=cells), y)
    estimator.fit(X.assign(w=[0.0, 1.0, 2.0, 4.0]), y)
    with pytest.raises(error, match=match):
        new_rows_read_by(estimator)(X.assign(w=cells))


@named(ALL)
def test_what_is_no_fault_of_a_column_is_left_to_scikit_learn(estimator):
    X, y = frame()
    with pytest.raises(ValueError, match="Input X contains infinity"):
        estimator.fit(X.assign(w=[0.0, np.inf, 2.0, 4.0]), y)
    estimator.fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        new_rows_read_by(estimator)(X[["v", "u"]])


@named(ALL)
def test_numbers_of_pandas_types_are_read(estimator):
    X, y = frame()
    cells = pd.array([1, None, 2, 3], dtype="Int64")
    estimator.fit(X.assign(w=cells), y)
    read = new_rows_read_by(estimator)(X.assign(w=cells))
    assert np.array_equal(read, new_rows_read_by(estimator)(X.assign(w=[1.0, np.nan, 2.0, 3.0])))


@named(LABELLED)
@pytest.mark.parametrize(
    "y",
    [
        [0.0, np.nan, 1.0, 1.0],
        [0, None, 1, 1],
        ["no", None, "yes", "yes"],
        pd.Series(["no", pd.NA, "yes", "yes"]),
        pd.Series(["no", pd.NA, "yes", "yes"], dtype="string"),
    ],
)
def test_rows_without_a_label_are_refused(estimator, y):
    match = f"'y' parameter of {type(estimator).__name__} must be complete, without NaN or None"
    with pytest.raises(ValueError, match=match):
        estimator.fit(frame()[0], y)


@named(LABELLED)
def test_labels_of_many_kinds_are_refused(estimator):
    with pytest.raises(TypeError, match="'y' parameter of .* must be of one kind"):
        estimator.fit(frame()[0], np.array(["no", "no", 1, 1], dtype=object))


@named(LABELLED)
def test_labels_keep_their_type(estimator):
    X, y = frame()
    assert estimator.fit(X, np.array(y, dtype=object)).classes_.dtype == object
    assert estimator.fit(X, np.array([3, 3, 5, 5])).classes_.tolist() == [3, 5]
