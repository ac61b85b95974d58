"""Means, tests and ranks against scipy, closed forms and hand-made cases."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.ranks import average_ranks, critical_difference, friedman
from experiments.statistics import CELL, best_stands_alone, paired_test, readings, summary, versus
from tests.experiments.made_records import METHODS, classification_records


def laid_out(values: dict[str, list[list[float]]]) -> pd.DataFrame:
    """Return readings by method, a list a cell."""
    n_repetitions = len(next(iter(values.values()))[0])
    index = pd.MultiIndex.from_tuples(
        [
            (f"cell{cell}", "mcar", 0.2, "complete", "paper", "authors", repetition)
            for cell in range(len(next(iter(values.values()))))
            for repetition in range(n_repetitions)
        ],
        names=[*CELL, "repetition"],
    )
    return pd.DataFrame({name: np.ravel(cells) for name, cells in values.items()}, index=index)


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


def test_two_repetitions_decide_nothing():
    # On 81 test rows two accuracies differ by the same multiple of 1/81 every other time.
    for first, second in (([0.5], [0.4]), ([0.5, 0.6], [0.4, 0.5]), ([0.5, 0.6], [0.5, 0.6])):
        test = paired_test(first, second)
        assert np.isnan(test.p) and test.verdict == 0


@given(st.lists(st.floats(0, 1), min_size=3, max_size=12), st.integers(0, 10**6))
def test_the_two_ways_round_agree(first, seed):
    second = np.random.default_rng(seed).uniform(size=len(first))
    forth, back = paired_test(first, second), paired_test(second, first)
    assert forth.difference == pytest.approx(-back.difference)
    assert forth.p == pytest.approx(back.p)
    assert forth.verdict == -back.verdict


def test_ranks_share_ties_and_sum_to_the_same():
    wide = laid_out({"a": [[3.0], [3.0]], "b": [[2.0], [3.0]], "c": [[1.0], [1.0]]})
    ranks = average_ranks(wide)
    assert ranks["rank"].to_dict() == {"a": 1.25, "b": 1.75, "c": 3.0}
    assert ranks["complete"].all()


def test_a_method_that_lacks_readings_has_the_rank_of_its_complete_twin():
    rng = np.random.default_rng(4)
    wide = laid_out({name: rng.normal(size=(6, 1)).tolist() for name in "abcd"})
    for name in "abcd":
        twin = wide[name].mask(wide.index.get_level_values("dataset") == "cell5")
        ranks = average_ranks(wide.assign(twin=twin))
        on_the_same = average_ranks(wide[twin.notna()])
        assert ranks.loc["twin", "rank"] == on_the_same.loc[name, "rank"]


def test_versus_counts_the_cells():
    better = [[0.9, 0.91, 0.9, 0.92], [0.8, 0.81, 0.8, 0.8]]
    base = [[0.8, 0.8, 0.8, 0.81], [0.8, 0.8, 0.81, 0.8]]
    row = versus(laid_out({"base": base, "other": better}), "base").loc["other"]
    assert (row["cells"], row["higher"], row["lower"]) == (2, 1, 0)
    assert (row["better"], row["worse"]) == (1, 0)
    assert row["difference"] == pytest.approx(np.mean(np.subtract(better, base)))


def test_the_best_stands_alone_only_against_all():
    group = laid_out({"a": [[0.9, 0.92, 0.91]], "b": [[0.8, 0.81, 0.83]], "c": [[0.9, 0.91, 0.91]]})
    assert not best_stands_alone(group, "a")
    assert best_stands_alone(group.drop(columns="c"), "a")
    assert not best_stands_alone(group[["a"]], "a")
    twin, cut = group["a"].rename("twin"), group["c"].where([True, True, False]).rename("cut")
    assert best_stands_alone(group[["a", "b"]].join([twin, cut]), "a")


def test_the_critical_difference_is_demsars():
    # Demsar (2006), table 5: q is 2.343 for three methods and 2.728 for five.
    assert critical_difference(3, 6) == pytest.approx(2.343 * np.sqrt(12 / 36), abs=1e-3)
    assert critical_difference(5, 30) == pytest.approx(2.728 * np.sqrt(30 / 180), abs=1e-3)


def test_friedman_sees_a_clear_order_and_needs_three():
    rng = np.random.default_rng(3)
    levels = {"a": 0.9, "b": 0.8, "c": 0.7}
    wide = laid_out({m: (v + rng.normal(0, 0.01, (8, 4))).tolist() for m, v in levels.items()})
    assert friedman(wide) < 0.001
    assert np.isnan(friedman(wide[["a", "b"]]))


def test_records_are_laid_out_and_summed_up():
    records = classification_records()
    wide = readings(records)
    assert list(wide.columns) == list(METHODS)
    assert wide.shape == (160, len(METHODS))
    assert wide["newimp+svc"].count() == 48
    assert readings(records, rule="released")["geom"].count() == 159
    table = summary(records[records["rule"] == "released"], ["dataset", "missing_rate", "method"])
    cell = table.loc[("heart", 0.8, "geom")]
    assert (cell["n"], cell["failed"], cell["skipped"]) == (9, 1, 0)
    assert cell["reasons"] == ("no setting has training accuracy above holdout's",)
    picked = wide.loc[("heart", "mcar", 0.8), "mean+svc"]
    table = summary(records[records["rule"] == "plain"], ["dataset", "missing_rate", "method"])
    assert table.loc[("heart", 0.8, "mean+svc"), "std"] == pytest.approx(picked.std(ddof=0))
