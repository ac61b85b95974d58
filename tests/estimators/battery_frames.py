"""The battery's third part: names of columns and containers of the output."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from tests.estimators.battery_tools import (
    assert_same_fills,
    check,
    features,
    fill_new,
    fill_training,
    new_rows,
    training_rows,
)

NAMES = ["length", "width", "height", "mass"]


def framed(X):
    """Return rows as a frame with names and an index of its own."""
    return pd.DataFrame(X, columns=NAMES, index=np.arange(len(X)) * 3 + 7)


@check
def a_frame_of_floats_is_filled_like_the_array(imputer):
    X, y, X_new = *training_rows(), new_rows()
    frame, frame_new = framed(X), framed(X_new)
    kept = frame.copy(deep=True)
    fitted = clone(imputer)
    training, new = fitted.fit_transform(frame, y), fitted.transform(frame_new)
    assert_same_fills(features(training, X), fill_training(imputer, X, y), X)
    assert_same_fills(features(new, X), fill_new(imputer, X, y, X_new), X)
    pd.testing.assert_frame_equal(frame, kept)
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.n_features_in_ == 4


@check
def set_output_is_obeyed(imputer):
    X, y, X_new = *training_rows(), new_rows()
    fitted = clone(imputer).set_output(transform="pandas")
    frame, new = framed(X), framed(X_new)
    training = fitted.fit_transform(frame, y)
    filled = fitted.transform(new)
    assert isinstance(training, pd.DataFrame)
    assert isinstance(filled, pd.DataFrame)
    assert training.index.equals(frame.index)
    assert filled.index.equals(new.index)
    assert filled.columns.tolist() == fitted.get_feature_names_out().tolist()
    assert filled.columns.tolist()[:4] == NAMES
    assert_same_fills(features(filled, X), fill_new(imputer, X, y, X_new), X)
    polar = clone(imputer).set_output(transform="polars").fit(frame, y).transform(new)
    assert isinstance(polar, pl.DataFrame)
    assert polar.columns == filled.columns.tolist()
    np.testing.assert_array_equal(polar.to_numpy().astype(float), filled.to_numpy().astype(float))


@check
def set_output_names_the_columns_of_arrays(imputer):
    X, y = training_rows()
    fitted = clone(imputer).set_output(transform="pandas")
    filled = fitted.fit_transform(X, y)
    assert filled.columns.tolist()[:4] == ["x0", "x1", "x2", "x3"]
    assert filled.columns.tolist() == fitted.get_feature_names_out().tolist()


@check
def names_out_match_the_columns_out(imputer):
    X, y = training_rows()
    fitted = clone(imputer)
    n_columns = fitted.fit_transform(X, y).shape[1]
    assert fitted.transform(X).shape[1] == n_columns
    assert len(fitted.get_feature_names_out()) == n_columns
    assert fitted.get_feature_names_out()[:4].tolist() == ["x0", "x1", "x2", "x3"]
    assert fitted.get_feature_names_out(NAMES)[:4].tolist() == NAMES
    with pytest.raises(ValueError, match="input_features should have length"):
        fitted.get_feature_names_out(NAMES[:3])
    named = clone(imputer).fit(framed(X), y)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        named.get_feature_names_out(NAMES[::-1])


@check
def other_columns_than_fitted_are_refused(imputer):
    X, y = training_rows()
    fitted = clone(imputer).fit(framed(X), y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(framed(X)[NAMES[::-1]])
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features"):
        clone(imputer).fit(X, y).transform(X[:, :3])
