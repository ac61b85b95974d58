"""What `KernelImputer` promises about tables with gaps, in each of its settings."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer

from kernimpute import KernelImputer
from tests.conftest import read_only
from tests.estimators.problems import (
    GUIDED,
    assert_filled,
    global_generators,
    related_rows,
    same_bits,
)

SETTINGS = {
    "joint": KernelImputer(),
    "joint, own class means": KernelImputer(use_labels="own", task="classification"),
    "joint, a quantity": KernelImputer(use_labels="own", task="regression"),
    "means": KernelImputer(reference="mean"),
    "imputer": KernelImputer(reference=KNNImputer(), add_indicator=True),
    "joint, guided": KernelImputer(guidance="direct"),
    "direct": KernelImputer(**GUIDED),
    "regression": KernelImputer(**GUIDED, task="regression"),
    "anchored": KernelImputer(guidance="anchored", reference="mean"),
    "polynomial": KernelImputer(**GUIDED, kernel="polynomial"),
    "subsets": KernelImputer(**GUIDED, subset_size=20, keep_empty_features=True),
}

DEALT = "rows are dealt to subsets by their position, as scikit-learn deals them to folds"
NOT_PROMISED = {
    ("subsets", "permuted_training_rows_are_filled_alike"): DEALT,
    ("polynomial", "fills_follow_a_reflection"): "(x.z + 1)^3 of 1 - x and 1 - z is another kernel",
}
"""What is against a setting's nature; no other check may fail in any setting."""

CLOSE = 1e-10
"""What the same arithmetic in another order may change, in units of a column's range."""

SAME_DESCENT = 1e-6
"""What a descent may differ by, in the same units, where it meets the same problem in disguise."""

CERTIFIED = 1e-3
"""The relative gap at which `anchored` stops, unless told: it falls with the square of a feature's
distance from the best one, so features may differ by a share of its root."""

checks = {}
"""The battery: name to function of an unfitted imputer."""


def check(function):
    checks[function.__name__] = function
    return function


def training_rows():
    # Too few to hide cells, which would go by their position in the table.
    X, y = related_rows(n_samples=32, seed=0)
    return read_only(X), read_only(y)


def new_rows():
    """Return other rows with gaps, some of their values outside the range seen in training."""
    X, _ = related_rows(n_samples=12, seed=1)
    return read_only(1.3 * X - 2.0)


def features(filled, X):
    """Return the filled features, as an array, without the indicators appended to them."""
    columns = slice(np.shape(X)[1])
    return np.asarray(filled.iloc[:, columns] if hasattr(filled, "iloc") else filled[:, columns])


def fill_training(imputer, X, y):
    """Return the training rows as a fresh copy of the imputer fills them."""
    return features(clone(imputer).fit_transform(X, y), X)


def fill_both(imputer, X, y, X_new):
    """Return training and new rows as one fresh copy of the imputer fills them."""
    fitted = clone(imputer)
    return features(fitted.fit_transform(X, y), X), features(fitted.transform(X_new), X_new)


@cache
def usual_fills(imputer):
    """Return the training rows and the new ones, filled, which many checks compare with."""
    return tuple(map(read_only, fill_both(imputer, *training_rows(), new_rows())))


def solver_tolerance(imputer):
    """Return what may change in the fills where the solver meets the same problem in disguise."""
    if imputer.guidance is None:
        return CLOSE
    if imputer.guidance == "direct":
        return SAME_DESCENT
    return 0.3 * np.sqrt(CERTIFIED if imputer.tol is None else imputer.tol)


def assert_same_fills(one, other, X, tolerance=CLOSE):
    """Assert that filled tables agree to a tolerance in units of each column's observed range."""
    spread = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    np.testing.assert_allclose(one / spread, other / spread, rtol=0.0, atol=tolerance)


@check
def no_gap_is_left_and_observed_cells_keep_every_bit(imputer):
    for before, after in zip((training_rows()[0], new_rows()), usual_fills(imputer), strict=True):
        assert_filled(before, after)


@check
def inputs_are_not_written_to_nor_returned(imputer):
    X, y, X_new = (np.array(part) for part in (*training_rows(), new_rows()))
    before = [part.tobytes() for part in (X, y, X_new)]
    fitted = clone(imputer)
    fitted.fit_transform(X, y)
    fitted.transform(X_new)
    assert [part.tobytes() for part in (X, y, X_new)] == before
    complete = np.where(np.isnan(X), 0.5, X)
    assert not np.shares_memory(fitted.fit(complete, y).transform(complete), complete)


@check
def a_filled_table_comes_back_as_it_is(imputer):
    X, y = training_rows()
    fitted = clone(imputer).fit(X, y)
    filled, _ = usual_fills(imputer)
    assert same_bits(features(fitted.transform(filled), X), filled)
    assert same_bits(fill_training(imputer, filled, y), filled)


@check
def filled_values_lie_in_the_observed_range(imputer):
    X = training_rows()[0]
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    for before, after in zip((X, new_rows()), usual_fills(imputer), strict=True):
        gaps = np.isnan(before)
        assert (after >= low)[gaps].all() and (after <= high)[gaps].all()


@check
def fitting_twice_gives_the_same_and_leaves_the_global_generators_alone(imputer):
    X, y, X_new = *training_rows(), new_rows()
    before = global_generators()
    fitted = clone(imputer)
    first = fitted.fit_transform(X, y), fitted.transform(X_new)
    second = fitted.fit_transform(X, y), fitted.transform(X_new)
    other = fill_both(imputer, X, y, X_new)
    for once, twice, elsewhere in zip(first, second, other, strict=True):
        assert same_bits(once, twice) and same_bits(features(once, X), elsewhere)
    assert global_generators() == before


@check
def rows_and_new_columns_with_nothing_observed_are_filled(imputer):
    X, y, X_new = *training_rows(), new_rows()
    X, X_new = np.array(X), np.array(X_new)
    X[[3, 8]] = X_new[[0, 7]] = X_new[:, [2]] = np.nan
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    training, new = fill_both(imputer, X, y, X_new)
    assert_filled(X, training)
    assert_filled(X_new, new)
    empty_rows = np.vstack([training[[3, 8]], new[[0, 7]]])
    assert ((empty_rows >= low) & (empty_rows <= high)).all()


@check
def single_precision_is_kept_and_fills_like_double(imputer):
    X, y = training_rows()
    rounded = X.astype(np.float32)
    single, double = (fill_training(imputer, part, y) for part in (rounded, rounded.astype(float)))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert_filled(rounded, single)
    assert_same_fills(single, double, X, max(solver_tolerance(imputer), 1e-6))


@check
def memory_order_does_not_matter(imputer):
    X, y, X_new = *training_rows(), new_rows()
    for layout in (np.asfortranarray, np.ndarray.tolist):
        got = fill_both(imputer, layout(X), y, layout(X_new))
        for one, other in zip(got, usual_fills(imputer), strict=True):
            assert_same_fills(one, other, X)


@check
def a_row_is_filled_alone_as_in_a_batch(imputer):
    X, y, X_new = *training_rows(), new_rows()
    fitted = clone(imputer).fit(X, y)
    together = fitted.transform(X_new)
    alone = np.vstack([fitted.transform(X_new[row : row + 1]) for row in range(len(X_new))])
    assert same_bits(alone, together)


@check
def permuted_training_rows_are_filled_alike(imputer):
    X, y, X_new = *training_rows(), new_rows()
    order = np.random.default_rng(3).permutation(len(X))
    training, new = usual_fills(imputer)
    permuted, new_from_permuted = fill_both(imputer, X[order], y[order], X_new)
    assert_same_fills(permuted, training[order], X, solver_tolerance(imputer))
    assert_same_fills(new_from_permuted, new, X, solver_tolerance(imputer))


@check
def permuted_columns_are_filled_alike(imputer):
    X, y, X_new = *training_rows(), new_rows()
    order = np.array([2, 0, 3, 1])
    training, new = usual_fills(imputer)
    permuted, new_permuted = fill_both(imputer, X[:, order], y, X_new[:, order])
    assert_same_fills(permuted, training[:, order], X[:, order], solver_tolerance(imputer))
    assert_same_fills(new_permuted, new[:, order], X[:, order], solver_tolerance(imputer))


@check
def other_names_of_the_classes_give_the_same_fills(imputer):
    X, y = training_rows()
    expected, _ = usual_fills(imputer)
    names = (np.array(["no", "yes"])[y], y == 1)
    numbers = (5 + 4 * y, 0.1 * y)
    for labels in numbers if getattr(imputer, "task", "") == "regression" else names + numbers[:1]:
        assert_same_fills(fill_training(imputer, X, labels), expected, X)
    swapped = fill_training(imputer, X, 1 - y)
    assert_same_fills(swapped, expected, X, solver_tolerance(imputer))


@check
def fills_follow_a_change_of_units(imputer):
    assert_equivariant(imputer, np.array([1.0, 1e4, 1e-3, 2.0]), np.array([0.0, 5.0, 1.0, -30.0]))


@check
def fills_follow_a_reflection(imputer):
    assert_equivariant(imputer, np.array([1.0, -1.0, 1.0, -2.0]), np.zeros(4))


def assert_equivariant(imputer, scale, shift):
    """Assert that an affine map of the columns maps the fills."""
    X, y, X_new = *training_rows(), new_rows()
    training, new = usual_fills(imputer)
    mapped = X * scale + shift
    mapped_training, mapped_new = fill_both(imputer, mapped, y, X_new * scale + shift)
    tolerance = solver_tolerance(imputer)
    assert_same_fills(mapped_training, training * scale + shift, mapped, tolerance)
    assert_same_fills(mapped_new, new * scale + shift, mapped, tolerance)


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
    for got, expected in zip((training, new), usual_fills(imputer), strict=True):
        assert_same_fills(features(got, X), expected, X)
    pd.testing.assert_frame_equal(frame, kept)
    assert fitted.feature_names_in_.tolist() == NAMES and fitted.n_features_in_ == 4


@pytest.mark.parametrize("name", checks)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_keeps_every_promise(setting, name, request):
    if reason := NOT_PROMISED.get((setting, name)):
        request.applymarker(pytest.mark.xfail(reason=reason))
    checks[name](SETTINGS[setting])
