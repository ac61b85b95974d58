"""The one-stage variant: its gradient, its descent and its ends."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_wine

from kernimpute import impute
from kernimpute.core.status import Status, StopRule
from kernimpute.joint.reference import reference_table
from kernimpute.kernels import Gaussian
from kernimpute.methods.direct import _Objective, impute_directly
from tests.methods.problems import GAUSSIAN, KERNELS, labelled

STOP = StopRule(tol=1e-3, max_iter=60)


def table(n_samples=24, n_codes=0, seed=0):
    """Return a protected table with gaps of two clusters, codes in its first columns."""
    generator = np.random.default_rng(seed)
    centres = 0.35 + 0.3 * (np.arange(n_samples) % 2)[:, None]
    X = np.clip(centres + 0.2 * generator.standard_normal((n_samples, 5)), 0.0, 1.0)
    X[:, :n_codes] = generator.integers(0, 4, (n_samples, n_codes))
    X[generator.random(X.shape) < 0.4] = np.nan
    X.setflags(write=False)
    return X


def rows_of(kernel=GAUSSIAN, *, n_samples=24, n_codes=0, y=None):
    y = np.arange(n_samples) % 2 if y is None else y
    X, codes = table(n_samples, n_codes), list(range(n_codes)) or None
    return labelled(X, y, kernel, C=2.0, epsilon=0.05, categorical=codes)


def start_of(rows):
    return reference_table(rows.X, rows.kernel, None, sample_weight=rows.sample_weight)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_is_that_of_the_objective(kernel, n_classes):
    rows = rows_of(kernel, y=np.arange(24) % n_classes)
    numeric = kernel.numeric(5)
    # Off the mean, where laplacian distances of filled cells would be at their kink.
    generator = np.random.default_rng(5)
    X = np.where(rows.observed, rows.X, 0.2 + 0.6 * generator.random(rows.X.shape))
    objective = _Objective(rows, start_of(rows), 0.7, numeric, 1e-8)
    gradient = objective(X).gradient
    step = 1e-5
    for row, column in [(0, 0), (3, 2), (7, 4), (12, 1), (20, 3)]:
        ahead, behind = X.copy(), X.copy()
        ahead[row, column] += step
        behind[row, column] -= step
        slope = (objective(ahead).objective - objective(behind).objective) / (2 * step)
        assert gradient[row, column] == pytest.approx(slope, rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_objective_never_rises_and_ends_lower(kernel):
    rows = rows_of(kernel)
    found = impute_directly(rows, start_of(rows), eta=0.5, stop=STOP)
    objectives = found.trace.column("objective")
    assert np.diff(objectives).max() <= 0.0 and objectives[-1] < objectives[0]
    assert ((found.X >= 0.0) & (found.X <= 1.0)).all()
    np.testing.assert_array_equal(found.X[rows.observed], rows.X[rows.observed])
    if not kernel.is_positive_semidefinite:
        assert found.status is not Status.CONVERGED


def test_a_strong_anchor_is_met_to_the_gradients_norm():
    rows = rows_of()
    found = impute_directly(rows, start_of(rows), eta=20.0, stop=StopRule(1e-4, 200))
    assert found.status is Status.CONVERGED and found.trace.records[-1].gap <= 1e-4
    assert found.trace.column("gap")[0] == pytest.approx(1.0)


def test_an_infinite_eta_returns_the_reference():
    rows = rows_of()
    found = impute_directly(rows, start_of(rows), eta=math.inf, stop=STOP)
    np.testing.assert_array_equal(found.X, start_of(rows))
    assert found.status is Status.CONVERGED
    near = impute_directly(rows, start_of(rows), eta=1e6, stop=StopRule(1e-9, 200))
    np.testing.assert_allclose(near.X, start_of(rows), atol=1e-5)


def test_categorical_cells_move_to_other_codes_only_where_the_objective_falls():
    rows = rows_of(n_codes=2, n_samples=40)
    start = start_of(rows)
    found = impute_directly(rows, start, eta=0.05, stop=STOP)
    moved = found.X[:, :2] != start[:, :2]
    assert moved.any() and not moved[rows.observed[:, :2]].any()
    for column in (0, 1):
        codes = np.unique(rows.X[rows.observed[:, column], column])
        assert np.isin(found.X[:, column], codes).all()
    assert np.diff(found.trace.column("objective")).max() <= 0.0
    still = impute_directly(rows, start, eta=1e4, stop=STOP)
    np.testing.assert_array_equal(still.X[:, :2], start[:, :2])


def test_the_callback_or_no_rounds_may_stop_it_and_the_best_so_far_is_returned():
    rows = rows_of()
    found = impute_directly(
        rows, start_of(rows), eta=0.1, stop=STOP, callback=lambda record: record.iteration == 2
    )
    assert found.status is Status.INTERRUPTED and len(found.trace) == 3
    objective = _Objective(rows, start_of(rows), 0.1, rows.kernel.numeric(5), 1e-8)
    assert objective(found.X).objective == pytest.approx(
        found.trace.records[-1].objective, rel=1e-6
    )
    none = impute_directly(rows, start_of(rows), eta=0.1, stop=StopRule(1e-9, 0))
    assert (none.status, len(none.trace)) == (Status.MAX_ITER, 1)


def weighted_rows(weights, kernel=GAUSSIAN, *, task="classification", n_codes=0):
    """Return rows with weights, the places of their copies, and as many copies of each row."""
    n = len(weights)
    X, copies = table(n, n_codes, seed=6), np.repeat(np.arange(n), weights)
    y = np.arange(n) % 2 if task == "classification" else np.random.default_rng(6).random(n)
    options = {"C": 2.0, "epsilon": 0.05, "task": task, "categorical": list(range(n_codes)) or None}
    return (
        labelled(X, y, kernel, sample_weight=weights, **options),
        copies,
        labelled(X[copies], y[copies], kernel, **options),
    )


WEIGHTS = np.array([1, 2, 3, 0] * 7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_objective_of_weights_is_that_of_as_many_copies(kernel, task):
    rows, copies, repeated = weighted_rows(WEIGHTS, kernel, task=task)
    drawn = np.random.default_rng(5).random(rows.X.shape)
    X = np.where(rows.observed, rows.X, 0.2 + 0.6 * drawn)
    numeric = kernel.numeric(5)
    one = _Objective(rows, start_of(rows), 0.7, numeric, 1e-10)(X)
    other = _Objective(repeated, start_of(repeated), 0.7, numeric, 1e-10)(X[copies])
    if kernel.is_positive_semidefinite:
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
        together = np.zeros_like(X)
        np.add.at(together, copies, other.gradient)
        np.testing.assert_allclose(one.gradient, together, atol=1e-6 * np.abs(together).max())
    # A sigmoid's matrix of other rows has another projection on the cone.
    np.testing.assert_array_equal(one.gradient[WEIGHTS == 0], 0.0)


@pytest.mark.parametrize("tol", [0.3, 1e-2])
def test_a_row_of_some_weight_takes_the_steps_of_its_copies(tol):
    rows, copies, repeated = weighted_rows(WEIGHTS)
    stop = StopRule(tol, 300)
    one = impute_directly(rows, start_of(rows), eta=32.0, stop=stop)
    other = impute_directly(repeated, start_of(repeated), eta=32.0, stop=stop)
    assert len(one.trace) == len(other.trace) > 2
    np.testing.assert_allclose(
        one.trace.column("objective"), other.trace.column("objective"), rtol=1e-7
    )
    np.testing.assert_allclose(one.trace.column("gap"), other.trace.column("gap"), rtol=1e-3)
    np.testing.assert_allclose(one.X[copies], other.X, atol=1e-6)


def test_rows_that_are_the_same_are_filled_alike():
    rows, _, repeated = weighted_rows(np.full(12, 2), n_codes=1)
    found = impute_directly(repeated, start_of(repeated), eta=0.5, stop=StopRule(1e-3, 100))
    assert np.abs(found.X - start_of(repeated)).max() > 0.05
    codes, numbers = found.X[:, 0], found.X[:, 1:]
    alike = codes[::2] == codes[1::2]
    assert alike.any()
    np.testing.assert_allclose(numbers[::2][alike], numbers[1::2][alike], atol=1e-8)
    assert np.diff(found.trace.column("objective")).max() <= 0.0


def test_rows_without_weight_stay_at_the_reference_and_have_no_say():
    weights = np.array([1, 1, 0] * 8)
    rows, copies, dropped = weighted_rows(weights, n_codes=1)
    start = start_of(rows)
    found = impute_directly(rows, start, eta=0.5, stop=STOP)
    without = impute_directly(dropped, start_of(dropped), eta=0.5, stop=STOP)
    np.testing.assert_array_equal(found.X[weights == 0], start[weights == 0])
    np.testing.assert_array_equal(found.dual_coef[weights == 0], 0.0)
    np.testing.assert_allclose(found.X[copies], without.X, atol=1e-5)
    assert np.abs(found.X - start).max() > 0.05


def test_a_code_that_only_rows_without_weight_have_fills_nothing():
    generator = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = generator.random((40, 2))
    X[:, 0] = y + generator.integers(0, 2, 40)
    X[:10, 0], X[10:25, 0] = 9.0, np.nan
    weights = np.where(np.arange(40) < 10, 0.0, 1.0)
    rows = labelled(X, y, C=2.0, categorical=[0], sample_weight=weights)
    found = impute_directly(rows, start_of(rows), eta=1e-3, stop=STOP)
    assert (found.X[:25, 0] != start_of(rows)[:25, 0]).any()
    assert not (found.X[10:, 0] == 9.0).any()
    # A reference may bring it there; then it may stay, and leave.
    given = np.where(rows.observed, X, np.nan_to_num(X, nan=9.0))
    moved = impute_directly(rows, given, eta=1e-3, stop=STOP)
    assert np.diff(moved.trace.column("objective")).max() <= 0.0


def test_a_table_of_categories_alone_moves_and_stops_when_asked():
    generator = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = (generator.random((40, 3)) < 0.3 + 0.4 * y[:, None]).astype(float)
    X[generator.random(X.shape) < 0.3] = np.nan
    rows = labelled(X, y, C=2.0, categorical=[0, 1, 2])
    start = start_of(rows)
    found = impute_directly(rows, start, eta=0.05, stop=STOP)
    objectives = found.trace.column("objective")
    assert objectives[-1] < objectives[0]
    none = impute_directly(rows, start, eta=0.05, stop=StopRule(0.1, 0))
    assert none.status is Status.MAX_ITER
    stopped = impute_directly(rows, start, eta=0.05, stop=STOP, callback=lambda record: True)
    assert stopped.status is Status.INTERRUPTED and len(stopped.trace) == 1


def test_a_slope_of_rounding_only_is_none():
    # By symmetry the one free cell is where it should be.
    X = np.array([[0.0], [np.nan], [1.0]])
    result = impute(X, [0, 1, 0], kernel=Gaussian(1.0), eta=24.0)
    assert result.status is Status.CONVERGED
    assert result.X[1, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("unit", [1e-4, 1e2])
def test_a_target_in_another_unit_is_the_same_problem(unit):
    X, y = load_wine(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    X, target = X[:, :-1].copy(), X[:, -1].copy()
    X[np.random.default_rng(7).random(X.shape) < 0.4] = np.nan

    def run(unit):
        options = {"C": 0.1 * unit, "epsilon": 0.1 * unit, "eta": 1e-4 * unit**2}
        return impute(X, target * unit, task="regression", kernel=Gaussian(0.5), **options)

    one, other = run(1.0), run(unit)
    assert other.status is one.status is Status.CONVERGED
    first, last = (other.trace.records[place].objective / unit**2 for place in (0, -1))
    assert first == pytest.approx(one.trace.records[0].objective, rel=1e-6)
    assert last == pytest.approx(one.trace.records[-1].objective, rel=0.1)
    assert len(other.trace) <= 2 * len(one.trace)
