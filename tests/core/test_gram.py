"""Kernel matrices as the dual asks for them: each answer is that of the array."""

from __future__ import annotations

import numpy as np
import pytest

from kernimpute.core.gram import DenseGram, RaisedGram, as_gram

ROOT = np.random.default_rng(0).standard_normal((9, 9))
K = ROOT @ ROOT.T
ROWS, COLUMNS = np.array([1, 4, 7]), np.array([0, 4, 7, 8])


@pytest.mark.parametrize(
    ("gram", "expected"),
    [(DenseGram(K), K), (as_gram(K), K), (RaisedGram(K, 0.3), K + 0.3 * np.eye(9))],
    ids=["array", "array as given", "raised"],
)
def test_every_answer_is_that_of_the_array(gram, expected):
    assert as_gram(gram) is gram
    b = np.random.default_rng(1).standard_normal((9, 2))
    np.testing.assert_allclose(gram.matrix(), expected)
    np.testing.assert_allclose(gram.product(b), expected @ b, rtol=1e-12)
    np.testing.assert_allclose(gram.product(b[:, 0]), expected @ b[:, 0], rtol=1e-12)
    assert gram.quadratic(b) == pytest.approx(np.vdot(b, expected @ b), rel=1e-12)
    np.testing.assert_allclose(gram.block(ROWS, COLUMNS), expected[np.ix_(ROWS, COLUMNS)])
    np.testing.assert_allclose(gram.subset(ROWS).matrix(), expected[np.ix_(ROWS, ROWS)])
    assert np.abs(expected).max() <= gram.largest() <= np.abs(expected).max() + 0.3


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_the_largest_entry_tells_of_one_that_is_no_number(entry):
    broken = K.copy()
    broken[2, 3] = broken[3, 2] = entry
    assert not np.isfinite(DenseGram(broken).largest())
    assert not np.isfinite(RaisedGram(broken, 0.1).largest())
