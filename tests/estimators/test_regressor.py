"""The regressor: against scikit-learn's, whatever the units of the target."""

from functools import cache, partial

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVR

from kernimpute import KernelImputationRegressor, KernelImputer, Status
from tests.estimators.problems import GUIDED, assert_filled, regression_rows

AGREE = 1e-4
"""Two exact solvers, each to a tolerance of its own, relative to the target's spread."""


svm = partial(KernelImputationRegressor, machine="svm")


def their_machine(imputer=None, **options):
    """Return scikit-learn's regressor on columns in [0, 1] and a standardised target."""
    steps = [MinMaxScaler(), SVR(**options, tol=1e-9)]
    pipeline = make_pipeline(*([] if imputer is None else [imputer]), *steps)
    return TransformedTargetRegressor(pipeline, transformer=StandardScaler())


@pytest.mark.parametrize("guidance", [None, "direct", "anchored"])
@pytest.mark.parametrize(("kernel", "theirs"), [("gaussian", "rbf"), ("linear", "linear")])
def test_without_gaps_it_is_scikit_learns_machine(kernel, theirs, guidance):
    X, y = regression_rows(share=0.0)
    X_new = 1.1 * regression_rows(share=0.0, seed=1)[0]
    gamma = "scale" if kernel == "linear" else 1.3
    ours = svm(kernel=kernel, gamma=gamma, C=3.0, epsilon=0.2, guidance=guidance).fit(X, y)
    options = {} if kernel == "linear" else {"gamma": 1.3}
    expected = their_machine(kernel=theirs, C=3.0, epsilon=0.2, **options).fit(X, y)
    for rows in (X, X_new):
        np.testing.assert_allclose(
            ours.predict(rows), expected.predict(rows), rtol=0.0, atol=AGREE * y.std()
        )
    assert ours.status_ is Status.NOTHING_MISSING


@pytest.mark.parametrize(
    "options", [{}, {"guidance": "direct", "eta": np.inf, "new_rows": "reference"}], ids=str
)
def test_without_guidance_or_with_an_infinite_anchor_it_is_the_reference_and_a_machine(options):
    X, y = regression_rows()
    X_new = regression_rows(seed=1)[0]
    ours = svm(reference="mean", gamma=0.8, **options).fit(X, y)
    expected = their_machine(SimpleImputer(), gamma=0.8).fit(X, y)
    np.testing.assert_allclose(
        ours.predict(X_new), expected.predict(X_new), rtol=0.0, atol=AGREE * y.std()
    )


@cache
def predictions_of_its_rows(make):
    X, y = regression_rows()
    return make().fit(X, y).predict(X)


@pytest.mark.parametrize(("scale", "shift"), [(-2.0, 1e3), (2.0**660, 0.0), (2.0**-996, 0.0)])
def test_predictions_follow_the_targets_units(scale, shift):
    X, y = regression_rows()
    # Rounding breaks ties between a tree's splits.
    for make, agree in ((KernelImputationRegressor, 1e-2), (svm, 2e-3)):
        plain = predictions_of_its_rows(make)
        mapped = make().fit(X, scale * y + shift).predict(X)
        np.testing.assert_allclose((mapped - shift) / scale, plain, atol=agree * y.std())


def test_a_target_that_predictions_would_overflow_is_refused():
    X, y = regression_rows()
    with pytest.raises(ValueError, match="'y' parameter of KernelImputationRegressor"):
        KernelImputationRegressor().fit(X, y * 1e306)


def test_a_constant_target_is_refused_or_predicted():
    """scikit-learn's regressors take a constant target, and predict it."""
    X, _ = regression_rows()
    for make in (KernelImputationRegressor, svm):
        np.testing.assert_allclose(make().fit(X, np.full(60, 3.5)).predict(X), 3.5)
    assert_filled(X, KernelImputer(**GUIDED, task="regression").fit_transform(X, np.full(60, 3.5)))
