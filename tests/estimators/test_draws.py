"""Draws and standard deviations: in the table's own kinds, and as wide as they claim."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.impute import KNNImputer

from kernimpute import KernelImputer, TableWarning, impute_table
from tests.estimators.problems import (
    amputed,
    assert_filled,
    assert_table_filled,
    mixed_table,
    related_rows,
    same_bits,
)

NORMAL_90 = 1.6449
"""Half width of a 90 % interval in standard deviations."""


def test_draws_keep_container_dtypes_domains_and_observed_cells():
    frame, y = mixed_table()
    imputer = KernelImputer().fit(frame)
    draws = imputer.sample(frame, 3)
    assert len(draws) == 3
    for drawn in draws:
        assert_table_filled(frame, drawn)
        for name in ("height", "age"):
            assert drawn[name].between(frame[name].min(), frame[name].max()).all()
        assert set(drawn["town"]) <= {"Ulm", "Bonn"}
    assert not draws[0].equals(draws[1])
    assert KernelImputer(add_indicator=True).fit(frame).sample(frame)[0].shape == (48, 12)
    given = pl.DataFrame({name: frame[name].to_numpy() for name in ("height", "weight")})
    (drawn,) = KernelImputer(missing_values=np.nan).fit(given).sample(given)
    assert drawn.schema == given.schema
    X, _ = related_rows()
    assert_filled(X, KernelImputer().fit(X).sample(X)[0])


def test_draws_follow_their_seed_and_none_is_zero():
    X, _ = related_rows()
    imputer = KernelImputer().fit(X)
    first, second = imputer.sample(X, 2)
    assert same_bits(first, imputer.sample(X, random_state=0)[0])
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, imputer.sample(X, random_state=1)[0])
    again = imputer.sample(X, 2, random_state=np.random.RandomState(5))
    for one, other in zip(again, imputer.sample(X, 2, np.random.RandomState(5)), strict=True):
        assert same_bits(one, other)


def test_deviations_are_in_units_nan_where_observed_and_of_the_containers_kind():
    frame, _ = mixed_table()
    frame["constant"] = [7.0, None] * 24
    imputer = KernelImputer().fit(frame)
    deviation = imputer.standard_deviation(frame)
    assert deviation.index.equals(frame.index) and deviation.columns.equals(frame.columns)
    assert (deviation.dtypes == np.float64).all()
    gaps = frame.isna()
    gaps["constant"] = False
    np.testing.assert_array_equal(deviation.notna(), gaps)
    # An indicator beyond 1 is sure of its category.
    for name, least, most in (("height", 1e-6, 12.0), ("smoker", 0, 0.5), ("grade", 0, 2.0 / 3.0)):
        assert deviation[name].dropna().between(least, most).all()
    # A category's is the share of draws that differ from the fill, roughly.
    filled, draws = imputer.transform(frame), imputer.sample(frame, 250)
    differs = np.mean(
        [drawn["grade"].astype(str) != filled["grade"].astype(str) for drawn in draws], 0
    )
    where = gaps["grade"].to_numpy()
    np.testing.assert_allclose(differs[where], deviation["grade"][where], atol=0.12)
    in_metres = frame.assign(height=frame["height"] / 100.0)
    scaled = KernelImputer().fit(in_metres).standard_deviation(in_metres)
    np.testing.assert_allclose(100.0 * scaled["height"], deviation["height"], rtol=1e-6)
    X, _ = related_rows()
    X[:, 2] = np.nan
    fitted = KernelImputer(keep_empty_features=True).fit(X)
    found = fitted.standard_deviation(X)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(np.isnan(found), ~np.isnan(X) | (np.arange(4) == 2))
    given = pl.DataFrame({"a": [1.0, 2.0, None, 4.5] * 9, "b": [2, 4, 6, None] * 9})
    found = KernelImputer().fit(given).standard_deviation(given)
    assert isinstance(found, pl.DataFrame)
    assert found["a"].null_count() == found["b"].null_count() == 27


def test_intervals_of_nine_tenths_cover_nine_tenths():
    generator = np.random.default_rng(0)
    mixing = generator.normal(size=(6, 6))
    truth = generator.normal(size=(3000, 6)) @ mixing
    X = amputed(truth, 0.3, generator)
    imputer = KernelImputer(feature_range=(-100.0, 100.0)).fit(X[:2000])
    new, gaps = X[2000:], np.isnan(X[2000:])
    filled, deviation = imputer.transform(new), imputer.standard_deviation(new)
    inside = np.abs(filled - truth[2000:])[gaps] <= NORMAL_90 * deviation[gaps]
    assert 0.88 <= inside.mean() <= 0.92
    draws = np.array([drawn[gaps] for drawn in imputer.sample(new, 200)])
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    drawn_inside = (low <= truth[2000:][gaps]) & (truth[2000:][gaps] <= high)
    assert 0.88 <= drawn_inside.mean() <= 0.92
    np.testing.assert_allclose(draws.std(axis=0) / deviation[gaps], 1.0, atol=0.25)


@pytest.mark.parametrize(
    ("reference", "given", "name", "must_be"),
    [
        *((other, (), "reference", "'joint' for sample") for other in ("mean", KNNImputer())),
        *(("joint", (number,), "n_draws", "an int") for number in (0, 1.5, True)),
        *(("joint", (1, seed), "random_state", "") for seed in (-1, "x")),
    ],
    ids=str,
)
def test_draws_that_cannot_be_are_refused(reference, given, name, must_be):
    X, _ = related_rows()
    imputer = KernelImputer(reference=reference).fit(X)
    with pytest.raises((TypeError, ValueError), match=f"^The '{name}' parameter .* {must_be}"):
        imputer.sample(X, *given)
    if name == "reference":
        with pytest.raises(ValueError, match="'joint' for standard_deviation. Got"):
            imputer.standard_deviation(X)


def test_guided_fits_draw_from_the_joint_normal_too():
    X, y = related_rows()
    plain, guided = KernelImputer().fit(X), KernelImputer(guidance="direct").fit(X, y)
    assert same_bits(plain.sample(X)[0], guided.sample(X)[0])
    assert pd.DataFrame(plain.standard_deviation(X)).equals(
        pd.DataFrame(guided.standard_deviation(X))
    )


def test_a_table_is_drawn_as_its_imputer_draws_it_and_its_mask_is_of_the_whole_table():
    frame, y = mixed_table()
    table = frame.assign(y=y, void=np.nan)
    with pytest.warns(TableWarning, match="void"):
        imputation = impute_table(table, "y", n_draws=2)
    draws = imputation.imputer.sample(frame, 2)
    for drawn, expected in zip(imputation.draws, draws, strict=True):
        assert_table_filled(frame, drawn[frame.columns])
        pd.testing.assert_frame_equal(drawn[frame.columns], expected)
        pd.testing.assert_frame_equal(drawn[["y", "void"]], table[["y", "void"]])
    # What could not be filled was not.
    assert imputation.filled_cells().equals(table.isna().assign(void=False))
    assert impute_table(table[["height", "y"]], "y").draws == ()
    for given, must_be in (
        ({"n_draws": -1}, r"an int in \[0, inf\)"),
        ({"n_draws": 1, "reference": "mean"}, "0 unless reference='joint'"),
    ):
        with pytest.raises(ValueError, match=f"'n_draws' parameter of impute_table .*{must_be}"):
            impute_table(table, "y", **given)
