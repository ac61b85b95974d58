"""What the estimators share: containers and kinds of columns, limits, scikit-learn's company."""

import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
    default_grid,
)
from kernimpute.estimators._base import estimated_memory
from kernimpute.kernels import Gaussian
from tests.conftest import peak_memory
from tests.estimators.problems import GUIDED, mixed_table, related_rows, uniform_rows

MACHINES = [KernelImputationClassifier(), KernelImputationRegressor()]


@pytest.fixture
def table():
    """Return a mixed table and its labels."""
    return mixed_table()


def polar(frame):
    """Return a mixed table as polars' own, gaps as nulls."""
    grades = pl.col("grade").cast(pl.Enum(["low", "mid", "high"]))
    return pl.from_pandas(frame.reset_index(drop=True)).with_columns(grades)


@pytest.mark.parametrize("as_given", [polar, lambda frame: polar(frame).to_arrow()])
def test_other_tables_come_back_with_their_schema_and_the_fills_of_pandas(table, as_given):
    frame, y = table
    given, kept = as_given(frame), as_given(frame)
    imputer, expected = KernelImputer(), KernelImputer().fit(frame, y)
    for filled, like in (
        (imputer.fit_transform(given, y), expected.fit_transform(frame, y)),
        (imputer.transform(given), expected.transform(frame)),
    ):
        assert type(filled) is type(given) and filled.schema == given.schema
        as_polars = pl.DataFrame(filled)
        for name in frame.columns:
            assert as_polars[name].to_list() == like[name].tolist()
    assert given.equals(kept)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_machines_predict_alike_from_pandas_and_polars(table, machine):
    frame, y = table
    one = clone(machine).fit(frame, y).predict(frame)
    other = clone(machine).fit(polar(frame), pl.Series(y)).predict(polar(frame))
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-10)


def test_numbers_are_categories_where_named():
    X, y = uniform_rows()
    X[:, [1, 3]] = np.ceil(X[:, [1, 3]] * [3, 4])
    frame = pd.DataFrame(X, columns=[*"abcde"])
    filled = [
        KernelImputer(categorical_features=form).fit_transform(data, y)
        for form, data in (
            (["b", "d"], frame),
            ([1, 3], X),
            ([1, 3], frame),
            (np.array([False, True, False, True, False]), X),
        )
    ]
    for one in filled:
        np.testing.assert_array_equal(np.asarray(one), np.asarray(filled[0]))
        assert set(np.asarray(one)[:, 1]) <= {1.0, 2.0, 3.0}
    assert not set(KernelImputer().fit_transform(X, y)[:, 1]) <= {1.0, 2.0, 3.0}


def test_fills_stay_in_the_declared_range_and_follow_it():
    X, y = uniform_rows()
    X = 10.0 * X
    frame = pd.DataFrame(X, columns=[*"abcde"])
    forms = [(-20.0, 40.0), dict.fromkeys("abcde", (-20.0, 40.0)), np.array([(-20.0, 40.0)] * 5)]
    filled = [
        np.asarray(KernelImputer(**GUIDED, feature_range=form, eta=1.0).fit_transform(frame, y))
        for form in forms
    ]
    for one in filled:
        np.testing.assert_array_equal(one, filled[0])
        assert (one >= -20.0).all() and (one <= 40.0).all()


WRONG_RANGES = [(3.0, 1.0), {"a": (1.0, 1.0)}, np.zeros((2, 2)), (0.2, 0.8)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"feature_range": form}, "'feature_range' parameter|range") for form in WRONG_RANGES),
        ({"categorical_features": ["a", "z"]}, "categorical_features.*Got 'z' instead"),
        ({"feature_range": {"z": (0, 1)}}, "feature_range.*Got 'z' instead"),
        ({"categorical_features": [9]}, "categorical_features"),
        ({"categorical_features": np.array([True, False])}, "categorical_features"),
        ({"reference": SimpleImputer(add_indicator=True)}, "'reference' parameter.*SimpleImputer"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_the_table_are_refused_by_name(options, message):
    X, y = uniform_rows()
    with pytest.raises((ValueError, TypeError), match=message):
        KernelImputer(**options).fit(pd.DataFrame(X, columns=[*"abcde"]), y)


@pytest.mark.parametrize(
    "form", [(0.0, 1.0), {2: (0.0, 1.0)}, {"c": (0.0, 1.0)}, [(0.0, 1.0)] * 5], ids=repr
)
def test_a_constant_outside_its_declared_range_is_refused_in_every_form(form):
    X, y = uniform_rows()
    frame = pd.DataFrame(X, columns=[*"abcde"])
    imputer = KernelImputer(feature_range=form)
    frame["c"] = 7.0
    with pytest.raises(ValueError, match=r"'c' column .*declared range \[0.0, 1.0\]. Got 7.0"):
        imputer.fit(frame, y)
    frame["c"] = 0.5
    assert imputer.fit_transform(frame, y)["c"].eq(0.5).all()
    # Categories have no range to lie in.
    everywhere = KernelImputer(feature_range=(0.0, 1.0))
    assert everywhere.fit_transform(frame.assign(c="x"), y)["c"].eq("x").all()


@pytest.mark.parametrize(
    ("marker", "markers"), [(-9.0, -9.0), (-9.0, [-9.0, -8.0]), ("?", "?"), (None, np.nan)]
)
def test_what_else_counts_as_a_gap(marker, markers):
    X, y = uniform_rows()
    marked = X.astype(object)
    marked[np.isnan(X)] = marker
    # The usual gaps count whatever else does.
    marked[::2][np.isnan(X[::2])] = pd.NA
    frame, plain = (pd.DataFrame(part, columns=[*"abcde"]).astype(object) for part in (marked, X))
    kept = frame.copy(deep=True)
    filled = KernelImputer(missing_values=markers).fit_transform(frame, y)
    expected = KernelImputer().fit_transform(plain, y)
    np.testing.assert_array_equal(filled.to_numpy(float), expected.to_numpy(float))
    pd.testing.assert_frame_equal(frame, kept)


def test_indicators_are_appended_for_the_columns_with_gaps_in_fit(table):
    frame, y = table
    frame["whole"] = np.arange(len(frame)) % 7
    imputer = KernelImputer(add_indicator=True)
    filled = imputer.fit_transform(frame, y)
    gappy = [name for name in frame.columns if frame[name].isna().any()]
    appended = [f"missingindicator_{name}" for name in gappy]
    assert filled.columns.tolist() == [*frame.columns, *appended]
    assert imputer.get_feature_names_out().tolist() == filled.columns.tolist()
    for name in gappy:
        assert filled[f"missingindicator_{name}"].tolist() == frame[name].isna().tolist()
    plain = KernelImputer().fit_transform(frame, y)
    pd.testing.assert_frame_equal(filled[frame.columns], plain)
    np.testing.assert_array_equal(imputer.filled_, frame.isna())
    X = np.array([[1, -1], [2, 5], [-1, 7], [3, 9]])
    weighted = KernelImputer(missing_values=-1).fit(X, sample_weight=[0, 1, 1, 1])
    np.testing.assert_array_equal(weighted.filled_, X == -1)


def test_a_table_of_nothing_has_no_column_left_unless_they_are_kept():
    """As scikit-learn's SimpleImputer has it."""
    X, y = np.full((20, 3), np.nan), np.arange(20) % 2
    with pytest.warns(UserWarning, match=r"0.*1.*2"):
        assert KernelImputer().fit_transform(X, y).shape == (20, 0)
    filled = KernelImputer(keep_empty_features=True).fit_transform(X, y)
    np.testing.assert_array_equal(filled, np.zeros((20, 3)))


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_a_number_far_outside_is_taken_to_be_far_with_a_warning(kernel):
    X, y = related_rows()
    row = np.full((1, X.shape[1]), np.nan)
    row[0, 0] = 1e300
    svm = KernelImputationClassifier(machine="svm", kernel=kernel)
    for predictor in (svm, *(MACHINES if kernel == "gaussian" else [])):
        fitted = clone(predictor).fit(X, y)
        ways = ("predict", "decision_function", "predict_proba")
        for way in (name for name in ways if hasattr(fitted, name)):
            with pytest.warns(UserWarning, match=r"farther than 1e\+06 times the training range"):
                assert np.isfinite(getattr(fitted, way)(row)).all()
    with pytest.warns(UserWarning, match="farther than"):
        filled = KernelImputer(guidance="direct", kernel=kernel).fit(X, y).transform(row)
    assert np.isfinite(filled).all() and filled[0, 0] == 1e300


@pytest.mark.filterwarnings("ignore:.*Stopped at max_iter")
def test_a_refit_leaves_nothing_of_the_fit_before():
    X, y = related_rows(30)
    imputer = KernelImputer(guidance="direct").fit(X, y)
    imputer.set_params(guidance="anchored", task="regression", max_iter=1).fit(X, y + 0.25)
    assert not hasattr(imputer, "eta_") and not hasattr(imputer, "classes_")
    plain = imputer.set_params(guidance=None, task="auto", max_iter=None).fit(X)
    assert vars(plain).keys() == vars(KernelImputer().fit(X)).keys()
    assert not hasattr(plain.set_params(reference="mean").fit(X), "strength_")
    classifier = KernelImputationClassifier().fit(X, y)
    assert 0.0 < classifier.strength_ < np.inf
    classifier.set_params(machine="svm").fit(X, y)
    svm = KernelImputationClassifier(machine="svm").fit(X, y)
    assert vars(classifier).keys() == vars(svm).keys()


def test_the_strength_is_infinite_where_columns_say_nothing_of_each_other():
    X = np.random.default_rng(0).uniform(size=(200, 3))
    X[::5, 0] = np.nan
    assert KernelImputer().fit(X).strength_ == np.inf


def test_an_indicator_never_takes_a_column_of_the_users():
    X, y = related_rows()
    frame = pd.DataFrame(X[:, :2], columns=["a", "missingindicator_a"])
    with pytest.raises(ValueError, match="'a' and 'missingindicator_a'.*rename"):
        KernelImputer(add_indicator=True).fit(frame, y)
    assert KernelImputer().fit_transform(frame, y).columns.tolist() == [*frame.columns]


def test_a_category_of_weightless_rows_is_kept_or_refused_before_the_fit():
    X, y = related_rows()
    frame = pd.DataFrame({"number": X[:, 0], "code": ["z", *(["p", "q"] * y.size)[: y.size - 1]]})
    weights = np.ones(y.size)
    weights[0] = 0.0
    imputer = KernelImputer(handle_unknown="error")
    with pytest.raises(ValueError, match="'code'.*'z'"):
        imputer.fit(frame, y, sample_weight=weights)
    assert not hasattr(imputer, "n_iter_")
    with pytest.warns(UserWarning, match="are kept, and not used"):
        filled = KernelImputer().fit_transform(frame, y, sample_weight=weights)
    assert filled["code"].tolist() == frame["code"].tolist()


@pytest.mark.parametrize(
    ("n_samples", "n_columns", "options"),
    [
        (200, 8, GUIDED),
        (60, 200, GUIDED),
        (200, 8, {**GUIDED, "kernel": "laplacian"}),
        (80, 8, {"guidance": "anchored", "reference": "mean"}),
        (60, 8, {"guidance": "paper", "reference": "mean", "max_iter": 1}),
        (60, 8, {"guidance": "released", "reference": "mean", "max_iter": 1}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*Stopped at max_iter")
def test_a_fit_stays_below_the_estimate_of_its_memory(n_samples, n_columns, options):
    X, y = uniform_rows(n_samples, n_columns)
    imputer = KernelImputer(**options)
    imputer.fit(X[:30], y[:30])
    peak = peak_memory(lambda: imputer.fit(X, y))
    assert peak <= estimated_memory(n_samples, n_columns, imputer.guidance, imputer.kernel_)


def test_the_refusal_counts_jobs_and_its_advice_is_followed():
    X, y = uniform_rows(1200, 8)
    need = estimated_memory(600, 8, "direct", Gaussian())
    options = {"subset_size": 600, "n_jobs": 2, "max_memory": int(1.5 * need)}
    machine = KernelImputationClassifier(machine="svm", **options)
    with pytest.raises(ValueError, match="N = 1200 rows, 600 at once in each of 2 jobs") as refusal:
        machine.fit(X, y)
    size = int(re.search(r"subset_size=(\d+)", str(refusal.value))[1])
    with joblib.parallel_config("threading"):
        machine.set_params(subset_size=size).fit(X, y)
    with pytest.raises(ValueError, match="allows .* GiB: raise max_memory"):
        KernelImputer(guidance="direct", max_memory=1000).fit(X, y)


def test_grid_search_over_the_default_grid_picks_the_best_in_a_pipeline():
    with pytest.raises(ValueError, match="'prefix' parameter of default_grid must be empty, or"):
        default_grid("imputer")
    X, y = related_rows(30, 3)
    grids = [{**grid, "kernelimputer__C": [0.25, 4.0]} for grid in default_grid("kernelimputer__")]
    pipeline = make_pipeline(KernelImputer(), SVC())
    search = GridSearchCV(pipeline, grids, cv=2, error_score="raise").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores.size == 2 * (3 + 9) and search.best_score_ == scores.max()
    best = clone(pipeline).set_params(**search.best_params_)
    assert cross_val_score(best, X, y, cv=2).mean() == search.best_score_


@pytest.mark.parametrize("name", ["scale/4", "scale", "scale*4"])
def test_named_gammas_and_etas_are_parts_of_the_scaled_ones(name):
    X, y = uniform_rows()
    parts = {"scale/4": 0.25, "scale": 1.0, "scale*4": 4.0}
    for estimator in (
        KernelImputer(guidance="direct"),
        KernelImputationClassifier(guidance="direct", machine="svm"),
        KernelImputationRegressor(guidance="direct", machine="svm"),
    ):
        scaled = clone(estimator).set_params(gamma="scale").fit(X, y)
        named = clone(estimator).set_params(gamma=name, eta="auto/4").fit(X, y)
        assert named.kernel_.gamma == pytest.approx(parts[name] * scaled.kernel_.gamma)
        assert named.eta_ == pytest.approx(scaled.eta_ / 4.0)


def test_a_reference_is_cloned_and_never_fitted_itself():
    X, y = related_rows()
    reference = KNNImputer()
    imputer = KernelImputer(reference=reference)
    copy = clone(imputer)
    assert copy.reference is not reference
    imputer.fit(X, y)
    assert imputer.reference is reference and not hasattr(reference, "n_features_in_")
    imputer.set_params(reference__n_neighbors=2)
    assert reference.n_neighbors == 2 and imputer.get_params()["reference__n_neighbors"] == 2


def test_weights_are_routed_through_a_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        X, y = related_rows()
        weights = np.where(np.arange(len(y)) % 3 == 0, 4.0, 1.0)
        pipeline = make_pipeline(
            KernelImputer(**GUIDED, tol=1e-4, max_iter=1000).set_fit_request(sample_weight=True),
            SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
        )
        imputer = KernelImputer(**GUIDED, tol=1e-4, max_iter=1000)
        filled = imputer.fit_transform(X, y, sample_weight=weights)
        machine = SVC().fit(filled, y, sample_weight=weights)
        pipeline.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(pipeline[-1].dual_coef_, machine.dual_coef_)
