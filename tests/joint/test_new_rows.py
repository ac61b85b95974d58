"""New rows are filled from complete rows, each on its own."""

import numpy as np
import pytest

from kernimpute.joint.reference import fill_from_similar
from kernimpute.kernels import Gaussian
from tests.methods.problems import DISTANCES, KERNELS, random_table, read_only, with_gaps

CASES = [(kernel, ()) for kernel in KERNELS] + [(kernel, (1, 2)) for kernel in DISTANCES]
every_case = pytest.mark.parametrize(("kernel", "categorical"), CASES, ids=repr)


def new_and_old(categorical=(), n_new=30):
    """Return new rows with gaps and complete rows."""
    table = random_table(n_new + 40, 5, categorical)
    gappy = with_gaps(table[:n_new], 0.5).copy()
    gappy[0] = np.nan
    return read_only(gappy, table[n_new:])


@every_case
@pytest.mark.parametrize("scale", [None, 2.0**-1000, 1.0, 2.0**1000])
def test_a_gap_gets_the_weighted_mean_or_the_heaviest_code(kernel, categorical, scale):
    # Of weights only the ratios matter, from one end of the floats to the other.
    kernel = kernel.with_categorical(list(categorical), 5)
    gappy, train = new_and_old(categorical)
    counts = np.random.default_rng(4).integers(0, 4, 40) if scale else np.ones(40)
    found = fill_from_similar(gappy, train, kernel, scale * counts if scale else None)
    numeric = kernel.numeric(5)
    for row, given in zip(found, gappy, strict=True):
        known = ~np.isnan(given)
        terms = np.abs(given - train) ** (1 if kernel.cell == "laplacian" else 2)
        terms[:, ~numeric] = given[~numeric] != train[:, ~numeric]
        distance = terms[:, known].sum(axis=1)
        mean = np.average(distance, weights=counts) or 1.0
        weights = counts * np.exp(-8.0 * known.mean() * distance / mean)
        for p in range(5):
            codes = np.unique(train[:, p])
            if known[p]:
                assert row[p] == given[p]
            elif numeric[p]:
                assert row[p] == pytest.approx(weights @ train[:, p] / weights.sum(), abs=1e-12)
            else:
                assert row[p] == codes[np.argmax(weights @ (train[:, p, None] == codes))]


@every_case
def test_a_row_does_not_depend_on_its_company_to_the_last_bit(kernel, categorical):
    kernel = kernel.with_categorical(list(categorical), 5)
    gappy, train = new_and_old(categorical)
    together = fill_from_similar(gappy, train, kernel)
    for size in (1, 7):
        parts = [
            fill_from_similar(gappy[first : first + size], train, kernel)
            for first in range(0, 30, size)
        ]
        assert np.vstack(parts).tobytes() == together.tobytes()


def test_far_rows_do_not_underflow():
    train = np.array([[0.0, 0.2], [0.001, 0.8]])
    found = fill_from_similar(np.array([[1e6, np.nan]]), train, Gaussian(1e3))
    assert 0.2 < found[0, 1] < 0.8


def test_values_and_codes_beyond_those_of_the_complete_rows_stay():
    train = np.array([[0.0, 0.2, 1.0], [1.0, 0.8, 2.0]])
    new = np.array([[1.5, np.nan, 7.0], [-0.5, np.nan, np.nan]])
    found = fill_from_similar(new, train, Gaussian(categorical=(2,)))
    assert (found[:, 0] == [1.5, -0.5]).all()
    assert found[0, 2] == 7.0 and found[1, 2] == 1.0
    assert found[0, 1] > 0.7 and found[1, 1] < 0.3


def test_without_gaps_or_rows_they_come_back_as_they_were():
    _, train = new_and_old()
    assert fill_from_similar(train[:3], train, Gaussian()).tobytes() == train[:3].tobytes()
    assert fill_from_similar(np.empty((0, 5)), train, Gaussian()).shape == (0, 5)
