"""Inputs that broke other imputers, cases 1 to 15 of `cases/README.md`, each with its number."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from threadpoolctl import threadpool_limits

from kernimpute import KernelImputationClassifier, KernelImputationRegressor, KernelImputer
from tests.conftest import peak_memory
from tests.estimators.problems import (
    GUIDED,
    amputed,
    assert_filled,
    assert_table_filled,
    collected_warnings,
    global_generators,
    uniform_rows,
)

ESTIMATORS = {
    "imputer": KernelImputer(),
    "classifier": KernelImputationClassifier(),
    "regressor": KernelImputationRegressor(),
    "svm": KernelImputationClassifier(machine="svm"),
}


@pytest.fixture
def rows():
    return uniform_rows()


def with_column(X, place, values):
    X = X.copy()
    X[:, place] = values
    return X


def answer_of(fitted):
    methods = ("transform", "decision_function", "predict")
    return next(getattr(fitted, name) for name in methods if hasattr(fitted, name))


@pytest.mark.parametrize(
    "names", [["x0", "x1", "2", "x3", "x4"], [*"abcde"]], ids=["array", "frame"]
)
def test_case_1_an_empty_column_is_dropped_with_one_warning_that_names_it(rows, names):
    X, y = rows
    X = with_column(X, 2, np.nan)
    given, new = X, uniform_rows(seed=1)[0]
    if names[0] == "a":
        given, new = (pd.DataFrame(part, columns=names) for part in (given, new))
    imputer = KernelImputer()
    with collected_warnings() as collected:
        filled = imputer.fit_transform(given, y)
    assert [warning.category for warning in collected] == [UserWarning]
    assert names[2] in str(collected[0].message)
    assert_filled(X[:, [0, 1, 3, 4]], filled)
    assert imputer.get_feature_names_out().tolist() == names[:2] + names[3:]
    assert imputer.transform(new).shape == (40, 4)


def test_case_1_kept_it_holds_a_constant_and_the_other_columns_are_the_same(rows):
    X, y = rows
    X, X_new = with_column(X, 2, np.nan), uniform_rows(seed=1)[0]
    X_new = with_column(X_new, 2, np.nan)
    keeping, dropping = KernelImputer(keep_empty_features=True), KernelImputer()
    kept = keeping.fit_transform(X, y)
    with pytest.warns(UserWarning, match="2"):
        dropped = dropping.fit_transform(X, y)
    without = KernelImputer().fit(np.delete(X, 2, axis=1), y)
    assert kept.shape == (40, 5)
    np.testing.assert_array_equal(kept[:, 2], 0.0)
    np.testing.assert_array_equal(np.delete(kept, 2, axis=1), dropped)
    assert len(keeping.get_feature_names_out()) == 5
    new = keeping.transform(X_new)
    np.testing.assert_array_equal(new[:, 2], 0.0)
    np.testing.assert_array_equal(np.delete(new, 2, axis=1), dropping.transform(X_new))
    # It never reaches the reference: the fit is that of the other columns alone.
    np.testing.assert_array_equal(dropped, without.fit_transform(np.delete(X, 2, axis=1), y))


def constant(X):
    """Return a copy of X whose column 2 is 7.0 where it is observed."""
    return with_column(X, 2, np.where(np.isnan(X[:, 2]), np.nan, 7.0))


def test_case_2_gaps_of_a_constant_column_become_the_constant(rows):
    X, y = rows
    imputer = KernelImputer()
    filled = imputer.fit_transform(constant(X), y)
    np.testing.assert_array_equal(filled[:, 2], 7.0)
    np.testing.assert_array_equal(imputer.transform(constant(X))[:, 2], 7.0)
    without = KernelImputer().fit_transform(np.delete(X, 2, axis=1), y)
    np.testing.assert_array_equal(np.delete(filled, 2, axis=1), without)


@pytest.mark.filterwarnings("ignore:.*2")
@pytest.mark.parametrize("name", ["classifier", "svm"])
@pytest.mark.parametrize("changed", [constant, lambda X: with_column(X, 2, np.nan)])
def test_case_1_and_2_predictions_are_those_without_the_column(rows, name, changed):
    X, y = rows
    X_new = uniform_rows(seed=1)[0]
    fitted = clone(ESTIMATORS[name]).fit(changed(X), y)
    without = clone(ESTIMATORS[name]).fit(np.delete(X, 2, axis=1), y)
    expected = without.predict(np.delete(X_new, 2, axis=1))
    np.testing.assert_array_equal(fitted.predict(changed(X_new)), expected)
    # A new row whose value is another one is none the wiser.
    np.testing.assert_array_equal(fitted.predict(X_new), expected)


@cache
def fitted_to_rows(name, columns=None):
    """Return one of the estimators, fitted to the rows of all cases as an array or a frame."""
    X, y = uniform_rows()
    given = X if columns is None else pd.DataFrame(X, columns=[*columns])
    return clone(ESTIMATORS[name]).fit(given, y)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_case_3_infinity_is_refused_with_the_column_in_fit_and_after(rows, name, value):
    X, y = rows
    X[4, 3] = value
    for columns, column in ((None, r"\b3\b"), ("abcde", "'d'")):
        given = X if columns is None else pd.DataFrame(X, columns=[*columns])
        fitted = fitted_to_rows(name, columns)
        refused = pytest.raises(ValueError, match=f"(?s)inf.*{column}|{column}.*inf")
        with refused:
            clone(fitted).fit(given, y)
        with refused:
            answer_of(fitted)(given)


@pytest.mark.parametrize("guidance", ["direct", "anchored"])
def test_case_4_rows_that_share_nothing(guidance):
    X = np.random.default_rng(0).random((40, 5))
    y = (X[:, 0] > 0.5).astype(int)
    X[:20, 1::2] = np.nan
    X[20:, ::2] = np.nan
    four = np.array([[0.0, np.nan], [np.nan, 1.0], [0.0, 1.0], [1.0, 0.0]])
    for rows, labels, n_pairs in ((X, y, 400), (four, [0, 1, 0, 1], 1)):
        imputer = KernelImputer(guidance=guidance)
        filled = imputer.fit_transform(rows, labels)
        assert_filled(rows, filled)
        assert (filled >= np.nanmin(rows, axis=0)).all()
        assert (filled <= np.nanmax(rows, axis=0)).all()
        assert imputer.n_disjoint_pairs_ == n_pairs
    machine = KernelImputationClassifier(machine="svm", guidance=guidance).fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("new_rows", ["auto", "similar", "reference"])
@pytest.mark.parametrize("feature_range", [None, (-5.0, 100.0)])
def test_case_5_gaps_at_transform_only(new_rows, feature_range):
    x = np.arange(30.0)
    X = np.column_stack([x, 2.0 * x])
    y = (x > 14).astype(int)
    imputer = KernelImputer(**GUIDED, new_rows=new_rows, feature_range=feature_range)
    np.testing.assert_array_equal(imputer.fit_transform(X, y), X)
    new = np.array([[6.0, np.nan], [33.0, np.nan]])
    filled = imputer.transform(new)
    assert_filled(new, filled)
    low, high = (0.0, 58.0) if feature_range is None else feature_range
    assert (filled[:, 1] >= low).all() and (filled[:, 1] <= high).all()
    if new_rows != "reference":  # The mean knows nothing of the first column.
        assert filled[0, 1] < filled[1, 1]


def test_case_6_new_rows_lack_a_known_category():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(generator.choice(["a", "b", None], 40), categories=["a", "b"]),
            "x": generator.random(40),
        }
    )
    y = np.arange(40) % 2
    new = pd.DataFrame({"c": pd.Categorical(["a", None, "a"]), "x": [0.1, 0.2, np.nan]})
    imputer = KernelImputer().fit(frame, y)
    filled = imputer.transform(new)
    assert filled["c"].cat.categories.tolist() == ["a", "b"] and not filled.isna().any(axis=None)
    assert filled["c"].iloc[[0, 2]].tolist() == ["a", "a"]
    assert np.isfinite(KernelImputationClassifier().fit(frame, y).predict_proba(new)).all()


@pytest.mark.parametrize(
    "estimator",
    [KernelImputer(**GUIDED), KernelImputationRegressor(n_draws=2), *ESTIMATORS],
    ids=repr,
)
def test_case_7_a_row_is_answered_alike_in_any_batch_if_empty_too_and_no_rows_are_refused(
    rows, estimator
):
    X, y = rows
    is_name = isinstance(estimator, str)
    answer = answer_of(fitted_to_rows(estimator) if is_name else clone(estimator).fit(X, y))
    alone, some, all_rows = (answer(part) for part in (X[3:4], X[3:14], X))
    np.testing.assert_allclose(alone[0], some[0], rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(alone[0], all_rows[3], rtol=0.0, atol=1e-10)
    assert np.isfinite(answer(np.full((1, 5), np.nan))).all()
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        answer(np.empty((0, 5)))


def test_case_8_nullable_dtypes_come_back_filled():
    frame = pd.DataFrame(
        {
            "count": pd.array([1, 2, pd.NA, 4] * 10, dtype="Int64"),
            "flag": pd.array([True, False, pd.NA, True] * 10, dtype="boolean"),
            "thing": pd.Series([1.0, None] * 20, dtype=object),
        }
    )
    y = np.arange(40) % 2
    imputer = KernelImputer()
    filled = imputer.fit_transform(frame, y)
    assert_table_filled(frame, filled)
    assert filled["thing"].tolist() == [1.0] * 40
    assert set(filled["count"]) <= {1, 2, 3, 4}
    assert_table_filled(frame, imputer.transform(frame))
    assert repr(imputer) == repr(clone(imputer)) == "KernelImputer()"
    assert KernelImputationClassifier().fit(frame, y).predict(frame).shape == (40,)
    assert np.isfinite(KernelImputationRegressor().fit(frame, y).predict(frame)).all()


def test_case_9_an_integer_array_with_a_marker_is_not_truncated():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 9, (40, 4))
    y = (X[:, 0] > 4).astype(int)
    X[generator.random(X.shape) < 0.3] = -1
    imputer = KernelImputer(missing_values=-1)
    filled = imputer.fit_transform(X, y)
    assert filled.dtype == np.float64
    gaps = X == -1
    np.testing.assert_array_equal(filled[~gaps], X[~gaps])
    assert (filled[gaps] >= 0.0).all() and (filled[gaps] % 1.0 != 0.0).any()
    as_floats = KernelImputer().fit_transform(np.where(gaps, np.nan, X), y)
    np.testing.assert_array_equal(filled, as_floats)


@pytest.mark.parametrize(
    "names", [(False, True), ("no", "yes"), (-1, 1), (5, 9)], ids=["bool", "str", "signs", "ints"]
)
def test_case_10_decisions_do_not_depend_on_the_labels_encoding(rows, names):
    X, y = rows
    labels = np.array(names)[y]
    for name, way in (("classifier", "predict_proba"), ("svm", "decision_function")):
        plain = fitted_to_rows(name)
        machine = clone(plain).fit(X, labels)
        assert machine.classes_.tolist() == list(names) and machine.classes_.dtype == labels.dtype
        np.testing.assert_array_equal(machine.predict(X), np.array(names)[plain.predict(X)])
        np.testing.assert_array_equal(getattr(machine, way)(X), getattr(plain, way)(X))
    np.testing.assert_array_equal(
        KernelImputer().fit_transform(X, labels), KernelImputer().fit_transform(X, y)
    )


def test_case_11_cross_validation_in_processes_on_5000_rows_by_subsets():
    X, y = uniform_rows(5000, 40)
    before = X.tobytes()
    machine = KernelImputationClassifier(machine="svm", reference="mean", subset_size=50)
    folds = [*StratifiedKFold(2).split(X, y)]
    scores = cross_val_score(machine, X, y, cv=folds, n_jobs=2, error_score="raise")
    assert X.tobytes() == before
    first = cross_val_score(machine, np.asfortranarray(X), y, cv=folds[:1], error_score="raise")
    np.testing.assert_allclose(scores[0], first[0], rtol=0.0, atol=1e-10)
    # Three labels in ten hang on a cell that is missing.
    assert scores.min() > 0.6


# Of many rows `direct` holds no matrix, and needs a small part of one.
@pytest.mark.parametrize(
    ("estimator", "n_samples", "part"),
    [
        (KernelImputer, 200, 2),
        (KernelImputer, 2000, 2),
        (KernelImputer, 20000, 20),
        (partial(KernelImputationClassifier, machine="svm"), 2000, 2),
    ],
)
def test_case_12_more_memory_than_allowed_is_refused_before_any_is_taken(
    estimator, n_samples, part
):
    X, y = uniform_rows(n_samples, 8)
    allowed = 8 * n_samples**2 // part

    def fit():
        told = rf"N = {n_samples} rows, .* about [\d.e-]+ GiB, .*subset_size="
        with pytest.raises(ValueError, match=told):
            estimator(guidance="direct", max_memory=allowed).fit(X, y)

    peak = peak_memory(fit)
    # A few copies of the table, and nothing that grows with the square of the rows.
    assert peak < 12 * X.nbytes + 2**20


@pytest.mark.parametrize("options", [{}, GUIDED], ids=str)
def test_case_12_new_rows_are_filled_in_chunks(options):
    X, y = uniform_rows(200, 8)
    imputer = KernelImputer(**options).fit(X, y)
    peaks = {}
    # Similar rows fill more slowly, in smaller chunks.
    few, many = (500, 2000) if options == GUIDED else (9000, 12000)
    for n_new in (few, many):
        X_new = uniform_rows(n_new, 8, seed=1)[0]

        def fill(X_new=X_new):
            assert np.isfinite(imputer.transform(X_new)).all()

        peaks[n_new] = peak_memory(fill)
    # Copies of the table grow with it; a matrix of new rows x 200 would take 2.4 MB more.
    assert peaks[many] - peaks[few] < 6 * (many - few) * 8 * 8


@pytest.mark.parametrize(("guidance", "stage"), [("direct", "direct"), ("anchored", "Stage I")])
def test_case_13_one_warning_names_the_stage_and_the_history_is_there(rows, guidance, stage):
    X, y = rows
    for max_iter in (1, 2):
        imputer = KernelImputer(
            guidance=guidance, reference="mean", max_iter=max_iter, tol=1e-9, eta=1.0
        )
        with collected_warnings() as collected:
            imputer.fit(X, y)
        assert [warning.category for warning in collected] == [ConvergenceWarning]
        assert stage in str(collected[0].message)
        assert len(imputer.trace_) >= 1 and imputer.n_iter_ >= 1
        rounds = [record for record in imputer.trace_.records if record.stage == stage]
        assert 1 <= len(rounds) <= max_iter + 1
        assert not imputer.status_.success
    assert KernelImputer(guidance=guidance, max_iter=500).fit(X, y).status_.success


@pytest.mark.parametrize("max_iter", [1, 2, 500])
def test_case_13_the_stopping_round_does_not_depend_on_a_columns_unit(rows, max_iter):
    X, y = rows
    scaled = X * np.array([1.0, 1e6, 1.0, 1.0, 1.0])
    with collected_warnings():
        plain, other = (
            KernelImputer(**GUIDED, max_iter=max_iter, tol=1e-2).fit(part, y)
            for part in (X, scaled)
        )
    assert other.n_iter_ == plain.n_iter_
    np.testing.assert_allclose(other.gap_, plain.gap_, rtol=1e-6)


def labels_with(n_rare):
    """Return 40 labels of which so many are of the rarer class, spread over the rows."""
    y = np.zeros(40, dtype=int)
    y[np.arange(n_rare) * 7 % 40] = 1
    return y


@pytest.mark.parametrize(
    "y", [labels_with(1), labels_with(2), np.arange(40) % 5], ids=["one", "two", "five classes"]
)
def test_case_14_rare_classes_and_five_of_eight_are_learned(rows, y):
    X, n_classes = rows[0], y.max() + 1
    shares = KernelImputationClassifier().fit(X, y).predict_proba(X)
    assert shares.shape == (40, n_classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    if n_classes == 2:
        assert shares[y == 1, 1].mean() > shares[y == 0, 1].mean()
    values = KernelImputationClassifier(machine="svm").fit(X, y).decision_function(X)
    assert values.shape == ((40,) if n_classes == 2 else (40, 5)) and np.isfinite(values).all()
    assert np.isfinite(KernelImputer().fit_transform(X, y)).all()


@pytest.mark.parametrize(
    "estimator",
    [KernelImputer(guidance="direct", task="classification"), KernelImputationClassifier()],
    ids=repr,
)
def test_case_14_labels_that_cannot_be_used_are_refused(rows, estimator):
    X, y = rows
    with pytest.raises(ValueError, match=r"(?i)at least (2|two) classes"):
        estimator.fit(X, labels_with(0))
    gappy = y.astype(float)
    gappy[5] = np.nan
    with pytest.raises(ValueError, match=r"(?i)y.*NaN|NaN.*y"):
        estimator.fit(X, gappy)
    with pytest.raises(ValueError, match=r"(?i)continuous|classes"):
        estimator.fit(X, np.random.default_rng(0).random(40))
    target = np.where(np.arange(40) == 3, np.nan, np.linspace(0.0, 1.0, 40))
    imputer = KernelImputer(guidance="direct", task="regression")
    for regression in (KernelImputationRegressor(), imputer):
        with pytest.raises(ValueError, match=r"(?i)y.*NaN|NaN.*y"):
            regression.fit(X, target)


@pytest.mark.parametrize(
    "options", [{}, {"guidance": "direct"}, {**GUIDED, "subset_size": 12}], ids=str
)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")  # Of few trees, in threads.
def test_case_15_threads_and_jobs_change_nothing(rows, options):
    X, y = rows
    X_new = amputed(np.random.default_rng(5).random((10, 5)), 0.3, np.random.default_rng(6))
    options = {"random_state": 0, **options}
    of_machine = {**options, "machine": "svm"} if "guidance" in options else {"n_draws": 2}

    def results(n_jobs):
        imputer = KernelImputer(n_jobs=n_jobs, **options)
        machine = KernelImputationClassifier(n_jobs=n_jobs, **of_machine).fit(X, y)
        answer = getattr(machine, "decision_function", None) or machine.predict_proba
        return [imputer.fit_transform(X, y), imputer.transform(X_new), answer(X_new)]

    state = global_generators()
    expected = results(n_jobs=1)
    # Another process knows nothing of `quick_predictors`.
    with parallel_config("loky" if "guidance" in options else "threading"):
        in_jobs = results(n_jobs=2)
    for part, other in zip(expected, in_jobs, strict=True):
        np.testing.assert_allclose(other, part, rtol=0.0, atol=1e-10)
    with threadpool_limits(limits=2):
        for part, other in zip(expected, results(n_jobs=1), strict=True):
            np.testing.assert_allclose(other, part, rtol=0.0, atol=1e-10)
    assert global_generators() == state
