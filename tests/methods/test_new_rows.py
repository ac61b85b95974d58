"""`recover_new_rows`: every row on its own, exact where its target is, careful with its data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kernimpute.core.status import Status
from kernimpute.kernels import Chi2, Gaussian, Laplacian, Linear
from kernimpute.methods.new_rows import recover_new_rows
from tests.methods.problems import DISTANCES, KERNELS, random_table, read_only, with_gaps


def new_and_old(kernel=None, categorical=(), n_new=12, n_train=40, rate=0.5):
    """Return new rows, the same with gaps, and complete rows; the second one knows nothing."""
    rows = random_table(n_new + n_train, 5, categorical, seed=3)
    new, train = rows[:n_new], rows[n_new:]
    gappy = with_gaps(new, rate).copy()
    gappy[1] = np.nan
    return new, read_only(gappy), train


@pytest.mark.parametrize("weights", [None, "kernel", "random"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_an_exact_target_gives_the_rows_back(kernel, weights):
    new, gappy, train = new_and_old()
    target = kernel.sums(new, train)
    if weights == "random":
        weights = np.random.default_rng(0).random(target.shape)
    found = recover_new_rows(gappy, train, kernel=kernel, target=target, weights=weights)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.X, new, rtol=0.0, atol=1e-6)
    assert found.objective == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kernel", DISTANCES, ids=repr)
def test_codes_come_back_too(kernel):
    kernel = kernel.with_categorical([1, 2], 5)
    new, gappy, train = new_and_old(categorical=(1, 2))
    found = recover_new_rows(gappy, train, kernel=kernel, target=kernel.sums(new, train))
    np.testing.assert_allclose(found.X, new, rtol=0.0, atol=1e-6)
    assert (found.X[:, [1, 2]] == new[:, [1, 2]]).all()


@pytest.mark.parametrize("weights", [None, "kernel"])
@pytest.mark.parametrize("with_target", [False, True])
@pytest.mark.parametrize(
    ("kernel", "categorical"),
    [(kernel, ()) for kernel in KERNELS] + [(kernel, (1, 2)) for kernel in DISTANCES],
)
def test_a_row_does_not_depend_on_its_company(kernel, categorical, with_target, weights):
    kernel = kernel.with_categorical(list(categorical), 5)
    new, gappy, train = new_and_old(categorical=categorical, n_new=30)
    noise = np.random.default_rng(0).normal(size=(30, 40))
    target = kernel.sums(new, train) + 0.1 * noise if with_target else None

    def fill(rows):
        sums = None if target is None else target[rows]
        return recover_new_rows(
            gappy[rows], train, kernel=kernel, target=sums, weights=weights, max_sweeps=50
        ).X

    together = fill(slice(None))
    assert (np.vstack([fill(slice(i, i + 1)) for i in range(30)]) == together).all()
    assert (fill(slice(0, 10)) == together[:10]).all()


def test_a_row_does_not_depend_on_the_chunk_it_falls_into():
    kernel = Gaussian()
    new, gappy, train = new_and_old()
    many, sums = np.tile(gappy, (50, 1)), np.tile(kernel.sums(new, train), (50, 1))
    found = recover_new_rows(many, train, kernel=kernel, target=sums, weights=sums.copy()).X
    np.testing.assert_array_equal(found, np.tile(found[:12], (50, 1)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_without_a_target_similar_rows_are_averaged(kernel):
    _, gappy, train = new_and_old()
    filled = recover_new_rows(gappy, train, kernel=kernel).X
    for row, given in zip(filled, gappy, strict=True):
        known = ~np.isnan(given)
        differences = np.abs(given[known] - train[:, known])
        power = 1 if isinstance(kernel, Laplacian) else 2
        distance = (differences**power).sum(axis=1)
        mean = distance.mean() if known.any() else 1.0
        weights = np.exp(-8.0 * known.mean() * distance / mean)
        expected = np.where(known, given, weights @ train / weights.sum())
        np.testing.assert_allclose(row, expected, rtol=0.0, atol=1e-12)


def test_a_row_without_anything_gets_means_and_most_frequent_codes():
    train = np.array([[0.0, 5.0], [0.5, 9.0], [1.0, 9.0]])
    found = recover_new_rows([[np.nan, np.nan]], train, kernel=Gaussian(categorical=(1,)))
    np.testing.assert_allclose(found.X, [[0.5, 9.0]])


def test_far_rows_do_not_underflow():
    train = np.array([[0.0, 0.2], [0.001, 0.8]])
    found = recover_new_rows([[1e6, np.nan]], train, kernel=Gaussian(1e3))
    assert 0.2 < found.X[0, 1] < 0.8


def test_values_and_codes_beyond_those_of_the_complete_rows():
    train = np.array([[0.0, 0.2, 1.0], [1.0, 0.8, 2.0]])
    kernel = Gaussian(categorical=(2,))
    found = recover_new_rows([[1.5, np.nan, 7.0], [-0.5, np.nan, np.nan]], train, kernel=kernel)
    assert (found.X[:, 0] == [1.5, -0.5]).all()
    assert found.X[0, 2] == 7.0
    assert found.X[1, 2] == 1.0
    assert found.X[0, 1] > 0.7
    assert found.X[1, 1] < 0.3


def test_it_imputes_better_than_the_mean(data_dir):
    table = np.genfromtxt(data_dir / "heart.csv", delimiter=",", skip_header=1)[:, :-1]
    table = (table - table.min(axis=0)) / np.ptp(table, axis=0)
    new, train = table[:135], table[135:]
    gappy = with_gaps(new, 0.5)
    gaps = np.isnan(gappy)
    for kernel in (Gaussian(), Laplacian(), Linear(), Chi2()):
        found = recover_new_rows(gappy, train, kernel=kernel).X
        error = np.sqrt(np.mean((found - new)[gaps] ** 2))
        blind = np.sqrt(np.mean((train.mean(axis=0) - new)[gaps] ** 2))
        assert error < 0.98 * blind


def test_memory_does_not_grow_with_the_new_rows():
    generator = np.random.default_rng(0)
    train = generator.random((500, 4))
    gappy = with_gaps(generator.random((4000, 4)), 0.4)
    recover_new_rows(gappy[:2], train, kernel=Gaussian())
    tracemalloc.start()
    recover_new_rows(gappy, train, kernel=Gaussian())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The distances alone would take 16 MB.
    assert peak < 2e6


def copies_of(n_train, seed=4):
    """Return how often each complete row counts, some 0, and the rows as often."""
    copies = np.random.default_rng(seed).integers(0, 4, n_train)
    return copies, np.repeat(np.arange(n_train), copies)


@pytest.mark.parametrize(
    ("kernel", "categorical"),
    [(kernel, ()) for kernel in KERNELS] + [(kernel, (1, 2)) for kernel in DISTANCES],
)
def test_a_weight_is_as_many_copies(kernel, categorical):
    kernel = kernel.with_categorical(list(categorical), 5)
    _, gappy, train = new_and_old(categorical=categorical, n_new=30)
    copies, repeated = copies_of(40)
    found = recover_new_rows(gappy, train, kernel=kernel, sample_weight=copies).X
    expected = recover_new_rows(gappy, train[repeated], kernel=kernel).X
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Only their ratios matter, from one end of the floats to the other.
    for scale in (2.0**-1000, 0.25, 2.0**1000):
        scaled = recover_new_rows(gappy, train, kernel=kernel, sample_weight=scale * copies).X
        np.testing.assert_allclose(scaled, expected, rtol=1e-12)
    plain = recover_new_rows(gappy, train, kernel=kernel).X
    assert np.abs(found - plain).max() > 1e-3


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_weights_of_one_change_no_bit(kernel):
    _, gappy, train = new_and_old()
    plain = recover_new_rows(gappy, train, kernel=kernel)
    ones = recover_new_rows(gappy, train, kernel=kernel, sample_weight=np.ones(40))
    assert ones.X.tobytes() == plain.X.tobytes()


def test_with_a_target_weights_are_of_the_start_only():
    kernel = Laplacian(categorical=(1, 2))
    new, gappy, train = new_and_old(categorical=(1, 2))
    copies, _ = copies_of(40)
    options = {"kernel": kernel, "target": kernel.sums(new, train), "sample_weight": copies}
    started = recover_new_rows(gappy, train, max_sweeps=0, **options)
    filled = recover_new_rows(gappy, train, kernel=kernel, sample_weight=copies)
    np.testing.assert_array_equal(started.X, filled.X)
    np.testing.assert_allclose(recover_new_rows(gappy, train, **options).X, new, atol=1e-6)


def test_a_code_that_only_rows_without_weight_have_fills_nothing():
    train = np.array([[0.5, 3.0], [0.5, 3.0], [0.5, 1.0], [0.5, 7.0]])
    found = recover_new_rows(
        [[0.5, np.nan]], train, kernel=Gaussian(categorical=(1,)), sample_weight=[0, 0, 1, 2]
    )
    assert found.X[0, 1] == 7.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_target", [False, True])
def test_parts_of_the_rows_give_the_same_bits(with_target, weighted):
    kernel = Gaussian()
    new, gappy, train = new_and_old(n_new=600)
    target = kernel.sums(new, train) if with_target else None
    copies = copies_of(40)[0] if weighted else None

    def fill(part):
        sums = None if target is None else target[part]
        return recover_new_rows(
            gappy[part], train, kernel=kernel, target=sums, sample_weight=copies
        ).X

    whole = fill(slice(None))
    for size in (1, 7, 256, 300):
        parts = [fill(slice(first, first + size)) for first in range(0, 600, size)]
        assert np.vstack(parts).tobytes() == whole.tobytes()


@pytest.mark.parametrize("target", [None, np.empty((0, 40))], ids=["similar rows", "target"])
def test_no_rows_are_returned_as_they_came(target):
    _, _, train = new_and_old()
    found = recover_new_rows(np.empty((0, 5)), train, kernel=Gaussian(), target=target)
    assert found.X.shape == (0, 5)
    assert found.status is Status.NOTHING_MISSING


def test_nothing_missing_and_nothing_written_to():
    new, gappy, train = new_and_old()
    found = recover_new_rows(new, train, kernel=Gaussian())
    assert found.status is Status.NOTHING_MISSING
    assert found.X.tobytes() == np.ascontiguousarray(new).tobytes()
    before = gappy.tobytes()
    sums = read_only(Gaussian().sums(new, train))
    filled = recover_new_rows(gappy, train, kernel=Gaussian(), target=sums, weights=sums).X
    known = ~np.isnan(gappy)
    assert filled[known].tobytes() == gappy[known].tobytes()
    assert gappy.tobytes() == before


def test_max_sweeps():
    new, gappy, train = new_and_old()
    target = Laplacian().sums(new, train)
    found = recover_new_rows(gappy, train, kernel=Laplacian(), target=target, max_sweeps=2)
    assert (found.status, found.n_sweeps) == (Status.MAX_ITER, 2)
    none = recover_new_rows(gappy, train, kernel=Laplacian(), target=target, max_sweeps=0)
    assert (none.status, none.n_sweeps) == (Status.MAX_ITER, 0)
    assert found.objective < none.objective
    without = recover_new_rows(gappy, train, kernel=Laplacian())
    assert (none.X == without.X).all()


TRAIN = read_only(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
NEW = read_only(np.array([[0.1, np.nan], [np.nan, 0.3]]))


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"X_new": np.zeros(2)}, ValueError, r"'X_new' .* the 2 columns of X_train. Got .* \(2,\)"),
        ({"X_new": np.zeros((1, 3))}, ValueError, r"'X_new' .* the 2 columns .* Got .* \(1, 3\)"),
        ({"X_new": [[np.inf, 0.0]]}, ValueError, r"'X_new' .* finite or NaN. Got inf in row 0"),
        ({"X_new": [["a", "b"]]}, TypeError, r"'X_new' .* must be numeric"),
        ({"X_new": [[-0.1, np.nan]], "kernel": Chi2()}, ValueError, r"'X_new' .* in \[0, inf\)"),
        ({"X_train": np.zeros(2)}, ValueError, r"'X_train' .* must be a matrix"),
        ({"X_train": NEW}, ValueError, r"'X_train' .* complete. Got NaN in row 0, column 1"),
        ({"X_train": [[2.0, 0.0]]}, ValueError, r"'X_train' .* in \[0, 1\] or NaN. Got .*2.0"),
        ({"kernel": None}, TypeError, r"'kernel' .* recover_new_rows .* Got None"),
        ({"target": np.zeros((3, 2))}, ValueError, r"'target' .* shape \(2, 3\). Got shape"),
        ({"target": np.full((2, 3), np.nan)}, ValueError, r"'target' .* finite. Got nan in row 0"),
        ({"target": np.full((2, 3), 1e200)}, ValueError, r"'target' .* at most 1e.150"),
        ({"weights": -np.ones((2, 3))}, ValueError, r"'weights' .* nonnegative"),
        ({"weights": "local"}, ValueError, r"'weights' .* recover_new_rows .* 'kernel', None"),
        ({"sample_weight": [1.0]}, ValueError, r"'sample_weight' .* of shape \(3,\), one weight"),
        ({"sample_weight": [0, 0, 0]}, ValueError, r"'sample_weight' .* positive for one row"),
        ({"categorical": [True]}, ValueError, r"'categorical' .* the 2 columns"),
        ({"tol": "0"}, TypeError, r"'tol' .* recover_new_rows"),
        ({"max_sweeps": -1}, ValueError, r"'max_sweeps' .* recover_new_rows"),
    ],
)
def test_refusals(changes, error, match):
    arguments = {"X_new": NEW, "X_train": TRAIN, "kernel": Gaussian()} | changes
    X_new, X_train = arguments.pop("X_new"), arguments.pop("X_train")
    with pytest.raises(error, match=match):
        recover_new_rows(X_new, X_train, **arguments)
