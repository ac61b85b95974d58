"""Saved estimators answer as before; files of another kind, type or format are refused."""

import copy
import os
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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import kernimpute
from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer
from kernimpute.estimators import trusted_types
from kernimpute.estimators._saving import FORMAT
from tests.estimators.problems import GUIDED, mixed_table, related_rows, same_bits

ESTIMATORS = {
    "imputer": KernelImputer(),
    "classifier": KernelImputationClassifier(),
    "regressor": KernelImputationRegressor(n_draws=2),
    "svm": KernelImputationClassifier(machine="svm"),
    "anchored": KernelImputer(guidance="anchored", max_iter=3),
    "subsets": KernelImputer(**GUIDED, subset_size=15, add_indicator=True),
    "reference imputer": KernelImputationClassifier(reference=KNNImputer()),
    "kernel": KernelImputer(
        guidance="direct", kernel=kernimpute.kernels.Laplacian(gamma=0.5), eta=np.inf
    ),
}
WAYS = ["pickle", "joblib", "deepcopy", "skops", "save"]


def again(estimator, way, folder):
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
        assert set(skops.io.get_untrusted_types(file=path)) <= set(trusted_types())
        return skops.io.load(path, trusted=trusted_types())
    kernimpute.save(estimator, path)
    return kernimpute.load(path)


def answers(estimator, X):
    methods = ("transform", "predict", "decision_function", "predict_proba")
    return {name: getattr(estimator, name)(X) for name in methods if hasattr(estimator, name)}


def assert_same_answers(one, other, X):
    before, after = answers(one, X), answers(other, X)
    assert before.keys() == after.keys() and before
    for name, values in before.items():
        if isinstance(values, pd.DataFrame):
            pd.testing.assert_frame_equal(values, after[name], check_exact=True)
        else:
            assert same_bits(values, after[name])


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request):
    X, y = mixed_table(n_samples=36)
    if request.param == "regressor":
        y = y + np.linspace(0.0, 0.5, len(y))
    with warnings.catch_warnings():
        # A few rounds are enough to have something to save.
        warnings.simplefilter("ignore")
        return copy.copy(ESTIMATORS[request.param]).fit(X, y), X


@pytest.fixture
def imputer():
    return KernelImputer().fit(*related_rows(n_samples=30))


@pytest.mark.parametrize("way", WAYS)
def test_a_saved_estimator_answers_to_the_last_bit_as_before(fitted, way, tmp_path):
    estimator, X = fitted
    loaded = again(estimator, way, tmp_path)
    assert_same_answers(estimator, loaded, X)
    assert repr(loaded) == repr(estimator) and loaded.status_ is estimator.status_
    for name in ("kernel_", "trace_"):
        assert repr(getattr(loaded, name, None)) == repr(getattr(estimator, name, None))
    assert sorted(vars(loaded)) == sorted(vars(estimator))


def test_an_unfitted_estimator_and_a_pipeline_can_be_saved(tmp_path):
    X, y = related_rows(n_samples=30)
    assert again(KernelImputer(**GUIDED, C=3.0), "save", tmp_path).fit(X, y).C == 3.0
    pipeline = make_pipeline(KernelImputer(), StandardScaler()).fit(X, y)
    assert_same_answers(pipeline, again(pipeline, "save", tmp_path), X)


@pytest.mark.filterwarnings("ignore:.*Early stopping criterion not reached")
@pytest.mark.parametrize("reference", [SimpleImputer(), IterativeImputer(random_state=0)])
def test_references_of_scikit_learn_need_no_trust(reference, tmp_path):
    X, y = related_rows(n_samples=30)
    machine = KernelImputationClassifier(machine="svm", reference=reference).fit(X, y)
    assert_same_answers(machine, again(machine, "save", tmp_path), X)


TIMES = pd.DatetimeIndex(["2020-01-01 00:00", "2021-05-06 12:30"])
CATEGORIES = {
    "intervals": pd.interval_range(0.0, 2.0, 2),
    "times of a zone": TIMES.tz_localize("Europe/Berlin"),
    "intervals of times": pd.IntervalIndex.from_breaks([*TIMES, TIMES[1] + TIMES[1].resolution]),
    "durations": pd.to_timedelta(["1 day", "30 min"]),
    "months": pd.period_range("2020-01", periods=2, freq="M"),
    "booleans": [False, True],
    "pairs": pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]).to_flat_index(),
}


@pytest.mark.parametrize("categories", CATEGORIES.values(), ids=CATEGORIES)
def test_categories_of_any_kind_are_saved(categories, tmp_path):
    X, y = related_rows(n_samples=30, n_features=2)
    frame = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("b", TIMES[0])]))
    codes = np.where(np.arange(30) % 5 == 4, -1, y)
    frame["c", 0] = pd.Categorical.from_codes(codes, categories=pd.Index(categories))
    imputer = KernelImputer().fit(frame, y)
    for way in ("pickle", "save"):
        assert_same_answers(imputer, again(imputer, way, tmp_path), frame)


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"class_weight": {False: 1.0, True: 3.0}}, [False, True]),
        ({"class_weight": {np.int64(0): 1.0, np.int64(1): 3.0}}, [0, 1]),
        ({"feature_range": {0: (-50.0, 50.0)}}, [0, 1]),
        ({"missing_values": [pd.NA, -999.0]}, [0, 1]),
        ({"eta": np.inf, "C": np.float64(0.5)}, [0, 1]),
    ],
)
def test_parameters_come_back_as_they_were(parameters, names, tmp_path):
    X, y = related_rows(n_samples=30)
    imputer = KernelImputer(**GUIDED, **parameters).fit(X, np.array(names)[y])
    loaded = again(imputer, "save", tmp_path)
    for name, value in parameters.items():
        assert repr(getattr(loaded, name)) == repr(value)
        assert type(getattr(loaded, name)) is type(value)
    assert_same_answers(imputer, loaded, X)


@pytest.mark.parametrize("way", ["pickle", "save"])
def test_requests_of_metadata_routing_are_kept(way, tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        imputer = KernelImputer().set_fit_request(sample_weight=True)
        loaded = again(imputer, way, tmp_path)
        assert loaded.get_metadata_routing().fit.requests == {"sample_weight": True}


class Runs:
    """An object whose pickle makes a directory when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        """Return what pickle is to run."""
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_never_opened(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Runs(tmp_path / "run")))
    for trust in (False, True):
        with pytest.raises(ValueError, match=r"must be a model that kernimpute.save .*pickles"):
            kernimpute.load(path, trust=trust)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 broken", "é".encode()])
def test_what_is_no_model_is_refused(content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model must be a model that kernimpute.save"):
        kernimpute.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", content)
    with pytest.raises(ValueError, match=r"model must be a model that kernimpute.save"):
        kernimpute.load(path)


def doctored(path, change):
    """Apply a function to the text of a skops file's schema."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    parts["schema.json"] = change(parts["schema.json"].decode()).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)


def test_strange_types_are_made_with_trust_only(tmp_path):
    path = tmp_path / "a.skops"
    kernimpute.save(make_pipeline(FunctionTransformer(half), KernelImputer()), path)
    with pytest.raises(ValueError, match=r"does not know \(.*half\).*pass trust=True"):
        kernimpute.load(path)


def half(X):
    return 0.5 * X


def test_types_of_our_own_that_hold_no_state_are_not_made(imputer, tmp_path):
    path = tmp_path / "a.skops"
    kernimpute.save(imputer, path)
    own = '"__module__": "kernimpute.core.status"'
    doctored(path, lambda text: text.replace(own, '"__module__": "kernimpute.cli.messages"'))
    for trust in (False, True):
        with pytest.raises(ValueError, match="written by another version of kernimpute"):
            kernimpute.load(path, trust=trust)


@pytest.mark.parametrize("number", [FORMAT + 1, FORMAT])
def test_another_format_is_refused_in_one_sentence_and_another_version_loads(
    imputer, number, monkeypatch, tmp_path
):
    path = tmp_path / "a.skops"
    with monkeypatch.context() as patched:
        patched.setattr("kernimpute.estimators._saving.FORMAT", number)
        patched.setattr("kernimpute.estimators._saving.version", lambda name: "9.9.9")
        kernimpute.save(imputer, path)
        pickled = pickle.dumps(imputer)
    if number == FORMAT:
        assert_same_answers(imputer, kernimpute.load(path), related_rows(n_samples=30)[0])
        return
    for load in (lambda: kernimpute.load(path), lambda: pickle.loads(pickled)):
        with pytest.raises(ValueError, match=f"must have format {FORMAT}.* Got format {number}.*9"):
            load()


def test_a_state_without_a_format_is_refused(imputer):
    state = imputer.__getstate__()
    del state["_kernimpute_format"]
    with pytest.raises(ValueError, match="Got format None, written by kernimpute an unknown"):
        KernelImputer().__setstate__(state)


def test_what_cannot_be_saved_leaves_nothing_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "a.skops"
    path.write_text("before")
    with pytest.raises(ValueError, match="'estimator' parameter of save .* KernelImputer"):
        kernimpute.save(KernelImputer(categorical_features=pd.Index(["a"])), path)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["a.skops"]
