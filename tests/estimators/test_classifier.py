"""The classifier: against scikit-learn's machine, its decisions, and its probabilities."""

from functools import partial

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from kernimpute import KernelImputationClassifier, KernelImputer, Status
from tests.estimators.problems import GUIDED, mixed_table, related_rows

AGREE = 1e-5
"""Two exact solvers, each to a tolerance of its own."""

MACHINES = {
    "gaussian": lambda gamma: SVC(kernel="rbf", gamma=gamma),
    "laplacian": lambda gamma: SVC(kernel=lambda X, Z: laplacian_kernel(X, Z, gamma=gamma)),
    "linear": lambda gamma: SVC(kernel="linear"),
    "polynomial": lambda gamma: SVC(kernel="poly", degree=3, gamma=1.0, coef0=1.0),
}


svm = partial(KernelImputationClassifier, machine="svm")


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
    ours = svm(kernel=kernel, C=C, guidance=guidance).fit(X, y)
    theirs = scaled_machine(MACHINES[kernel](getattr(ours.kernel_, "gamma", None)), C).fit(X, y)
    for rows in (X, X_new):
        expected = theirs.decision_function(rows)
        np.testing.assert_allclose(ours.decision_function(rows), expected, atol=AGREE, rtol=AGREE)
    assert ours.status_ is Status.NOTHING_MISSING
    assert ours.score(X, y) == theirs.score(X, y)


def test_without_gaps_more_classes_are_one_against_the_rest():
    X, y = complete_rows(n_classes=3)
    ours = svm(gamma=1.5, C=3.0).fit(X, y)
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
    ours = svm(**{**options, **machine}).fit(X, y)
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
    plain = svm(guidance="direct").fit(X, y)
    scaled = svm(gamma="scale").fit(X, y)
    assert plain.C == 4.0 and plain.kernel_.gamma == pytest.approx(part * scaled.kernel_.gamma)
    assert plain.eta_ == pytest.approx(factor * 4.0 / (~np.isnan(X)).mean())
    values = plain.decision_function(X)
    chosen = values > 0.0 if n_classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(plain.predict(X), chosen)


def test_the_svm_has_probabilities_by_scikit_learns_calibration_alone():
    frame, y = mixed_table()
    assert not hasattr(svm(), "predict_proba")
    with pytest.raises(AttributeError, match="predict_log_proba"):
        svm().fit(frame, y).predict_log_proba(frame)
    shares = CalibratedClassifierCV(svm(), cv=3, ensemble=False).fit(frame, y).predict_proba(frame)
    assert roc_auc_score(y, shares[:, 1]) > 0.8
