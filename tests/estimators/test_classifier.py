"""The classifier: against scikit-learn's machine, its decisions, and its probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from kernimpute import KernelImputationClassifier, KernelImputer, Status
from tests.estimators.problems import GUIDED, amputed, related_rows, uniform_rows

AGREE = 1e-5
"""Two exact solvers, each to a tolerance of its own."""

MACHINES = {
    "gaussian": lambda gamma: SVC(kernel="rbf", gamma=gamma),
    "laplacian": lambda gamma: SVC(kernel=lambda X, Z: laplacian_kernel(X, Z, gamma=gamma)),
    "linear": lambda gamma: SVC(kernel="linear"),
    "polynomial": lambda gamma: SVC(kernel="poly", degree=3, gamma=1.0, coef0=1.0),
}


def scaled_machine(machine, C):
    """Return scikit-learn's machine, exactly solved, on columns scaled to [0, 1]."""
    return make_pipeline(MinMaxScaler(), machine.set_params(C=C, tol=1e-9))


def complete_rows(n_classes=2, seed=0):
    """Return complete rows in units of their own, with noisy labels."""
    X, y = related_rows(share=0.0, seed=seed, n_classes=n_classes)
    return X * np.array([1.0, 50.0, 0.1, 3.0]) + np.array([0.0, 7.0, -2.0, 100.0]), y


@pytest.mark.parametrize("guidance", [None, "direct", "anchored"])
@pytest.mark.parametrize("C", [0.3, 10.0])
@pytest.mark.parametrize("kernel", MACHINES)
def test_without_gaps_it_is_scikit_learns_machine(kernel, C, guidance):
    X, y = complete_rows()
    X_new = 1.2 * complete_rows(seed=1)[0]
    ours = KernelImputationClassifier(kernel=kernel, C=C, guidance=guidance, cv=None).fit(X, y)
    theirs = scaled_machine(MACHINES[kernel](getattr(ours.kernel_, "gamma", None)), C).fit(X, y)
    for rows in (X, X_new):
        expected = theirs.decision_function(rows)
        np.testing.assert_allclose(ours.decision_function(rows), expected, atol=AGREE, rtol=AGREE)
    assert ours.status_ is Status.NOTHING_MISSING
    assert ours.score(X, y) == theirs.score(X, y)


def test_without_gaps_more_classes_are_one_against_the_rest():
    X, y = complete_rows(n_classes=3)
    ours = KernelImputationClassifier(gamma=1.5, C=3.0, cv=None).fit(X, y)
    theirs = scaled_machine(SVC(gamma=1.5), 3.0)
    theirs.set_params(svc=OneVsRestClassifier(theirs[-1])).fit(X, y)
    expected = theirs.decision_function(X)
    assert ours.decision_function(X).shape == (60, 3)
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=AGREE, rtol=AGREE)
    np.testing.assert_array_equal(ours.predict(X), expected.argmax(axis=1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reference": "mean"},
        {"use_labels": "own"},
        {"class_weight": "balanced"},
        {"guidance": "direct", "gamma": 0.8, "C": 1.0, "eta": 4.0},
        {**GUIDED, "gamma": 0.8, "C": 1.0, "eta": 4.0},
    ],
    ids=str,
)
def test_its_decisions_are_those_of_its_imputers_fill(options):
    """Numbers only: the classifier is the machine on the rows that the imputer fills."""
    X, y = related_rows()
    complete = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    y[:12] = 0
    class_weight = options.get("class_weight")
    imputer = KernelImputer(**{k: v for k, v in options.items() if k != "class_weight"})
    filled = imputer.fit_transform(X, y)
    machine = {"gamma": 0.8, "C": 1.0}
    ours = KernelImputationClassifier(**{**options, **machine}, cv=None).fit(X, y)
    scaler = MinMaxScaler().fit(X)
    theirs = SVC(gamma=0.8, tol=1e-9, class_weight=class_weight)
    theirs.fit(scaler.transform(filled), y)
    expected = theirs.decision_function(scaler.transform(complete))
    np.testing.assert_allclose(ours.decision_function(complete), expected, atol=1e-4)
    # A new row with gaps is decided on as it is filled.
    expected = theirs.decision_function(scaler.transform(imputer.transform(X)))
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-4)


@pytest.mark.parametrize(("n_classes", "part", "factor"), [(2, 0.25, 32.0), (3, 0.5, 96.0)])
def test_the_defaults_are_those_of_the_documentation(n_classes, part, factor):
    X, y = related_rows(n_classes=n_classes)
    plain = KernelImputationClassifier(guidance="direct", cv=None).fit(X, y)
    scaled = KernelImputationClassifier(gamma="scale", cv=None).fit(X, y)
    assert plain.C == 4.0
    assert plain.kernel_.gamma == pytest.approx(part * scaled.kernel_.gamma)
    assert plain.eta_ == pytest.approx(factor * 4.0 / (~np.isnan(X)).mean())
    values = plain.decision_function(X)
    chosen = values > 0.0 if n_classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(plain.predict(X), chosen)


def noisy_rows(n_samples, seed):
    """Return rows with gaps whose labels are wrong one time in four."""
    generator = np.random.default_rng(seed)
    X = generator.random((n_samples, 4))
    wrong = generator.random(n_samples) < 0.25
    y = (X[:, 0] + X[:, 1] > 1.0) ^ wrong
    return amputed(X, 0.2, generator), y.astype(int)


def test_probabilities_are_those_of_scikit_learns_calibration_in_the_same_folds():
    X, y = noisy_rows(200, 0)
    X_test, _ = noisy_rows(50, 100)
    machine = KernelImputationClassifier(C=3.0, gamma=1.0)
    theirs = CalibratedClassifierCV(clone(machine).set_params(cv=None), cv=5, ensemble=False)
    expected = theirs.fit(X, y).predict_proba(X_test)
    np.testing.assert_allclose(machine.fit(X, y).predict_proba(X_test), expected, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_sum_to_one_and_follow_the_decisions(n_classes):
    X, y = related_rows(n_classes=n_classes)
    machine = KernelImputationClassifier().fit(X, y)
    shares = machine.predict_proba(X)
    assert shares.shape == (60, n_classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert (shares > 0.0).all()
    np.testing.assert_array_equal(machine.predict_log_proba(X), np.log(shares))
    if n_classes == 2:
        order = np.argsort(machine.decision_function(X))
        assert (np.diff(shares[order, 1]) >= 0.0).all()


def test_without_folds_there_are_no_probabilities():
    X, y = uniform_rows()
    machine = KernelImputationClassifier(cv=None)
    assert not hasattr(machine, "predict_proba")
    assert not hasattr(machine.fit(X, y), "predict_proba")
    assert not hasattr(machine, "predict_log_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        machine.predict_proba(X)


def test_folds_are_a_number_a_splitter_or_the_splits_themselves():
    X, y = uniform_rows()
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    splitter = KernelImputationClassifier(cv=folds).fit(X, y)
    splits = KernelImputationClassifier(cv=list(folds.split(X, y))).fit(X, y)
    np.testing.assert_array_equal(splitter.predict_proba(X), splits.predict_proba(X))
    number = clone(splitter).set_params(cv=4).fit(X, y)
    np.testing.assert_array_equal(number.decision_function(X), splitter.decision_function(X))
    assert KernelImputationClassifier(cv=KFold(3)).fit(X, y).predict_proba(X).shape == (40, 2)
    for refused in (1, "five", 2.5):
        with pytest.raises((ValueError, TypeError), match="cv"):
            clone(splitter).set_params(cv=refused).fit(X, y)
