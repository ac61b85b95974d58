"""The estimators among scikit-learn's: pipelines, searches, routing, meta-estimators, display."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_html_repr

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputationRegressor,
    KernelImputationRegressorCV,
    KernelImputer,
    KernelImputerCV,
)
from tests.estimators.problems import (
    QUICK_SEARCH,
    mixed_table,
    regression_rows,
    related_rows,
)

ALL = [
    KernelImputer(),
    KernelImputationClassifier(),
    KernelImputationRegressor(),
    KernelImputerCV(**QUICK_SEARCH),
    KernelImputationClassifierCV(**QUICK_SEARCH),
    KernelImputationRegressorCV(**QUICK_SEARCH),
]


def name_of(estimator):
    """Return the name of an estimator's class, for the tests' ids."""
    return type(estimator).__name__


@pytest.fixture
def rows():
    """Return rows with gaps and their labels."""
    return related_rows(n_samples=60, n_features=4)


@pytest.fixture
def routing():
    """Switch metadata routing on."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# ---------------------------------------------------------------------------- pipelines


def test_a_pipeline_fits_on_labelled_fills_and_predicts_on_unlabelled_ones(rows):
    X, y = rows
    pipeline = make_pipeline(KernelImputer(), StandardScaler(), SVC()).fit(X, y)
    imputer = KernelImputer()
    filled = imputer.fit_transform(X, y)
    machine = make_pipeline(StandardScaler(), SVC()).fit(filled, y)
    np.testing.assert_array_equal(
        pipeline.decision_function(X), machine.decision_function(imputer.transform(X))
    )
    assert cross_val_score(pipeline, X, y, cv=3, error_score="raise").mean() > 0.7


def test_set_output_goes_through_a_pipeline():
    frame, y = mixed_table()
    numbers = frame[["height", "weight"]]
    pipeline = make_pipeline(KernelImputer(add_indicator=True), StandardScaler())
    pipeline.set_output(transform="pandas")
    out = pipeline.fit_transform(numbers, y)
    assert isinstance(out, pd.DataFrame)
    assert out.index.equals(frame.index)
    assert out.columns.tolist() == pipeline.get_feature_names_out().tolist()
    assert out.columns.tolist()[2:] == ["missingindicator_height", "missingindicator_weight"]


def test_a_filled_mixed_table_goes_on_to_an_encoder():
    frame, y = mixed_table()
    encode = ColumnTransformer(
        [("words", OneHotEncoder(), ["town", "grade", "smoker"])], remainder="passthrough"
    )
    pipeline = make_pipeline(KernelImputer(), encode, LogisticRegression(max_iter=5000))
    assert pipeline.fit(frame, y).predict(frame).shape == y.shape


def test_a_column_transformer_gives_the_imputer_its_columns():
    frame, y = mixed_table()
    transformer = ColumnTransformer(
        [("ours", KernelImputer(), ["height", "weight"]), ("theirs", SimpleImputer(), ["age"])],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    frame["age"] = frame["age"].astype("float64")
    out = transformer.fit_transform(frame, y)
    assert out.columns.tolist() == ["height", "weight", "age"]
    alone = KernelImputer().fit_transform(frame[["height", "weight"]], y)
    pd.testing.assert_frame_equal(out[["height", "weight"]], alone)


# ------------------------------------------------------------------------------ searches


def test_grid_search_over_kernel_penalty_and_anchor(rows):
    X, y = rows
    grid = {"kernel": ["linear", "gaussian"], "C": [0.5, 5.0], "eta": [8.0, np.inf]}
    search = GridSearchCV(KernelImputationClassifier(cv=None), grid, cv=3, error_score="raise")
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.7


def test_grid_search_over_an_imputer_in_a_pipeline_and_its_references_parameters(rows):
    X, y = rows
    pipeline = make_pipeline(KernelImputer(reference=KNNImputer()), SVC())
    grid = {"kernelimputer__reference__n_neighbors": [2, 9], "kernelimputer__C": [0.5, 5.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_estimator_[0].reference.n_neighbors in (2, 9)
    few, many = (
        KernelImputer(reference=KNNImputer(n_neighbors=k)).fit_transform(X, y) for k in (2, 9)
    )
    assert np.abs(few - many).max() > 1e-3


def test_a_reference_is_cloned_and_never_fitted_itself(rows):
    X, y = rows
    reference = KNNImputer()
    imputer = KernelImputer(reference=reference)
    copy = clone(imputer)
    assert copy.reference is not reference
    imputer.fit(X, y)
    assert imputer.reference is reference
    assert not hasattr(reference, "n_features_in_")
    imputer.set_params(reference__n_neighbors=2)
    assert reference.n_neighbors == 2
    assert imputer.get_params()["reference__n_neighbors"] == 2


@pytest.mark.filterwarnings(r"ignore:\[IterativeImputer\] Early stopping")
@pytest.mark.parametrize("variant", ["direct", "anchored"])
def test_any_imputer_of_scikit_learn_may_be_the_reference(rows, variant):
    X, y = rows
    for reference in (SimpleImputer(strategy="median"), KNNImputer(), IterativeImputer(max_iter=2)):
        filled = KernelImputer(reference=reference, variant=variant).fit_transform(X, y)
        assert np.isfinite(filled).all()


def test_cross_validation_in_processes_equals_that_in_one(rows):
    X, y = rows
    for estimator in (KernelImputationClassifier(), make_pipeline(KernelImputer(), SVC())):
        alone, together = (
            cross_val_score(estimator, X, y, cv=4, n_jobs=n_jobs, error_score="raise")
            for n_jobs in (1, 2)
        )
        np.testing.assert_array_equal(alone, together)


# ------------------------------------------------------------------------------- routing


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_through_a_pipeline_and_its_cross_validation(rows):
    X, y = rows
    weights = np.where(np.arange(len(y)) % 3 == 0, 4.0, 1.0)
    pipeline = make_pipeline(
        KernelImputer(tol=1e-4, max_iter=1000).set_fit_request(sample_weight=True),
        SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
    )
    filled = KernelImputer(tol=1e-4, max_iter=1000).fit_transform(X, y, sample_weight=weights)
    machine = SVC().fit(filled, y, sample_weight=weights)
    pipeline.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].dual_coef_, machine.dual_coef_)
    params = {"sample_weight": weights}
    weighted = cross_validate(pipeline, X, y, cv=3, params=params, error_score="raise")
    assert np.isfinite(weighted["test_score"]).all()


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_through_a_grid_search(rows):
    X, y = rows
    weights = np.where(np.arange(len(y)) % 3 == 0, 4.0, 1.0)
    machine = KernelImputationClassifier(cv=None)
    machine.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(machine, {"C": [0.5, 5.0]}, cv=3, error_score="raise")
    search.fit(X, y, sample_weight=weights)
    best = clone(machine).set_params(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_through_ours_of_the_searches(rows):
    X, y = rows
    weights = np.where(np.arange(len(y)) % 3 == 0, 4.0, 1.0)
    search = KernelImputationClassifierCV(**QUICK_SEARCH).set_fit_request(sample_weight=True)
    pipeline = make_pipeline(search).fit(X, y, sample_weight=weights)
    alone = KernelImputationClassifierCV(**QUICK_SEARCH).fit(X, y, sample_weight=weights)
    assert pipeline[-1].best_params_ == alone.best_params_
    np.testing.assert_array_equal(pipeline.decision_function(X), alone.decision_function(X))


# ---------------------------------------------------------------------- meta-estimators


@pytest.mark.parametrize("ensemble", [True, False])
def test_scikit_learn_calibrates_the_decision_function(rows, ensemble):
    X, y = rows
    machine = KernelImputationClassifier(cv=None)
    calibrated = CalibratedClassifierCV(machine, cv=3, ensemble=ensemble).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_it_stacks(rows):
    X, y = rows
    stack = StackingClassifier(
        [("ours", KernelImputationClassifier()), ("mean", make_pipeline(SimpleImputer(), SVC()))],
        cv=3,
    )
    assert stack.fit(X, y).score(X, y) > 0.7


def test_its_threshold_is_tuned(rows):
    X, y = rows
    tuned = TunedThresholdClassifierCV(
        KernelImputationClassifier(cv=3), scoring="balanced_accuracy", cv=3
    )
    assert tuned.fit(X, y).predict(X).shape == y.shape


def test_permutation_importance_and_cross_val_predict_take_gaps(rows):
    X, y = rows
    machine = KernelImputationClassifier(cv=None).fit(X, y)
    importance = permutation_importance(machine, X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean.max() > 0.0
    decisions = cross_val_predict(machine, X, y, cv=3, method="decision_function")
    assert np.isfinite(decisions).all()
    X, target = regression_rows()
    assert np.isfinite(cross_val_predict(KernelImputationRegressor(), X, target, cv=3)).all()


# ------------------------------------------------------------------------------- display


@pytest.mark.parametrize("estimator", ALL, ids=name_of)
def test_html_and_text_are_shown_fitted_or_not(estimator, rows):
    X, y = rows
    estimator = clone(estimator)
    assert type(estimator).__name__ in estimator_html_repr(estimator)
    before = repr(estimator)
    estimator.fit(X, y)
    assert type(estimator).__name__ in estimator_html_repr(estimator)
    assert repr(estimator) == before
    assert estimator_html_repr(make_pipeline(estimator))


@pytest.mark.parametrize("estimator", ALL, ids=name_of)
def test_parameters_are_set_by_name_and_never_written_by_fit(estimator, rows):
    X, y = rows
    estimator = clone(estimator)
    before = dict(estimator.get_params(deep=False))
    estimator.fit(X, y)
    after = estimator.get_params(deep=False)
    assert all(after[name] is value for name, value in before.items())
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        estimator.set_params(colour="red")
