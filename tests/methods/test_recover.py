"""`recover_features`: exact where the target is, never worse than its starts, careful with data."""

import numpy as np
import pytest

from kernimpute.core.status import Status
from kernimpute.kernels import Gaussian, Laplacian, Linear
from kernimpute.methods.recover import STARTS, recover_features, recovery_problem
from tests.methods.problems import (
    CASES,
    DISTANCES,
    KERNELS,
    random_table,
    random_target,
    random_weights,
    read_only,
    small_problem,
    with_gaps,
)


@pytest.mark.parametrize("start", ["half", "mean", "spectral"])
@pytest.mark.parametrize("weights", [None, "kernel", random_weights(60)], ids=type)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_gives_its_table_back_from_every_start(kernel, weights, start):
    table = random_table(60, 5)
    options = {"kernel": kernel, "weights": weights, "starts": [start]}
    found = recover_features(with_gaps(table, 0.3), random_target(kernel, table), **options)
    assert found.start == start
    np.testing.assert_allclose(found.X, table, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("rate", [0.7, 0.8])
def test_extrapolation_halves_the_sweeps_and_changes_no_table(rate):
    kernel = Gaussian(1.0)
    table = random_table(100, 6)
    target = random_target(kernel, table)
    found = {
        extrapolate: recover_features(
            with_gaps(table, rate), target, kernel=kernel, starts=["half"], extrapolate=extrapolate
        )
        for extrapolate in (False, True)
    }
    for each in found.values():
        np.testing.assert_allclose(each.X, table, rtol=0.0, atol=1e-9)
        assert (np.diff(each.trace.column("objective")) <= 0.0).all()
    assert 2 * found[True].n_sweeps < found[False].n_sweeps


@pytest.mark.parametrize("kernel", DISTANCES, ids=repr)
def test_codes_come_back_too(kernel):
    table = random_table(80, 6, categorical=(0, 4))
    marked = kernel.with_categorical([0, 4], 6)
    gappy, target = with_gaps(table, 0.5), random_target(marked, table)
    # The columns may be named beside the kernel.
    for options in ({"kernel": marked}, {"kernel": kernel, "categorical": [0, 4]}):
        found = recover_features(gappy, target, **options)
        np.testing.assert_allclose(found.X, table, rtol=0.0, atol=1e-9)
        assert (found.X[:, [0, 4]] == table[:, [0, 4]]).all()


@pytest.mark.parametrize("rate", [0.1, 0.9])
@pytest.mark.parametrize("gamma", [1.0 / 32.0, 1.0, 32.0])
def test_heart_comes_back(data_dir, gamma, rate):
    table = np.genfromtxt(data_dir / "heart.csv", delimiter=",", skip_header=1)[:, :-1]
    table = (table - table.min(axis=0)) / np.ptp(table, axis=0)
    kernel = Gaussian(gamma)
    target = kernel.inverse_link(kernel(table, table))
    for seed in range(3):
        found = recover_features(with_gaps(table, rate, seed), target, kernel=kernel)
        np.testing.assert_allclose(found.X, table, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("n", [2, 6, 60])
@pytest.mark.parametrize("weights", [None, "kernel", "random"])
@pytest.mark.parametrize(("kernel", "categorical"), CASES, ids=repr)
def test_an_inexact_target_is_fitted_monotonely_within_the_ranges(kernel, categorical, weights, n):
    kernel = kernel.with_categorical(list(categorical), 5)
    table = random_table(n, 5, categorical)
    gappy = with_gaps(table, 0.4).copy()
    gappy[0, list(categorical)] = table[0, list(categorical)]
    gappy, target = read_only(gappy, random_target(kernel, table, noise=0.1).copy())
    weights = random_weights(n) + 0.1 if weights == "random" else weights
    found = recover_features(gappy, target, kernel=kernel, weights=weights)
    assert found.status.success
    objective = found.trace.column("objective")
    scale = 1.0 + (target**2).sum()
    assert (np.diff(objective) <= 1e-12 * objective[:-1] + 1e-28 * scale).all()
    assert found.n_sweeps == len(found.trace) - 1 < 150
    assert found.objective == objective[-1]
    if weights is None:
        residuals = kernel.sums(found.X, found.X) - target
        assert found.objective == pytest.approx((residuals**2).sum(), rel=1e-9, abs=1e-12 * scale)
    observed = ~np.isnan(gappy)
    assert found.X[observed].tobytes() == gappy[observed].tobytes()
    for column, values in enumerate(found.X.T):
        codes = gappy[observed[:, column], column]
        fits = np.isin(values, codes) if column in categorical else (values >= 0) & (values <= 1)
        assert fits.all()


def test_the_start_with_the_lowest_objective_wins():
    kernel = Laplacian()
    table = random_table(40, 5)
    gappy, target = with_gaps(table, 0.8), random_target(kernel, table, noise=0.1)
    names = ["half", "mean", "spectral"]
    each = [recover_features(gappy, target, kernel=kernel, starts=[name]) for name in names]
    best = recover_features(gappy, target, kernel=kernel, starts=names)
    winner = min(each, key=lambda found: found.objective)
    assert best.start == winner.start and best.objective == winner.objective
    assert (best.X == winner.X).all()


def test_a_given_table_is_a_start():
    kernel = Gaussian()
    table = random_table(40, 5)
    gappy, target = with_gaps(table, 0.4), random_target(kernel, table)
    found = recover_features(gappy, target, kernel=kernel, starts=[table])
    assert found.n_sweeps == 0 and found.start == "given table 0"
    assert (found.X == table).all()
    # Only its missing cells are looked at.
    elsewhere = np.where(np.isnan(gappy), table, 9.0)
    assert recover_features(gappy, target, kernel=kernel, starts=[elsewhere]).n_sweeps == 0


def test_pairs_without_weight_are_ignored():
    kernel = Gaussian()
    table = random_table(40, 4)
    target = random_target(kernel, table).copy()
    weights = np.ones((40, 40))
    weights[:5, 20:] = weights[20:, :5] = 0.0
    target[:5, 20:] = target[20:, :5] = 1e3
    options = {"kernel": kernel, "weights": weights, "starts": ["half"]}
    found = recover_features(with_gaps(table, 0.3), target, **options)
    np.testing.assert_allclose(found.X, table, rtol=0.0, atol=1e-9)


def test_kernel_weights_lower_the_error_of_the_kernel():
    kernel = Gaussian(4.0)
    table = random_table(60, 5)
    gappy, target = with_gaps(table, 0.5), random_target(kernel, table, noise=0.1)

    def error(weights):
        found = recover_features(gappy, target, kernel=kernel, weights=weights)
        return ((kernel(found.X, found.X) - kernel.link(target)) ** 2).sum()

    assert error("kernel") < error(None)


def test_kernel_weights_that_all_underflow():
    kernel = Gaussian(1e4)
    table = random_table(50, 4)
    gappy, target = with_gaps(table, 0.3), random_target(kernel, table)
    found = recover_features(gappy, target, kernel=kernel, weights="kernel")
    np.testing.assert_allclose(found.X, table, rtol=0.0, atol=1e-8)


def test_nothing_missing():
    table = random_table(10, 3)
    found = recover_features(table, random_target(Linear(), table), kernel=Linear())
    assert found.status is Status.NOTHING_MISSING
    assert found.X is not table and found.X.tobytes() == table.tobytes()
    assert found.objective == pytest.approx(0.0, abs=1e-20)
    assert (found.n_sweeps, len(found.trace)) == (0, 0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    "gaps",
    [(slice(None), 1), (2, slice(None)), (slice(None), slice(None)), ([0, 3], [1, 1])],
    ids=["a column", "a row", "everything", "a constant column"],
)
def test_whole_rows_and_columns_of_gaps_are_filled(kernel, gaps):
    table = random_table(12, 3).copy()
    table[:, 1] = 0.25
    gappy = table.copy()
    gappy[gaps] = np.nan
    found = recover_features(gappy, random_target(kernel, table), kernel=kernel)
    assert ((found.X >= 0.0) & (found.X <= 1.0)).all()
    sums = kernel.sums(found.X, found.X)
    expected = ((sums - random_target(kernel, table)) ** 2).sum()
    assert found.objective == pytest.approx(expected, abs=1e-9)
    if np.isnan(gappy).sum() < 15:
        np.testing.assert_allclose(sums, kernel.sums(table, table), atol=1e-7)


def test_the_callback_sees_every_sweep_and_stops_it_all():
    kernel = Laplacian()
    table = random_table(30, 4)
    gappy, target = with_gaps(table, 0.5), random_target(kernel, table, noise=0.1)
    seen = []
    options = {"kernel": kernel, "starts": ["half", "mean"]}
    # The first call compiles, which the callback is told of.
    recover_features(gappy, target, max_sweeps=1, **options)
    whole = recover_features(gappy, target, callback=seen.append, **options)
    assert {record.note for record in seen} == {"start: half", "start: mean"}
    assert {record.stage for record in seen} == {"Stage II"}
    of_best = [record for record in seen if record.note == f"start: {whole.start}"]
    assert of_best == list(whole.trace.records)
    assert np.isfinite(whole.trace.column("features")[1:]).all()
    assert np.isnan(whole.trace.column("gap")).all()
    # The second start is cut off; the best so far is what the first one found.
    first = len([record for record in seen if record.note == "start: half"])
    count = []

    def stop(record):
        count.append(record)
        return len(count) > first

    cut = recover_features(gappy, target, callback=stop, **options)
    assert cut.status is Status.INTERRUPTED and cut.start == "half"
    assert len(count) == first + 1


def test_max_sweeps():
    kernel = Gaussian()
    table = random_table(30, 4)
    gappy, target = with_gaps(table, 0.5), random_target(kernel, table)
    none = recover_features(gappy, target, kernel=kernel, starts=["half"], max_sweeps=0)
    assert (none.status, none.n_sweeps) == (Status.MAX_ITER, 0)
    assert (none.X[np.isnan(gappy)] == 0.5).all()
    two = recover_features(gappy, target, kernel=kernel, starts=["half"], max_sweeps=2)
    assert (two.status, two.n_sweeps) == (Status.MAX_ITER, 2)


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    ("kernel", "categorical"), [(kernel, ()) for kernel in KERNELS] + [(Gaussian(), (1, 3))]
)
def test_a_start_is_a_complete_table_with_the_observed_cells(name, kernel, categorical):
    problem, _ = small_problem(kernel, categorical=categorical)
    table = STARTS[name](problem)
    assert (table[problem.observed] == problem.X[problem.observed]).all()
    for values, codes in zip(table.T, problem.codes, strict=True):
        fits = np.isin(values, codes) if codes.size else (values >= 0.0) & (values <= 1.0)
        assert fits.all()


@pytest.mark.parametrize(
    ("kernel", "categorical", "rate"),
    [
        (Gaussian(), (), 0.8),
        (Gaussian(), (), 0.93),
        (Gaussian(), (0, 2), 0.7),
        (Linear(), (), 0.8),
        (Linear(), (), 0.93),
    ],
)
def test_the_spectral_start_of_an_exact_target_is_the_table(kernel, categorical, rate):
    kernel = kernel.with_categorical(list(categorical), 6)
    table = random_table(120, 6, categorical)
    problem = recovery_problem(with_gaps(table, rate), random_target(kernel, table), kernel=kernel)
    np.testing.assert_allclose(STARTS["spectral"](problem), table, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("target", [np.zeros((4, 4)), -np.ones((4, 4)), np.eye(4)])
def test_the_spectral_start_takes_any_target(kernel, target):
    X = np.array([[0.2, np.nan], [0.2, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    problem = recovery_problem(X, target, kernel=kernel)
    table = STARTS["spectral"](problem)
    assert np.isfinite(table).all() and ((table >= 0.0) & (table <= 1.0)).all()


GAPPY = read_only(np.array([[0.1, np.nan], [0.2, 0.3], [0.5, 0.4]]))
ZEROS = read_only(np.zeros((3, 3)))
ASYMMETRIC = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.1, 0.0]])
INFINITE = np.array([[0.0, np.inf, 0.0], [np.inf, 0.0, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"X": np.zeros(3)}, ValueError, r"'X' .* recover_features must be a matrix"),
        ({"target": np.zeros((2, 2))}, ValueError, r"'target' .* shape \(3, 3\). Got shape \(2, 2"),
        ({"target": ASYMMETRIC}, ValueError, r"'target' .* symmetric. Got values that differ"),
        ({"target": INFINITE}, ValueError, r"'target' .* finite. Got inf in row 0, column 1"),
        ({"target": [["a"] * 3] * 3}, TypeError, r"'target' .* must be numeric"),
        ({"kernel": "gaussian"}, TypeError, r"'kernel' .* a Kernel .* Got 'gaussian'"),
        ({"weights": -np.ones((3, 3))}, ValueError, r"'weights' .* nonnegative"),
        ({"weights": np.zeros((3, 3))}, ValueError, r"'weights' .* positive for one pair"),
        ({"weights": "distance"}, ValueError, r"'weights' .* 'kernel', None or a matrix"),
        ({"starts": "half"}, ValueError, r"'starts' .* 'auto' or a sequence .* Got 'half'"),
        ({"starts": ["zero"]}, ValueError, r"'starts' .* 'half', 'mean', 'spectral'"),
        ({"starts": [np.zeros((2, 2))]}, ValueError, r"'starts\[0\]' .* shape \(3, 2\). Got shape"),
        ({"starts": ["half", np.full((3, 2), 2.0)]}, ValueError, r"'starts\[1\]' .* in \[0, 1\]"),
        ({"categorical": [2]}, ValueError, r"'categorical' .* Gaussian .* the 2 columns"),
        (
            {"X": [[3.0, 0.1], [4.0, 0.2], [np.nan, 0.3]], "kernel": Gaussian(categorical=(0,))}
            | {"starts": [np.full((3, 2), 5.0)]},
            ValueError,
            r"'starts\[0\]' .* observed codes at the gaps. Got 5.0 in row 2",
        ),
        ({"tol": -1.0}, ValueError, r"'tol' .* recover_features .* Got -1.0"),
        ({"max_sweeps": 1.5}, TypeError, r"'max_sweeps' .* recover_features .* Got 1.5"),
    ],
)
def test_refusals(changes, error, match):
    arguments = {"X": GAPPY, "target": ZEROS, "kernel": Gaussian()} | changes
    X, target = arguments.pop("X"), arguments.pop("target")
    with pytest.raises(error, match=match):
        recover_features(X, target, **arguments)
