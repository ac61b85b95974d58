"""`anchored` finds the saddle that a conic solver finds, and its gap is what it says."""

import math

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from kernimpute import Status, learn_kernel
from kernimpute.joint.reference import reference_kernel
from kernimpute.kernels import Gaussian, Laplacian, Linear, Sigmoid
from kernimpute.methods import anchored
from tests.methods.problems import KERNELS, Cauchy, completions, labels_of, small_rows


def problem_of(rows, eta=1.0):
    return anchored.make_problem(rows, reference_kernel(rows.X, rows.kernel, None), eta)


def learn(rows, **options):
    return learn_kernel(rows.X, labels_of(rows), kernel=rows.kernel, **options)


def saddle_value_by_cone(problem):
    """Return the saddle value, the inner maximum dualised into a matrix inequality."""
    dual, n = problem.dual, problem.anchor.shape[0]
    K = cp.Variable((n, n), symmetric=True)
    nu, s = cp.Variable(), cp.Variable()
    above, below = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    v = cp.reshape(dual.targets[:, 0] + nu - above + below, (n, 1), order="F")
    block = cp.bmat([[K, v], [v.T, cp.reshape(2 * s, (1, 1), order="F")]])
    cost = s + dual.upper[:, 0] @ above - dual.lower[:, 0] @ below
    cost += problem.eta * cp.sum_squares(K - problem.anchor)
    constraints = [block >> 0, problem.lower <= K, problem.upper >= K]
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
    problem = problem_of(rows, eta)
    learned = learn(rows, eta=eta, tol=1e-5, max_iter=20000)
    assert learned.status.success
    value = problem.value(learned.K + problem.ridge * np.eye(9), learned.dual_coef[:, None])
    assert value == pytest.approx(saddle_value_by_cone(problem), rel=2e-5)


@pytest.mark.parametrize("kernel", [*KERNELS, Cauchy()], ids=repr)
def test_the_kernel_of_every_completion_is_in_the_set(kernel):
    rows = small_rows(20, kernel=kernel)
    problem = problem_of(rows)
    raised = problem.ridge * np.eye(20)
    for K in [kernel(X, X) + raised for X in completions(rows)] + [problem.interior]:
        assert (K >= problem.lower - 1e-12).all() and (K <= problem.upper + 1e-12).all()
        # The ridge of another kernel suffices for the anchor and the interior alone.
        assert np.linalg.eigvalsh(K)[0] >= -1e-10 or not kernel.is_positive_semidefinite
    assert (problem.anchor >= problem.lower).all() and (problem.anchor <= problem.upper).all()
    for K in (problem.anchor, problem.interior):
        assert np.linalg.eigvalsh(K)[0] >= -1e-10
    # Only a kernel that is not positive semidefinite needs a ridge here.
    assert (problem.ridge == 0.0) == kernel.is_positive_semidefinite


@pytest.mark.parametrize("missing_rate", [0.5, 0.8])
def test_more_rounds_never_end_with_a_larger_gap(missing_rate):
    rows = small_rows(40, missing_rate=missing_rate, seed=3)
    problem = problem_of(rows, 0.2)
    gaps = []
    for max_iter in range(20):
        learned = learn(rows, eta=0.2, tol=1e-12, max_iter=max_iter)
        assert learned.status is Status.MAX_ITER
        gaps.append(learned.gap)
        # What is returned is feasible, is a machine, and has that gap to the bound of the trace.
        b, K = learned.dual_coef[:, None], learned.K
        assert (problem.lower <= K).all() and (problem.upper >= K).all()
        assert np.linalg.eigvalsh(K)[0] >= -1e-11
        value = problem.value(K, b)
        assert problem.dual.primal_value(K, b) - problem.dual.value(K, b) <= 1e-9 * value
        if max_iter:
            gap = (value - learned.trace.column("objective")[-1]) / value
            # The certificate's machine need not be as exact as the one returned.
            assert gap - 1e-12 <= learned.gap <= 1.1 * gap + 1e-3
    assert np.diff(gaps).max() <= 0.0 and gaps[-1] < 0.1 * gaps[0]


def test_an_interrupted_run_returns_its_best_certificate():
    rows = small_rows(40, missing_rate=0.8, seed=3)
    options = {"eta": 0.2, "tol": 1e-12}
    stopped = learn(rows, callback=lambda record: record.iteration == 13, **options)
    limited = learn(rows, max_iter=13, **options)
    assert stopped.status is Status.INTERRUPTED
    np.testing.assert_array_equal(stopped.K, limited.K)
    assert stopped.gap == limited.gap == pytest.approx(np.nanmin(stopped.trace.column("gap")))


DEGENERATE = {
    "two equal complete rows": (Gaussian(1.0), 2),
    "a table of zeros and ones": (Laplacian(1.0), 12),
    "more complete rows than columns": (Linear(), 8),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_complete_rows_that_leave_no_room_are_raised_and_still_certified(case):
    kernel, n_complete = DEGENERATE[case]
    generator = np.random.default_rng(0)
    X = generator.random((40, 4))
    if "zeros and ones" in case:
        X = np.round(X)
    y = (X[:, 0] > 0.5).astype(int)
    X[generator.random(X.shape) < 0.4] = np.nan
    X[:n_complete] = np.where(np.isnan(X[:n_complete]), 1.0, X[:n_complete])
    if "equal" in case:
        X[1] = X[0]
    learned = learn_kernel(X, y, kernel=kernel)
    assert learned.status is Status.RAISED
    assert learned.gap <= 1e-3
    scale = np.diagonal(learned.K).mean()
    assert np.linalg.eigvalsh(learned.K)[0] >= -2e-3 * scale


@pytest.mark.parametrize("eta", [100.0, math.inf])
def test_a_kernel_that_is_not_psd_says_so(eta):
    learned = learn(small_rows(16, kernel=Sigmoid(gamma=2.0)), eta=eta)
    assert learned.status is Status.NOT_PSD


@pytest.mark.parametrize("reference", [None, "expected"])
def test_an_infinite_eta_is_the_machine_on_the_reference(reference):
    rows = small_rows(20, missing_rate=0.5)
    learned = learn(rows, eta=math.inf, reference=reference)
    K = reference_kernel(rows.X, rows.kernel, reference)
    np.testing.assert_allclose(learned.K, K, atol=1e-12)
    assert learned.gap == 0.0
    np.testing.assert_allclose(learn(rows, eta=1e7, reference=reference).K, K, atol=1e-5)


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
    assert learned.n_iter <= 60 and learned.gap <= 1e-3
    assert np.linalg.eigvalsh(learned.K)[0] >= -1e-10
