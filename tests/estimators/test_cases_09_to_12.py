"""Inputs that broke other imputers, cases 9 to 12 of `cases/README.md`, each with its number."""

from __future__ import annotations

import re
import tracemalloc

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from kernimpute import KernelImputationClassifier, KernelImputer
from tests.estimators.problems import GUIDED, assert_table_filled, read_only, uniform_rows


@pytest.fixture
def rows():
    """Return the cases' X and y."""
    return uniform_rows()


def test_case_9_dtypes_come_back_and_integers_stay_in_their_domain():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "byte": generator.integers(0, 256, 40).astype("uint8"),
            "count": pd.array(generator.integers(-7, 12, 40), dtype="Int64"),
            "single": generator.random(40).astype("float32"),
            "kind": pd.Categorical(generator.choice(["a", "b", "c"], 40)),
        }
    )
    y = np.arange(40) % 2
    for name in frame.columns[1:]:
        frame.loc[generator.random(40) < 0.3, name] = None
    imputer = KernelImputer()
    for filled in (imputer.fit_transform(frame, y), imputer.transform(frame)):
        assert_table_filled(frame, filled)
        pd.testing.assert_series_equal(filled["byte"], frame["byte"])
        assert filled["count"].between(frame["count"].min(), frame["count"].max()).all()


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
    assert (filled[gaps] >= 0.0).all()
    assert (filled[gaps] % 1.0 != 0.0).any()
    as_floats = KernelImputer().fit_transform(np.where(gaps, np.nan, X), y)
    np.testing.assert_array_equal(filled, as_floats)


def test_case_10_a_table_of_booleans_complete_and_with_gaps(rows):
    X, y = rows
    complete = X > 0.5
    filled = KernelImputer().fit_transform(complete, y)
    assert filled.dtype == np.bool_
    np.testing.assert_array_equal(filled, complete)
    frame = pd.DataFrame(X > 0.5).astype("boolean").mask(np.isnan(X))
    imputer = KernelImputer()
    assert_table_filled(frame, imputer.fit_transform(frame, y))
    assert_table_filled(frame, imputer.transform(frame))
    assert KernelImputationClassifier(cv=None).fit(frame, y).predict(frame).shape == (40,)


@pytest.mark.parametrize(
    "names", [(False, True), ("no", "yes"), (-1, 1), (5, 9)], ids=["bool", "str", "signs", "ints"]
)
def test_case_10_decisions_do_not_depend_on_the_labels_encoding(rows, names):
    X, y = rows
    labels = np.array(names)[y]
    plain = KernelImputationClassifier().fit(X, y)
    machine = KernelImputationClassifier().fit(X, labels)
    assert machine.classes_.tolist() == list(names)
    assert machine.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(machine.predict(X), np.array(names)[plain.predict(X)])
    np.testing.assert_array_equal(machine.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(machine.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(
        KernelImputer().fit_transform(X, labels), KernelImputer().fit_transform(X, y)
    )


def test_case_11_memory_mapped_read_only_and_fortran_arrays(rows, tmp_path):
    X, y = rows
    joblib.dump(X, tmp_path / "X.joblib")
    mapped = joblib.load(tmp_path / "X.joblib", mmap_mode="r")
    bytes_before = (tmp_path / "X.joblib").read_bytes()
    expected = KernelImputer().fit_transform(X, y), KernelImputer().fit(X, y).transform(X)
    decisions = KernelImputationClassifier().fit(X, y).predict_proba(X)
    for form in (mapped, read_only(X), np.asfortranarray(X)):
        before = np.asarray(form).tobytes()
        imputer = KernelImputer()
        np.testing.assert_array_equal(imputer.fit_transform(form, y), expected[0])
        np.testing.assert_array_equal(imputer.transform(form), expected[1])
        machine = KernelImputationClassifier().fit(form, read_only(y))
        np.testing.assert_array_equal(machine.predict_proba(form), decisions)
        assert np.asarray(form).tobytes() == before
    assert (tmp_path / "X.joblib").read_bytes() == bytes_before


def test_case_11_cross_validation_in_processes_on_5000_rows_by_subsets():
    X, y = uniform_rows(5000, 40)
    before = X.tobytes()
    machine = KernelImputationClassifier(reference="mean", subset_size=250, cv=None)
    folds = [*StratifiedKFold(2).split(X, y)]
    scores = cross_val_score(machine, X, y, cv=folds, n_jobs=2, error_score="raise")
    assert X.tobytes() == before
    first = cross_val_score(machine, np.asfortranarray(X), y, cv=folds[:1], error_score="raise")
    np.testing.assert_allclose(scores[0], first[0], rtol=0.0, atol=1e-10)
    # Three labels in ten hang on a cell that is missing.
    assert scores.min() > 0.6


SIZE = r"\d+(\.\d+)?\s*([kKMGT]i?B|bytes)"


# Of many rows `direct` holds no matrix, and needs a small part of one.
@pytest.mark.parametrize(
    ("estimator", "n_samples", "part"),
    [
        (KernelImputer, 200, 2),
        (KernelImputer, 2000, 2),
        (KernelImputer, 20000, 20),
        (KernelImputationClassifier, 2000, 2),
    ],
)
def test_case_12_more_memory_than_allowed_is_refused_before_any_is_taken(
    estimator, n_samples, part
):
    X, y = uniform_rows(n_samples, 8)
    allowed = 8 * n_samples**2 // part
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="subset_size") as refusal:
            estimator(guidance="direct", max_memory=allowed).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(refusal.value)
    assert str(n_samples) in re.sub(r"(?<=\d)[ ,_\u202f\xa0](?=\d{3})", "", message)
    assert re.search(SIZE, message)
    # A few copies of the table, and nothing that grows with the square of the rows.
    assert peak < 12 * X.nbytes + 2**20


def test_case_12_subsets_bring_it_under_the_limit():
    X, y = uniform_rows(600, 8)
    limit = 8 * 600**2
    with pytest.raises(ValueError, match="subset_size"):
        KernelImputer(guidance="direct", max_memory=limit).fit(X, y)
    imputer = KernelImputer(guidance="direct", max_memory=limit, subset_size=60)
    assert np.isfinite(imputer.fit_transform(X, y)).all()
    assert imputer.n_subsets_ == 10


@pytest.mark.parametrize(
    "options", [{}, GUIDED, {**GUIDED, "new_rows": "reference"}, {"reference": "mean"}], ids=str
)
def test_case_12_new_rows_are_filled_in_chunks(options):
    X, y = uniform_rows(200, 8)
    imputer = KernelImputer(**options).fit(X, y)
    peaks = {}
    for n_new in (9000, 12000):
        X_new = uniform_rows(n_new, 8, seed=1)[0]
        tracemalloc.start()
        try:
            filled = imputer.transform(X_new)
            peaks[n_new] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert np.isfinite(filled).all()
    # Copies of the table grow with it; a matrix of new rows x 200 would take 5 MB more.
    assert peaks[12000] - peaks[9000] < 6 * 3000 * 8 * 8
