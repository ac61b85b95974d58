"""After the choice: the best estimator stands alone, its probabilities, and a second fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedKFold

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputationRegressorCV,
    KernelImputer,
    KernelImputerCV,
)
from tests.estimators.problems import (
    QUICK_SEARCH,
    collected_warnings,
    regression_rows,
    related_rows,
)


@pytest.mark.parametrize("cv", [None, 3, StratifiedKFold(3)], ids=str)
def test_the_best_estimator_keeps_the_folds_it_was_given(cv):
    X, y = related_rows()
    search = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": cv}).fit(X, y)
    best = search.best_estimator_
    assert best.cv is search.cv if cv is not None else best.cv == 5
    other = clone(best).fit(X[:40], y[:40])
    alone = KernelImputationClassifier(**search.best_params_, cv=best.cv).fit(X[:40], y[:40])
    np.testing.assert_allclose(other.predict_proba(X), alone.predict_proba(X))


def test_probabilities_are_calibrated_on_the_folds_of_the_choice():
    X, y = related_rows(share=0.4)
    groups = np.arange(60) // 4 % 6
    splits = list(GroupKFold(3).split(X, y, groups))
    with sklearn.config_context(enable_metadata_routing=True):
        search = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": GroupKFold(3)})
        search.fit(X, y, groups=groups)
    plain = KernelImputationClassifier(**search.best_params_, cv=splits).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), plain.predict_proba(X))


def test_splits_that_can_be_read_once_are_enough():
    X, y = related_rows(share=0.4)
    splits = list(StratifiedKFold(3).split(X, y))
    expected = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": splits}).fit(X, y)
    for is_routed in (False, True):
        with sklearn.config_context(enable_metadata_routing=is_routed):
            search = KernelImputationClassifierCV(**{**QUICK_SEARCH, "cv": iter(splits)})
            search.fit(X, y)
        np.testing.assert_allclose(search.predict_proba(X), expected.predict_proba(X))


def test_a_class_of_one_row_is_warned_of_once():
    X, y = related_rows()
    y = np.where(np.arange(60) == 7, 2, y)
    with pytest.warns(UserWarning, match="a class with a single row leaves nothing") as warned:
        search = KernelImputationClassifierCV(**QUICK_SEARCH).fit(X, y)
    assert len(warned) == 1
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y = related_rows()
    search = KernelImputerCV(**QUICK_SEARCH, task="classification").fit(X, y)
    assert {"classes_", "cv_results_", "eta_"} <= set(vars(search))
    quantity = regression_rows()[1]
    with pytest.warns(UserWarning, match="fewer than 4 rows"):
        search.set_params(task="regression", variant="anchored").fit(X[:3], quantity[:3])
    stale = {"classes_", "cv_results_", "best_score_", "best_index_", "eta_"}
    assert not stale & set(vars(search))
    assert search.best_params_["eta"] == "auto"


def test_a_fit_that_fails_leaves_nothing_of_the_first():
    X, y = related_rows()
    search = KernelImputationClassifierCV(**QUICK_SEARCH).fit(X, y)
    with pytest.raises(ValueError, match="'cv' parameter"):
        search.set_params(cv=[]).fit(X, y)
    with pytest.raises(NotFittedError):
        search.predict(X)


def test_names_of_columns_are_warned_of_once():
    X, y = related_rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    search = KernelImputationClassifierCV(**QUICK_SEARCH).fit(frame, y)
    with collected_warnings() as warned:
        search.predict(X)
    assert ["does not have valid feature names" in str(each.message) for each in warned] == [True]


def test_other_columns_than_in_fit_are_refused():
    X, y = related_rows()
    search = KernelImputationClassifierCV(**QUICK_SEARCH).fit(X, y)
    with pytest.raises(ValueError, match="has 3 features, but .* is expecting 4 features"):
        search.predict(X[:, :3])


@pytest.mark.parametrize(
    ("search_class", "make_rows"),
    [
        (KernelImputerCV, related_rows),
        (KernelImputationClassifierCV, related_rows),
        (KernelImputationRegressorCV, regression_rows),
    ],
    ids=lambda value: value.__name__,
)
def test_a_column_of_labels_is_warned_of_once(search_class, make_rows):
    X, y = make_rows()
    with pytest.warns(DataConversionWarning) as warned:
        search_class(**QUICK_SEARCH).fit(X, y[:, None])
    assert len(warned) == 1


def test_an_imputer_fills_its_training_rows_as_the_best_one_does():
    X, y = related_rows()
    search = KernelImputerCV(**QUICK_SEARCH)
    filled = search.fit_transform(X, y)
    plain = KernelImputer(**search.best_params_)
    np.testing.assert_allclose(filled, plain.fit_transform(X, y))
