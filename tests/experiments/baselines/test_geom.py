"""GEOM: an ordinary machine on complete rows, optimal rounds, restricted norms by their sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments.baselines import GEOMClassifier, GEOMKernels, _restricted, observed_kernel
from kernimpute.dual import make_dual


def gappy(seed, n_rows=60, n_features=5, share=0.5):
    generator = np.random.default_rng(seed)
    X = generator.random((n_rows, n_features))
    y = (X[:, 0] + X[:, 1] + 0.2 * generator.normal(size=n_rows) > 1.0).astype(int)
    X[generator.random(X.shape) < share] = np.nan
    return X, y


def kernel_among(X, Z, features, gamma):
    """Return the Gaussian kernel of two rows on some features, those that both show."""
    terms = [(X[p] - Z[p]) ** 2 for p in features if not np.isnan(X[p] + Z[p])]
    return np.exp(-gamma * sum(terms))


@pytest.mark.parametrize("C", [0.5, 8.0])
def test_complete_rows_make_it_the_ordinary_machine(C):
    X, y = gappy(0, share=0.0)
    new, _ = gappy(1)
    machine = SVC(C=C, gamma=2.0, tol=1e-8).fit(X, y)
    model = GEOMClassifier(C, 2.0).fit(X, y)
    for done in model.rounds_:
        assert (done.margins == 1.0).all()
        column = np.zeros(y.size)
        column[machine.support_] = machine.dual_coef_[0]
        assert np.allclose(done.dual_coef[:, 0], column, atol=1e-5 * C)
    complete = np.nan_to_num(new)
    values = machine.decision_function(complete)
    assert np.allclose(model.decision_function(complete), values, atol=1e-5)


def test_observed_kernel_by_its_definition():
    X, _ = gappy(2, 8)
    Z, _ = gappy(3, 6)
    expected = [[kernel_among(x, z, range(5), 1.5) for z in Z] for x in X]
    assert np.allclose(observed_kernel(X, Z, gamma=1.5), expected, rtol=1e-12)
    assert np.allclose(observed_kernel(X, gamma=1.5), observed_kernel(X, X, gamma=1.5))


def test_margins_are_the_restricted_norms_by_their_sum():
    gamma = 2.0
    X, _ = gappy(4, 12)
    kernels = GEOMKernels(X, gamma)
    X = X[kernels.shown]
    coef = np.random.default_rng(5).normal(size=(len(X), 2))
    for column, margins in zip(coef.T, kernels.margins(coef).T, strict=True):
        whole = column @ observed_kernel(X, gamma=gamma) @ column
        assert whole > 0.0
        for k, row in enumerate(X):
            features = np.flatnonzero(~np.isnan(row))
            K = [[kernel_among(x, z, features, gamma) for z in X] for x in X]
            share = float(column @ np.array(K) @ column) / whole
            assert margins[k] == pytest.approx(np.sqrt(np.clip(share, 1e-4, 1.0)), abs=1e-4)


def test_norms_do_not_depend_on_what_is_kept(monkeypatch):
    X, _ = gappy(6)
    coef = np.random.default_rng(7).normal(size=(int(GEOMKernels(X, 1.0).shown.sum()), 1))
    kept = GEOMKernels(X, 1.0)
    first = kept.margins(coef)
    assert np.array_equal(kept.margins(coef), first)
    monkeypatch.setattr(_restricted, "LARGEST_KEPT", 0)
    monkeypatch.setattr(_restricted, "BLOCK", 7)
    assert np.allclose(GEOMKernels(X, 1.0).margins(coef), first, atol=1e-5)


@pytest.mark.parametrize(("C", "gamma"), [(0.1, 0.05), (1.0, 1.0), (32.0, 4.0)])
def test_every_round_meets_the_conditions_of_its_quadratic_program(C, gamma):
    """The optimality conditions of b in the dual that the module states, row by row."""
    X, y = gappy(8, share=0.6)
    kernels = GEOMKernels(X, gamma)
    sign = np.where(y[kernels.shown] == 1, 1.0, -1.0)
    model = GEOMClassifier(C, gamma, n_rounds=4).fit(X, y)
    for done in model.rounds_:
        s, b = done.margins[:, 0], _coefficients(kernels, done, sign, C)
        values = kernels.K_positive @ b + done.intercept
        assert np.allclose(values, done.decision(observed_kernel(model.X_fit_, gamma=gamma)))
        assert abs(b.sum()) <= 1e-9 * C
        multiplier, largest = sign * b, C / s
        assert (multiplier >= -1e-12 * largest).all()
        assert (multiplier <= largest * (1.0 + 1e-12)).all()
        slack = sign * values / s - 1.0
        can_rise, can_fall = multiplier < largest * (1.0 - 1e-9), multiplier > 1e-9 * largest
        tolerance = 1e-6 / s.min()
        assert (slack[can_rise] >= -tolerance).all()
        assert (slack[can_fall] <= tolerance).all()


def _coefficients(kernels, done, sign, C):
    """Return b itself: the round's problem solved anew, as a fit keeps P b only."""
    dual = make_dual(sign, sign.size, C=C)
    s = done.margins
    scaled = replace(
        dual,
        targets=s * dual.targets,
        lower=dual.lower / s,
        upper=dual.upper / s,
        task="regression",
    )
    b = scaled.solve(kernels.K_positive)
    assert np.allclose(
        kernels.K_positive @ b, kernels.K_positive @ kernels.on_observed(b), atol=1e-8 * C
    )
    return b[:, 0]


def test_positive_part_is_positive_and_nearest():
    X, _ = gappy(9, share=0.7)
    kernels = GEOMKernels(X, 8.0)
    K = observed_kernel(X[kernels.shown], gamma=8.0)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    assert np.linalg.eigvalsh(kernels.K_positive)[0] >= -1e-10
    # What was cut off is orthogonal to what is left, as of a projection on a cone.
    assert abs(np.vdot(kernels.K_positive, K - kernels.K_positive)) <= 1e-8


def test_margins_of_a_round_are_those_of_the_machine_before():
    X, y = gappy(10)
    kernels = GEOMKernels(X, 1.0)
    rounds = GEOMClassifier(1.0, 1.0).fit(X, y, kernels).rounds_
    assert (rounds[0].margins == 1.0).all()
    for former, later in zip(rounds, rounds[1:], strict=False):
        assert np.array_equal(later.margins, kernels.margins(former.dual_coef))
    assert (rounds[1].margins < 1.0).any()


def test_the_first_round_is_the_machine_of_the_positive_part():
    X, y = gappy(11)
    kernels = GEOMKernels(X, 1.0)
    machine = SVC(kernel="precomputed", tol=1e-8).fit(kernels.K_positive, y[kernels.shown])
    values = next(GEOMClassifier().fit(X, y).staged_decision_function(X[kernels.shown]))
    assert np.allclose(values, machine.decision_function(kernels.K_positive), atol=1e-4)


def test_stages_are_the_shorter_fits():
    X, y = gappy(12)
    new, _ = gappy(13)
    kernels = GEOMKernels(X, 1.0)
    model = GEOMClassifier(2.0, 1.0, 4).fit(X, y, kernels)
    stages = zip(model.staged_decision_function(new), model.staged_predict(new), strict=True)
    for n_rounds, (values, labels) in enumerate(stages, start=1):
        shorter = GEOMClassifier(2.0, 1.0, n_rounds).fit(X, y)
        assert np.allclose(values, shorter.decision_function(new), atol=1e-6)
        assert np.array_equal(labels, shorter.predict(new))
    assert n_rounds == 4


def test_rows_of_gaps_take_part_in_nothing():
    X, y = gappy(14)
    empty = np.full((3, 5), np.nan)
    model = GEOMClassifier().fit(X, y)
    more = GEOMClassifier().fit(np.vstack([X, empty]), np.r_[y, 0, 1, 1])
    assert np.allclose(more.decision_function(X), model.decision_function(X))
    assert np.isfinite(model.decision_function(empty)).all()


def test_more_classes_one_against_the_rest():
    X, _ = gappy(15, share=0.3)
    y = np.array(["a", "b", "c"])[np.argmax(np.nan_to_num(X[:, :3], nan=-9.0), axis=1)]
    model = GEOMClassifier(4.0, 2.0).fit(X, y)
    values = model.decision_function(X)
    for place, name in enumerate(model.classes_):
        alone = GEOMClassifier(4.0, 2.0).fit(X, y == name)
        assert np.allclose(values[:, place], alone.decision_function(X), atol=1e-4)
    assert np.array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])


def test_kernels_of_other_rows_or_another_gamma_are_refused():
    X, y = gappy(16)
    other, _ = gappy(17)
    for kernels, gamma in (
        (GEOMKernels(X, 2.0), 2.0),
        (GEOMKernels(other, 1.0), 1.0),
        (GEOMKernels(X[:, :4], 1.0), 1.0),
    ):
        rows, columns = kernels.X.shape
        got = f"Got that of {rows} rows, {columns} columns and gamma={gamma} instead"
        with pytest.raises(ValueError, match=f"'kernels' parameter .* gamma=1.0. {got}"):
            GEOMClassifier(1.0, 1.0).fit(X, y, kernels)
    with pytest.raises(TypeError, match="'kernels' .* a GEOMKernels or None. Got 'rbf' instead"):
        GEOMClassifier(1.0, 1.0).fit(X, y, "rbf")


@pytest.mark.parametrize(
    ("Z", "match"),
    [
        ([[1.0]], r"'Z' .* as many columns as X, 2. Got an array of shape \(1, 1\) instead"),
        ([[1.0, -np.inf]], "'Z' .* finite or NaN. Got -inf in row 0, column 1 instead"),
    ],
)
def test_other_rows_must_have_the_same_columns(Z, match):
    with pytest.raises(ValueError, match=match):
        observed_kernel([[1.0, 2.0]], Z, gamma=1.0)


def test_coefficients_and_kernels_of_other_rows_are_refused():
    X, y = gappy(18, 12)
    kernels = GEOMKernels(X, 1.0)
    done = GEOMClassifier().fit(X, y, kernels).rounds_[0]
    n_shown = int(kernels.shown.sum())
    for coefficients in (np.ones((n_shown + 1, 1)), np.ones(n_shown)):
        for method in (kernels.margins, kernels.on_observed):
            with pytest.raises(ValueError, match=rf"'dual_coef' .* of shape \({n_shown}, n_prob"):
                method(coefficients)
    with pytest.raises(ValueError, match=rf"'K' .* GEOMRound.decision .* \(n_rows, {n_shown}\)"):
        done.decision(np.ones((2, n_shown + 1)))


@pytest.mark.parametrize("X", [[[0.0], [1.0]], [[np.nan], [np.nan]]])
def test_kernels_check_gamma_whatever_the_rows_show(X):
    with pytest.raises(ValueError, match="'gamma' parameter of GEOMKernels"):
        GEOMKernels(X, 0.0)
    with pytest.raises(ValueError, match="'gamma' parameter of observed_kernel"):
        observed_kernel(X, gamma=-1.0)


@pytest.mark.parametrize(
    ("cells", "unseen"),
    [
        ([0.0, 1.0, np.nan], "'c'"),
        ([0.0, np.nan, np.nan], "'b', 'c'"),
        ([np.nan, np.nan, np.nan], "'a', 'b', 'c'"),
    ],
)
def test_a_class_that_shows_nothing_is_refused(cells, unseen):
    match = (
        "'X' parameter of GEOMClassifier must be a table where each class has a row with an "
        "observed cell, since rows without any take part in nothing. "
        f"Got only gaps in the rows of {unseen} instead."
    )
    with pytest.raises(ValueError, match=match):
        GEOMClassifier().fit(np.transpose([cells]), ["a", "b", "c"])


@pytest.mark.parametrize("name", ["C", "gamma", "n_rounds"])
def test_parameters_out_of_range_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of GEOMClassifier"):
        GEOMClassifier(**{name: 0}).fit([[0.0], [1.0]], [0, 1])


@parametrize_with_checks([GEOMClassifier()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
