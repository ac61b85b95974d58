"""The battery's first part: what an imputer promises about one table and one fit."""

from __future__ import annotations

import pickle

import numpy as np
from sklearn.base import clone

from tests.estimators.battery_tools import (
    check,
    features,
    fill_both,
    fill_new,
    fill_training,
    new_rows,
    training_rows,
)
from tests.estimators.problems import assert_filled, global_generators, same_bits


@check
def no_gap_is_left_and_observed_cells_keep_every_bit(imputer):
    X, y, X_new = *training_rows(), new_rows()
    training, new = fill_both(imputer, X, y, X_new)
    assert_filled(X, training)
    assert_filled(X_new, new)


@check
def inputs_are_not_written_to(imputer):
    X, y, X_new = (np.array(part) for part in (*training_rows(), new_rows()))
    before = [part.tobytes() for part in (X, y, X_new)]
    fitted = clone(imputer)
    fitted.fit_transform(X, y)
    fitted.fit(X, y).transform(X_new)
    assert [part.tobytes() for part in (X, y, X_new)] == before


@check
def what_is_returned_shares_no_memory_with_what_came(imputer):
    X, y = training_rows()
    complete = np.where(np.isnan(X), 0.5, X)
    fitted = clone(imputer).fit(complete, y)
    assert not np.shares_memory(fitted.transform(complete), complete)


@check
def a_filled_table_comes_back_as_it_is(imputer):
    X, y = training_rows()
    fitted = clone(imputer).fit(X, y)
    filled = fill_training(imputer, X, y)
    assert same_bits(features(fitted.transform(filled), X), filled)
    assert same_bits(fill_training(imputer, filled, y), filled)


@check
def filled_values_lie_in_the_observed_range(imputer):
    X, y, X_new = *training_rows(), new_rows()
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    for before, after in zip((X, X_new), fill_both(imputer, X, y, X_new), strict=True):
        gaps = np.isnan(before)
        assert (after >= low)[gaps].all()
        assert (after <= high)[gaps].all()


@check
def float32_and_float64_are_kept(imputer):
    X, y, X_new = *training_rows(), new_rows()
    for dtype in (np.float32, np.float64):
        outputs = fill_both(imputer, X.astype(dtype), y, X_new.astype(dtype))
        assert [part.dtype for part in outputs] == [dtype, dtype]
        assert_filled(X.astype(dtype), outputs[0])


@check
def a_complete_column_comes_back_untouched(imputer):
    X, y, X_new = *training_rows(), np.array(new_rows())
    X, X_new = np.array(X), np.array(X_new)
    X[:, 1] = np.linspace(-3.0, 7.0, len(X))
    X_new[:, 1] = np.linspace(-30.0, 70.0, len(X_new))
    training, new = fill_both(imputer, X, y, X_new)
    assert same_bits(training[:, 1], X[:, 1])
    assert same_bits(new[:, 1], X_new[:, 1])


@check
def gaps_of_a_constant_column_become_the_constant(imputer):
    X, y, X_new = *training_rows(), new_rows()
    X, X_new = np.array(X), np.array(X_new)
    for part in (X, X_new):
        part[~np.isnan(part[:, 2]), 2] = 7.1
    for part in fill_both(imputer, X, y, X_new):
        assert (part[:, 2] == 7.1).all()


@check
def fitting_twice_gives_the_same(imputer):
    X, y, X_new = *training_rows(), new_rows()
    fitted = clone(imputer)
    first = fitted.fit_transform(X, y), fitted.transform(X_new)
    second = fitted.fit_transform(X, y), fitted.transform(X_new)
    other = fill_training(imputer, X, y), fill_new(imputer, X, y, X_new)
    for once, twice, elsewhere in zip(first, second, other, strict=True):
        assert same_bits(once, twice)
        assert same_bits(features(once, X), elsewhere)


@check
def a_fit_forgets_the_one_before(imputer):
    X, y, X_new = *training_rows(), new_rows()
    fitted = clone(imputer).fit(50.0 * X[:30, :3], 1 - y[:30])
    again = fitted.fit(X, y).transform(X_new)
    assert same_bits(again, clone(imputer).fit(X, y).transform(X_new))


@check
def a_pickled_copy_transforms_the_same(imputer):
    X, y, X_new = *training_rows(), new_rows()
    fitted = clone(imputer).fit(X, y)
    restored = pickle.loads(pickle.dumps(fitted))
    assert same_bits(restored.transform(X_new), fitted.transform(X_new))


@check
def a_clone_has_the_parameters_and_nothing_fitted(imputer):
    X, y = training_rows()
    fitted = clone(imputer)
    before = repr(fitted)
    fitted.fit(X, y)
    assert repr(fitted) == before
    copy = clone(fitted)
    assert repr(copy) == before
    assert not [name for name in vars(copy) if name.endswith("_") and not name.startswith("_")]


@check
def the_global_generators_are_left_alone(imputer):
    X, y, X_new = *training_rows(), new_rows()
    before = global_generators()
    fill_both(imputer, X, y, X_new)
    assert global_generators() == before


@check
def gaps_may_come_first_at_transform(imputer):
    X, y, X_new = *training_rows(), new_rows()
    complete = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    training, new = fill_both(imputer, complete, y, X_new)
    assert same_bits(training, complete)
    assert_filled(X_new, new)


@check
def rows_with_nothing_observed_are_filled(imputer):
    X, y, X_new = *training_rows(), new_rows()
    X, X_new = np.array(X), np.array(X_new)
    X[[3, 8]] = X_new[[0, 7]] = np.nan
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    training, new = fill_both(imputer, X, y, X_new)
    assert_filled(X, training)
    assert_filled(X_new, new)
    empty_rows = np.vstack([training[[3, 8]], new[[0, 7]]])
    assert ((empty_rows >= low) & (empty_rows <= high)).all()


@check
def a_column_may_be_empty_at_transform(imputer):
    X, y, X_new = *training_rows(), np.array(new_rows())
    X_new[:, 2] = np.nan
    assert_filled(X_new, fill_new(imputer, X, y, X_new))
