"""The dual: exact solutions, extremes, starts, weights of rows, intercepts, refusals."""

import time

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from kernimpute.core.dual import TASKS, UnsolvedMachineError, make_dual
from kernimpute.core.svm import libsvm_start, solve_dual
from kernimpute.kernels import Gaussian, Linear


def gaussian(X, gamma):
    return Gaussian(gamma)(X, X)


def points(n, seed=0, n_features=4):
    return np.random.default_rng(seed).random((n, n_features))


def labels_of(X, n_classes=2):
    """Return overlapping classes, so that some coefficients end at C."""
    noisy = X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(X.shape[0])
    return np.digitize(noisy, np.quantile(noisy, np.arange(1, n_classes) / n_classes))


def outcome_of(task, X, n_classes=2):
    if task == "classification":
        return labels_of(X, n_classes)
    return X[:, 0] + np.sin(5.0 * X[:, 1]) + 0.1 * np.random.default_rng(1).standard_normal(len(X))


CASES = [
    ("classification", 1e-3, 0.0),
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
    "identical rows": lambda X: np.kron(np.eye(len(X) // 2), np.ones((2, 2))),
    "zero": lambda X: np.zeros((len(X), len(X))),
}


def case(task, C, epsilon, n=70):
    """Return points and their dual, none of which may be written to."""
    X = points(n)
    dual = make_dual(outcome_of(task, X), n, C=C, task=task, epsilon=epsilon)
    for array in (X, dual.targets, dual.lower, dual.upper):
        array.setflags(write=False)
    return X, dual


@pytest.fixture(params=CASES, ids=str)
def any_case(request):
    return case(*request.param)


def gap_of(dual, K, b):
    return dual.primal_value(K, b) - dual.value(K, b)


def assert_feasible(dual, b):
    assert np.isfinite(b).all()
    assert (b >= dual.lower).all() and (b <= dual.upper).all()
    assert np.abs(b.sum(axis=0)).max() <= 1e-12 * np.abs(b).sum()


def violation_of(dual, K, b):
    """Return what raising one coefficient and lowering another still gains in the worst problem."""
    slope = dual.gradient(K, b)
    rises = slope - np.where(b >= 0.0, dual.epsilon, -dual.epsilon)
    falls = slope - np.where(b > 0.0, dual.epsilon, -dual.epsilon)
    highest = np.where(b < dual.upper, rises, -np.inf).max(axis=0)
    return (highest - np.where(b > dual.lower, falls, np.inf).min(axis=0)).max()


def assert_optimal_to_rounding(dual, K, b):
    """Assert that what is left to gain is small beside the rounding of ``K b``."""
    assert_feasible(dual, b)
    rounding = 1e-14 * np.abs(K).max() * np.abs(b).sum()
    assert violation_of(dual, K, b) <= max(1e-8 * np.ptp(dual.targets), rounding)
    assert np.isfinite(dual.intercept(K, b)).all() and np.isfinite(dual.value(K, b))


def assert_same_machine(dual, K, b, expected, atol=1e-8):
    assert_feasible(dual, b)
    assert dual.value(K, b) == pytest.approx(dual.value(K, expected), rel=1e-8)
    decisions = [K @ each + dual.intercept(K, each) for each in (b, expected)]
    np.testing.assert_allclose(decisions[0], decisions[1], atol=atol)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_gap_closes(any_case, matrix):
    X, dual = any_case
    K = MATRICES[matrix](X)
    K.setflags(write=False)
    b = dual.solve(K, 1e-12)
    assert_feasible(dual, b)
    value = dual.value(K, b)
    # In units of 1e-8 of the value, or of what rounding alone does to it.
    rounding = 1e-15 * np.abs(K).max() * np.abs(b).sum() * np.maximum(dual.upper, -dual.lower).sum()
    assert dual.primal_value(K, b) == pytest.approx(value, rel=1e-9, abs=rounding)
    assert abs(gap_of(dual, K, b)) <= max(1e-9 * value, rounding)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_machines_agree_with_scikit_learn(C, epsilon, weighted):
    X = points(70)
    weights = weights_of(70) * np.random.default_rng(3).random(70) if weighted else np.ones(70)
    task = "classification" if epsilon is None else "regression"
    y = outcome_of(task, X)
    dual = make_dual(y, 70, C=C, task=task, epsilon=epsilon or 0.0, sample_weight=weights)
    K = gaussian(X, 2.0)
    b = dual.solve(K)
    # With kernel="precomputed" theirs confuses the rows where some have weight 0.
    options = {"C": C, "gamma": 2.0, "tol": 1e-9}
    machine = SVC(**options) if epsilon is None else SVR(epsilon=epsilon, **options)
    machine.fit(X, y, sample_weight=weights)
    theirs = machine.decision_function(X) if epsilon is None else machine.predict(X)
    np.testing.assert_allclose((K @ b + dual.intercept(K, b))[:, 0], theirs, atol=1e-4)


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-12])
def test_tol_is_the_violation_accepted(tol):
    X, dual = case("classification", 1.0, 0.0, n=120)
    K = gaussian(X, 2.0)
    assert violation_of(dual, K, dual.solve(K, tol)) <= max(tol, 1e-13)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("C", [0.1, 4.0, 1e3, 1e6])
def test_a_kernel_of_low_rank_takes_no_long_time(task, C):
    X = points(600, n_features=6)
    # Gaps at the mean, as a table has them where most is missing, make rows that coincide.
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.6, X.mean(axis=0), X)
    y = X @ np.arange(6.0) + np.random.default_rng(2).standard_normal(600)
    dual = make_dual(y if task == "regression" else y > y.mean(), 600, C=C, task=task, epsilon=0.2)
    K = Linear()(X, X)
    began = time.process_time()
    b = dual.solve(K)
    assert time.process_time() - began < 5.0
    assert_feasible(dual, b)
    assert abs(gap_of(dual, K, b)) <= 1e-8 * max(1.0, dual.value(K, b))


def test_targets_without_noise_and_weights_far_apart_are_solved():
    X = points(500, 1, 5)
    dual = make_dual(X @ np.arange(5.0), 500, C=1e4, task="regression", epsilon=0.0)
    K = Linear()(X, X)
    assert abs(gap_of(dual, K, dual.solve(K, 1e-12))) <= 1e-5
    # libsvm's start is lost here, and the active set takes more than a hundred rounds.
    generator = np.random.default_rng(1)
    X = generator.random((200, 4))
    weights = 10.0 ** generator.integers(-6, 7, 200)
    dual = make_dual(np.arange(200) % 2, 200, C=1.0, sample_weight=weights)
    K = Linear()(X, X)
    b = dual.solve(K)
    assert abs(gap_of(dual, K, b)) <= 1e-8 * dual.value(K, b)


def parts(dual):
    """Return the one problem of a dual as `solve_dual` takes it, after K."""
    return dual.targets[:, 0], dual.lower[:, 0], dual.upper[:, 0], dual.epsilon


def libsvm_start_of(dual, K):
    tube = dual.epsilon if dual.task == "regression" else None
    return libsvm_start(K, dual.targets[:, 0], np.maximum(dual.upper, -dual.lower)[:, 0], tube)


def test_the_active_set_ends_at_an_optimum_from_every_start(any_case):
    X, dual = any_case
    anywhere = np.random.default_rng(1).uniform(2.0 * dual.lower - 1.0, 2.0 * dual.upper + 1.0)
    rounds = []
    for K in (matrix(X) for matrix in MATRICES.values()):
        for start in (np.zeros(70), anywhere[:, 0], libsvm_start_of(dual, K)):
            found = solve_dual(K, *parts(dual), start, max_rounds=500)
            assert found.converged
            assert_optimal_to_rounding(dual, K, found.point[:, None])
            noise = 1e-15 * np.abs(K).max() * np.abs(found.point).sum() ** 2 + 1e-12
            expected = dual.value(K, found.point[:, None])
            assert found.value == pytest.approx(expected, rel=1e-12, abs=noise)
        rounds.append(found.n_rounds)
    assert np.median(rounds) <= 8


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_round_never_lowers_the_value(any_case, matrix):
    X, dual = any_case
    K, b, before = MATRICES[matrix](X), np.zeros(70), 0.0
    for _ in range(30):
        found = solve_dual(K, *parts(dual), b, max_rounds=1)
        assert found.n_rounds == 1
        b = found.point
        noise = 1e-13 * (np.abs(dual.targets).max() + K.max() * np.abs(b).sum()) * np.abs(b).sum()
        assert found.value >= before - noise
        before = found.value


@pytest.mark.parametrize("seed", range(4))
def test_an_indefinite_matrix_ends_and_does_not_get_worse(seed):
    noise = 0.2 * np.random.default_rng(seed).standard_normal((30, 30))
    for task, C in (("classification", 10.0), ("regression", 1.0)):
        X, dual = case(task, C, 0.1, n=30)
        K = gaussian(X, 1.0) + noise + noise.T
        for start in (libsvm_start_of(dual, K), np.zeros(30)):
            found = solve_dual(K, *parts(dual), start, max_rounds=100)
            assert found.n_rounds <= 100
            assert_feasible(dual, found.point[:, None])
            assert found.value >= 0.0
            if found.converged:
                assert_optimal_to_rounding(dual, K, found.point[:, None])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("C", [5e-324, 1e-300, 1e-20, 1e20, 1e100, 1.7e308])
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
@pytest.mark.parametrize("C", [1e3, 1e8, 1e11, 1e14])
@pytest.mark.parametrize("matrix", [*MATRICES, "constant", "one large row"])
def test_a_machine_that_is_returned_has_a_small_gap_or_a_small_violation(matrix, C, task):
    X, dual = case(task, C, 0.1)
    if matrix == "one large row":
        X = X * np.where(np.arange(70) == 0, 1e5, 1.0)[:, None]
        K = X @ X.T
    else:
        K = np.ones((70, 70)) if matrix == "constant" else MATRICES[matrix](X)
    try:
        b = dual.solve(K)
    except UnsolvedMachineError:
        assert C >= 1e10 or matrix == "one large row"
        return
    small = violation_of(dual, K, b) <= 0.5e-3 * np.ptp(dual.targets)
    assert small or gap_of(dual, K, b) <= 1e-3 * dual.primal_value(K, b)


@pytest.mark.parametrize("C", [1e20, 1e300, 1.7e308])
def test_a_hard_margin_is_that_of_every_large_C(C):
    X = points(40)
    y, K = X[:, 0] > 0.5, gaussian(X, 2.0)
    hard = make_dual(y, 40, C=1e8).solve(K)
    assert np.abs(hard).max() < 1e6
    dual = make_dual(y, 40, C=C)
    far = 1e15 * np.random.default_rng(0).standard_normal((40, 1))
    for b in (dual.solve(K), dual.solve(K, start=far)):
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_every_start_leads_to_the_same_machine(task, weighted):
    X = points(80)
    y, weights, K = outcome_of(task, X, 3), weights_of(80) if weighted else None, gaussian(X, 2.0)

    def dual_of(C):
        return make_dual(y, 80, C=C, task=task, epsilon=0.05, sample_weight=weights)

    for C, before in ((1.1, 1.0), (10.0, 1.0), (0.1, 1.0), (1e4, 1e3)):
        dual = dual_of(C)
        start = dual_of(before).solve(K) * (C / before)
        assert_same_machine(dual, K, dual.solve(K, start=start), dual.solve(K))
    dual = dual_of(2.0)
    noise = np.random.default_rng(0).standard_normal(dual.targets.shape)
    others = (dual.solve(gaussian(X, gamma)) for gamma in (0.5, 1.9, 6.0))
    for start in (*others, 0.0 * noise, noise, 1e6 * noise, dual.upper, dual.lower):
        assert_same_machine(dual, K, dual.solve(K, start=start), dual.solve(K))


def weights_of(n):
    """Return whole weights, a third of them 0."""
    return np.random.default_rng(8).choice([0.0, 0.0, 1.0, 1.0, 2.0, 3.0], n)


@pytest.mark.parametrize(("task", "C", "epsilon"), CASES, ids=str)
@pytest.mark.parametrize("matrix", ["gaussian", "low rank"])
def test_a_weight_is_as_many_copies(task, C, epsilon, matrix):
    X, weights = points(70), weights_of(70)
    y = outcome_of(task, X, 4)
    copies = np.repeat(np.arange(70), weights.astype(int))
    options = {"C": C, "task": task, "epsilon": epsilon}
    dual = make_dual(y, 70, sample_weight=weights, **options)
    repeated = make_dual(y[copies], copies.size, **options)
    K = MATRICES[matrix](X)
    K_repeated = K[np.ix_(copies, copies)]
    b, apart = dual.solve(K), repeated.solve(K_repeated)
    together = np.zeros_like(b)
    np.add.at(together, copies, apart)
    assert_feasible(dual, b)
    np.testing.assert_array_equal(b[weights == 0.0], 0.0)
    value = repeated.value(K_repeated, apart)
    assert dual.value(K, b) == pytest.approx(value, rel=1e-9)
    assert dual.primal_value(K, b) == pytest.approx(value, rel=1e-8)
    # At any other point the primal values agree too, up to the rounding of large terms.
    other = repeated.primal_value(K_repeated, np.zeros_like(apart))
    assert dual.primal_value(K, np.zeros_like(b)) == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(K @ b, K @ together, atol=1e-6)
    theirs = repeated.intercept(K_repeated, apart)
    np.testing.assert_allclose(dual.intercept(K, b), theirs, atol=1e-6)
    # And the solution is the fixed point of proximal gradient steps.
    stepped = dual.proximal_point(b + 0.3 * dual.gradient(K, b), 0.3)
    np.testing.assert_allclose(stepped, b, atol=1e-8 * max(C, 1.0))


def test_what_has_no_weight_is_not_there():
    y, weights = np.array(["a", "b", "c", "a", "b"]), [1.0, 2.0, 0.0, 1.0, 1.0]
    dual = make_dual(y, 5, sample_weight=weights)
    assert dual.classes.tolist() == ["a", "b"] and dual.targets.shape[1] == 1
    # A single target is the intercept.
    dual = make_dual([1.0, 5.0, 2.0], 3, task="regression", sample_weight=[0.0, 3.0, 0.0])
    b = dual.solve(np.eye(3))
    np.testing.assert_array_equal(b, 0.0)
    np.testing.assert_allclose(dual.intercept(np.eye(3), b), 5.0)


def test_the_intercept_without_free_support_vectors_is_the_middle_of_the_rows_that_weigh():
    # All coefficients are at so small a C. Were the row at 0.5 counted, the middle would differ.
    K = gaussian(np.array([[0.0], [0.1], [0.9], [1.0], [0.5]]), 1.0)
    dual = make_dual([0, 0, 1, 1, 1], 5, C=0.1, sample_weight=[1, 1, 1, 1, 0])
    b = dual.solve(K)
    np.testing.assert_array_equal(b[:, 0], [-0.1, -0.1, 0.1, 0.1, 0.0])
    residual = dual.gradient(K, b)[:4, 0]
    # Raising those of the first class, lowering those of the second must not pay.
    low, high = residual[:2].max(), residual[2:].min()
    np.testing.assert_allclose(dual.intercept(K, b), 0.5 * (low + high), atol=1e-14)
    assert gap_of(dual, K, b) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize(
    ("y", "settings", "error", "message"),
    [
        ([1, 1, 1], {}, ValueError, "'y' .* at least 2 classes .* single class 1"),
        ([0.1, 0.2, 0.7], {}, ValueError, "'y' .* class labels .*continuous"),
        ([0, 1], {}, ValueError, r"'y' .* of shape \(3,\)"),
        (["a", "b", "c"], {"task": "regression"}, TypeError, "'y' .* numeric for a regression"),
        ([0, 1, 2], {"task": "regression", "epsilon": -0.1}, ValueError, "'epsilon' .* Got -0.1"),
        ([0.0, 1e200, 1.0], {"task": "regression"}, ValueError, "'y' .* at most 1e.75 .* 1e.200"),
    ],
)
def test_labels_and_settings_that_are_refused(y, settings, error, message):
    with pytest.raises(error, match=message) as refused:
        make_dual(np.array(y), 3, owner="the_caller", **settings)
    assert "of the_caller must be" in str(refused.value)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1.0, 1.0], ValueError, r"'sample_weight' .* of shape \(3,\), one weight a row"),
        ([1.0, -1.0, 1.0], ValueError, "finite and nonnegative. Got -1.0 in row 1"),
        ([0.0, 0.0, 0.0], ValueError, "positive for one row at least.* Got only zeros"),
        ([1e308, 1e308, 1e308], ValueError, "finite in sum.* a sum that overflows"),
        ([1e308, 1.0, 1.0], ValueError, "so small that C = 20 times a weight is finite"),
        ([1.0, 0.0, 1.0], ValueError, "classes among the rows of positive weight .* class 0"),
        (["a", "b", "c"], TypeError, "'sample_weight' .* must be numeric. Got <U1"),
    ],
    ids=str,
)
def test_weights_that_are_refused(weights, error, message):
    with pytest.raises(error, match=message):
        make_dual([0, 1, 0], 3, C=20.0, sample_weight=weights)


def test_a_kernel_that_is_not_finite_is_refused():
    K = np.eye(4)
    K[0, 1] = K[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make_dual([0, 1, 0, 1], 4).solve(K)
