"""Means, tests and ranks against scipy, closed forms and hand-made cases."""

import numpy as np
import pytest
from scipy import stats

from experiments.ranks import critical_difference
from experiments.statistics import paired_test, signed_rank_p


def test_the_paired_test_is_scipys_on_the_common_repetitions():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.8, 0.02, (2, 10))
    first[3] = second[7] = np.nan
    both = ~np.isnan(first) & ~np.isnan(second)
    test = paired_test(first, second)
    assert test.n == 8
    assert test.p == pytest.approx(stats.ttest_rel(first[both], second[both]).pvalue, rel=1e-10)
    assert test.difference == pytest.approx(np.mean(first[both] - second[both]))
    assert test.standard_error == pytest.approx(stats.sem(first[both] - second[both]))


def test_the_corrected_test_without_test_rows_is_the_plain_one_and_wider_with_them():
    first, second = np.random.default_rng(2).normal(0.8, 0.02, (2, 10))
    assert (plain := paired_test(first, second, test_to_train=0.0)).p_corrected == plain.p
    test = paired_test(first, second)
    assert test.p_corrected > test.p
    t = stats.t.isf(test.p / 2, 9)
    corrected = stats.t.isf(test.p_corrected / 2, 9)
    assert corrected == pytest.approx(t * np.sqrt(0.1 / (0.1 + 0.75)))


def test_degenerate_pairs_need_no_variance():
    assert paired_test([0.5, 0.6, 0.7], [0.5, 0.6, 0.7]).p == 1.0
    assert paired_test([0.5, 0.6, 0.7], [0.4, 0.5, 0.6]).p == 0.0
    assert paired_test([np.nan], [0.4]).n == 0
    assert paired_test([0.5, 0.6, 0.7], [0.4, 0.5, 0.6]).verdict == 1
    # Two accuracies on 81 rows differ by the same multiple of 1/81 every other time.
    assert np.isnan(paired_test([0.5, 0.6], [0.4, 0.5]).p)


@pytest.mark.parametrize("differences", [[0, 2, -1, 1, 3], [1, 1, -2, 4], [0.5, 2, -3], [-1] * 15])
def test_the_test_of_signed_ranks_is_scipys(differences):
    assert signed_rank_p(differences) == pytest.approx(stats.wilcoxon(differences).pvalue)


def test_the_critical_difference_is_demsars():
    # Demsar (2006), table 5: q is 2.343 for three methods and 2.728 for five.
    assert critical_difference(3, 6) == pytest.approx(2.343 * np.sqrt(12 / 36), abs=1e-3)
    assert critical_difference(5, 30) == pytest.approx(2.728 * np.sqrt(30 / 180), abs=1e-3)
