"""The battery's second part: the same table in disguise gets the same fills."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from tests.estimators.battery_tools import (
    assert_same_fills,
    check,
    fill_both,
    fill_training,
    new_rows,
    solver_tolerance,
    training_rows,
)
from tests.estimators.problems import amputed, same_bits


@check
def single_precision_fills_like_double(imputer):
    X, y = training_rows()
    rounded = X.astype(np.float32)
    single, double = (fill_training(imputer, part, y) for part in (rounded, rounded.astype(float)))
    assert_same_fills(single, double, X, max(solver_tolerance(imputer), 1e-6))


@check
def memory_order_does_not_matter(imputer):
    X, y, X_new = *training_rows(), new_rows()
    expected = fill_both(imputer, X, y, X_new)
    for layout in (np.asfortranarray, strided, reversed_twice, np.ndarray.tolist):
        got = fill_both(imputer, layout(X), y, layout(X_new))
        for one, other in zip(got, expected, strict=True):
            assert_same_fills(one, other, X)


def strided(X):
    """Return an equal array that lies in every second row and column of a larger one."""
    return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]


def reversed_twice(X):
    """Return an equal array with negative strides."""
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


@check
def permuted_new_rows_are_filled_alike(imputer):
    X, y, X_new = *training_rows(), new_rows()
    order = np.random.default_rng(2).permutation(len(X_new))
    fitted = clone(imputer).fit(X, y)
    assert same_bits(fitted.transform(X_new[order]), fitted.transform(X_new)[order])


@check
def a_row_is_filled_alone_as_in_a_batch(imputer):
    X, y, X_new = *training_rows(), new_rows()
    fitted = clone(imputer).fit(X, y)
    together = fitted.transform(X_new)
    alone = np.vstack([fitted.transform(X_new[row : row + 1]) for row in range(len(X_new))])
    assert same_bits(alone, together)


@check
def equal_new_rows_get_equal_fills(imputer):
    X, y, X_new = *training_rows(), new_rows()
    filled = clone(imputer).fit(X, y).transform(np.repeat(X_new, 3, axis=0))
    assert same_bits(filled, np.repeat(filled[::3], 3, axis=0))


@check
def equal_training_rows_with_equal_labels_get_equal_fills(imputer):
    X, y = training_rows()
    filled = fill_training(imputer, np.vstack([X, X[:20]]), np.append(y, y[:20]))
    assert_same_fills(filled[len(X) :], filled[:20], X, solver_tolerance(imputer))


@check
def permuted_training_rows_are_filled_alike(imputer):
    X, y, X_new = *training_rows(), new_rows()
    order = np.random.default_rng(3).permutation(len(X))
    training, new = fill_both(imputer, X, y, X_new)
    permuted, new_from_permuted = fill_both(imputer, X[order], y[order], X_new)
    assert_same_fills(permuted, training[order], X, solver_tolerance(imputer))
    assert_same_fills(new_from_permuted, new, X, solver_tolerance(imputer))


@check
def permuted_columns_are_filled_alike(imputer):
    X, y, X_new = *training_rows(), new_rows()
    order = np.array([2, 0, 3, 1])
    training, new = fill_both(imputer, X, y, X_new)
    permuted, new_permuted = fill_both(imputer, X[:, order], y, X_new[:, order])
    assert_same_fills(permuted, training[:, order], X[:, order], solver_tolerance(imputer))
    assert_same_fills(new_permuted, new[:, order], X[:, order], solver_tolerance(imputer))


@check
def other_names_of_the_classes_give_the_same_fills(imputer):
    X, y = training_rows()
    expected = fill_training(imputer, X, y)
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
    training, new = fill_both(imputer, X, y, X_new)
    mapped = X * scale + shift
    mapped_training, mapped_new = fill_both(imputer, mapped, y, X_new * scale + shift)
    tolerance = solver_tolerance(imputer)
    assert_same_fills(mapped_training, training * scale + shift, mapped, tolerance)
    assert_same_fills(mapped_new, new * scale + shift, mapped, tolerance)


@check
def a_few_gaps_more_leave_the_other_new_rows_as_they_are(imputer):
    X, y, X_new = *training_rows(), new_rows()
    fitted = clone(imputer).fit(X, y)
    gappier = np.array(X_new)
    gappier[:5] = amputed(X_new[:5], 0.5, np.random.default_rng(4))
    assert same_bits(fitted.transform(gappier)[5:], fitted.transform(X_new)[5:])
