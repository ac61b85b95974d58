"""What the checks of the battery share: the registry, the rows, how to fill and to compare.

scikit-learn's own checks fit complete tables only; those of the battery have gaps. A check is a
function of an unfitted imputer, ours or scikit-learn's, that asserts.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from kernimpute import KernelImputer
from tests.estimators.problems import read_only, related_rows

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
    """Register a check under its name."""
    checks[function.__name__] = function
    return function


def training_rows():
    """Return labelled rows with gaps, read-only."""
    X, y = related_rows(seed=0)
    return read_only(X), read_only(y)


def new_rows():
    """Return other rows with gaps, some of their values outside the range seen in training."""
    X, _ = related_rows(n_samples=25, seed=1)
    return read_only(1.3 * X - 2.0)


def features(filled, X):
    """Return the filled features, as an array, without the indicators appended to them."""
    columns = slice(np.shape(X)[1])
    return np.asarray(filled.iloc[:, columns] if hasattr(filled, "iloc") else filled[:, columns])


def fill_training(imputer, X, y):
    """Return the training rows as a fresh copy of the imputer fills them."""
    return features(clone(imputer).fit_transform(X, y), X)


def fill_new(imputer, X, y, X_new):
    """Return new rows as a fresh copy of the imputer, fitted on X, fills them."""
    return features(clone(imputer).fit(X, y).transform(X_new), X_new)


def fill_both(imputer, X, y, X_new):
    """Return training rows and new rows, filled."""
    return fill_training(imputer, X, y), fill_new(imputer, X, y, X_new)


def solver_tolerance(imputer):
    """Return what may change in the fills where the solver meets the same problem in disguise."""
    if not isinstance(imputer, KernelImputer):
        return CLOSE
    if imputer.variant == "direct":
        return SAME_DESCENT
    return 0.3 * np.sqrt(CERTIFIED if imputer.tol is None else imputer.tol)


def assert_same_fills(one, other, X, tolerance=CLOSE):
    """Assert that filled tables agree to a tolerance in units of each column's observed range."""
    spread = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    np.testing.assert_allclose(one / spread, other / spread, rtol=0.0, atol=tolerance)
