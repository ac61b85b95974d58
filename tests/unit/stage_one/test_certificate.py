"""The saddle gap certifies, and the saddle is the one that a conic solver finds."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from kernimpute.core.status import Status
from kernimpute.kernels import Gaussian, Laplacian, Linear, Sigmoid
from kernimpute.stage_one import learn_kernel
from kernimpute.stage_one.certificate import _nearly_feasible, certify, relative_gap
from kernimpute.stage_one.kernel_steps import saddle_value
from kernimpute.stage_one.problem import StageOneProblem
from tests.unit.stage_one.conftest import problem_of, small_rows


def bounds_of(relaxation):
    return relaxation.lower, relaxation.upper


def saddle_value_by_cone(problem):
    """Return the saddle value, the inner maximum dualised into a matrix inequality."""
    n, dual = problem.n_samples, problem.dual
    relaxation = problem.relaxation
    K = cp.Variable((n, n), symmetric=True)
    nu, s = cp.Variable(), cp.Variable()
    above, below = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    v = cp.reshape(dual.targets[:, 0] + nu - above + below, (n, 1), order="F")
    block = cp.bmat([[K, v], [v.T, cp.reshape(2 * s, (1, 1), order="F")]])
    cost = s + dual.upper[:, 0] @ above - dual.lower[:, 0] @ below
    cost += problem.eta * cp.sum_squares(K - relaxation.anchor)
    constraints = [block >> 0, K >= relaxation.lower, K <= relaxation.upper]
    return cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize(
    ("kernel", "eta"),
    [
        (Gaussian(1.0), 0.02),
        (Gaussian(1.0), 0.3),
        (Gaussian(1.0), 5.0),
        (Linear(), 0.3),
        (Linear(), 5.0),
        (Sigmoid(), 5.0),
    ],
    ids=repr,
)
def test_the_saddle_is_that_of_a_conic_solver(kernel, eta):
    rows = small_rows(9, kernel=kernel, seed=4)
    problem = problem_of(rows, "anchored", eta=eta)
    labels = rows.dual.targets[:, 0]
    learned = learn_kernel(rows.X, labels, kernel=kernel, eta=eta, tol=1e-5, max_iter=20000)
    assert learned.status.success
    K = learned.K + problem.relaxation.ridge * np.eye(9)
    offset = K - problem.relaxation.anchor
    beta = learned.dual_coef[:, None]
    value = problem.dual.value(K, beta) + eta * np.vdot(offset, offset)
    reference = saddle_value_by_cone(problem)
    assert value == pytest.approx(reference, rel=2e-5)


def test_the_learned_kernel_is_feasible_and_its_gap_recomputable():
    rows = small_rows(30, missing_rate=0.5, seed=2)
    problem = problem_of(rows, "anchored", eta=0.5)
    learned = learn_kernel(rows.X, rows.dual.targets[:, 0], kernel=rows.kernel, eta=0.5)
    assert learned.gap <= 1e-3
    assert (learned.K >= problem.relaxation.lower).all()
    assert (learned.K <= problem.relaxation.upper).all()
    assert np.linalg.eigvalsh(learned.K)[0] >= -1e-11
    # D at the returned pair is at most the primal bound, and the pair is a machine's solution.
    assert problem.dual.gap(learned.K, learned.dual_coef[:, None]) <= 1e-6 * problem.dual.value(
        learned.K, learned.dual_coef[:, None]
    )


def test_a_matrix_far_from_the_cone_gets_no_small_gap():
    rows = small_rows(20)
    problem = problem_of(rows, "anchored", eta=1.0)
    zeros = np.zeros((20, 1))
    bound = saddle_value(problem, zeros, np.zeros((20, 20)))
    apart = (np.add.outer(np.arange(20), np.arange(20)) // 2) % 2 == 0
    far = np.where(apart, problem.relaxation.lower, problem.relaxation.upper)
    assert np.linalg.eigvalsh(far)[0] < -0.1
    assert certify(problem, far, zeros, lambda value: relative_gap(value, bound) <= 1e-3) is None
    # Without a limit it is repaired, and the gap is what the distance costs.
    repaired = certify(problem, far, zeros, lambda value: True)
    assert np.linalg.eigvalsh(repaired.matrix())[0] >= -1e-10
    assert repaired.gap(bound) > 0.1


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(0.5), Linear()], ids=repr)
def test_the_repair_stays_between_the_bounds_and_comes_closer_to_the_cone(kernel):
    rows = small_rows(30, missing_rate=0.5, seed=1, kernel=kernel, n_complete=3)
    relaxation = problem_of(rows, "anchored").relaxation
    noise = np.random.default_rng(0).standard_normal((30, 30))
    between = np.clip(relaxation.anchor + 0.05 * (noise + noise.T), *bounds_of(relaxation))
    before = np.linalg.eigvalsh(between)[0]
    repaired = _nearly_feasible(relaxation, between)
    assert before < -0.01
    assert np.linalg.eigvalsh(repaired)[0] >= 0.5 * before
    assert (repaired >= relaxation.lower).all()
    assert (repaired <= relaxation.upper).all()
    np.testing.assert_array_equal(repaired, repaired.T)


def test_a_feasible_matrix_is_certified_as_it_is():
    rows = small_rows(20, missing_rate=0.5)
    problem = problem_of(rows, "anchored")
    K = problem.interior()
    bound = saddle_value(problem, np.zeros((20, 1)), np.zeros((20, 20)))
    certificate = certify(problem, K, np.zeros((20, 1)), lambda value: True)
    np.testing.assert_array_equal(certificate.matrix(), K)
    # The machine's own maximum at K, and what the distance from the anchor costs.
    value = problem.dual.value(K, problem.solve(K))
    value += problem.eta * np.square(K - problem.relaxation.anchor).sum()
    assert value <= certificate.value <= value * (1.0 + 1e-4)
    assert certificate.gap(bound) == pytest.approx((certificate.value - bound) / certificate.value)


def test_no_machine_is_solved_where_none_is_wanted(monkeypatch):
    rows = small_rows(20, missing_rate=0.5)
    problem = problem_of(rows, "anchored")
    K = problem.interior()
    b = problem.solve(K)
    certificate = certify(problem, K, b, lambda value: True)
    assert certify(problem, K, b, lambda value: value < 0.9 * certificate.value) is None
    monkeypatch.setattr(StageOneProblem, "proximal_machine", None)
    assert certify(problem, K, b, lambda value: value < 0.9 * certificate.value) is None


@pytest.mark.parametrize("missing_rate", [0.5, 0.8])
def test_more_rounds_never_end_with_a_larger_gap(missing_rate):
    rows = small_rows(40, missing_rate=missing_rate, seed=3)
    labels = rows.dual.targets[:, 0]
    problem = problem_of(rows, "anchored", eta=0.2)
    gaps = []
    for max_iter in range(20):
        learned = learn_kernel(
            rows.X, labels, kernel=rows.kernel, eta=0.2, tol=1e-12, max_iter=max_iter
        )
        assert learned.status is Status.MAX_ITER
        gaps.append(learned.gap)
        # What is returned is feasible, is a machine, and has that gap to the bound of the trace.
        b, K = learned.dual_coef[:, None], learned.K
        assert (problem.relaxation.lower <= K).all()
        assert (problem.relaxation.upper >= K).all()
        assert np.linalg.eigvalsh(K)[0] >= -1e-11
        offset = K - problem.relaxation.anchor
        value = problem.dual.value(K, b) + 0.2 * np.vdot(offset, offset)
        assert problem.dual.gap(K, b) <= 1e-9 * value
        if max_iter:
            gap = (value - learned.trace.column("objective")[-1]) / value
            # The certificate's machine need not be as exact as the one returned.
            assert gap - 1e-12 <= learned.gap <= 1.1 * gap + 1e-3
    assert np.diff(gaps).max() <= 0.0
    assert gaps[-1] < 0.1 * gaps[0]


def test_a_certificate_that_is_worse_than_the_anchors_is_not_returned():
    generator = np.random.default_rng(911105033)
    n = int(generator.integers(8, 40))
    X = generator.random((n, 4))
    X[generator.random(X.shape) < 0.4] = np.nan
    gaps = [
        learn_kernel(X, np.arange(n) % 2, kernel=Gaussian(0.233), C=1.076, max_iter=max_iter).gap
        for max_iter in (7, 8, 16, 100, 256)
    ]
    assert np.diff(gaps).max() <= 0.0
    assert gaps[-1] < 0.1


def test_an_interrupted_run_returns_its_best_certificate():
    rows = small_rows(40, missing_rate=0.8, seed=3)
    options = {"kernel": rows.kernel, "eta": 0.2, "tol": 1e-12}
    labels = rows.dual.targets[:, 0]
    stopped = learn_kernel(
        rows.X, labels, callback=lambda record: record.iteration == 13, **options
    )
    limited = learn_kernel(rows.X, labels, max_iter=13, **options)
    assert stopped.status is Status.INTERRUPTED
    np.testing.assert_array_equal(stopped.K, limited.K)
    assert stopped.gap == limited.gap == pytest.approx(np.nanmin(stopped.trace.column("gap")))


DEGENERATE = {
    "two equal complete rows": (Gaussian(1.0), "repeat"),
    "a table of zeros and ones": (Laplacian(1.0), "binary"),
    "more complete rows than columns": (Linear(), "many"),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_complete_rows_that_leave_no_room_are_raised_and_still_certified(case):
    kernel, kind = DEGENERATE[case]
    generator = np.random.default_rng(0)
    X = generator.random((40, 4))
    if kind == "binary":
        X = np.round(X)
    y = (X[:, 0] > 0.5).astype(int)
    X[generator.random(X.shape) < 0.4] = np.nan
    complete = {"repeat": 2, "binary": 12, "many": 8}[kind]
    X[:complete] = np.where(np.isnan(X[:complete]), 1.0, X[:complete])
    if kind == "repeat":
        X[1] = X[0]
    learned = learn_kernel(X, y, kernel=kernel)
    assert learned.status is Status.RAISED
    assert learned.gap <= 1e-3
    scale = np.diagonal(learned.K).mean()
    assert np.linalg.eigvalsh(learned.K)[0] >= -2e-3 * scale


@pytest.mark.parametrize("missing_rate", [0.2, 0.4, 0.6, 0.8])
def test_the_gap_is_reached_on_the_authors_splits(data_dir, missing_rate):
    table = pd.read_csv(data_dir / "australian.csv")
    splits = np.load(data_dir / "australian_splits.npz")
    X = table.iloc[:, :-1].to_numpy(float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    train = splits["train"][0]
    gaps = splits["missing"][round(missing_rate * 10) - 1, 0]
    learned = learn_kernel(
        np.where(gaps, np.nan, X[train]), table["target"].to_numpy()[train], kernel="gaussian"
    )
    assert learned.status is Status.CONVERGED
    # Repairing by a mixture alone took 45 rounds at 60 %, and a thousand at 80 %.
    assert learned.n_iter <= 60
    assert learned.gap <= 1e-3
    assert np.linalg.eigvalsh(learned.K)[0] >= -1e-10
