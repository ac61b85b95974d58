"""Saved estimators: pickle, joblib, copies and skops; formats, versions, and what is refused."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernimpute
from kernimpute import (
    KernelImputationClassifier,
    KernelImputationClassifierCV,
    KernelImputationRegressor,
    KernelImputationRegressorCV,
    KernelImputer,
    KernelImputerCV,
)
from kernimpute.estimators import trusted_types
from tests.estimators.problems import (
    QUICK_SEARCH,
    mixed_table,
    related_rows,
    same_bits,
)

SEARCH = {**QUICK_SEARCH, "kernels": ("gaussian",), "Cs": [1.0], "etas": [16.0]}
ESTIMATORS = {
    "imputer": KernelImputer(),
    "classifier": KernelImputationClassifier(),
    "regressor": KernelImputationRegressor(),
    "imputer cv": KernelImputerCV(**SEARCH),
    "classifier cv": KernelImputationClassifierCV(**SEARCH),
    "regressor cv": KernelImputationRegressorCV(**SEARCH),
    "anchored": KernelImputer(variant="anchored", max_iter=3),
    "paper": KernelImputer(variant="paper", max_iter=2),
    "appendix": KernelImputer(variant="appendix", max_iter=2),
    "released": KernelImputer(variant="released", max_iter=2),
    "subsets": KernelImputer(subset_size=15, add_indicator=True),
    "subsets classified": KernelImputationClassifier(subset_size=15),
    "neighbours": KernelImputer(reference=KNNImputer()),
    "neighbours classified": KernelImputationClassifier(reference=KNNImputer(), cv=None),
    "reference": KernelImputationClassifier(eta=np.inf, kernel="linear"),
    "kernel": KernelImputer(kernel=kernimpute.kernels.Laplacian(gamma=0.5)),
}
WAYS = ["pickle", "joblib", "deepcopy", "skops", "save"]


def again(estimator, way, folder):
    """Return an estimator after one way of saving it."""
    path = folder / "saved"
    if way == "pickle":
        return pickle.loads(pickle.dumps(estimator))
    if way == "deepcopy":
        return copy.deepcopy(estimator)
    if way == "joblib":
        joblib.dump(estimator, path, compress=3)
        return joblib.load(path)
    if way == "skops":
        skops.io.dump(estimator, path)
        found = skops.io.get_untrusted_types(file=path)
        assert all(name.startswith("kernimpute.") for name in found)
        assert set(found) <= set(trusted_types())
        return skops.io.load(path, trusted=trusted_types())
    kernimpute.save(estimator, path)
    return kernimpute.load(path)


def answers(estimator, X):
    """Return everything that an estimator says about rows."""
    methods = ("transform", "predict", "decision_function", "predict_proba", "predict_log_proba")
    return {name: getattr(estimator, name)(X) for name in methods if hasattr(estimator, name)}


def assert_same_answers(one, other, X):
    before, after = answers(one, X), answers(other, X)
    assert before.keys() == after.keys()
    assert before
    for name, values in before.items():
        if isinstance(values, pd.DataFrame):
            pd.testing.assert_frame_equal(values, after[name], check_exact=True)
        else:
            assert same_bits(values, after[name])


@pytest.fixture(scope="module", params=["array", "mixed"])
def rows(request):
    if request.param == "array":
        return request.param, related_rows(n_samples=36, n_features=3)
    return request.param, mixed_table(n_samples=36)


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request, rows):
    kind, (X, y) = rows
    if kind == "mixed" and request.param == "released":
        X = X[["height", "weight"]]
    if "regressor" in request.param:
        y = y + np.linspace(0.0, 0.5, len(y))
    with warnings.catch_warnings():
        # A few rounds are enough to have something to save.
        warnings.simplefilter("ignore")
        return copy.copy(ESTIMATORS[request.param]).fit(X, y), X


@pytest.mark.parametrize("way", WAYS)
def test_a_saved_estimator_answers_to_the_last_bit_as_before(fitted, way, tmp_path):
    estimator, X = fitted
    loaded = again(estimator, way, tmp_path)
    assert_same_answers(estimator, loaded, X)
    assert repr(loaded) == repr(estimator)
    assert loaded.status_ is estimator.status_
    assert loaded.kernel_ == estimator.kernel_
    assert repr(loaded.trace_) == repr(estimator.trace_)
    assert sorted(vars(loaded)) == sorted(vars(estimator))


def test_an_unfitted_estimator_and_a_pipeline_can_be_saved(tmp_path):
    X, y = related_rows(n_samples=30)
    kernimpute.save(KernelImputer(C=3.0), tmp_path / "a.skops")
    assert kernimpute.load(tmp_path / "a.skops").fit(X, y).C == 3.0
    pipeline = make_pipeline(KernelImputer(), StandardScaler()).fit(X, y)
    kernimpute.save(pipeline, str(tmp_path / "b.skops"))
    assert_same_answers(pipeline, kernimpute.load(str(tmp_path / "b.skops")), X)


@pytest.mark.parametrize("reference", [SimpleImputer(), IterativeImputer(random_state=0)])
def test_references_and_splitters_of_scikit_learn_need_no_trust(reference, tmp_path):
    X, y = related_rows(n_samples=30)
    search = {**SEARCH, "references": [reference], "cv": RepeatedStratifiedKFold(n_splits=2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imputer = KernelImputerCV(**search).fit(X, y)
    kernimpute.save(imputer, tmp_path / "a.skops")
    assert_same_answers(imputer, kernimpute.load(tmp_path / "a.skops"), X)


TIMES = pd.DatetimeIndex(["2020-01-01 00:00", "2021-05-06 12:30"])
CATEGORIES = {
    "intervals": pd.interval_range(0.0, 2.0, 2),
    "times": TIMES,
    "times of a zone": TIMES.tz_localize("Europe/Berlin"),
    "intervals of times": pd.IntervalIndex.from_breaks([*TIMES, TIMES[1] + TIMES[1].resolution]),
    "durations": pd.to_timedelta(["1 day", "30 min"]),
    "months": pd.period_range("2020-01", periods=2, freq="M"),
    "numbers": [1, 2],
    "booleans": [False, True],
    "pairs": pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]).to_flat_index(),
}


@pytest.mark.parametrize("categories", CATEGORIES.values(), ids=CATEGORIES)
@pytest.mark.parametrize("way", ["pickle", "save"])
def test_categories_of_any_kind_are_saved(categories, way, tmp_path):
    X, y = related_rows(n_samples=30, n_features=2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    codes = np.where(np.arange(30) % 5 == 4, -1, y)
    frame["c"] = pd.Categorical.from_codes(codes, categories=pd.Index(categories))
    imputer = KernelImputer().fit(frame, y)
    assert_same_answers(imputer, again(imputer, way, tmp_path), frame)


@pytest.mark.parametrize(
    "columns",
    [pd.MultiIndex.from_tuples([("a", 1), ("b", TIMES[0])]), TIMES, pd.Index([3, 5])],
    ids=["pairs", "times", "numbers"],
)
def test_names_of_columns_of_any_kind_are_saved(columns, tmp_path):
    X, y = related_rows(n_samples=30, n_features=2)
    frame = pd.DataFrame(X, columns=columns)
    imputer = KernelImputer().fit(frame, y)
    assert_same_answers(imputer, again(imputer, "save", tmp_path), frame)


@pytest.mark.parametrize(
    ("parameters", "y"),
    [
        ({"class_weight": {False: 1.0, True: 3.0}}, np.arange(30) % 2 == 1),
        ({"class_weight": {0: 1.0, 1: 3.0}}, np.arange(30) % 2),
        ({"class_weight": {"no": 1.0, "yes": 3.0}}, np.array(["no", "yes"])[np.arange(30) % 2]),
        ({"class_weight": {np.int64(0): 1.0, np.int64(1): 3.0}}, np.arange(30) % 2),
        ({"feature_range": {0: (-50.0, 50.0)}}, np.arange(30) % 2),
        ({"missing_values": [pd.NA, -999.0]}, np.arange(30) % 2),
        ({"eta": np.inf, "C": np.float64(0.5)}, np.arange(30) % 2),
    ],
)
@pytest.mark.parametrize("way", ["pickle", "save"])
def test_parameters_come_back_as_they_were(parameters, y, way, tmp_path):
    X, _ = related_rows(n_samples=30)
    imputer = KernelImputer(**parameters).fit(X, y)
    loaded = again(imputer, way, tmp_path)
    for name, value in parameters.items():
        assert repr(getattr(loaded, name)) == repr(value)
        assert type(getattr(loaded, name)) is type(value)
    assert_same_answers(imputer, loaded, X)


@pytest.mark.parametrize("way", WAYS)
def test_requests_of_metadata_routing_are_kept(way, tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        imputer = KernelImputer().set_fit_request(sample_weight=True)
        loaded = again(imputer, way, tmp_path)
        assert repr(loaded.get_metadata_routing()) == repr(imputer.get_metadata_routing())
        assert loaded.get_metadata_routing().fit.requests == {"sample_weight": True}


# ------------------------------------------------------------------ formats and versions


@pytest.fixture
def imputer():
    X, y = related_rows(n_samples=30)
    return KernelImputer().fit(X, y)


def doctored(path, change):
    """Apply a function to the text of a skops file's schema."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    parts["schema.json"] = change(parts["schema.json"].decode()).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)


def with_format(text, number, writer):
    """Return a schema with another format or version; without either, without the entry."""
    schema = json.loads(text)
    content = schema["content"]["content"]
    if number is None:
        place = [*content].index("_kernimpute_format")
        del content["_kernimpute_format"]
        del schema["content"]["key_types"]["content"][place]
    else:
        one, two = content["_kernimpute_format"]["content"]
        for part, value, place in ((one, number, -1), (two, writer, -2)):
            # skops makes values of one id once only, and small numbers share theirs.
            part.update(content=json.dumps(value), __id__=place)
    return json.dumps(schema)


REFUSED = [
    (3, "9.9.9", r"must have format 2, which kernimpute \S+ reads. Got format 3, written by"),
    (1, "0.0.1", r"Got format 1, written by kernimpute 0.0.1 instead: fit again, or install"),
    (None, None, "Got a state without a format, written by kernimpute an unknown version instead"),
]


@pytest.mark.parametrize(("number", "writer", "match"), REFUSED)
def test_a_state_of_another_format_is_refused(imputer, number, writer, match, tmp_path):
    state = imputer.__getstate__()
    state["_kernimpute_format"] = (number, writer)
    if number is None:
        del state["_kernimpute_format"]
    with pytest.raises(ValueError, match=match):
        KernelImputer().__setstate__(state)
    path = tmp_path / "a.skops"
    kernimpute.save(imputer, path)
    doctored(path, lambda text: with_format(text, number, writer))
    with pytest.raises(ValueError, match=match):
        kernimpute.load(path)
    with pytest.raises(ValueError, match=match):
        skops.io.load(path, trusted=trusted_types())


def test_a_pickle_of_another_format_is_refused(imputer, monkeypatch):
    monkeypatch.setattr("kernimpute.estimators._persistence.FORMAT", 7)
    data = pickle.dumps(imputer)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="The saved KernelImputer must have format 2.*Got format"):
        pickle.loads(data)


def test_another_version_of_the_same_format_loads(imputer, monkeypatch, tmp_path):
    X, _ = related_rows(n_samples=30)
    path = tmp_path / "a.skops"
    kernimpute.save(imputer, path)
    doctored(path, lambda text: with_format(text, 2, "0.0.9"))
    assert_same_answers(imputer, kernimpute.load(path), X)
    monkeypatch.setattr("kernimpute.estimators._persistence.version", lambda name: "0.0.9")
    data = pickle.dumps(imputer)
    monkeypatch.undo()
    assert b"0.0.9" in data
    assert_same_answers(imputer, pickle.loads(data), X)
