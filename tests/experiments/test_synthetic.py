"""The drawn tables against the moments that the paper's formulas imply."""

import numpy as np
import pytest

from experiments.synthetic import draw_synthetic

PLAIN = {"noise_intensity": 0.0, "outlier_fraction": 0.0, "non_uniformity": 0.0}


def drawn(**options):
    return draw_synthetic(np.random.default_rng(3), **options)


def test_classes_have_the_moments_of_the_formulas():
    n = 200_000
    X, y = drawn(**{**PLAIN, "n": n, "d": 4, "non_uniformity": 3.0, "noise_intensity": 0.7})
    u = np.random.default_rng(3).uniform(size=4)
    error = 5.0 * 4.0 / np.sqrt(n / 2)
    for label, mean in ((0, -1.0), (1, 1.0)):
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), mean, atol=error)
        covariance = np.cov(rows, rowvar=False)
        expected = np.diag(1.0 + 3.0 * u + 0.7**2)
        np.testing.assert_allclose(covariance, expected, atol=2.0 * error)


def test_exactly_the_share_of_rows_are_outliers_and_a_smaller_share_keeps_its_own():
    clean, _ = drawn(**{**PLAIN, "n": 101})
    changed = []
    for fraction in (0.1, 0.3, 1.0):
        X, _ = drawn(**{**PLAIN, "n": 101, "outlier_fraction": fraction})
        moves = X - clean
        rows = np.flatnonzero(np.any(moves != 0.0, axis=1))
        assert len(rows) == round(101 * fraction)
        assert np.abs(moves).max() <= 5.0
        changed.append(set(rows))
    assert changed[0] < changed[1] < changed[2]
    assert np.var(moves) == pytest.approx(100.0 / 12.0, rel=0.05)


@pytest.mark.parametrize(
    ("option", "value", "must_be"),
    [
        ("d", 0, "at least 1"),
        ("outlier_fraction", 1.5, r"in \[0, 1\]"),
        ("non_uniformity", np.inf, "a finite number of at least 0"),
    ],
)
def test_options_outside_their_range_are_refused(option, value, must_be):
    with pytest.raises(ValueError, match=f"'{option}' of a drawn table must be {must_be}; got"):
        drawn(**{option: value})
