"""The few operations beyond the standard mean the same on every namespace."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.core.arrays import (
    clip,
    inner,
    is_positive_definite,
    like,
    norm,
    on_diagonal,
    to_numpy,
)
from tests.namespaces import CONVERT

ALL = {"numpy": np.array, **CONVERT}


@pytest.fixture(params=ALL, ids=str)
def convert(request):
    return ALL[request.param]


def matrix(seed=0, n=6):
    return np.random.default_rng(seed).standard_normal((n, n))


def test_there_and_back_is_the_same_to_the_last_bit(convert):
    M = matrix()
    M.setflags(write=False)
    there = like(M, convert(np.zeros(1)))
    assert type(there) is type(convert(np.zeros(1)))
    np.testing.assert_array_equal(to_numpy(there), M)


def test_what_is_numpys_is_not_copied():
    M = matrix()
    assert like(M, np.zeros(1)) is M
    assert to_numpy(M) is M


def test_products_norms_and_bounds_are_numpys(convert):
    A, B = matrix(1), matrix(2)
    assert inner(convert(A), convert(B.T)) == pytest.approx((A * B.T).sum(), abs=1e-12)
    assert norm(convert(A)) == pytest.approx(np.sqrt((A**2).sum()))
    clipped = clip(convert(A), convert(-np.abs(B)), convert(np.abs(B)))
    np.testing.assert_array_equal(to_numpy(clipped), np.clip(A, -np.abs(B), np.abs(B)))
    np.testing.assert_array_equal(to_numpy(on_diagonal(convert(A))), np.eye(6, dtype=bool))


def test_positive_definite_is_what_the_spectrum_says(convert):
    M = matrix(3)
    M = M @ M.T
    least = float(np.linalg.eigvalsh(M)[0])
    for shift, expected in ((-0.99, True), (-1.01, False)):
        shifted = M + shift * least * np.eye(6)
        kept = shifted.copy()
        assert is_positive_definite(convert(shifted)) is expected
        np.testing.assert_array_equal(shifted, kept)
    assert is_positive_definite(convert(M - 1.01 * least * np.eye(6)), jitter=0.02 * least)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_what_is_no_number_is_not_positive_definite(convert, entry):
    M = np.eye(3)
    M[1, 1] = entry
    assert not is_positive_definite(convert(M))
    assert not is_positive_definite(convert(np.full((3, 3), entry)))
