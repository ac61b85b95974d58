"""Folds: how many there are, and which splits are refused before anything is fitted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

from kernimpute import KernelImputationClassifier
from tests.estimators.problems import related_rows

FIRST, SECOND = np.arange(30), np.arange(30, 60)


def shares(cv, X, y, **weights):
    """Return the probabilities of rows by calibration in some folds."""
    return KernelImputationClassifier(cv=cv).fit(X, y, **weights).predict_proba(X)


@pytest.fixture
def nothing_is_fitted(monkeypatch):
    """Make any fit of a table fail."""

    def fail(*_):
        raise AssertionError("a table was coded")

    monkeypatch.setattr(KernelImputationClassifier, "_learn_code", fail)


def test_a_number_of_folds_is_of_the_rows_that_have_weight():
    X, y = related_rows()
    # Without regard to weights the first fold would hold out nothing that counts, and is refused.
    weighted = shares(4, X, y, sample_weight=np.repeat([0.0, 1.0], 30))
    np.testing.assert_allclose(weighted[SECOND], shares(4, X[SECOND], y[SECOND]), atol=1e-6)


def test_masks_and_places_are_the_same_splits():
    X, y = related_rows()
    masks = [(np.arange(60) < 30, np.arange(60) >= 30)]
    from_lists = shares(iter([(FIRST.tolist(), SECOND.tolist())]), X, y)
    np.testing.assert_array_equal(shares(masks, X, y), from_lists)
    assert not np.array_equal(shares([(SECOND, FIRST)], X, y), from_lists)


@pytest.mark.usefixtures("nothing_is_fitted")
@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "hold at least one fold"),
        ([1, 2], "hold pairs of rows .*: fold 0 is 1"),
        (
            [(FIRST, SECOND), (FIRST, SECOND + 1)],
            r"hold places in \[0, 59\].*: .* held out in fold 1 are .*60",
        ),
        (
            [(FIRST - 1, SECOND)],
            r"hold places in \[0, 59\].*: the rows that train in fold 0 are \[-1 ",
        ),
        ([(FIRST / 1.0, SECOND)], r"hold places in \[0, 59\].*: the rows that train in fold 0"),
        (
            [(np.full(59, True), SECOND)],
            r".* masks of 60 rows: the rows that train in fold 0 .* of shape \(59,\)",
        ),
        ([([], SECOND)], "have rows .*: the rows that train in fold 0 are none"),
        ([(FIRST, np.full(60, False))], "have rows .*: the rows held out in fold 0 are none"),
    ],
    ids=["no folds", "no pairs", "beyond", "below", "not whole", "short", "no train", "no test"],
)
def test_splits_that_are_none_are_refused(cv, message):
    X, y = related_rows()
    message = f"The 'cv' parameter of KernelImputationClassifier must {message}"
    with pytest.raises(ValueError, match=message):
        KernelImputationClassifier(cv=cv).fit(X, y)


@pytest.mark.usefixtures("nothing_is_fitted")
def test_a_fold_that_trains_on_one_class_is_refused():
    X, y = related_rows()
    message = r"'cv' parameter of KernelImputationClassifier must .*: .* in fold 0 hold 1 class\."
    with pytest.raises(ValueError, match=message):
        KernelImputationClassifier(cv=KFold(2)).fit(X, np.sort(y))
    # A class of weight zero is not there.
    weight = np.where((y == 1) & (np.arange(60) >= 30), 0.0, 1.0)
    with pytest.raises(ValueError, match=message):
        KernelImputationClassifier(cv=[(SECOND, FIRST)]).fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("nothing_is_fitted")
def test_a_fold_without_weight_is_refused():
    X, y = related_rows()
    weight = np.repeat([1.0, 0.0], 30)
    message = "the rows held out in fold 1 have weight zero"
    machine = KernelImputationClassifier(cv=[(FIRST, FIRST), (FIRST, SECOND)])
    with pytest.raises(ValueError, match=f"'cv' parameter of {type(machine).__name__}.*{message}"):
        machine.fit(X, y, sample_weight=weight)
