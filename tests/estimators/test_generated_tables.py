"""Random tables end filled, or in a refusal of ours; never in NaN or a stranger's warning."""

import traceback
import warnings

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernimpute import KernelImputationClassifier, KernelImputer
from tests.estimators.tables import gappier, labelled_tables

MANY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
FEWER = settings(MANY, max_examples=25)

OUR_REFUSALS = ("/kernimpute/", "sklearn/utils/validation", "sklearn/utils/multiclass")
"""Whose code may raise: ours, and scikit-learn's checks of input, which users know."""

WHAT_IS_THE_USERS = ("column", "feature", "class", "row", "sample", "label", "y ", "'y'", "kernel")


def assert_refused_by_us(error):
    """Assert that an error is a refusal in the user's own terms."""
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    assert any(part in place for part in OUR_REFUSALS), (place, error)
    assert any(word in str(error) for word in WHAT_IS_THE_USERS), error


def outcome(action):
    """Return what an action returns, or None where it is refused by us; warn of nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Ours begin with the estimator's name, and go to a user.
        warnings.filterwarnings("ignore", "Kernel(Imputer|ImputationClassifier): ", UserWarning)
        try:
            return action()
        except (ValueError, TypeError) as error:
            assert_refused_by_us(error)
    return None


def assert_completed(before, after, dropped):
    """Assert that a table is filled, its dtypes kept, its empty columns alone dropped."""
    kept = [name for name in before.columns if name not in dropped]
    assert after.columns.tolist() == kept
    assert after.index.equals(before.index)
    for name in kept:
        was, now = before[name], after[name]
        if isinstance(was.dtype, pd.CategoricalDtype):
            assert set(was.cat.categories) <= set(now.cat.categories)
            assert now.cat.ordered == was.cat.ordered
        else:
            assert now.dtype == was.dtype
        assert not now.isna().any()
        seen = was.notna().to_numpy()
        assert now[seen].tolist() == was[seen].tolist()


@MANY
@given(labelled_tables(), st.data())
def test_the_imputer_fills_or_refuses(case, data):
    frame, y = case
    kept, y_kept = frame.copy(deep=True), y.copy()
    keeping = data.draw(st.booleans())
    options = {}
    if data.draw(st.booleans()):
        options = {"guidance": "direct", "task": "classification"}
        options["reference"] = data.draw(st.sampled_from(["joint", "mean"]))
        options["new_rows"] = data.draw(st.sampled_from(["auto", "similar", "reference"]))
        kernels = st.sampled_from(["gaussian", "laplacian", "linear", "chi2"])
        options["kernel"] = data.draw(kernels)
    if keeping:
        options |= {"keep_empty_features": True, "add_indicator": True}
    imputer = KernelImputer(**options)
    filled = outcome(lambda: imputer.fit_transform(frame, y))
    pd.testing.assert_frame_equal(frame, kept)
    np.testing.assert_array_equal(y, y_kept)
    if filled is None:
        return
    indicated = [name for name in frame.columns if keeping and frame[name].isna().any()]
    dropped = [name for name in frame.columns if not keeping and frame[name].isna().all()]
    indicators = [f"missingindicator_{name}" for name in indicated]
    assert filled.columns[len(filled.columns) - len(indicators) :].tolist() == indicators
    for name, indicator in zip(indicated, indicators, strict=True):
        assert filled[indicator].tolist() == frame[name].isna().tolist()
    assert_completed(frame, filled.drop(columns=indicators), dropped)
    new = data.draw(gappier(frame))
    new_kept = new.copy(deep=True)
    filled_new = outcome(lambda: imputer.transform(new))
    pd.testing.assert_frame_equal(new, new_kept)
    assert_completed(new, filled_new.drop(columns=indicators), dropped)


@FEWER
@given(labelled_tables(), st.data())
def test_the_classifier_predicts_or_refuses(case, data):
    frame, y = case
    kept = frame.copy(deep=True)
    machine = KernelImputationClassifier(machine=data.draw(st.sampled_from(["svm", "average"])))
    fitted = outcome(lambda: machine.fit(frame, y))
    if fitted is not None:
        new = data.draw(gappier(frame))
        predicted = outcome(lambda: fitted.predict(new))
        assert predicted is not None
        assert set(predicted.tolist()) <= set(y.tolist())
        if machine.machine == "svm":
            assert np.isfinite(outcome(lambda: fitted.decision_function(new))).all()
        else:
            shares = outcome(lambda: fitted.predict_proba(new))
            np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
            assert (shares >= 0.0).all()
    pd.testing.assert_frame_equal(frame, kept)
