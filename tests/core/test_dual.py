"""The dual: exact solutions, what follows from them, gradients, proximal points, refusals."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC, SVR

import kernimpute.core.dual
from kernimpute.core.dual import TASKS, Dual, UnsolvedMachineError, coupling, make_dual
from kernimpute.core.gram import DenseGram, KernelGram
from kernimpute.kernels import Linear


def gaussian(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def points(n, seed=0, n_features=4):
    return np.random.default_rng(seed).random((n, n_features))


def labels_of(X, n_classes=2):
    """Return overlapping classes, so that some coefficients end at C."""
    noisy = X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(X.shape[0])
    return np.digitize(noisy, np.quantile(noisy, np.arange(1, n_classes) / n_classes))


def targets_of(X):
    return X[:, 0] + np.sin(5.0 * X[:, 1]) + 0.1 * np.random.default_rng(1).standard_normal(len(X))


CASES = [
    ("classification", 1.0, 0.0),
    ("classification", 1e4, 0.0),
    ("regression", 1.0, 0.0),
    ("regression", 1.0, 0.1),
    ("regression", 100.0, 0.05),
]
MATRICES = {
    "gaussian": lambda X: gaussian(X, 2.0),
    "nearly constant": lambda X: gaussian(X, 1e-3),
    "low rank": lambda X: X @ X.T + 1.0,
    "duplicate rows": lambda X: gaussian(np.round(2.0 * X) / 2.0, 1.0),
    "large entries": lambda X: (X @ X.T + 1.0) ** 4,
}


def case(task, C, epsilon, n=70):
    X = points(n)
    y = labels_of(X) if task == "classification" else targets_of(X)
    return X, make_dual(y, n, C=C, task=task, epsilon=epsilon)


@pytest.fixture(params=CASES, ids=str)
def any_case(request):
    return case(*request.param)


# ------------------------------------------------------------------------------- solutions


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_gap_closes(any_case, matrix):
    X, dual = any_case
    K = MATRICES[matrix](X)
    b = dual.solve(K)
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    assert np.abs(b.sum(axis=0)).max() <= 1e-12 * np.abs(b).sum()
    value = dual.value(K, b)
    assert dual.primal_value(K, b) == pytest.approx(value, rel=1e-9)
    assert abs(dual.gap(K, b)) <= 1e-9 * value


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_classification_agrees_with_libsvm(C):
    X, dual = case("classification", C, 0.0)
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    machine = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, dual.targets[:, 0])
    theirs = np.zeros_like(b)
    theirs[machine.support_, 0] = machine.dual_coef_[0]
    # libsvm keeps K in single precision.
    np.testing.assert_allclose(b, theirs, atol=2e-5 * C)
    assert dual.value(K, b) >= dual.value(K, theirs) - 1e-12
    np.testing.assert_allclose(dual.intercept(K, b), machine.intercept_, atol=1e-5)
    scores = K @ b + dual.intercept(K, b)
    np.testing.assert_allclose(scores[:, 0], machine.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_regression_agrees_with_libsvm(C, epsilon):
    X, dual = case("regression", C, epsilon)
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    machine = SVR(C=C, epsilon=epsilon, kernel="precomputed", tol=1e-9)
    machine.fit(K, dual.targets[:, 0])
    theirs = np.zeros_like(b)
    theirs[machine.support_, 0] = machine.dual_coef_[0]
    np.testing.assert_allclose(b, theirs, atol=1e-4 * max(C, 1.0))
    assert dual.value(K, b) >= dual.value(K, theirs) - 1e-12
    np.testing.assert_allclose(dual.intercept(K, b), machine.intercept_, atol=1e-5)


def test_a_generic_solver_finds_nothing_better(any_case):
    X, dual = any_case
    X, dual = (
        X[:12],
        replace(dual, targets=dual.targets[:12], lower=dual.lower[:12], upper=dual.upper[:12]),
    )
    K = gaussian(X, 2.0)
    b = dual.solve(K)

    # Two halves make the absolute value smooth.
    def loss(halves):
        return -dual.value(K, (halves[:12] - halves[12:])[:, None])

    def total(halves):
        return halves[:12].sum() - halves[12:].sum()

    ends = np.concatenate([dual.upper[:, 0], -dual.lower[:, 0]])
    result = minimize(
        loss,
        np.zeros(24),
        method="SLSQP",
        bounds=[(0.0, end) for end in ends],
        constraints={"type": "eq", "fun": total},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert dual.value(K, b) >= -result.fun - 1e-9 * abs(result.fun)
    if dual.C < 1e3:
        assert dual.value(K, b) == pytest.approx(-result.fun, rel=1e-5)


def test_regression_on_signs_in_the_box_of_classification_is_classification():
    X, dual = case("classification", 2.0, 0.0)
    K = gaussian(X, 2.0)
    regression = make_dual(dual.targets[:, 0], X.shape[0], C=2.0, task="regression", epsilon=0.0)
    boxed = replace(regression, lower=dual.lower, upper=dual.upper)
    b = dual.solve(K)
    # libsvm, which only knows regression's own box, starts this one.
    np.testing.assert_allclose(boxed.solve(K), b, atol=1e-10)
    assert boxed.value(K, b) == pytest.approx(dual.value(K, b), rel=1e-14)
    np.testing.assert_allclose(boxed.intercept(K, b), dual.intercept(K, b), atol=1e-12)


def test_one_against_the_rest_is_the_binary_problems():
    X = points(60)
    y, K = labels_of(X, 4), gaussian(X, 2.0)
    dual = make_dual(y, 60, C=3.0)
    b = dual.solve(K)
    assert b.shape == (60, 4)
    total = 0.0
    for k in range(4):
        binary = make_dual(np.where(y == k, 1, 0), 60, C=3.0)
        alone = binary.solve(K)
        np.testing.assert_allclose(b[:, [k]], alone, atol=1e-10)
        np.testing.assert_allclose(dual.intercept(K, b)[[k]], binary.intercept(K, alone), atol=1e-9)
        total += binary.value(K, alone)
    assert dual.value(K, b) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(coupling(b), sum(np.outer(c, c) for c in b.T), atol=1e-12)


def test_swapping_the_classes_flips_the_signs():
    X = points(60)
    y, K = labels_of(X), gaussian(X, 2.0)
    dual, swapped = make_dual(y, 60), make_dual(1 - y, 60)
    b = dual.solve(K)
    np.testing.assert_allclose(swapped.solve(K), -b, atol=1e-12)
    np.testing.assert_allclose(swapped.intercept(K, -b), -dual.intercept(K, b), atol=1e-12)


@pytest.mark.parametrize(
    ("negative", "positive"), [(5, 9), ("no", "yes"), (False, True), (-1.0, 1.0)]
)
def test_labels_of_any_sort(negative, positive):
    X = points(40)
    y, K = labels_of(X), gaussian(X, 2.0)
    dual = make_dual(np.where(y == 1, positive, negative), 40)
    assert dual.classes.tolist() == [negative, positive]
    np.testing.assert_array_equal(dual.solve(K), make_dual(y, 40).solve(K))


def test_labels_as_a_list_of_strings_in_objects():
    dual = make_dual(np.array(["b", "a", "c", "a"], dtype=object), 4)
    assert dual.classes.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(dual.targets[:, 0], [-1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_regression_does_not_depend_on_the_scale_of_the_targets(scale):
    X = points(50)
    y, K = targets_of(X), gaussian(X, 2.0)
    dual = make_dual(y, 50, task="regression", C=2.0, epsilon=0.1)
    scaled = make_dual(scale * (y + 1e3), 50, task="regression", C=2.0 * scale, epsilon=0.1 * scale)
    b = dual.solve(K)
    np.testing.assert_allclose(scaled.solve(K), scale * b, rtol=0.0, atol=1e-9 * scale)


def test_constant_targets_have_no_coefficients():
    dual = make_dual(np.full(8, 3.0), 8, task="regression")
    b = dual.solve(gaussian(points(8), 1.0))
    np.testing.assert_array_equal(b, 0.0)
    np.testing.assert_allclose(dual.intercept(np.eye(8), b), 3.0)


def test_two_rows():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    dual = make_dual(["a", "b"], 2, C=10.0)
    np.testing.assert_allclose(dual.solve(K)[:, 0], [-2.0, 2.0])
    np.testing.assert_allclose(dual.intercept(K, dual.solve(K)), 0.0, atol=1e-14)


def test_a_kernel_that_is_not_finite_is_refused():
    K = np.eye(4)
    K[0, 1] = K[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make_dual([0, 1, 0, 1], 4).solve(K)


def test_large_C_and_low_rank_do_not_take_forever():
    # libsvm alone takes a second here and, in single precision, leaves a gap of 1e-4.
    X = points(300, n_features=10)
    K = X @ X.T + 1.0
    dual = make_dual(labels_of(X), 300, C=1e4)
    began = time.perf_counter()
    b = dual.solve(K)
    assert time.perf_counter() - began < 5.0
    assert abs(dual.gap(K, b)) <= 1e-9 * dual.value(K, b)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n", [300, 1200])
@pytest.mark.parametrize("C", [0.1, 4.0, 1e3])
def test_by_a_factor_the_machine_is_the_same(task, n, C, monkeypatch):
    X = points(n, n_features=6)
    # Gaps held at the mean, as a table has them where most is missing: rows that coincide.
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.6, X.mean(axis=0), X)
    noise = np.random.default_rng(2).standard_normal(n)
    y = X @ np.arange(6.0) + noise
    dual = make_dual(y if task == "regression" else y > y.mean(), n, C=C, task=task, epsilon=0.2)
    kernel = Linear()
    K = kernel(X, X)
    expected = dual.solve(K)
    # By the method of the factor alone: libsvm has next to no iterations, or is not asked.
    monkeypatch.setattr("kernimpute.core.dual.FACTOR_ITERATIONS", 1)
    monkeypatch.setattr("kernimpute.core.dual._many_iterations", lambda n: 1)
    if n > 1000:
        monkeypatch.setattr("kernimpute.core.dual.libsvm_coefficients", None)
    for gram in (KernelGram(kernel, X), DenseGram(K, kernel.factor(X))):
        b = dual.solve(gram)
        assert abs(dual.gap(K, b)) <= 1e-8 * max(1.0, dual.value(K, b))
        assert dual.value(K, b) == pytest.approx(dual.value(K, expected), rel=1e-9)
        decisions = [K @ each + dual.intercept(K, each) for each in (b, expected)]
        np.testing.assert_allclose(decisions[0], decisions[1], atol=1e-6)


@pytest.mark.parametrize("rows", [200, 1100])
def test_by_a_factor_no_matrix_is_held_whatever_the_labels_and_weights(rows, monkeypatch):
    monkeypatch.setattr("kernimpute.core.gram.HELD_ROWS", 100)
    monkeypatch.setattr("kernimpute.core.gram.KernelGram.matrix", None)
    X = points(rows)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 3.0], rows)
    K = Linear()(X, X)
    for C in (1.0, 1e3):
        dual = make_dual(labels_of(X, 3), rows, C=C, sample_weight=weights)
        b = dual.solve(KernelGram(Linear(), X))
        assert (b >= dual.lower).all() and (b <= dual.upper).all()
        assert np.abs(b.sum(axis=0)).max() <= 1e-12 * np.abs(b).sum()
        assert abs(dual.gap(K, b)) <= 1e-8 * dual.value(K, b)
        again = dual.solve(KernelGram(Linear(), X), start=b)
        assert dual.value(K, again) == pytest.approx(dual.value(K, b), rel=1e-12)


def test_where_the_method_of_the_factor_gets_lost_libsvm_is_asked():
    generator = np.random.default_rng(0)
    X = generator.random((1000, 2))
    X[0] *= 1e5
    y = ((X - X.mean(axis=0)) / X.std(axis=0)) @ generator.standard_normal(2)
    y += 0.5 * generator.standard_normal(1000)
    dual = make_dual(y > np.median(y), 1000, C=1e-3)
    b = dual.solve(KernelGram(Linear(0.0), X))
    assert abs(dual.gap(Linear(0.0)(X, X), b)) <= 1e-9
    # Targets without noise: among coefficients of any size some that are next to nothing are best.
    X = np.random.default_rng(1).random((4000, 5))
    y = X @ np.arange(5.0)
    dual = make_dual(y, 4000, C=1e4, task="regression", epsilon=0.0)
    gram = KernelGram(Linear(), X)
    assert abs(dual.gap(gram, dual.solve(gram))) <= 1e-5


@pytest.mark.parametrize("name", ["german_numer", "wine_white"])
def test_by_a_factor_the_machine_of_a_real_table_is_the_same(name, data_dir):
    table = pd.read_csv(data_dir / f"{name}.csv").sample(600, random_state=0)
    y = table.pop("target")
    X = ((table - table.min()) / (table.max() - table.min())).to_numpy()
    K = Linear()(X, X)
    for C in (1.0, 100.0):
        dual = make_dual(y > y.median() if name == "wine_white" else y, 600, C=C)
        b, expected = dual.solve(DenseGram(K, Linear().factor(X))), dual.solve(K)
        assert abs(dual.gap(K, b)) <= 1e-8 * dual.value(K, b)
        np.testing.assert_allclose(K @ b, K @ expected, atol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_an_indefinite_kernel_is_survived(task):
    X = points(40)
    noise = np.random.default_rng(3).standard_normal((40, 40))
    K = gaussian(X, 2.0) + 0.2 * (noise + noise.T)
    y = labels_of(X) if task == "classification" else targets_of(X)
    dual = make_dual(y, 40, task=task, C=3.0)
    b = dual.solve(K)
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    assert dual.value(K, b) >= 0.0


def test_threads_leave_the_filters_of_warnings_as_they_were():
    # On this matrix libsvm stops early, with a warning, which nobody is to see.
    X = points(120, n_features=10)
    K = X @ X.T + 1.0
    dual = make_dual(labels_of(X), 120, C=1e4)
    alone = dual.solve(K)
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as threads:
        solved = list(threads.map(lambda _: dual.solve(K), range(24)))
    assert list(warnings.filters) == before
    for b in solved:
        np.testing.assert_array_equal(b, alone)


def test_tol_is_the_violation_accepted():
    X, dual = case("classification", 1.0, 0.0, n=120)
    K = gaussian(X, 2.0)
    for tol in (1e-2, 1e-6, 1e-12):
        b = dual.solve(K, tol)
        gradient = dual.gradient(K, b)
        violation = gradient[b < dual.upper].max() - gradient[b > dual.lower].min()
        assert violation <= max(tol, 1e-13)


# ------------------------------------------------------------------------------- extremes


def violation_of(dual, K, b):
    """Return what raising one coefficient and lowering another still gains."""
    slope = dual.gradient(K, b)
    rises = (slope - np.where(b >= 0.0, dual.epsilon, -dual.epsilon))[b < dual.upper]
    falls = (slope - np.where(b > 0.0, dual.epsilon, -dual.epsilon))[b > dual.lower]
    return rises.max() - falls.min()


def assert_optimal_to_rounding(dual, K, b):
    """Assert that what is left to gain is small beside the rounding of ``K b``."""
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    assert np.isfinite(b).all()
    rounding = 1e-14 * np.abs(K).max() * np.abs(b).sum()
    assert violation_of(dual, K, b) <= max(1e-8 * np.ptp(dual.targets), rounding)
    assert np.isfinite(dual.intercept(K, b)).all()
    assert np.isfinite(dual.value(K, b))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("C", [5e-324, 1e-300, 1e-100, 1e-20, 1e20, 1e100, 1e300, 1.7e308])
@pytest.mark.parametrize("matrix", ["gaussian", "low rank", "duplicate rows"])
def test_any_C_is_solved_or_refused_where_rounding_leaves_nothing(matrix, C, task):
    X, dual = case(task, C, 0.05, n=30)
    K = MATRICES[matrix](X)
    if C >= 1e20 and matrix != "gaussian":
        # No margin is hard there, so that the coefficients grow with C without an end.
        with pytest.raises(UnsolvedMachineError, match=r"of 30 rows could not be solved.*Lower C"):
            dual.solve(K)
    else:
        assert_optimal_to_rounding(dual, K, dual.solve(K))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("C", [1e3, 1e6, 1e8, 1e10, 1e12, 1e14])
@pytest.mark.parametrize("matrix", [*MATRICES, "constant"])
def test_a_machine_that_is_returned_has_a_small_gap_or_a_small_violation(matrix, C, task):
    X, dual = case(task, C, 0.1)
    K = np.ones((70, 70)) if matrix == "constant" else MATRICES[matrix](X)
    try:
        b = dual.solve(K)
    except UnsolvedMachineError:
        assert C >= 1e10
        return
    assert violation_of(dual, K, b) <= 0.5e-3 * np.ptp(dual.targets) or dual.gap(
        K, b
    ) <= 1e-3 * dual.primal_value(K, b)


def test_a_start_so_large_that_rounding_hides_its_error_is_left():
    X, dual = case("classification", 1e20, 0.0, n=30)
    K = gaussian(X, 2.0)
    far = 1e15 * np.random.default_rng(0).standard_normal((30, 1))
    np.testing.assert_allclose(dual.solve(K, start=far), dual.solve(K), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("with_factor", [False, True])
def test_starts_that_are_lost_cost_time_and_not_the_machine(with_factor, monkeypatch):
    X, dual = case("classification", 1e4, 0.0)
    gram = DenseGram(X @ X.T, X if with_factor else None)
    b = dual.solve(gram)
    lost = 1e4 * np.random.default_rng(0).standard_normal(70)
    monkeypatch.setattr("kernimpute.core.dual.libsvm_coefficients", lambda *_: (lost, True))
    monkeypatch.setattr("kernimpute.core.dual.near_solution", lambda *_: lost)
    assert_same_machine(dual, gram.K, dual.solve(gram), b)
    solve_dual = kernimpute.core.dual.solve_dual

    def in_one_round(*problem, max_rounds, **options):
        return solve_dual(*problem, max_rounds=1, **options)

    monkeypatch.setattr("kernimpute.core.dual.solve_dual", in_one_round)
    with pytest.raises(UnsolvedMachineError, match="could not be solved"):
        dual.solve(gram)


@pytest.mark.parametrize("C", [1e20, 1e300, 1.7e308])
def test_a_hard_margin_is_that_of_every_large_C(C):
    X = points(40)
    y, K = X[:, 0] > 0.5, gaussian(X, 2.0)
    hard = make_dual(y, 40, C=1e8).solve(K)
    assert np.abs(hard).max() < 1e6
    dual = make_dual(y, 40, C=C)
    b = dual.solve(K)
    np.testing.assert_allclose(b, hard, rtol=1e-6, atol=1e-6)
    scores = K @ b + dual.intercept(K, b)
    assert (scores[:, 0] * dual.targets[:, 0]).min() == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("exponent", [-200, 200, 330])
def test_a_factor_of_the_kernel_is_one_of_C(exponent):
    X = points(40)
    K, factor = gaussian(X, 2.0), 2.0**exponent
    plain, scaled = (make_dual(labels_of(X), 40, C=C) for C in (2.0, 2.0 / factor))
    b = plain.solve(K)
    np.testing.assert_allclose(factor * scaled.solve(factor * K), b, atol=1e-8)
    warm = scaled.solve(factor * K, start=1.01 * b / factor)
    np.testing.assert_allclose(factor * warm, b, atol=1e-8)


@pytest.mark.parametrize("factor", [0.0, 5e-324, 1e-305])
@pytest.mark.parametrize("C", [1e-300, 1.0, 1e300])
def test_a_kernel_of_nothing_leaves_the_bounds(C, factor):
    dual = make_dual([0, 0, 1, 1], 4, C=C)
    b = dual.solve(factor * gaussian(points(4), 1.0))
    np.testing.assert_array_equal(b[:, 0], min(C, 1e100) * np.array([-1.0, -1.0, 1.0, 1.0]))


@pytest.mark.parametrize("scale", [1e-300, 1e75])
@pytest.mark.parametrize("C", [1e-300, 1.0, 1e300])
def test_targets_and_tubes_of_any_size(scale, C):
    X = points(20)
    y, K = scale * (X[:, 0] - 0.5), gaussian(X, 2.0)
    for epsilon in (0.0, 0.1 * scale, 1e300):
        dual = make_dual(y, 20, task="regression", C=C, epsilon=epsilon)
        assert_optimal_to_rounding(dual, K, dual.solve(K))


# --------------------------------------------------------------------------- warm starts


def starting_case(task, weighted, n=80):
    """Return points, and the function that gives the dual for a C."""
    X = points(n)
    y = labels_of(X, 3) if task == "classification" else targets_of(X)
    weights = weights_of(n) if weighted else None
    return X, lambda C: make_dual(y, n, C=C, task=task, epsilon=0.05, sample_weight=weights)


def assert_same_machine(dual, K, b, cold):
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    assert dual.value(K, b) == pytest.approx(dual.value(K, cold), rel=1e-8)
    decision = K @ b + dual.intercept(K, b)
    np.testing.assert_allclose(decision, K @ cold + dual.intercept(K, cold), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_a_start_along_C_and_gamma_leads_to_the_same_machine(task, weighted):
    X, dual_of = starting_case(task, weighted)
    K = gaussian(X, 2.0)
    for C, before in ((1.1, 1.0), (10.0, 1.0), (0.1, 1.0), (1e4, 1e3)):
        dual = dual_of(C)
        start = dual_of(before).solve(K) * (C / before)
        assert_same_machine(dual, K, dual.solve(K, start=start), dual.solve(K))
    dual = dual_of(3.0)
    for gamma in (0.5, 1.9, 6.0):
        start = dual.solve(gaussian(X, gamma))
        assert_same_machine(dual, K, dual.solve(K, start=start), dual.solve(K))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_a_start_of_no_use_leads_to_the_same_machine(task, weighted):
    X, dual_of = starting_case(task, weighted)
    K, dual = gaussian(X, 2.0), dual_of(2.0)
    noise = np.random.default_rng(0).standard_normal(dual.targets.shape)
    for start in (np.zeros_like(noise), noise, 1e6 * noise, dual.upper, dual.lower):
        assert_same_machine(dual, K, dual.solve(K, start=start), dual.solve(K))


def test_from_a_good_start_libsvm_is_not_asked_and_from_a_bad_one_it_is(monkeypatch):
    X, dual_of = starting_case("classification", weighted=False)
    K, dual = gaussian(X, 2.0), dual_of(2.0)
    cold, asked = dual.solve(K), []
    libsvm = Dual._libsvm
    monkeypatch.setattr(Dual, "_libsvm", lambda *given: asked.append(1) or libsvm(*given))
    b = dual.solve(K, start=cold)
    assert_same_machine(dual, K, b, cold)
    assert not asked
    solve_dual = kernimpute.core.dual.solve_dual
    rounds = []

    def in_one_round(*problem, max_rounds, **options):
        # As if the first of each problem's two attempts needed more rounds than it has.
        rounds.append(max_rounds)
        return solve_dual(*problem, max_rounds=1 if len(rounds) % 2 else max_rounds, **options)

    monkeypatch.setattr(kernimpute.core.dual, "solve_dual", in_one_round)
    b = dual.solve(K, start=np.zeros_like(cold))
    assert_same_machine(dual, K, b, cold)
    assert len(asked) == dual.n_problems


@pytest.mark.parametrize("start", [np.zeros(80), np.zeros((80, 2)), np.full((80, 3), np.nan)])
def test_a_start_that_is_no_point_is_refused(start):
    X, dual_of = starting_case("classification", weighted=False)
    with pytest.raises(ValueError, match=r"'start' .* finite and of shape \(80, 3\)"):
        dual_of(1.0).solve(gaussian(X, 2.0), start=start)


# ------------------------------------------------------------------------ weights of rows


def weights_of(n, seed=8):
    """Return whole weights, a third of them 0."""
    return np.random.default_rng(seed).choice([0.0, 0.0, 1.0, 1.0, 2.0, 3.0], n)


def weighted_case(task, C, epsilon, n=70, n_classes=2):
    """Return points, their weighted dual, and the rows and the dual of as many copies."""
    X = points(n)
    y = labels_of(X, n_classes) if task == "classification" else targets_of(X)
    weights = weights_of(n)
    copies = np.repeat(np.arange(n), weights.astype(int))
    options = {"C": C, "task": task, "epsilon": epsilon}
    weighted = make_dual(y, n, sample_weight=weights, **options)
    return X, weights, weighted, copies, make_dual(y[copies], copies.size, **options)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("task", "C", "epsilon"), CASES, ids=str)
@pytest.mark.parametrize("matrix", ["gaussian", "low rank"])
def test_a_weight_is_as_many_copies(task, C, epsilon, matrix, n_classes):
    X, weights, dual, copies, repeated = weighted_case(task, C, epsilon, n_classes=n_classes)
    K = MATRICES[matrix](X)
    K_repeated = K[np.ix_(copies, copies)]
    b, apart = dual.solve(K), repeated.solve(K_repeated)
    together = np.zeros_like(b)
    np.add.at(together, copies, apart)
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    np.testing.assert_array_equal(b[weights == 0.0], 0.0)
    value = repeated.value(K_repeated, apart)
    assert dual.value(K, b) == pytest.approx(value, rel=1e-9)
    assert dual.primal_value(K, b) == pytest.approx(value, rel=1e-8)
    # At any other point the primal values agree too, up to the rounding of large terms.
    other = repeated.primal_value(K_repeated, np.zeros_like(apart))
    assert dual.primal_value(K, np.zeros_like(b)) == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(K @ b, K @ together, atol=1e-6)
    np.testing.assert_allclose(
        dual.intercept(K, b), repeated.intercept(K_repeated, apart), atol=1e-6
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_weighted_classification_agrees_with_scikit_learn(C):
    X, weights, dual, _, _ = weighted_case("classification", C, 0.0)
    weights = weights * np.random.default_rng(3).random(70)
    dual = make_dual(labels_of(X), 70, C=C, sample_weight=weights)
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    # With kernel="precomputed" theirs confuses the rows where some have weight 0.
    machine = SVC(C=C, gamma=2.0, tol=1e-9).fit(X, labels_of(X), sample_weight=weights)
    scores = K @ b + dual.intercept(K, b)
    np.testing.assert_allclose(scores[:, 0], machine.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_weighted_regression_agrees_with_scikit_learn(C, epsilon):
    X = points(70)
    weights = weights_of(70) * np.random.default_rng(3).random(70)
    dual = make_dual(
        targets_of(X), 70, C=C, task="regression", epsilon=epsilon, sample_weight=weights
    )
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    machine = SVR(C=C, epsilon=epsilon, gamma=2.0, tol=1e-9)
    machine.fit(X, targets_of(X), sample_weight=weights)
    scores = K @ b + dual.intercept(K, b)
    np.testing.assert_allclose(scores[:, 0], machine.predict(X), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_one_are_none(task):
    X = points(50)
    y = labels_of(X, 3) if task == "classification" else targets_of(X)
    K = gaussian(X, 2.0)
    plain, ones = make_dual(y, 50, task=task), make_dual(y, 50, task=task, sample_weight=[1] * 50)
    b = plain.solve(K)
    np.testing.assert_array_equal(ones.solve(K), b)
    np.testing.assert_array_equal(ones.intercept(K, b), plain.intercept(K, b))
    assert ones.gap(K, b) == plain.gap(K, b)


@pytest.mark.parametrize("task", TASKS)
def test_weights_that_lie_far_apart(task):
    X = points(60)
    y = labels_of(X) if task == "classification" else targets_of(X)
    weights = 10.0 ** np.random.default_rng(4).uniform(-12, 12, 60)
    dual = make_dual(y, 60, task=task, epsilon=0.05, sample_weight=weights)
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    assert abs(b.sum()) <= 1e-12 * np.abs(b).sum()
    # The gap multiplies the last digits of a residual by the largest weight; the slopes do not.
    slope = dual.gradient(K, b)
    rises = (slope - np.where(b >= 0.0, dual.epsilon, -dual.epsilon))[b < dual.upper]
    falls = (slope - np.where(b > 0.0, dual.epsilon, -dual.epsilon))[b > dual.lower]
    assert rises.max() - falls.min() <= 1e-8
    assert rises.max() - 1e-8 <= dual.intercept(K, b)[0] <= falls.min() + 1e-8
    assert abs(dual.gap(K, b)) <= 1e-13 * np.maximum(dual.upper, -dual.lower).sum()


def test_the_weighted_solution_is_the_fixed_point_of_proximal_gradient_steps():
    X, weights, dual, _, _ = weighted_case("regression", 1.0, 0.1)
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    stepped = dual.proximal_point(b + 0.3 * dual.gradient(K, b), 0.3)
    np.testing.assert_allclose(stepped, b, atol=1e-9)
    np.testing.assert_array_equal(stepped[weights == 0.0], 0.0)


def test_rows_without_weight_neither_move_nor_tell_the_intercept():
    # Were the third row's margin counted, the middle would be another.
    K = gaussian(np.array([[0.0], [0.1], [0.5], [0.9], [1.0]]), 1.0)
    keep = [0, 1, 3, 4]
    weighted = make_dual([0, 0, 1, 1, 1], 5, C=0.1, sample_weight=[1, 1, 0, 1, 1])
    dropped = make_dual([0, 0, 1, 1], 4, C=0.1)
    b = weighted.solve(K)
    np.testing.assert_array_equal(b[:, 0], [-0.1, -0.1, 0.0, 0.1, 0.1])
    K_kept = K[np.ix_(keep, keep)]
    assert weighted.intercept(K, b) == pytest.approx(dropped.intercept(K_kept, b[keep]), abs=1e-14)
    assert weighted.gap(K, b) == pytest.approx(0.0, abs=1e-14)


def test_a_class_without_weight_is_not_there():
    y, weights = np.array(["a", "b", "c", "a", "b"]), [1.0, 2.0, 0.0, 1.0, 1.0]
    dual = make_dual(y, 5, sample_weight=weights)
    assert dual.classes.tolist() == ["a", "b"]
    assert dual.n_problems == 1
    np.testing.assert_array_equal(dual.upper[2], dual.lower[2])


def test_a_single_target_with_weight_is_the_intercept():
    dual = make_dual([1.0, 5.0, 2.0], 3, task="regression", sample_weight=[0.0, 3.0, 0.0])
    b = dual.solve(np.eye(3))
    np.testing.assert_array_equal(b, 0.0)
    np.testing.assert_allclose(dual.intercept(np.eye(3), b), 5.0)


# ------------------------------------------------------------------- intercepts and values


def test_the_intercept_without_free_support_vectors_is_the_middle():
    # Two far pairs with so small a C that all four coefficients are at it.
    K = gaussian(np.array([[0.0], [0.1], [0.9], [1.0]]), 1.0)
    dual = make_dual([0, 0, 1, 1], 4, C=0.1)
    b = dual.solve(K)
    np.testing.assert_array_equal(b[:, 0], [-0.1, -0.1, 0.1, 0.1])
    residual = dual.gradient(K, b)[:, 0]
    # Raising those of the first class, lowering those of the second must not pay.
    low, high = residual[:2].max(), residual[2:].min()
    np.testing.assert_allclose(dual.intercept(K, b), 0.5 * (low + high), atol=1e-14)
    assert dual.gap(K, b) == pytest.approx(0.0, abs=1e-14)


def test_the_intercept_of_a_wide_tube_is_inside_it():
    y = np.array([0.0, 0.2, 0.4])
    dual = make_dual(y, 3, task="regression", epsilon=1.0)
    b = dual.solve(np.eye(3))
    np.testing.assert_array_equal(b, 0.0)
    assert np.abs(y - dual.intercept(np.eye(3), b)).max() <= 1.0


def test_the_primal_is_minimal_at_the_solution(any_case):
    X, dual = any_case
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    least = dual.primal_value(K, b)
    generator = np.random.default_rng(5)
    for _ in range(5):
        other = dual.proximal_point(b + 0.1 * generator.standard_normal(b.shape), 0.0)
        assert dual.primal_value(K, other) >= least - 1e-9 * abs(least)
        assert dual.value(K, other) <= least + 1e-9 * abs(least)


def test_the_gradient_is_that_of_the_smooth_part(any_case):
    X, dual = any_case
    smooth = replace(dual, epsilon=0.0)
    K = gaussian(X, 2.0)
    b = np.random.default_rng(2).standard_normal(dual.targets.shape)
    gradient = dual.gradient(K, b)
    for i in (0, 7, 33):
        ahead, behind = b.copy(), b.copy()
        ahead[i] += 1e-5
        behind[i] -= 1e-5
        slope = (smooth.value(K, ahead) - smooth.value(K, behind)) / 2e-5
        assert gradient[i].sum() == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("step", [0.0, 0.5, 4.0])
def test_the_proximal_point_against_a_generic_solver(step):
    generator = np.random.default_rng(4)
    dual = make_dual(generator.random(6), 6, task="regression", C=1.0, epsilon=0.2)
    for _ in range(3):
        b = 1.5 * generator.standard_normal((6, 1))
        near = dual.proximal_point(b, step)
        assert (np.abs(near) <= 1.0).all() and abs(near.sum()) <= 1e-14

        def cost(halves, b=b):
            offset = halves[:6] - halves[6:] - b[:, 0]
            return 0.5 * offset @ offset + step * dual.epsilon * halves.sum()

        result = minimize(
            cost,
            np.full(12, 0.1),
            method="SLSQP",
            bounds=[(0.0, 1.0)] * 12,
            constraints={"type": "eq", "fun": lambda h: h[:6].sum() - h[6:].sum()},
            options={"maxiter": 500, "ftol": 1e-14},
        )
        np.testing.assert_allclose(near[:, 0], result.x[:6] - result.x[6:], atol=1e-5)


def test_the_solution_is_the_fixed_point_of_proximal_gradient_steps(any_case):
    X, dual = any_case
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    stepped = dual.proximal_point(b + 0.3 * dual.gradient(K, b), 0.3)
    np.testing.assert_allclose(stepped, b, atol=1e-9 * max(dual.C, 1.0))


def test_arrays_are_not_written_to(any_case):
    X, dual = any_case
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    for array in (K, b, dual.targets, dual.lower, dual.upper):
        array.setflags(write=False)
    dual.solve(K)
    dual.intercept(K, b)
    dual.gap(K, b)
    dual.proximal_point(b, 0.1)


# -------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        ([1, 1, 1], {}, "'y' .* at least 2 classes .* single class 1"),
        (["a"] * 3, {}, "single class 'a'"),
        ([0.0, 1.0, np.nan], {}, "'y' .* complete, without NaN or None"),
        (["a", None, "b"], {}, "complete, without NaN or None"),
        ([0.1, 0.2, 0.7], {}, "'y' .* class labels .*continuous"),
        ([0, 1], {}, r"'y' .* of shape \(3,\)"),
        ([[0], [1], [0]], {}, r"Got an array of shape \(3, 1\)"),
        ([0, 1, 0], {"C": 0.0}, "'C' .* float in"),
        ([0, 1, 0], {"C": -1.0}, "'C' .* Got -1.0"),
        ([0, 1, 0], {"C": np.inf}, "'C' .* Got inf"),
        ([0, 1, 0], {"task": "ranking"}, "'task' .* one of 'classification', 'regression'"),
        ([0.0, 1.0, np.inf], {"task": "regression"}, "'y' .* must be finite"),
        ([0.0, 1.0, np.nan], {"task": "regression"}, "complete, without NaN"),
        ([0, 1, 2], {"task": "regression", "epsilon": -0.1}, "'epsilon' .* Got -0.1"),
        ([0.0, 1e200, 1.0], {"task": "regression"}, "'y' .* at most 1e.75 .* Got 1e.200"),
    ],
)
def test_refusals(y, settings, message):
    with pytest.raises(ValueError, match=message):
        make_dual(np.array(y), 3, **settings)


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        (["a", "b", "c"], {"task": "regression"}, "'y' .* numeric for a regression"),
        ([0, 1, 0], {"C": "1"}, "'C' .* Got '1'"),
        ([0, 1, 0], {"C": True}, "'C' .* Got True"),
    ],
)
def test_refusals_of_a_type(y, settings, message):
    with pytest.raises(TypeError, match=message):
        make_dual(np.array(y), 3, **settings)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1.0, 1.0], ValueError, r"'sample_weight' .* of shape \(3,\), one weight a row"),
        ([[1.0], [1.0], [1.0]], ValueError, r"Got an array of shape \(3, 1\)"),
        ([1.0, -1.0, 1.0], ValueError, "finite and nonnegative. Got -1.0 in row 1"),
        ([1.0, 1.0, np.nan], ValueError, "finite and nonnegative. Got nan in row 2"),
        ([np.inf, 1.0, 1.0], ValueError, "finite and nonnegative. Got inf in row 0"),
        ([0.0, 0.0, 0.0], ValueError, "positive for one row at least.* Got only zeros"),
        ([1e308, 1e308, 1e308], ValueError, "finite in sum.* a sum that overflows"),
        ([1e308, 1.0, 1.0], ValueError, "so small that C = 20 times a weight is finite"),
        ([1.0, 0.0, 1.0], ValueError, "classes among the rows of positive weight .* class 0"),
        (["a", "b", "c"], TypeError, "'sample_weight' .* must be numeric. Got <U1"),
        ([[1.0], [1.0, 2.0], 3.0], TypeError, "'sample_weight' .* must be numeric: "),
    ],
    ids=str,
)
def test_weights_that_are_refused(weights, error, message):
    with pytest.raises(error, match=message):
        make_dual([0, 1, 0], 3, C=20.0, sample_weight=weights)


def test_a_refusal_names_the_owner():
    with pytest.raises(ValueError, match="of learn_kernel must be"):
        make_dual([1, 1], 2, owner="learn_kernel")
