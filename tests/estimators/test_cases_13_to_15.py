"""Inputs that broke other imputers, cases 13 to 15 of `cases/README.md`, each with its number."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernimpute import (
    KernelImputationClassifier,
    KernelImputationRegressor,
    KernelImputer,
)
from tests.estimators.problems import (
    GUIDED,
    amputed,
    collected_warnings,
    global_generators,
    uniform_rows,
)


@pytest.fixture
def rows():
    """Return the cases' X and y."""
    return uniform_rows()


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
        assert len(imputer.trace_) >= 1
        assert imputer.n_iter_ >= 1
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


@pytest.mark.parametrize(("n_rare", "warned"), [(2, r"(?i)fold|cv"), (1, r"(?i)calibrat")])
def test_case_14_a_rare_class_has_fewer_folds_or_the_documented_fallback(rows, n_rare, warned):
    X, y = rows[0], labels_with(n_rare)
    machine = KernelImputationClassifier()
    with pytest.warns(UserWarning, match=warned):
        machine.fit(X, y)
    shares = machine.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    decisions = machine.decision_function(X)
    assert (np.diff(shares[np.argsort(decisions), 1]) >= 0.0).all()
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


def test_case_14_five_classes_of_eight(rows):
    X, y = rows[0], np.arange(40) % 5
    machine = KernelImputationClassifier().fit(X, y)
    assert machine.decision_function(X).shape == (40, 5)
    np.testing.assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)
    assert np.isfinite(KernelImputer().fit_transform(X, y)).all()


def test_case_14_a_gap_in_the_target_of_a_regression_is_refused(rows):
    X, y = rows[0], np.linspace(0.0, 1.0, 40)
    y[3] = np.nan
    imputer = KernelImputer(guidance="direct", task="regression")
    for estimator in (KernelImputationRegressor(), imputer):
        with pytest.raises(ValueError, match=r"(?i)y.*NaN|NaN.*y"):
            estimator.fit(X, y)


@pytest.mark.parametrize(
    "options", [{}, {"guidance": "direct"}, {**GUIDED, "subset_size": 12}], ids=str
)
def test_case_15_threads_jobs_and_saving_change_nothing(rows, tmp_path, options):
    X, y = rows
    X_new = amputed(np.random.default_rng(5).random((10, 5)), 0.3, np.random.default_rng(6))
    options = {"random_state": 0, **options}

    def results(n_jobs):
        imputer = KernelImputer(n_jobs=n_jobs, **options)
        machine = KernelImputationClassifier(n_jobs=n_jobs, **options).fit(X, y)
        filled = imputer.fit_transform(X, y), imputer.transform(X_new)
        return [*filled, machine.predict_proba(X_new), machine.decision_function(X_new)]

    state = global_generators()
    expected = results(n_jobs=1)
    for part, other in zip(expected, results(n_jobs=2), strict=True):
        np.testing.assert_allclose(other, part, rtol=0.0, atol=1e-10)
    with threadpool_limits(limits=2):
        for part, other in zip(expected, results(n_jobs=1), strict=True):
            np.testing.assert_allclose(other, part, rtol=0.0, atol=1e-10)
    assert global_generators() == state
    joblib.dump(KernelImputer(**options).fit(X, y), tmp_path / "imputer.joblib")
    restored = joblib.load(tmp_path / "imputer.joblib")
    np.testing.assert_allclose(restored.transform(X_new), expected[1], rtol=0.0, atol=1e-10)
