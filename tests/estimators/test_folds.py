"""Folds: how many there are, and which splits are refused before anything is fitted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

from kernimpute import KernelImputationClassifier
from kernimpute.estimators._folds import folds_of
from kernimpute.estimators._subsets import read_labels
from kernimpute.table.frames import to_pandas
from tests.estimators.problems import related_rows

FIRST, SECOND = np.arange(30), np.arange(30, 60)


def labels_of(y, sample_weight=None, task="classification"):
    """Return labels as the estimators read them."""
    return read_labels(y, y, sample_weight, task=task, class_weight=None, owner="owner")


def folds_and_warnings(cv, y, sample_weight=None, task="classification"):
    """Return the folds of some labels, and what was warned of."""
    said = []
    frame = to_pandas(np.zeros((len(y), 1)))
    return folds_of(cv, frame, labels_of(y, sample_weight, task), warn=said.append), said


@pytest.fixture
def nothing_is_fitted(monkeypatch):
    """Make any fit of a table fail."""

    def fail(*_):
        raise AssertionError("a table was coded")

    monkeypatch.setattr(KernelImputationClassifier, "_learn_code", fail)


def test_too_few_rows_make_no_folds():
    assert folds_and_warnings(5, [0, 1, 1, 1]) == ([], [])


def test_a_number_of_folds_is_of_the_rows_that_have_weight():
    y = np.arange(40) % 2
    # Without regard to weights the first fold would hold out nothing that counts.
    weight = np.repeat([0.0, 1.0], 20)
    folds, said = folds_and_warnings(4, y, weight)
    without, _ = folds_and_warnings(4, y[20:])
    assert not said
    for fold, expected in zip(folds, without, strict=True):
        np.testing.assert_array_equal(fold.train, 20 + expected.train)
        np.testing.assert_array_equal(fold.test, 20 + expected.test)


def test_masks_and_places_are_the_same_splits():
    y = np.arange(60) % 2
    masks = [(np.arange(60) < 30, np.arange(60) >= 30)]
    from_masks, _ = folds_and_warnings(masks, y)
    from_lists, _ = folds_and_warnings(iter([(FIRST.tolist(), SECOND.tolist())]), y)
    for fold in (*from_masks, *from_lists):
        np.testing.assert_array_equal(fold.train, FIRST)
        np.testing.assert_array_equal(fold.test, SECOND)


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
